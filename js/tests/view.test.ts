import "./page";
import assert from "node:assert/strict";
import { test } from "node:test";
import widget from "../src/widget";
import type { HelloAction, LeftAction, View } from "../src/wire";
import { Host, running, step, steps } from "./host";
import { pass, place, settled, stall } from "./page";

/** A run on the page, as anywidget puts it there, and ways to look at it. */
function show(more: Partial<View> = {}) {
  const host = new Host(more);
  const controller = new AbortController();
  widget.initialize({ model: host.model, signal: controller.signal });
  const el = place();
  widget.render({ model: host.model, el, signal: controller.signal });
  return { host, el, end: () => controller.abort(), ...eyes(el) };
}

function eyes(el: HTMLElement) {
  const find = (selector: string) => el.querySelector<HTMLElement>(selector) as HTMLElement;
  return {
    find,
    state: () => find(".agentcell").dataset.state,
    head: () => find(".ac-head"),
    title: () => `${find(".ac-title").textContent}${find(".ac-time").textContent}`,
    line: () => find(".ac-line"),
    expanded: () => find(".ac-head").getAttribute("aria-expanded"),
    rows: () => [...el.querySelectorAll<HTMLElement>("li")].map((row) => row.querySelector(".ac-text")?.textContent),
    row: (id: number) => find(`[data-row="${id}"]`),
    time: (id: number) => find(`[data-row="${id}"] .ac-faint`).textContent?.trim(),
  };
}

const ended = { status: "complete", clock: "stopped", outcome: "answered" } as const;
const html = "<pre>out</pre>";

test("while it runs the header shows the time thought, and it ticks", () => {
  const page = show({ elapsed_seconds: 9, facts: "2 tools" });
  assert.equal(page.title(), "Reasoning · 9s");
  assert.equal(page.state(), "running");
  pass(1000);
  assert.equal(page.title(), "Reasoning · 10s");
  page.host.beat(60);
  pass(250);
  assert.equal(page.title(), "Reasoning · 1m 0s");
  page.end();
});

const HEADERS: [name: string, view: Partial<View>, state: string, title: string][] = [
  [
    "answered",
    { ...ended, title: "Thought for 12s", facts: "4 tools · 3.1k tokens" },
    "answered",
    "Thought for 12s · 4 tools · 3.1k tokens",
  ],
  ["answered without facts", { ...ended, title: "Thought for 12s" }, "answered", "Thought for 12s"],
  ["the answer streams", { status: "collapsed", clock: "stopped", title: "Thought for 12s" }, "collapsed", "Thought for 12s"],
  [
    "waiting on the person",
    { clock: "stopped", elapsed_seconds: 41.5, title: "Waiting on you" },
    "waiting",
    "Waiting on you · 41s thought so far",
  ],
  [
    "failed",
    { ...ended, outcome: "failed", title: "Failed after 8s", facts: "2 tools" },
    "failed",
    "Failed after 8s · 2 tools",
  ],
];
for (const [name, more, state, title] of HEADERS) {
  test(`header, ${name}: ${title}`, () => {
    const page = show(more);
    assert.equal(page.state(), state);
    assert.equal(page.title(), title);
    page.end();
  });
}

test("a lost kernel stops the clocks and says when it was last seen; the next message brings the run back", () => {
  const page = show({ elapsed_seconds: 47, status_line: "Working", steps: [running(0, { started: 45 })] });
  pass(750);
  page.host.manager.kernel = null;
  pass(3000);
  assert.equal(page.title(), "Kernel lost · last seen at 47s");
  assert.equal(page.line().textContent, "No answer from the kernel");
  assert.equal(page.time(0), "2s", "the row has counted no further, too");
  assert.equal(page.state(), "lost");
  page.host.manager.kernel = page.host.kernel;
  page.host.beat(50);
  assert.equal(page.title(), "Reasoning · 50s");
  assert.equal(page.line().textContent, "Working");
  page.end();
});

