import assert from "node:assert/strict";
import { test } from "node:test";
import { kept, Tree } from "../src/tree";
import type { Step, View } from "../src/wire";
import { running, step, steps, view } from "./host";

const agent = (id: number, more: Partial<Step> = {}) => running(id, { kind: "agent", ...more });

const CASES: [name: string, steps: Step[], opened: number[], live: number[]][] = [
  ["no steps, no window", [], [], []],
  ["the newest rows are in the window", steps(9), [], [5, 6, 7, 8]],
  ["a row that runs stays in the window", [running(0), ...steps(9).slice(1)], [], [0, 5, 6, 7, 8]],
  [
    "many parallel calls are all in the window",
    Array.from({ length: 9 }, (_, id) => running(id)),
    [],
    [0, 1, 2, 3, 4, 5, 6, 7, 8],
  ],
  [
    "no more than twelve rows are kept for running",
    Array.from({ length: 15 }, (_, id) => running(id)),
    [],
    [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14],
  ],
  ["a row that the reader opened stays in the window", steps(9), [1], [1, 5, 6, 7, 8]],
  [
    "a running agent shows its newest rows",
    [agent(0), ...[1, 2, 3, 4, 5, 6].map((id) => step(id, { parent: 0 }))],
    [],
    [0, 3, 4, 5, 6],
  ],
  ["a finished agent is one row", [step(0, { kind: "agent" }), step(1, { parent: 0 }), step(2)], [], [0, 2]],
  [
    "a row opened under a finished agent is shown with it",
    [step(0, { kind: "agent" }), step(1, { parent: 0 }), step(2)],
    [1],
    [0, 1, 2],
  ],
  [
    "a row that runs deep down is shown with all it stands under",
    [step(0), agent(1), agent(2, { parent: 1 }), running(3, { parent: 2 })],
    [],
    [0, 1, 2, 3],
  ],
];

for (const [name, rows, opened, live] of CASES) {
  test(name, () => {
    const tree = new Tree();
    tree.reset(rows, () => 0);
    assert.deepEqual(tree.live(view({ steps: rows }), opened), live);
  });
}

test("a window of no rows shows only what runs", () => {
  const rows = [...steps(3), running(3)];
  const tree = new Tree();
  tree.reset(rows, () => 0);
  assert.deepEqual(tree.live(view({ steps: rows, live_steps: 0 }), []), [3]);
});

test("a row that ends leaves the running ones", () => {
  const tree = new Tree();
  tree.set(running(0), () => 7);
  assert.deepEqual([...tree.running], [[0, 7]]);
  tree.set(step(0), () => 9);
  assert.equal(tree.running.size, 0);
});

const bad = { state: "failed" } as const;
const KEPT: [name: string, view: Partial<View>, opened: number[], kept: number[]][] = [
  ["a run that went well keeps nothing", { outcome: "answered", steps: [step(0, bad)] }, [], []],
  [
    "a run that failed keeps the newest rows that failed",
    { outcome: "failed", steps: [0, 1, 2, 3, 4].map((id) => step(id, bad)) },
    [],
    [1, 2, 3, 4],
  ],
  ["with what they stand under", { outcome: "failed", steps: [step(0), step(1), step(2, { parent: 1, ...bad })] }, [], [1, 2]],
  ["a run that was stopped keeps them too", { outcome: "cancelled", steps: [step(0, bad), step(1)] }, [], [0]],
  ["a row opened for reading is kept", { outcome: "answered", steps: steps(3) }, [1], [1]],
];
for (const [name, more, opened, expected] of KEPT) {
  test(`when the block folds, ${name}`, () => assert.deepEqual(kept(view(more), opened), expected));
}
