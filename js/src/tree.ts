// Which row stands under which, which ones run, and which of them are worth seeing.

import { RUNNING_SHOWN } from "./limits";
import type { Step, View } from "./wire";

export class Tree {
  /** Ids of the rows that run, each with the moment it began, on performance.now()'s scale. */
  readonly running = new Map<number, number>();
  #under = new Map<number | null, number[]>();
  #count = 0;

  /** Starts over with all of `steps`; a row that runs already keeps its beginning, another began at `began(step)`. */
  reset(steps: readonly Step[], began: (step: Step) => number): void {
    this.#under.clear();
    this.#count = 0;
    for (const id of this.running.keys()) if (steps[id]?.state !== "running") this.running.delete(id);
    for (const step of steps) this.set(step, began);
  }

  /** A row is new or says something else. */
  set(step: Step, began: (step: Step) => number): void {
    if (step.id >= this.#count) {
      this.#count = step.id + 1;
      const siblings = this.#under.get(step.parent);
      if (siblings) siblings.push(step.id);
      else this.#under.set(step.parent, [step.id]);
    }
    if (step.state !== "running") this.running.delete(step.id);
    else if (!this.running.has(step.id)) this.running.set(step.id, began(step));
  }

  /** The rows of the live window, in order: the newest of each level that still works, what runs, and what was opened. */
  live({ steps, live_steps }: View, opened: Iterable<number>): number[] {
    const seen = new Set<number>();
    const newest = (parent: number | null) => {
      for (const id of this.#under.get(parent)?.slice(-live_steps || Infinity) ?? []) add(steps, id, seen);
    };
    newest(null);
    for (const id of [...this.running.keys()].slice(-RUNNING_SHOWN)) {
      add(steps, id, seen);
      newest(id);
    }
    for (const id of opened) add(steps, id, seen);
    return inOrder(seen);
  }
}

/** The rows kept in sight when the block folds by itself, in order: those opened for reading, and why the run went wrong. */
export function kept({ steps, outcome, live_steps }: View, opened: Iterable<number>): number[] {
  const seen = new Set<number>();
  for (const id of opened) add(steps, id, seen);
  if (outcome === "failed" || outcome === "cancelled") {
    for (const { id } of steps.filter((step) => step.state === "failed").slice(-live_steps || Infinity)) add(steps, id, seen);
  }
  return inOrder(seen);
}

function add(steps: readonly Step[], id: number, seen: Set<number>): void {
  for (let row = steps[id]; row && !seen.has(row.id); row = steps[row.parent ?? -1]) seen.add(row.id);
}

function inOrder(ids: Set<number>): number[] {
  return [...ids].sort((a, b) => a - b);
}