test("a view that is made from a file alone is lost at once", () => {
  const host = new Host({ elapsed_seconds: 47 });
  const controller = new AbortController();
  widget.initialize({ model: host.model, signal: controller.signal });
  const el = place();
  el.className = "jupyter-widgets-disconnected";
  widget.render({ model: host.model, el, signal: controller.signal });
  assert.equal(eyes(el).title(), "Kernel lost · last seen at 47s");
  pass(60_000);
  assert.equal(eyes(el).title(), "Kernel lost · last seen at 47s");
  controller.abort();
});

test("the line of what goes on is the only live region, and marks code", () => {
  const page = show({ status_line: "Working on `search_notes` — <b>page</b> 2" });
  assert.equal(page.el.querySelectorAll("[aria-live], [role=status]").length, 1);
  assert.equal(page.line().getAttribute("aria-live"), "polite");
  assert.equal(page.line().innerHTML, "Working on <code>search_notes</code> — &lt;b&gt;page&lt;/b&gt; 2");
  const node = page.line().firstChild;
  page.host.patch({ header: { facts: "1 tool" } });
  pass(1000);
  assert.equal(page.line().firstChild, node, "it speaks only when it changes");
  page.host.patch({ header: { status_line: "" } });
  assert.equal(page.line().textContent, "");
  page.end();
});

test("why a run ended without an answer stands below the header", () => {
  const page = show({
    ...ended,
    outcome: "failed",
    title: "Failed after 8s",
    sentence: "RateLimitError: 429",
    steps: steps(3),
  });
  assert.equal(page.line().textContent, "RateLimitError: 429");
  assert.equal(page.expanded(), "false");
  page.end();
});

test("the block folds in the moment in which the answer starts, and opens when it reasons again", () => {
  const page = show({ steps: steps(2) });
  assert.equal(page.expanded(), "true");
  assert.deepEqual(page.rows(), ["step 0", "step 1"]);
  page.host.patch({ header: { status: "collapsed" }, blocks_added: ["<p>So</p>"] });
  assert.equal(page.expanded(), "false");
  assert.deepEqual(page.rows(), []);
  assert.equal(page.find(".ac-answer").innerHTML, '<div class="ac-block"><p>So</p></div>');
  page.host.patch({ header: { status: "reasoning" }, blocks_count: 0, steps: [step(2)] });
  assert.equal(page.expanded(), "true");
  assert.deepEqual(page.rows(), ["step 0", "step 1", "step 2"]);
  assert.equal(page.find(".ac-answer").hidden, true);
  page.end();
});

test("what the reader folded stays folded, what the reader opened stays open", () => {
  const page = show({ steps: steps(2) });
  page.head().click();
  assert.equal(page.expanded(), "false");
  page.host.patch({ steps: [step(2)] });
  assert.equal(page.expanded(), "false");
  page.head().click();
  page.host.patch({ header: { status: "collapsed" } });
  page.host.patch({ header: ended });
  assert.equal(page.expanded(), "true");
  assert.equal(page.rows().length, 3);
  assert.deepEqual(
    page.host.sent.filter(({ type }) => type === "open").map((action) => ({ ...action, id: "" })),
    [false, true].map((open) => ({ type: "open", id: "", row: null, open })),
  );
  page.end();
});

test("a run that failed keeps its failed rows in sight, and opens to all", () => {
  const bad = { state: "failed", text: "query failed" } as const;
  const page = show({ ...ended, outcome: "failed", title: "Failed after 8s", steps: [step(0), step(1, bad), step(2)] });
  assert.deepEqual(page.rows(), ["query failed"]);
  page.head().click();
  assert.deepEqual(page.rows(), ["step 0", "query failed", "step 2"]);
  page.head().click();
  assert.deepEqual(page.rows(), []);
  page.end();
});

test("a row that is open for reading stays in sight when the block folds by itself", () => {
  const page = show({ steps: [...steps(8), step(8, { body: html })] });
  page.row(8).click();
  const body = page.find(".ac-body");
  page.host.patch({ header: { status: "collapsed" } });
  assert.equal(page.expanded(), "false");
  assert.deepEqual(page.rows(), ["step 8"]);
  assert.equal(page.find(".ac-body").innerHTML, body.innerHTML);
  page.row(8).click();
  assert.deepEqual(page.rows(), []);
  page.end();
});

