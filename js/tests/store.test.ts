import "./page";
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Change } from "../src/patch";
import { Store } from "../src/store";
import type { View } from "../src/wire";
import { Host, running, step, steps } from "./host";
import { pass, settled } from "./page";

/** A store with somebody who watches it. */
function open(host: Host) {
  const store = new Store(host.model);
  const seen: (Change | null)[] = [];
  const update = (change: Change | null) => void seen.push(change);
  const watcher = { update, ticks: 0, tick: () => void watcher.ticks++ };
  store.add(watcher);
  return { store, seen, watcher };
}

const ended: Partial<View> = { status: "complete", clock: "stopped", outcome: "answered" };
const resyncs = (host: Host) => host.sent.filter(({ type }) => type === "resync").length;

test("a message that comes before any view is applied", () => {
  const host = new Host();
  const store = new Store(host.model);
  host.patch({ steps: [step(0)], header: { facts: "1 tool" } });
  assert.deepEqual(store.view.steps, [step(0)]);
  store.dispose();
});

test("the model is kept equal to what was applied, in the arrays that it holds", () => {
  const host = new Host();
  const { steps: rows, blocks } = host.now;
  const { store } = open(host);
  host.patch({ steps: [step(0)], header: { status_line: "on" }, blocks_added: ["<p>a</p>"] });
  host.patch({ blocks: [{ id: 0, keep: 4, html: "b</p>" }] });
  assert.equal(host.now.steps, rows);
  assert.equal(host.now.blocks, blocks);
  assert.deepEqual(host.now.steps, [step(0)]);
  assert.deepEqual(host.now.blocks, ["<p>ab</p>"]);
  assert.equal(host.now.status_line, "on");
  assert.equal(host.now.seq, 2);
  store.dispose();
});

test("what was applied here is not read again as if Python had set it", async () => {
  const host = new Host();
  const { store, seen } = open(host);
  host.patch({ header: { facts: "1 tool" } });
  await settled();
  assert.equal(seen.length, 1);
  store.dispose();
});

test("a patch of the past is left out", () => {
  const host = new Host({ seq: 5 });
  const { store, seen } = open(host);
  host.patch({ header: { facts: "old" } }, 5);
  host.patch({ header: { facts: "older" } }, 3);
  assert.equal(store.view.facts, "");
  assert.equal(seen.length, 0);
  assert.equal(resyncs(host), 0);
  store.dispose();
});

test("a gap asks once for everything, lets patches pass, and heals when the traits arrive", async () => {
  const host = new Host();
  const { store, seen } = open(host);
  host.patch({ steps: [step(0)] });
  host.patch({ steps: [step(2)] }, 3);
  host.patch({ steps: [step(3)] }, 4);
  assert.equal(resyncs(host), 1);
  assert.equal(host.kernel.sent.length, 1);
  assert.deepEqual(store.view.steps, [step(0)]);
  host.update({ seq: 4, steps: steps(4), title: "Reasoning" });
  await settled();
  assert.equal(seen.at(-1), null);
  assert.equal(store.view.steps.length, 4);
  host.patch({ steps: [step(4)] });
  assert.equal(store.view.steps.length, 5);
  pass(10_000);
  assert.equal(resyncs(host), 1);
  store.dispose();
});

test("a heartbeat that is ahead is a gap too", () => {
  const host = new Host();
  const { store } = open(host);
  host.beat(3, 2);
  assert.equal(resyncs(host), 1);
  store.dispose();
});

test("a resync without an answer is asked for again after two seconds, then less and less often", () => {
  const host = new Host();
  const { store } = open(host);
  host.patch({}, 2);
  pass(1750);
  assert.equal(resyncs(host), 1);
  pass(250);
  assert.equal(resyncs(host), 2);
  pass(4000);
  assert.equal(resyncs(host), 3);
  store.dispose();
  pass(60_000);
  assert.equal(resyncs(host), 3);
});

test("a patch that does not fit asks for everything", async (context) => {
  context.mock.method(console, "warn", () => {});
  const host = new Host();
  const { store } = open(host);
  host.patch({ steps: [step(7)] });
  assert.equal(resyncs(host), 1);
  host.update({ seq: 1, steps: steps(8) });
  await settled();
  host.patch({ steps: [step(8)] });
  assert.equal(store.view.steps.length, 9);
  store.dispose();
});

test("a patch right behind the traits is applied to the traits", () => {
  const host = new Host();
  const { store } = open(host);
  host.update({ seq: 6, steps: steps(2) });
  host.patch({ steps: [step(2)] }, 7);
  assert.deepEqual(store.view.steps, steps(3));
  assert.equal(resyncs(host), 0);
  store.dispose();
});

test("the reader's toggles survive a resync", async () => {
  const host = new Host({ steps: steps(9) });
  const { store } = open(host);
  store.openBlock(false);
  store.openRow(3, true);
  host.update({ seq: 9, steps: steps(20), status: "collapsed" });
  await settled();
  assert.equal(store.shown, "none");
  assert.deepEqual([...store.reader.rows], [3]);
  store.dispose();
});

test("what the reader opens and folds goes to Python", () => {
  const host = new Host({ steps: steps(2) });
  const { store } = open(host);
  store.openRow(1, true);
  store.openBlock(false);
  assert.deepEqual(
    host.sent.map((action) => ({ ...action, id: "" })),
    [
      { type: "open", id: "", row: 1, open: true },
      { type: "open", id: "", row: null, open: false },
    ],
  );
  store.dispose();
});

