import { createRoot } from "react-dom/client";
import { BoardPage } from "./BoardPage";

createRoot(document.getElementById("board")!).render(<BoardPage />);