test("while it runs only the newest rows are there, and a button shows the earlier ones", () => {
  const page = show({ steps: [running(0), ...steps(17).slice(1)] });
  assert.deepEqual(page.rows(), ["step 0", "step 13", "step 14", "step 15", "step 16"]);
  const earlier = page.find(".ac-earlier");
  assert.equal(earlier.textContent, "12 earlier steps");
  page.host.patch({ steps: [step(0), step(17)] });
  assert.deepEqual(page.rows(), ["step 14", "step 15", "step 16", "step 17"]);
  assert.equal(earlier.textContent, "14 earlier steps");
  earlier.click();
  assert.equal(page.rows().length, 18);
  assert.equal(earlier.hidden, true);
  page.host.patch({ steps: [step(18)] });
  assert.equal(page.rows().length, 19);
  page.end();
});

test("rows stand in order also when one of them comes back into the window", () => {
  const page = show({ steps: Array.from({ length: 15 }, (_, id) => running(id)) });
  assert.equal(page.rows()[0], "step 3");
  page.host.patch({ steps: [step(9)] });
  assert.equal(page.rows()[0], "step 2");
  assert.equal(page.rows().at(-1), "step 14");
  page.end();
});

test("rows stand under their parent, a hundred to a group", () => {
  const nested = Array.from({ length: 250 }, (_, at) => step(at + 1, { parent: 0 }));
  const page = show({ expand: "open", steps: [step(0, { kind: "agent" }), ...nested] });
  const groups = [...page.find("li .ac-under").children];
  assert.deepEqual(
    groups.map((group) => group.childElementCount),
    [100, 100, 50],
  );
  assert.deepEqual(
    groups.map((group) => group.classList.contains("ac-full")),
    [true, true, false],
  );
  page.end();
});

test("thousands of rows are made in slices, so that the page never stands still for long", () => {
  const slow = (id: number) =>
    Object.defineProperty(step(id), "text", {
      get: () => {
        stall(1);
        return `step ${id}`;
      },
    });
  const page = show({ expand: "open", steps: Array.from({ length: 1000 }, (_, id) => slow(id)) });
  const first = page.rows().length;
  assert.ok(first > 50 && first < 250, `${first} rows at once`);
  page.host.patch({ steps: [step(first + 300, { detail: "later" })] });
  for (let slice = 0; slice < 20; slice++) pass(250);
  assert.deepEqual(
    page.rows(),
    steps(1000).map(({ text }) => text),
  );
  page.end();
});

test("a row shows its detail and time; a running one ticks with the clock", () => {
  const page = show({
    steps: [step(0, { detail: "sub-agent", elapsed: 31 }), step(1, { elapsed: 0.81 }), step(2, { elapsed: 0 }), running(3)],
    elapsed_seconds: 0.5,
  });
  assert.equal(page.time(0), "sub-agent · 31s");
  assert.equal(page.time(1), "0.8s");
  assert.equal(page.time(2), "");
  assert.equal(page.time(3), "");
  pass(1000);
  assert.equal(page.time(3), "1s");
  page.host.patch({ steps: [step(3, { elapsed: 1.62 })] });
  pass(1000);
  assert.equal(page.time(3), "1.6s");
  page.end();
});

test("the text of a row is text, whatever it holds", () => {
  const page = show({ steps: [step(0, { text: "<img src=x onerror=alert(1)>", detail: "<i>" })], task: '"><b>' });
  assert.equal(page.el.querySelector("img, b, .ac-row i"), null);
  assert.equal(page.rows()[0], "<img src=x onerror=alert(1)>");
  assert.equal(page.head().title, '"><b>', "of several runs, one tells by it which is which");
  page.end();
});

test("a row without a body is no button; one with a body has it in the page only while it is open", () => {
  const page = show({ steps: [step(0), step(1, { body: html })] });
  assert.equal(page.row(0).tagName, "DIV");
  assert.equal(page.row(1).tagName, "BUTTON");
  assert.equal(page.row(1).getAttribute("aria-expanded"), "false");
  assert.equal(page.el.querySelector("pre"), null);
  page.row(1).click();
  assert.equal(page.row(1).getAttribute("aria-expanded"), "true");
  assert.equal(page.find(".ac-body").innerHTML, html);
  page.row(1).click();
  assert.equal(page.row(1).getAttribute("aria-expanded"), "false");
  assert.equal(page.el.querySelector("pre"), null);
  page.end();
});

