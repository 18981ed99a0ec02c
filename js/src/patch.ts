// A patch brings the view model from one flush to the next.

import type { Block, Patch, View } from "./wire";

/** What a patch changed: ids of rows and blocks that now hold something else, and text that only grew. */
export interface Change {
  steps: number[];
  /** By id, for thinking rows that are not in `steps` anyway. */
  texts: Map<number, string>;
  blocks: number[];
}

export const NO_CHANGE: Readonly<Change> = { steps: [], texts: new Map(), blocks: [] };

const ESCAPES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;" };

/** Text as HTML, letter for letter as Python's `markup.html_text` writes it: both sides hold the same body. */
export function htmlText(text: string): string {
  return text.replace(/[\0\ud800-\udfff]/gu, "\ufffd").replace(/[&<>"']/g, (sign) => ESCAPES[sign] as string);
}

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
    if (step.id > view.steps.length) throw misfit("step", step.id);
    view.steps[step.id] = step;
  }
  const ids = steps.map((step) => step.id);
  const texts = new Map<number, string>();
  for (const { id, text } of patch.texts ?? []) {
    const step = view.steps[id];
    if (!step) throw misfit("text for step", id);
    step.body += htmlText(text);
    if (!ids.includes(id)) texts.set(id, (texts.get(id) ?? "") + text);
  }
  view.blocks.splice(patch.blocks_count ?? Infinity);
  const blocks = (patch.blocks ?? []).map((block) => setBlock(view.blocks, block));
  for (const html of patch.blocks_added ?? []) blocks.push(view.blocks.push(html) - 1);
  return { steps: ids, texts, blocks };
}

function setBlock(blocks: string[], { id, keep, html }: Block): number {
  const old = blocks[id];
  if (old === undefined || keep > old.length) throw misfit("block", id);
  blocks[id] = old.slice(0, keep) + html;
  return id;
}

function misfit(what: string, id: number): RangeError {
  return new RangeError(`${what} ${id} does not fit`);
}
