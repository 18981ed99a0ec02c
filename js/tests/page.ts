// A page without a browser, and a clock that moves only when a test says so. Import this first.

import { mock } from "node:test";
import { Window } from "happy-dom";

const window = new Window({ url: "http://127.0.0.1/" });
Object.assign(globalThis, { document: window.document, window });

let now = 0;
mock.method(performance, "now", () => now);
mock.timers.enable({ apis: ["setInterval", "setTimeout"] });

/** Lets so many milliseconds pass, with the timers that fall into them. */
export function pass(ms: number): void {
  for (let left = ms; left > 0; left -= 250) {
    const step = Math.min(left, 250);
    now += step;
    mock.timers.tick(step);
  }
}

/** The page is busy for so many milliseconds: time passes, and no timer runs. */
export function stall(ms: number): void {
  now += ms;
}

/** An empty place in the page. */
export function place(): HTMLElement {
  return document.body.appendChild(document.createElement("div"));
}

/** Whatever waits for the end of the current task is done. */
export async function settled(): Promise<void> {
  await new Promise(setImmediate);
}
