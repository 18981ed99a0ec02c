// One step as a row: few nodes, its body only while it is open, no work for what did not change.

import { button, make, setWords, words } from "./dom";
import { clockText, shortDurationText } from "./duration";
import type { Step } from "./wire";

export class Row {
  readonly element = make("li", "");
  #head: HTMLElement | undefined;
  #openable = false;
  #body: HTMLElement | undefined;
  #placed = ""; // what `#body` was made from; text appended since is not in it
  #under: HTMLElement | undefined;

  /** Shows `step`, with its body when `open`. */
  update(step: Step, seconds: number, open: boolean): void {
    const openable = step.body !== "";
    this.element.className = `ac-${step.state} ac-${step.kind}`;
    if (!this.#head || this.#openable !== openable) this.#behead(step.id, openable);
    setWords(this.#head?.firstChild as Element, step.text);
    this.tick(step, seconds);
    if (open && openable) this.#place(step.body);
    else if (this.#body) {
      this.#body.remove();
      this.#body = undefined;
      this.#head?.setAttribute("aria-expanded", "false");
    }
  }

  tick(step: Step, seconds: number): void {
    // A running row counts whole seconds, calmly; tenths are for what is over.
    const time = step.elapsed !== null ? shortDurationText(seconds) : seconds >= 1 ? clockText(seconds) : "";
    const faint = step.detail && time ? `${step.detail} · ${time}` : step.detail || time;
    setWords(this.#head?.lastChild as Element, faint && ` ${faint}`);
  }

  /** Puts more HTML at the end of the open body; false when no body is open. */
  append(html: string): boolean {
    this.#body?.insertAdjacentHTML("beforeend", html); // made safe by Python
    return this.#body !== undefined;
  }

  /** The element that the rows under this one stand in. */
  get under(): HTMLElement {
    this.#under ??= this.element.appendChild(make("div", "ac-under"));
    return this.#under;
  }

  #behead(id: number, openable: boolean): void {
    this.#head?.remove();
    // No copy of one that the script keeps: a page loads the script anew for each widget, and never lets go of what it keeps.
    const parts = ["ac-text", "ac-faint"].map(words);
    this.#head = openable ? button("ac-row", ...parts) : make("div", "ac-row", ...parts);
    if (openable) this.#head.setAttribute("aria-expanded", "false");
    this.#head.dataset.row = `${id}`;
    this.element.prepend(this.#head);
    this.#openable = openable;
  }

  #place(html: string): void {
    if (this.#body && html === this.#placed) return;
    this.#body ??= make("div", "ac-body");
    this.#body.innerHTML = html; // made safe by Python
    this.#placed = html;
    this.#head?.after(this.#body);
    this.#head?.setAttribute("aria-expanded", "true");
  }
}
