import assert from "node:assert/strict";
import { test } from "node:test";
import { applyPatch } from "../src/patch";
import type { Patch, View } from "../src/wire";
import { step, view } from "./host";

type Case = [name: string, before: Partial<View>, patch: Patch, after: Partial<View>, changed: object];

const CASES: Case[] = [
  ["an empty patch changes nothing", {}, {}, {}, {}],
  [
    "a header sets only its own keys",
    { title: "Reasoning" },
    { header: { facts: "2 tools", outcome: null } },
    { title: "Reasoning", facts: "2 tools" },
    {},
  ],
  ["the next id appends a step", { steps: [step(0)] }, { steps: [step(1)] }, { steps: [step(0), step(1)] }, { steps: [1] }],
  [
    "a known id sets a step again",
    { steps: [step(0), step(1)] },
    { steps: [step(0, { text: "new" })] },
    { steps: [step(0, { text: "new" }), step(1)] },
    { steps: [0] },
  ],
  [
    "HTML grows a body",
    { steps: [step(0, { body: "a" })] },
    { texts: [{ id: 0, html: "&lt;b" }] },
    { steps: [step(0, { body: "a&lt;b" })] },
    { texts: new Map([[0, "&lt;b"]]) },
  ],
  [
    "two texts for one step come in order",
    { steps: [step(0)] },
    {
      texts: [
        { id: 0, html: "a" },
        { id: 0, html: "b" },
      ],
    },
    { steps: [step(0, { body: "ab" })] },
    { texts: new Map([[0, "ab"]]) },
  ],
  [
    "text for a step of the same patch is part of that step",
    {},
    { steps: [step(0)], texts: [{ id: 0, html: "a" }] },
    { steps: [step(0, { body: "a" })] },
    { steps: [0] },
  ],
  [
    "the next id appends a block",
    { blocks: ["<p>a</p>"] },
    { blocks_added: ["<p>b</p>"] },
    { blocks: ["<p>a</p>", "<p>b</p>"] },
    { blocks: [1] },
  ],
  [
    "a block keeps its beginning",
    { blocks: ["<p>ab</p>"] },
    { blocks: [{ id: 0, keep: 5, html: "cd</p>" }] },
    { blocks: ["<p>abcd</p>"] },
    { blocks: [0] },
  ],
  [
    "keep counts UTF-16 units, two for a face",
    { blocks: ["😀é日x"] },
    { blocks: [{ id: 0, keep: 4, html: "y" }] },
    { blocks: ["😀é日y"] },
    { blocks: [0] },
  ],
  [
    "the blocks are cut before they are set",
    { blocks: ["a", "b", "c"] },
    { blocks_count: 2, blocks: [{ id: 0, keep: 0, html: "d" }], blocks_added: ["e"] },
    { blocks: ["d", "b", "e"] },
    { blocks: [0, 2] },
  ],
  ["blocks can all go", { blocks: ["a", "b"] }, { blocks_count: 0 }, { blocks: [] }, {}],
  ["a count above what is there leaves no holes", { blocks: ["a"] }, { blocks_count: 3 }, { blocks: ["a"] }, {}],
];

for (const [name, before, patch, after, changed] of CASES) {
  test(name, () => {
    const state = view(structuredClone(before));
    const { steps, blocks } = state;
    const change = applyPatch(state, structuredClone(patch));
    assert.deepEqual(state, view(after));
    assert.deepEqual(change, { steps: [], texts: new Map(), blocks: [], ...changed });
    assert.equal(state.steps, steps, "the array is the one the host's model holds");
    assert.equal(state.blocks, blocks);
  });
}

const MISFITS: [string, Patch][] = [
  ["a step beyond the next", { steps: [step(1)] }],
  ["text for a step that is not there", { texts: [{ id: 0, html: "a" }] }],
  ["a block that is not there", { blocks: [{ id: 1, keep: 0, html: "" }] }],
  ["a block that keeps more than there is", { blocks: [{ id: 0, keep: 1, html: "" }] }],
];

for (const [name, patch] of MISFITS) {
  test(`${name} does not fit`, () => assert.throws(() => applyPatch(view(), patch), RangeError));
}
