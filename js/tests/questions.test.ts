import "./page";
import assert from "node:assert/strict";
import { test } from "node:test";
import widget from "../src/widget";
import type { Action, Question, View } from "../src/wire";
import { Host, running } from "./host";
import { pass, place } from "./page";

const ROLL: Question = { id: "a", text: "Roll back?", choices: ["Roll back", "Keep it"], words: false };
const WHY: Question = { id: "b", text: "And why?\nIn two lines.", choices: [], words: true };
const waiting = {
  clock: "stopped",
  title: "Waiting on you",
  status_line: "Waiting on you: Roll back?",
  stop: "ready",
} as const;

function show(more: Partial<View> = {}) {
  const host = new Host(more);
  const controller = new AbortController();
  widget.initialize({ model: host.model, signal: controller.signal });
  const el = place();
  widget.render({ model: host.model, el, signal: controller.signal });
  const find = (selector: string) => el.querySelector(selector) as HTMLElement;
  const all = (selector: string) => [...el.querySelectorAll<HTMLElement>(selector)];
  return {
    host,
    el,
    find,
    stop: () => find(".ac-stop"),
    title: () => find(".ac-title").textContent,
    boxes: () => all("fieldset") as HTMLFieldSetElement[],
    labels: () => all("fieldset button").map((one) => one.textContent),
    press: (label: string) =>
      all("button")
        .find((one) => one.textContent === label)
        ?.click(),
    field: () => find("fieldset input") as HTMLInputElement,
    /** What was sent of these types, without the ids. */
    sent: (...types: Action["type"][]) =>
      host.sent.filter(({ type }) => types.includes(type)).map((action) => ({ ...action, id: "" })),
    end: () => controller.abort(),
  };
}

test("a view says that it is there, and that it left, under one name of its own", () => {
  const page = show();
  const other = place();
  const leave = widget.render({ model: page.host.model, el: other });
  const [one, two] = page.sent("hello") as { view: string }[];
  assert.ok(one?.view);
  assert.notEqual(one?.view, two?.view);
  leave();
  assert.deepEqual(page.sent("left"), [{ type: "left", id: "", view: two?.view }]);
  page.end();
});

test("Stop shows only where a click would reach Python", () => {
  const page = show();
  assert.equal(page.stop().hidden, true);
  page.host.patch({ header: { stop: "ready" } });
  assert.equal(page.stop().hidden, false);
  assert.equal(page.stop().tagName, "BUTTON");
  assert.equal(page.stop().textContent, "■ Stop");
  page.host.patch({ header: { status: "complete", clock: "stopped", stop: "none", title: "Thought for 1s" } });
  assert.equal(page.stop().hidden, true);
  page.end();
});

test("a press says at once that the run is stopping, and another one interrupts", () => {
  const page = show({ stop: "ready" });
  page.stop().click();
  assert.equal(page.title(), "Stopping…");
  assert.equal(page.stop().textContent, "■ Interrupt");
  pass(1000);
  assert.equal(page.title(), "Stopping…");
  page.stop().click();
  assert.deepEqual(
    page.sent("stop"),
    [false, true].map((again) => ({ type: "stop", id: "", again })),
  );
  assert.equal(page.host.kernel.sent.length, 3, "the hello and both presses went by the control channel, too");
  page.end();
});

test("a second tab shows that the run is stopping", () => {
  const page = show({ stop: "ready" });
  page.host.patch({ header: { stop: "stopping" } });
  assert.equal(page.title(), "Stopping…");
  page.stop().click();
  assert.deepEqual(page.sent("stop"), [{ type: "stop", id: "", again: true }]);
  page.end();
});

test("the second press of a double click does nothing", () => {
  const page = show({ stop: "ready" });
  for (const detail of [1, 2]) page.stop().dispatchEvent(new window.MouseEvent("click", { detail }));
  assert.deepEqual(page.sent("stop"), [{ type: "stop", id: "", again: false }]);
  page.end();
});

