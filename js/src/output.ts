// The outputs of a notebook that show a model, where the host lets us reach them, as JupyterLab and Notebook 7 do.

import { attempt } from "./actions";
import type { Model, Notebook } from "./model";
import type { EndMessage } from "./wire";

/**
 * Puts `output` in the place of each: what Jupyter's own replacing does where the page has run the cell itself.
 *
 * A host whose notebook cannot be reached is left alone.
 */
export function replaceOutputs(model: Model, { output, quiet }: Omit<EndMessage, "type">): void {
  attempt(() => {
    const notebook = model.widget_manager?.context?.model as Notebook;
    const { cells, dirty } = notebook;
    for (const { outputs } of cells) {
      outputs?.toJSON().forEach(({ data }, place) => {
        if (data?.["application/vnd.jupyter.widget-view+json"]?.model_id === model.get("run_id")) outputs.set(place, output);
      });
    }
    if (quiet) notebook.dirty = dirty;
  });
}
