import request from "supertest";
import { beforeEach, expect, test } from "vitest";
import { app } from "./app.js";
import { Board } from "./board.js";

let server: ReturnType<typeof app>;
beforeEach(() => {
  server = app(new Board());
});

test("an empty board has no notes", async () => {
  await request(server).get("/notes").expect(200, []);
});

test("the newest note comes first", async () => {
  await request(server).post("/notes").send({ text: "milk" }).expect(201, { id: 1, text: "milk" });
  await request(server).post("/notes").send({ text: " eggs " }).expect(201);
  const { body } = await request(server).get("/notes");
  expect(body).toEqual([
    { id: 2, text: "eggs" },
    { id: 1, text: "milk" },
  ]);
});

test("an empty or endless note is refused", async () => {
  await request(server).post("/notes").send({ text: "  " }).expect(400);
  await request(server).post("/notes").send({ text: "x".repeat(281) }).expect(400);
  await request(server).get("/notes").expect(200, []);
});

test("a note is taken down once", async () => {
  await request(server).post("/notes").send({ text: "milk" });
  await request(server).delete("/notes/1").expect(204);
  await request(server).delete("/notes/1").expect(404);
});
