import "./page";
import assert from "node:assert/strict";
import { test } from "node:test";
import { Follow } from "../src/follow";

/** A list 100 px high that holds `height` px. */
function list(height: number): HTMLElement {
  const element = document.createElement("div");
  Object.defineProperties(element, {
    scrollHeight: { value: height, writable: true },
    clientHeight: { value: 100 },
    scrollTop: { value: 0, writable: true },
  });
  return element;
}

function scroll(element: HTMLElement, top: number): void {
  element.scrollTop = top;
  element.dispatchEvent(new (document.defaultView as unknown as typeof globalThis).Event("scroll"));
}

test("the list goes with its newest row", () => {
  const element = list(300);
  const follow = new Follow(element);
  follow.keep();
  assert.equal(element.scrollTop, 300);
});

test("it stays where the reader has scrolled to, and goes on when the reader is back at its end", () => {
  const element = list(300);
  const follow = new Follow(element);
  scroll(element, 40);
  follow.keep();
  assert.equal(element.scrollTop, 40);
  scroll(element, 195);
  follow.keep();
  assert.equal(element.scrollTop, 300);
});

test("opening a row does not scroll it away", () => {
  const element = list(90);
  const follow = new Follow(element);
  follow.pause(() => {
    Object.assign(element, { scrollHeight: 500 });
    follow.keep();
  });
  follow.keep();
  assert.equal(element.scrollTop, 0);
});
