import "./page";
import assert from "node:assert/strict";
import { test } from "node:test";
import { lastSeen } from "../src/lost";
import type { Outputs } from "../src/model";
import { Store } from "../src/store";
import type { View } from "../src/wire";
import { Host, running, step, steps } from "./host";
import { pass } from "./page";

/** What is left of a run that is shown, as HTML and as text. */
function left(more: Partial<View>): [html: string, text: string] {
  const host = new Host({ elapsed_seconds: 12, ...more });
  const store = new Store(host.model);
  host.emit("comm_live_update", undefined);
  const { data, ...rest } = lastSeen(store) as { data: Record<string, string> };
  store.dispose();
  assert.deepEqual(rest, { output_type: "display_data", metadata: {} });
  return [data["text/html"] ?? "", data["text/plain"] ?? ""];
}

/** A host in whose notebook one output shows the run; what is put in its place comes into `put`. */
function inNotebook(more: Partial<View> = {}) {
  const host = new Host({ elapsed_seconds: 12, steps: steps(1), ...more });
  const put: unknown[] = [];
  const outputs: Outputs = {
    toJSON: () => (put.length ? [] : [{ data: { "application/vnd.jupyter.widget-view+json": { model_id: "run-1" } } }]),
    set: (_, output) => void put.push(output),
  };
  Object.assign(host.manager, { context: { model: { cells: [{ outputs }], dirty: false } } });
  const store = new Store(host.model);
  store.add({ update: () => {}, tick: () => {} });
  return { host, store, put };
}

test("title, rows in their places, what came of them, and the answer so far", () => {
  const [html, text] = left({
    steps: [
      step(0, { text: "Reading `log`", kind: "note" }),
      running(1, { kind: "agent", text: "researcher", started: 2 }),
      step(2, { parent: 1, text: "Searching", detail: "Found 2 notes", body: "<dl><dt>in</dt></dl>" }),
    ],
    blocks: ["<p>So far.</p>\n", "<p>And more.</p>"],
  });
  const rows = [
    "<li>Reading <code>log</code> — 1.2s</li>",
    "<li>researcher — 10s<ul><li><details><summary>Searching — Found 2 notes · 1.2s</summary>",
    "<div><dl><dt>in</dt></dl></div></details></li></ul></li>",
  ];
  const answer = "<div><p>So far.</p>\n<p>And more.</p></div>";
  const marks = '<div class="agentcell-snapshot mathjax_ignore tex2jax_ignore">';
  assert.equal(html, `${marks}<b>Kernel lost · last seen at 12s</b><ul>${rows.join("")}</ul>${answer}</div>`);
  assert.deepEqual(text.split("\n"), [
    "Kernel lost · last seen at 12s",
    "  • Reading `log` — 1.2s",
    "  • researcher — 10s",
    "  • Searching — Found 2 notes · 1.2s",
    "",
    "So far.",
    "And more.",
  ]);
});

test("what rows say is text", () => {
  const [html] = left({ steps: [step(0, { text: "<img src=x onerror=a()>", detail: '"<script>"' })] });
  assert.ok(html.includes('&lt;img src=x onerror=a()&gt; — "&lt;script&gt;" · 1.2s'));
});

test("of many rows the newest are left, and of long bodies the first", () => {
  const body = "x".repeat(50_000);
  const rows = steps(600).map((row) => ({ ...row, body, parent: row.id ? 0 : null }));
  const [html] = left({ steps: rows });
  assert.deepEqual(
    [...html.matchAll(/step (\d+)/g)].map((found) => Number(found[1])),
    rows.slice(100).map(({ id }) => id),
  );
  assert.equal(html.split(body).length - 1, 2);
});

const ENDS: [name: string, end: (host: Host) => unknown][] = [
  ["restarts, as the model says", (host) => host.emit("comm_live_update", undefined)],
  ["was shut down", (host) => Object.assign(host.manager, { kernel: null })],
  ["is dead", (host) => Object.assign(host.kernel, { status: "dead" })],
  ["is restarted by itself", (host) => Object.assign(host.kernel, { status: "autorestarting" })],
];
for (const [name, end] of ENDS) {
  test(`a kernel that ${name} leaves in the notebook what was seen, once`, () => {
    const { host, store, put } = inNotebook();
    pass(2000);
    assert.equal(put.length, 0);
    end(host);
    pass(5000);
    assert.equal(put.length, 1);
    assert.match(JSON.stringify(put), /Kernel lost.*step 0/);
    store.dispose();
  });
}

test("a kernel that was silent and then ends leaves it, too", () => {
  const { host, store, put } = inNotebook();
  pass(30_000);
  assert.equal(store.lost, true);
  assert.equal(put.length, 0);
  host.kernel.status = "dead";
  pass(1000);
  assert.equal(put.length, 1);
  store.dispose();
});

test("a kernel that is out of reach may come back, and one that ends after its run has nothing to leave", () => {
  for (const [more, lose] of [
    [{}, { connectionStatus: "connecting" }],
    [{}, { connectionStatus: "disconnected" }],
    [{}, { status: "terminating" }],
    [{ status: "complete", clock: "stopped", outcome: "answered" }, { status: "dead" }],
  ] as const) {
    const { host, store, put } = inNotebook(more);
    Object.assign(host.kernel, lose);
    pass(30_000);
    if ("status" in more) host.emit("comm_live_update", undefined);
    assert.equal(put.length, 0);
    store.dispose();
  }
});

test("a notebook that was opened without its kernel stays as it is", () => {
  const { host, store, put } = inNotebook();
  store.cutOff(); // as the view does for a model that was made from a file
  host.manager.kernel = null;
  pass(5000);
  assert.equal(store.lost, true);
  assert.equal(put.length, 0);
  store.dispose();
});
