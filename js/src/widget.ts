// What anywidget loads: one store for each model, one drawing for each view of it.

import type { Model } from "./model";
import { Store } from "./store";
import { CellView } from "./view";

interface Props {
  model: Model;
  /** anywidget 0.11 and later; before, only the function that is returned ends things. */
  signal?: AbortSignal;
}

const stores = new Set<Store>();

/** Listens from here on, so that what Python says before a view exists is not missed. */
function initialize({ model, signal }: Props): () => void {
  const store = new Store(model);
  stores.add(store);
  return onEnd(signal, () => {
    stores.delete(store);
    store.dispose();
  });
}

function render({ model, el, signal }: Props & { el: HTMLElement }): () => void {
  // anywidget hands out a new proxy each time; two proxies of one model hold the very same array.
  const steps = model.get("steps");
  const store = [...stores].find((one) => one.model.get("steps") === steps);
  if (!store) throw new Error("agentcell: no open model");
  const view = new CellView(store, el);
  return onEnd(signal, () => view.dispose());
}

/** Calls `end` when the signal fires or the returned function is called, whichever comes first. */
function onEnd(signal: AbortSignal | undefined, end: () => void): () => void {
  signal?.addEventListener("abort", end);
  return end;
}

export default { initialize, render };
