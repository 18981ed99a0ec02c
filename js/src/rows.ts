// The list of steps: the live window while it works, all of them when the reader wants to see them.

import { now } from "./clock";
import { button, make, setText } from "./dom";
import { Follow } from "./follow";
import { FIRST_SLICE, GROUP, SLICE } from "./limits";
import type { Change } from "./patch";
import { Row } from "./row";
import type { Shown, Store } from "./store";
import { kept } from "./tree";

export class Rows {
  readonly element: HTMLElement;
  #store: Store;
  #earlier = button("ac-earlier", "");
  #list = make("div", "ac-list");
  #follow = new Follow(this.#list);
  #rows = new Map<number, Row>();
  #shown: Shown = "none";
  #last = -1; // the highest id in the list
  #filling: ReturnType<typeof setTimeout> | undefined;

  constructor(store: Store, id: string) {
    this.#store = store;
    this.element = make("div", "ac-steps", this.#earlier, this.#list);
    this.element.id = id;
    this.element.hidden = true;
    this.#earlier.onclick = () => {
      store.openBlock(true);
      this.#list.focus({ preventScroll: true });
    };
    this.#list.onclick = (event) => {
      const row = (event.target as Element).closest<HTMLElement>("button.ac-row")?.dataset.row;
      if (row) this.#follow.pause(() => store.openRow(+row, !store.reader.rows.has(+row)));
    };
  }

  /** Shows what changed; null: looks at everything. */
  update(change: Change | null): void {
    const { view, tree, reader, shown } = this.#store;
    if (shown !== this.#shown) {
      this.#turn(shown);
      change = null;
    }
    if (shown === "none" || (change && !change.steps.length && !change.texts.size)) return;
    if (shown === "live") this.#window(tree.live(view, reader.rows), change);
    else if (shown === "kept") this.#window(kept(view, reader.rows), change);
    else this.#fill(change ? change.steps : this.#rows.keys(), FIRST_SLICE);
    for (const [id, text] of change?.texts ?? []) {
      if (this.#rows.get(id)?.append(text) === false) this.#draw(id);
    }
    const hidden = view.steps.length - this.#rows.size;
    this.#earlier.hidden = shown !== "live" || hidden === 0;
    setText(this.#earlier, `${hidden} earlier step${hidden === 1 ? "" : "s"}`);
    this.#follow.keep();
  }

  tick(): void {
    for (const id of this.#store.tree.running.keys()) {
      const step = this.#store.view.steps[id];
      if (step) this.#rows.get(id)?.tick(step, this.#store.rowSeconds(step));
    }
  }

  dispose(): void {
    clearTimeout(this.#filling);
  }

  /** Starts over with another choice of rows. */
  #turn(shown: Shown): void {
    this.#shown = shown;
    this.#clear();
    this.element.hidden = shown === "none";
    this.element.dataset.shown = shown;
    this.#list.tabIndex = shown === "all" ? 0 : -1;
    this.#follow.start(this.#store.working);
  }

  /** Shows just the rows `ids`, in order. */
  #window(ids: number[], change: Change | null): void {
    const wanted = new Set(ids);
    for (const [id, row] of this.#rows) {
      if (wanted.has(id)) continue;
      row.element.remove();
      this.#rows.delete(id);
    }
    // New rows go to the end; one that comes back between others is rare enough to start over.
    if (ids.some((id) => id < this.#last && !this.#rows.has(id))) this.#clear();
    for (const id of ids) if (!change || change.steps.includes(id) || !this.#rows.has(id)) this.#draw(id);
  }

  /** Draws those of `changed` that are there, and then all that are not there yet. */
  #fill(changed: Iterable<number>, slice: number): void {
    const { steps } = this.#store.view;
    for (const id of changed) if (id <= this.#last) this.#draw(id);
    clearTimeout(this.#filling);
    const end = now() + slice;
    while (this.#last + 1 < steps.length) {
      this.#draw(this.#last + 1);
      if (this.#last % GROUP || now() < end) continue;
      this.#filling = setTimeout(() => {
        this.#fill([], SLICE);
        this.#follow.keep();
      }, 0);
      break;
    }
  }

  #draw(id: number): void {
    const step = this.#store.view.steps[id];
    if (!step) return;
    const known = this.#rows.get(id);
    const row = known ?? new Row();
    row.update(step, this.#store.rowSeconds(step), this.#store.reader.rows.has(id));
    if (known) return;
    this.#rows.set(id, row);
    this.#last = Math.max(this.#last, id);
    const place = (step.parent !== null && this.#rows.get(step.parent)?.under) || this.#list;
    let group = place.lastElementChild;
    if (!group || group.childElementCount >= GROUP) {
      group?.classList.add("ac-full");
      group = place.appendChild(make("ul", "ac-group"));
    }
    group.append(row.element);
  }

  #clear(): void {
    clearTimeout(this.#filling);
    this.#list.replaceChildren();
    this.#rows.clear();
    this.#last = -1;
  }
}
