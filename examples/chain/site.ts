// Renders every page of one folder into another: node site.js pages dist
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import hljs from "highlight.js";
import { Marked } from "marked";
import { markedHighlight } from "marked-highlight";

const [pages, out] = process.argv.slice(2);

const markdown = new Marked(
  markedHighlight({
    langPrefix: "hljs language-",
    highlight: (code, language) =>
      hljs.getLanguage(language) ? hljs.highlight(code, { language }).value : code,
  }),
);

mkdirSync(out, { recursive: true });
for (const page of readdirSync(pages).filter((name) => name.endsWith(".md"))) {
  const name = basename(page, ".md");
  const body = markdown.parse(readFileSync(join(pages, page), "utf8"));
  writeFileSync(join(out, `${name}.html`), `<!doctype html>\n<title>${name}</title>\n${body}`);
  console.log(`${page} -> ${name}.html`);
}
