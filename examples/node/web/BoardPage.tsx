import { type FormEvent, useEffect, useState } from "react";
import type { Note } from "../server/board";

export function BoardPage() {
  const [notes, setNotes] = useState<Note[]>([]);
  const [text, setText] = useState("");

  useEffect(() => {
    void fetch("/notes")
      .then((response) => response.json())
      .then(setNotes);
  }, []);

  async function pin(event: FormEvent) {
    event.preventDefault();
    const response = await fetch("/notes", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ text }),
    });
    if (!response.ok) return;
    const note = (await response.json()) as Note;
    setNotes((notes) => [note, ...notes]);
    setText("");
  }

  return (
    <>
      <form onSubmit={pin}>
        <input aria-label="note" value={text} onChange={(event) => setText(event.target.value)} />
        <button>pin</button>
      </form>
      <ul>
        {notes.map((note) => (
          <li key={note.id}>{note.text}</li>
        ))}
      </ul>
    </>
  );
}