const auto: [name: string, view: Partial<View>, shown: string][] = [
  ["idle", { status: "idle" }, "live"],
  ["reasoning", {}, "live"],
  ["the answer streams", { status: "collapsed" }, "kept"],
  ["answered", ended, "kept"],
  ["failed", { ...ended, outcome: "failed" }, "kept"],
  ["always open, reasoning", { expand: "open" }, "all"],
  ["always open, answered", { expand: "open", ...ended }, "all"],
  ["always closed, reasoning", { expand: "closed" }, "none"],
  ["always closed, failed", { expand: "closed", ...ended, outcome: "failed" }, "none"],
];
for (const [name, more, shown] of auto) {
  test(`rows shown, ${name}: ${shown}; the reader's own toggle wins`, () => {
    const store = new Store(new Host(more).model);
    assert.equal(store.shown, shown);
    store.openBlock(false);
    assert.equal(store.shown, "none");
    store.openBlock(true);
    assert.equal(store.shown, "all");
    store.dispose();
  });
}

test("a running row counts from when it came, and from its start when it was there before", () => {
  const host = new Host({ elapsed_seconds: 10, steps: [running(0, { started: 4 })] });
  const { store } = open(host);
  assert.equal(store.rowSeconds(running(0)), 6);
  host.patch({ steps: [running(1, { started: 99 })] });
  pass(2000);
  assert.equal(store.rowSeconds(running(0)), 8);
  assert.equal(store.rowSeconds(running(1)), 2);
  host.patch({ steps: [running(1, { detail: "page 2" })] });
  assert.equal(store.rowSeconds(running(1)), 2);
  assert.equal(store.rowSeconds(step(1, { elapsed: 1.5 })), 1.5);
  store.dispose();
});

test("the timer runs while a run is under way and somebody watches, never else", () => {
  const host = new Host();
  const { store, watcher } = open(host);
  pass(1000);
  assert.equal(watcher.ticks, 4);
  host.patch({ header: { clock: "stopped", status: "collapsed" } });
  pass(1000);
  assert.equal(watcher.ticks, 4);
  host.patch({ header: { clock: "running", status: "reasoning" } });
  pass(1000);
  assert.equal(watcher.ticks, 8);
  store.remove(watcher);
  pass(1000);
  assert.equal(watcher.ticks, 8);
  store.dispose();
  assert.equal(host.listening, 0);
});

const GONE: [name: string, lose: (host: Host) => unknown][] = [
  ["was shut down", (host) => Object.assign(host.manager, { kernel: null })],
  ["is dead", (host) => Object.assign(host.kernel, { status: "dead" })],
  ["restarts", (host) => Object.assign(host.kernel, { status: "autorestarting" })],
  ["is out of reach", (host) => Object.assign(host.kernel, { connectionStatus: "connecting" })],
];
for (const [name, lose] of GONE) {
  test(`a kernel that ${name} is lost within a second`, () => {
    const host = new Host();
    const { store, seen, watcher } = open(host);
    host.beat(47);
    pass(2000);
    assert.equal(store.lost, false);
    const { ticks } = watcher;
    lose(host);
    pass(1000);
    assert.equal(store.lost, true);
    assert.equal(store.seen, 47);
    assert.equal(seen.length, 1);
    pass(5000);
    assert.ok(watcher.ticks < ticks + 4, "the clock stands still");
    store.dispose();
  });
}

test("a kernel is lost also while the answer streams and while it waits", () => {
  const host = new Host({ status: "collapsed", clock: "stopped" });
  const { store } = open(host);
  host.manager.kernel = null;
  pass(1000);
  assert.equal(store.lost, true);
  store.dispose();
});

test("a restart, of which the model tells, loses the run at once; a message brings it back", () => {
  const host = new Host();
  const { store, seen } = open(host);
  host.emit("comm_live_update", undefined);
  assert.equal(store.lost, true);
  host.beat(1);
  assert.equal(store.lost, false);
  assert.equal(seen.length, 2);
  store.dispose();
});

test("twenty seconds of silence lose the run, where nobody knows of a kernel", () => {
  const host = new Host();
  delete host.manager.kernel;
  const { store } = open(host);
  pass(19_000);
  host.beat(19);
  pass(20_000);
  assert.equal(store.lost, false);
  pass(1250);
  assert.equal(store.lost, true);
  store.dispose();
});

test("silence means nothing while the clock is stopped", () => {
  const host = new Host({ clock: "stopped" });
  const { store } = open(host);
  pass(60_000);
  assert.equal(store.lost, false);
  store.dispose();
});

test("a finished run is never lost", () => {
  const host = new Host(ended);
  const { store } = open(host);
  host.manager.kernel = null;
  host.emit("comm_live_update", undefined);
  pass(60_000);
  assert.equal(store.lost, false);
  store.dispose();
});

test("a host that throws when asked for its kernel is asked no further", () => {
  const host = new Host();
  Object.defineProperty(host.manager, "kernel", {
    get: () => {
      throw new Error("not for widgets");
    },
  });
  const { store } = open(host);
  pass(2000);
  assert.equal(store.lost, false);
  store.dispose();
});

test("messages of other kinds are let pass", () => {
  const host = new Host();
  const { store, seen } = open(host);
  host.emit("msg:custom", undefined);
  host.emit("msg:custom", { type: "other", seq: 1 });
  assert.equal(seen.length, 0);
  store.dispose();
});
