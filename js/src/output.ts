// The outputs of a notebook that show a model, where the host lets us reach them, as JupyterLab and Notebook 7 do.

import type { Model } from "./model";
import type { EndMessage } from "./wire";

/** Puts `output` in the place of each: what Jupyter's own replacing does where the page has run the cell itself. */
export function replaceOutputs(model: Model, { output, quiet }: EndMessage): void {
  const notebook = model.widget_manager?.context?.model;
  if (!notebook) return;
  const { cells, dirty } = notebook;
  for (const { outputs } of cells) {
    for (let place = 0; outputs && place < outputs.length; place++) {
      const view = outputs.get(place).data["application/vnd.jupyter.widget-view+json"];
      if (view?.model_id === model.get("run_id")) outputs.set(place, output);
    }
  }
  if (quiet) notebook.dirty = dirty;
}
