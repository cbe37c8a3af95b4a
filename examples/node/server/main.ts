import { fileURLToPath } from "node:url";
import { app } from "./app.js";
import { Board } from "./board.js";

const port = Number(process.env.PORT ?? 3000);
const page = fileURLToPath(new URL("../web", import.meta.url));
app(new Board(), page).listen(port, () => console.log(`board on http://localhost:${port}`));
