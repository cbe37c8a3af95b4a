import express, { type Express } from "express";
import { Board, Draft } from "./board.js";

export function app(board: Board, page?: string): Express {
  const app = express();
  app.use(express.json());
  if (page) app.use(express.static(page));

  app.get("/notes", (_request, response) => {
    response.json(board.list());
  });

  app.post("/notes", (request, response) => {
    const draft = Draft.safeParse(request.body);
    if (draft.success) response.status(201).json(board.pin(draft.data));
    else response.status(400).json({ error: draft.error.issues[0].message });
  });

  app.delete("/notes/:id", (request, response) => {
    response.sendStatus(board.unpin(Number(request.params.id)) ? 204 : 404);
  });

  return app;
}
