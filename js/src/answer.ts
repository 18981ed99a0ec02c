// The answer: one element for each block, and only those that changed are touched.

import { make } from "./dom";

export class Answer {
  readonly element = make("div", "ac-answer");
  #placed: string[] = [];

  /** Shows `blocks`; `changed` are the ids to look at, all without it. */
  update(blocks: readonly string[], changed?: readonly number[]): void {
    while (this.#placed.length > blocks.length) {
      this.#placed.pop();
      this.element.lastElementChild?.remove();
    }
    for (const id of changed ?? blocks.keys()) {
      const html = blocks[id];
      if (html === undefined || html === this.#placed[id]) continue;
      const block = this.element.children[id] ?? this.element.appendChild(make("div", "ac-block"));
      block.innerHTML = html; // made safe by Python
      this.#placed[id] = html;
    }
    this.element.hidden = blocks.length === 0;
  }
}
