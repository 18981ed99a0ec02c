// What is left of a run whose kernel is gone for good.

import { codeMarked, make } from "./dom";
import { clockText } from "./duration";
import { KEPT_BODIES, KEPT_ROWS } from "./limits";
import { faint } from "./row";
import type { Store } from "./store";

/** What a notebook's file can hold of it: HTML that needs neither script nor style, and text. */
export function lastSeen(store: Store): unknown {
  const { steps, blocks } = store.view;
  const list = make("ul", "");
  const answer = html(blocks.join(""));
  const rows: HTMLElement[] = [];
  let text = `Kernel lost · last seen at ${clockText(store.seen)}`;
  // As Python marks what it leaves: no `$` in it is mathematics.
  const page = make("div", "agentcell-snapshot mathjax_ignore tex2jax_ignore", make("b", "", text), list, answer);
  let left = KEPT_BODIES;
  for (const step of steps.slice(-KEPT_ROWS)) {
    const line = step.text + faint(step, store.rowSeconds(step)).replace(" ", " — ");
    const words = codeMarked(line);
    const row = make("li", "");
    text += `\n  • ${line}`;
    left -= step.body.length;
    if (step.body && left > 0) row.append(make("details", "", make("summary", "", ...words), html(step.body)));
    else row.append(...words);
    (rows[step.parent ?? -1]?.appendChild(make("ul", "")) ?? list).append(row);
    rows[step.id] = row;
  }
  return {
    output_type: "display_data",
    data: { "text/html": page.outerHTML, "text/plain": `${text}\n\n${answer.textContent}` },
    metadata: {},
  };
}

/** HTML that Python has made safe, as an element. */
function html(text: string): HTMLElement {
  const element = make("div", "");
  element.innerHTML = text;
  return element;
}