test("an open row follows its step, and its nodes stay while nothing changes", () => {
  const page = show({ steps: [running(0, { body: html })] });
  page.row(0).click();
  const before = page.find("pre");
  page.host.patch({ steps: [running(0, { body: html, detail: "page 2" })] });
  assert.equal(page.find("pre"), before);
  page.host.patch({ steps: [step(0, { body: "<pre>all</pre>" })] });
  assert.equal(page.find(".ac-body").innerHTML, "<pre>all</pre>");
  page.host.patch({ steps: [step(0, { body: "" })] });
  assert.equal(page.row(0).tagName, "DIV");
  assert.equal(page.el.querySelector(".ac-body"), null);
  page.end();
});

test("thinking streams into its open body, and makes its row a button when it begins", () => {
  const page = show({ steps: [running(0, { kind: "thinking" })] });
  assert.equal(page.row(0).tagName, "DIV");
  page.host.patch({ texts: [{ id: 0, html: "first " }] });
  assert.equal(page.row(0).tagName, "BUTTON");
  page.row(0).click();
  const node = page.find(".ac-body").firstChild;
  page.host.patch({ texts: [{ id: 0, html: "a &lt; b" }] });
  page.host.patch({ texts: [{ id: 0, html: " &amp; c" }] });
  assert.equal(page.find(".ac-body").textContent, "first a < b & c");
  assert.equal(page.find(".ac-body").firstChild, node, "what was there is not drawn again");
  page.host.patch({ steps: [step(0, { kind: "thinking", body: "first a &lt; b &amp; c!" })] });
  assert.equal(page.find(".ac-body").textContent, "first a < b & c!");
  page.end();
});

test("only the blocks that changed are touched", () => {
  const page = show({ status: "collapsed", blocks: ["<p>a</p>", "<p>b</p>"] });
  const [first, second] = [...page.find(".ac-answer").children].map((block) => block.firstChild);
  page.host.patch({ blocks: [{ id: 1, keep: 4, html: "c</p>" }] });
  const blocks = [...page.find(".ac-answer").children];
  assert.equal(blocks[0]?.firstChild, first);
  assert.notEqual(blocks[1]?.firstChild, second);
  assert.equal(blocks[1]?.innerHTML, "<p>bc</p>");
  page.host.patch({ blocks_count: 1 });
  assert.equal(page.find(".ac-answer").children.length, 1);
  page.end();
});

test("a resync redraws what is different and keeps what the reader opened", async () => {
  const page = show({ steps: [step(0, { body: html }), step(1)], blocks: ["<p>a</p>"] });
  page.row(0).click();
  const [row, block] = [page.row(0), page.find(".ac-answer p")];
  page.host.update({
    seq: 8,
    steps: [step(0, { body: html }), step(1, { text: "new" }), step(2)],
    blocks: ["<p>a</p>", "<p>b</p>"],
  });
  await settled();
  assert.deepEqual(page.rows(), ["step 0", "new", "step 2"]);
  assert.equal(page.row(0), row);
  assert.equal(page.find(".ac-answer p"), block);
  assert.equal(page.find(".ac-body").innerHTML, html);
  assert.equal(page.find(".ac-answer").children.length, 2);
  page.end();
});

test("a late view shows what the first one shows, and both follow one reader", () => {
  const page = show({ steps: [step(0, { body: html })] });
  page.host.patch({ steps: [step(1)], header: { status_line: "on" } });
  const el = place();
  const end = widget.render({ model: page.host.model, el });
  const late = eyes(el);
  const same = () => assert.equal(el.innerHTML.replace(/ac-[\w-]{20,}/g, ""), page.el.innerHTML.replace(/ac-[\w-]{20,}/g, ""));
  same();
  late.row(0).click();
  assert.equal(page.find(".ac-body").innerHTML, html);
  same();
  page.head().click();
  assert.equal(late.expanded(), "false");
  page.host.patch({ header: { title: "Thinking" } });
  same();
  end();
  assert.equal(el.innerHTML, "");
  page.host.patch({ header: { facts: "on" } });
  page.end();
});

