// The outputs of a notebook that show a model, where the host lets us reach them, as JupyterLab and Notebook 7 do.

import type { Model } from "./model";
import type { EndMessage } from "./wire";

const VIEW = "application/vnd.jupyter.widget-view+json";

/** Puts `output` in the place of each: what Jupyter's own replacing does where the page has run the cell itself. */
export function replaceOutputs(model: Model, { output, quiet }: EndMessage): void {
  const notebook = model.widget_manager?.context?.model;
  const changed = notebook?.dirty;
  for (const { outputs } of notebook?.cells ?? []) {
    for (let place = 0; place < (outputs?.length ?? 0); place++) {
      if (outputs?.get(place).data[VIEW]?.model_id === model.get("run_id")) outputs.set(place, output);
    }
  }
  if (notebook && quiet) notebook.dirty = changed;
}
