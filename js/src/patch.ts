// A patch brings the view model from one flush to the next.

import type { Block, Patch, View } from "./wire";

/** What a patch changed: ids of rows and blocks that now hold something else, and HTML that is new at the end of a body. */
export interface Change {
  steps: number[];
  /** By id, for thinking rows that are not in `steps` anyway. */
  texts: Map<number, string>;
  blocks: number[];
}

export const NO_CHANGE: Readonly<Change> = { steps: [], texts: new Map(), blocks: [] };

/**
 * Applies `patch` to `view`; its arrays are changed in place, because the host's model holds the same ones.
 *
 * Throws a RangeError when the patch does not fit what is here: then something was missed.
 */
export function applyPatch(view: View, patch: Patch): Change {
  Object.assign(view, patch.header);
  view.trace = patch.trace ?? view.trace;
  const steps = patch.steps ?? [];
  for (const step of steps) {
    if (step.id > view.steps.length) throw new RangeError();
    view.steps[step.id] = step;
  }
  const ids = steps.map((step) => step.id);
  const texts = new Map<number, string>();
  for (const { id, html } of patch.texts ?? []) {
    const step = view.steps[id];
    if (!step) throw new RangeError();
    step.body += html;
    if (!ids.includes(id)) texts.set(id, (texts.get(id) ?? "") + html);
  }
  view.blocks.splice(patch.blocks_count ?? Infinity);
  const blocks = (patch.blocks ?? []).map((block) => setBlock(view.blocks, block));
  for (const html of patch.blocks_added ?? []) blocks.push(view.blocks.push(html) - 1);
  return { steps: ids, texts, blocks };
}

function setBlock(blocks: string[], { id, keep, html }: Block): number {
  const old = blocks[id];
  if (old === undefined || keep > old.length) throw new RangeError();
  blocks[id] = old.slice(0, keep) + html;
  return id;
}
