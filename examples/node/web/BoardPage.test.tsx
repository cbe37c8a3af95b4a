// @vitest-environment jsdom
import { fireEvent, render, screen } from "@testing-library/react";
import { expect, test, vi } from "vitest";
import { BoardPage } from "./BoardPage";

test("the page shows the notes and pins a new one on top", async () => {
  vi.stubGlobal("fetch", async (_url: string, request?: RequestInit) =>
    request
      ? Response.json({ id: 2, ...JSON.parse(String(request.body)) }, { status: 201 })
      : Response.json([{ id: 1, text: "milk" }]),
  );
  render(<BoardPage />);
  await screen.findByText("milk");

  fireEvent.change(screen.getByLabelText("note"), { target: { value: "eggs" } });
  fireEvent.click(screen.getByText("pin"));
  await screen.findByText("eggs");

  expect(screen.getAllByRole("listitem").map((item) => item.textContent)).toEqual(["eggs", "milk"]);
});