test("two models on one page do not mix", () => {
  const [one, two] = [show({ run_id: "one", title: "One" }), show({ run_id: "two", title: "Two" })];
  two.host.patch({ header: { title: "Three" } });
  assert.match(one.title(), /^One/);
  assert.match(two.title(), /^Three/);
  one.end();
  two.end();
});

test("nothing is left when the model goes: no listeners, no timers, no elements", () => {
  const page = show();
  page.host.patch({}, 5);
  page.end();
  assert.equal(page.host.listening, 0);
  assert.equal(page.el.innerHTML, "");
  const { length } = page.host.sent;
  pass(60_000);
  assert.equal(page.host.sent.length, length);
  assert.throws(() => widget.render({ model: page.host.model, el: place() }), /no open model/);
});

test("a view says when it comes and when it leaves, by one name", () => {
  const page = show();
  page.end();
  const [hello, left] = page.host.sent as (HelloAction | LeftAction)[];
  assert.equal(hello?.type, "hello");
  assert.equal(left?.type, "left");
  assert.equal(left?.view, hello?.view);
  const { view } = show().host.sent[0] as HelloAction;
  assert.notEqual(view, hello?.view);
});

test("without a signal, as before anywidget 0.11, the returned functions end it all", () => {
  const host = new Host();
  const close = widget.initialize({ model: host.model });
  const el = place();
  const leave = widget.render({ model: host.model, el });
  leave();
  assert.equal(el.innerHTML, "");
  close();
  assert.equal(host.listening, 0);
});

test("a header without steps opens nothing, and a run without a title has none", () => {
  const page = show({ status: "idle", clock: "stopped", title: "" });
  assert.equal(page.head().hidden, true);
  page.host.patch({ header: { title: "Reasoning", status: "reasoning" } });
  assert.equal(page.head().hidden, false);
  assert.equal((page.head() as HTMLButtonElement).disabled, true);
  page.host.patch({ steps: [step(0)] });
  assert.equal((page.head() as HTMLButtonElement).disabled, false);
  assert.equal(page.head().getAttribute("aria-controls"), page.find(".ac-steps").id);
  page.end();
});

const TRACE = "<details><summary>Tool trace</summary><ul><li>metrics → &lt;b&gt; points</li></ul></details>";

test("the trace is placed once, below the answer, and stays as the reader opened it", () => {
  const page = show({ blocks: ["<p>So</p>"] });
  assert.equal(page.el.querySelector("details"), null);
  page.host.patch({ header: ended, trace: TRACE });
  const panel = page.find("details") as HTMLDetailsElement;
  assert.equal(panel.outerHTML, TRACE);
  assert.equal(panel.parentElement?.previousElementSibling?.className, "ac-answer");
  assert.equal(page.host.now.trace, TRACE, "the host's model has it");
  panel.open = true;
  page.host.patch({ header: { facts: "1 tool" } });
  page.host.update({ facts: "2 tools", trace: `${TRACE}` });
  assert.equal(page.find("details"), panel);
  page.end();
});

test("a view that is drawn anew has open what the reader opened in the one before", () => {
  const host = new Host({ ...ended, trace: TRACE });
  const dispose = widget.initialize({ model: host.model });
  const place1 = place();
  const end = widget.render({ model: host.model, el: place1 });
  const panel = place1.querySelector("details") as HTMLDetailsElement;
  panel.open = true;
  panel.dispatchEvent(new (document.defaultView as unknown as typeof globalThis).Event("toggle"));
  end();
  const place2 = place();
  widget.render({ model: host.model, el: place2 });
  assert.equal((place2.querySelector("details") as HTMLDetailsElement).open, true);
  dispose();
});

test("a run without a trace has no panel", () => {
  const page = show({ ...ended, blocks: ["<p>So</p>"] });
  assert.equal(page.el.querySelector("details"), null);
  page.end();
});
