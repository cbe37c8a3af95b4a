import { z } from "zod";

export const Draft = z.object({ text: z.string().trim().min(1).max(280) });
export type Draft = z.infer<typeof Draft>;
export type Note = Draft & { id: number };

/** The notes of one board, in memory, newest first. */
export class Board {
  #notes: Note[] = [];
  #next = 1;

  list(): readonly Note[] {
    return this.#notes;
  }

  pin(draft: Draft): Note {
    const note = { ...draft, id: this.#next++ };
    this.#notes = [note, ...this.#notes];
    return note;
  }

  /** Takes a note down; false if there is none with that id. */
  unpin(id: number): boolean {
    const before = this.#notes.length;
    this.#notes = this.#notes.filter((note) => note.id !== id);
    return this.#notes.length < before;
  }
}
