import assert from "node:assert/strict";
import { test } from "node:test";
import type { Model, Notebook, Outputs } from "../src/model";
import { replaceOutputs } from "../src/output";
import type { EndMessage } from "../src/wire";
import { Host } from "./host";

const output = { output_type: "display_data", data: { "text/html": "<p>end</p>" }, metadata: {} };
const end: EndMessage = { type: "end", output, quiet: false };

/** The outputs of a cell, each given as the id of the model that it is a view of. */
function cell(...ids: (string | null)[]): { outputs: Outputs; now: unknown[] } {
  const now: unknown[] = ids.map((id) => id);
  const data = (id: string | null) => ({ "application/vnd.jupyter.widget-view+json": id ? { model_id: id } : undefined });
  const outputs = {
    toJSON: () => ids.map((id) => ({ data: data(id) })),
    set: (place: number, put: unknown) => {
      now[place] = put;
    },
  };
  return { outputs, now };
}

function inNotebook(notebook: Notebook): Model {
  return { ...new Host().model, widget_manager: { context: { model: notebook } } };
}

test("each output that shows the model is replaced, and no other", () => {
  const cells = [cell("run-2", "run-1", null), {}, cell(), cell("run-1")];
  replaceOutputs(inNotebook({ cells, dirty: false }), end);
  assert.deepEqual(
    cells.map((one) => "now" in one && one.now),
    [["run-2", output, null], false, [], [output]],
  );
});

for (const quiet of [true, false]) {
  test(`the notebook counts as changed ${quiet ? "only if it did before" : "by it"}`, () => {
    for (const before of [true, false]) {
      const one = cell("run-1");
      const notebook = { cells: [one], dirty: before };
      const { set } = one.outputs;
      one.outputs.set = (place, put) => {
        notebook.dirty = true;
        set(place, put);
      };
      replaceOutputs(inNotebook(notebook), { ...end, quiet });
      assert.equal(notebook.dirty, quiet ? before : true);
    }
  });
}

test("a host without a notebook is left alone", () => {
  for (const widget_manager of [undefined, {}]) {
    replaceOutputs({ ...new Host().model, widget_manager }, { ...end, quiet: true });
  }
});
