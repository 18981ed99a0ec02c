// node build.mjs [FOLDER]
// Builds what the Python package ships: one script and one style sheet, readable, without comments, under 30 kB together.

import { writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { buildSync, transformSync } from "esbuild";

const LIMIT = 30_000; // bytes: each widget carries both
const OUT = process.argv[2] ? pathToFileURL(`${process.argv[2]}/`) : new URL("../src/agentcell/static/", import.meta.url);
const BANNER = "/* Built from js/src. */\n";

/** One file of `entry` and what it imports, without comments and white space. */
function bundle(entry) {
  const how = { bundle: true, format: "esm", target: "es2022", charset: "utf8", minifyWhitespace: true, minifySyntax: true };
  return buildSync({ entryPoints: [entry], write: false, ...how }).outputFiles[0].text;
}

/** The script as esbuild prints it, with less white space. */
function script() {
  const { code } = transformSync(bundle("src/widget.ts"), { charset: "utf8" });
  // No string in the sources runs over a line, so white space at the beginning of a line is indentation. Nearly all stands in a
  // class or a function: that level is left out. A block of one statement stands in a line.
  return code
    .replaceAll("/* @__PURE__ */ ", "")
    .replace(/^( {2})+/gm, (indent) => "\t".repeat(indent.length / 2))
    .replace(/\{\n\t+([^\n{}]{0,120})\n\t*\}/g, (_, inside) => `{${inside.replace(/;$/, "")}}`)
    .replace(/var widget_default = (.*);\nexport .*/, "export default $1;")
    .replace(/^\t/gm, "");
}

/** The style sheet, a rule a line. */
function style() {
  return bundle("src/widget.css")
    .trim()
    .replace(/\}(?!$)/g, "}\n")
    .concat("\n");
}

let total = 0;
for (const [name, text] of [
  ["widget.js", BANNER + script()],
  ["widget.css", BANNER + style()],
]) {
  writeFileSync(new URL(name, OUT), text);
  total += Buffer.byteLength(text);
  console.log(`${name} ${Buffer.byteLength(text)} bytes`);
}
if (total > LIMIT) throw new Error(`script and style sheet must stay under ${LIMIT} bytes together, they are ${total}`);
