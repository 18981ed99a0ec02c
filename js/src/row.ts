// One step as a row: few nodes, its body only while it is open, no work for what did not change.

import { expand, make, setWords, words } from "./dom";
import { clockText, shortDurationText } from "./duration";
import type { Step } from "./wire";

/** What stands faint behind a row's text, with a blank before it. */
export function faint({ detail, elapsed }: Step, seconds: number): string {
  // A running row counts whole seconds, calmly; tenths are for what is over.
  const time = elapsed !== null ? shortDurationText(seconds) : seconds >= 1 ? clockText(seconds) : "";
  return detail || time ? ` ${detail}${detail && time && " · "}${time}` : "";
}

export class Row {
  readonly element = make("li", "");
  #head: HTMLElement | undefined;
  #body: HTMLElement | undefined;
  #placed = ""; // what `#body` was made from; text appended since is not in it
  #under: HTMLElement | undefined;

  /** Shows `step`, with its body when `open`. */
  update(step: Step, seconds: number, open: boolean): void {
    const name = step.body ? "button" : "div";
    this.element.className = `ac-${step.state} ac-${step.kind}`;
    if (this.#head?.localName !== name) this.#behead(step.id, name);
    setWords(this.#head?.firstChild as Element, step.text);
    this.tick(step, seconds);
    if (open && step.body) this.#place(step.body);
    else {
      this.#body?.remove();
      this.#body = undefined;
    }
    if (step.body) expand(this.#head, open);
  }

  tick(step: Step, seconds: number): void {
    setWords(this.#head?.lastChild as Element, faint(step, seconds));
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

  #behead(id: number, name: "button" | "div"): void {
    this.#head?.remove();
    // No copy of one that the script keeps: a page loads the script anew for each widget, and never lets go of what it keeps.
    this.#head = make(name, "ac-row", words("ac-text"), words("ac-faint"));
    this.#head.dataset.row = `${id}`;
    this.element.prepend(this.#head);
  }

  #place(html: string): void {
    if (this.#body && html === this.#placed) return;
    this.#body ??= make("div", "ac-body");
    this.#body.innerHTML = html; // made safe by Python
    this.#placed = html;
    this.#head?.after(this.#body);
  }
}
