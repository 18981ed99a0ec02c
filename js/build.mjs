// node build.mjs [FOLDER]
// Builds what the Python package ships: one script and one style sheet, readable, without comments, under 30 kB together.

import { writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { buildSync, transformSync } from "esbuild";

const LIMIT = 30_000; // bytes: each widget carries both
const OUT = process.argv[2] ? pathToFileURL(`${process.argv[2]}/`) : new URL("../src/agentcell/static/", import.meta.url);

let total = 0;
for (const [name, entry] of [
  ["widget.js", "src/widget.ts"],
  ["widget.css", "src/widget.css"],
]) {
  // Two steps: taking the white space out drops the comments, and the printer puts white space back.
  const bundle = buildSync({
    entryPoints: [entry],
    bundle: true,
    format: "esm",
    target: "es2022",
    charset: "utf8",
    minifyWhitespace: true,
    minifySyntax: true,
    write: false,
  });
  const { code } = transformSync(bundle.outputFiles[0].text, {
    loader: name.endsWith("css") ? "css" : "js",
    charset: "utf8",
    banner: "/* Built from js/src. */",
  });
  // No string in the sources runs over a line, so white space at the beginning of a line is indentation. Nearly all stands inside
  // one rule or in a class: that level is left out. A rule of the style sheet stands in a line, and so does a block of one statement.
  const block = name.endsWith("css") ? /\{\n([^{}]*)\n\t*\}/g : /\{\n\t+([^\n{}]{0,120})\n\t*\}/g;
  const text = code
    .replaceAll("/* @__PURE__ */ ", "")
    .replace(/^( {2})+/gm, (indent) => "\t".repeat(indent.length / 2))
    .replace(block, (_, inside) => `{ ${inside.replace(/\n\t*/g, " ").trim().replace(/;$/, "")} }`)
    .replace(/var widget_default = (.*);\nexport .*/, "export default $1;")
    .replace(/^\t/gm, "");
  writeFileSync(new URL(name, OUT), text);
  total += Buffer.byteLength(text);
  console.log(`${name} ${Buffer.byteLength(text)} bytes`);
}
if (total > LIMIT) throw new Error(`script and style sheet must stay under ${LIMIT} bytes together, they are ${total}`);
