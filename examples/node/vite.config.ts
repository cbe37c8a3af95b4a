import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

export default defineConfig({
  plugins: [react()],
  root: "web",
  build: { outDir: "../dist/web", emptyOutDir: true },
  server: { proxy: { "/notes": "http://localhost:3000" } },
  test: { root: ".", include: ["{server,web}/**/*.test.{ts,tsx}"] },
});