test("a lost kernel has no buttons", () => {
  const page = show({ ...waiting, questions: [ROLL] });
  page.host.manager.kernel = null;
  pass(1250);
  assert.equal(page.title(), "Kernel lost");
  assert.equal(page.stop().hidden, true);
  assert.equal(page.find(".ac-asks").hidden, true);
  page.host.manager.kernel = page.host.kernel;
  page.host.beat(1);
  assert.equal(page.stop().hidden, false);
  assert.equal(page.find(".ac-asks").hidden, false);
  page.end();
});

test("a question has a button for each choice, and answers by its number", () => {
  const page = show({ ...waiting, questions: [ROLL], steps: [running(0, { text: "Waiting on you: Roll back?" })] });
  assert.equal(page.find("legend").textContent, "Roll back?");
  assert.deepEqual(page.labels(), ["Roll back", "Keep it"]);
  assert.equal(page.field(), null);
  page.press("Keep it");
  assert.deepEqual(page.sent("answer"), [{ type: "answer", id: "", question: "a", choice: 1, text: "" }]);
  assert.equal(page.boxes()[0]?.disabled, true, "it is answered once");
  assert.ok(document.activeElement === page.find(".ac-head"), "the focus stays in the run");
  page.host.patch({ header: { questions: [], clock: "running", title: "Reasoning" } });
  assert.deepEqual(page.boxes(), []);
  page.end();
});

test("a question in words has a field, which Send and Enter send", () => {
  const page = show({ ...waiting, questions: [WHY] });
  assert.deepEqual(page.labels(), ["Send"]);
  page.press("Send");
  assert.deepEqual(page.sent("answer"), [], "nothing is no answer");
  const key = (init: object) => page.field().dispatchEvent(new window.KeyboardEvent("keydown", { ...init, cancelable: true }));
  page.field().value = "because";
  assert.ok(key({ key: "a" }));
  assert.ok(key({ key: "Enter", isComposing: true }));
  assert.deepEqual(page.sent("answer"), [], "Enter that chooses a word for what was typed sends nothing");
  assert.ok(!key({ key: "Enter" }), "the same press does not fold the block, whose header has the focus now");
  assert.deepEqual(page.sent("answer"), [{ type: "answer", id: "", question: "b", choice: null, text: "because" }]);
  page.end();
});

test("no key is kept from the field", () => {
  const page = show({ ...waiting, questions: [WHY] });
  for (const key of ["a", "Enter"]) {
    const event = new window.KeyboardEvent("keydown", { key, cancelable: true });
    page.field().dispatchEvent(event);
    assert.equal(event.defaultPrevented, false);
  }
  page.end();
});

test("choices and words go together", () => {
  const page = show({ ...waiting, questions: [{ ...ROLL, words: true }] });
  assert.deepEqual(page.labels(), ["Roll back", "Keep it", "Send"]);
  page.end();
});

test("several questions are answered apart, and what has been typed stays when another is answered", () => {
  const page = show({ ...waiting, questions: [ROLL, WHY] });
  page.field().value = "half an ans";
  const field = page.field();
  page.press("Roll back");
  page.host.patch({ header: { questions: [WHY, { ...ROLL, id: "c", text: "Sure?" }] } });
  assert.ok(page.field() === field);
  assert.equal(page.field().value, "half an ans");
  assert.deepEqual(
    page.boxes().map((box) => box.querySelector("legend")?.textContent),
    ["And why?\nIn two lines.", "Sure?"],
  );
  page.end();
});

test("questions are text, whatever they look like", () => {
  const page = show({ ...waiting, questions: [{ ...ROLL, text: "<b>x</b>", choices: ["<i>y</i>"] }] });
  assert.equal(page.find("fieldset b, fieldset i"), null);
  assert.deepEqual(page.labels(), ["<i>y</i>"]);
  page.end();
});
