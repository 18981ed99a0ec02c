// One step as a row: few nodes, its body only while it is open, no work for what did not change.

import { button, make, setWords, words } from "./dom";
import { clockText, shortDurationText } from "./duration";
import type { Step } from "./wire";

export class Row {
  readonly element: HTMLElement;
  #head: HTMLElement;
  #openable: boolean;
  #body: HTMLElement | undefined;
  #placed = ""; // what `#body` was made from; text appended since is not in it
  #under: HTMLElement | undefined;

  constructor({ id, body }: Step) {
    this.#openable = body !== "";
    this.element = fresh(this.#openable);
    this.#head = this.element.firstChild as HTMLElement;
    this.#head.setAttribute("data-row", `${id}`);
  }

  /** Shows `step`, with its body when `open`. */
  update(step: Step, seconds: number, open: boolean): void {
    const openable = step.body !== "";
    this.element.className = `ac-${step.state} ac-${step.kind}`;
    if (this.#openable !== openable) this.#behead(step.id, openable);
    setWords(this.#head.firstChild as Element, step.text);
    this.tick(step, seconds);
    if (open && openable) this.#place(step.body);
    else if (this.#body) {
      this.#body.remove();
      this.#body = undefined;
      this.#head.setAttribute("aria-expanded", "false");
    }
  }

  tick(step: Step, seconds: number): void {
    // A running row counts whole seconds, calmly; tenths are for what is over.
    const time = step.elapsed !== null ? shortDurationText(seconds) : seconds >= 1 ? clockText(seconds) : "";
    const faint = step.detail && time ? `${step.detail} · ${time}` : step.detail || time;
    setWords(this.#head.lastChild as Element, faint && ` ${faint}`);
  }

  /** Puts more text at the end of the open body; false when no body is open. */
  append(text: string): boolean {
    this.#body?.append(text);
    return this.#body !== undefined;
  }

  /** The element that the rows under this one stand in. */
  get under(): HTMLElement {
    this.#under ??= this.element.appendChild(make("div", "ac-under"));
    return this.#under;
  }

  #behead(id: number, openable: boolean): void {
    const head = fresh(openable).firstChild as HTMLElement;
    head.setAttribute("data-row", `${id}`);
    this.#head.replaceWith(head);
    this.#head = head;
    this.#openable = openable;
  }

  #place(html: string): void {
    if (this.#body && html === this.#placed) return;
    this.#body ??= make("div", "ac-body");
    this.#body.innerHTML = html; // made safe by Python
    this.#placed = html;
    this.#head.after(this.#body);
    this.#head.setAttribute("aria-expanded", "true");
  }
}

/** A row with a plain line for a head, and one with a button, which can be opened. */
const ROWS = [make("div", "ac-row"), button("ac-row")].map((head) => {
  head.append(words("ac-text"), words("ac-faint"));
  return make("li", "", head);
});
ROWS[1]?.firstElementChild?.setAttribute("aria-expanded", "false");

/** A copy of one of them: cheaper than making it anew. */
function fresh(openable: boolean): HTMLElement {
  return ROWS[+openable]?.cloneNode(true) as HTMLElement;
}
