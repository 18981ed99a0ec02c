// What the reader does goes up to Python by two roads at once: whichever is open while a cell runs.

import type { Model } from "./model";
import { ACTION_MESSAGE, type Action, type ActionContent } from "./wire";

type Unnamed<One> = One extends Action ? Omit<One, "id"> : never;

/** An action without its id. */
export type Act = Unnamed<Action>;

/** A name that nothing else has. `crypto.randomUUID` would do, but not on pages that came by http from another machine. */
export function newId(): string {
  return crypto.getRandomValues(new Uint32Array(4)).join("-");
}

/**
 * Sends an action over the comm and over the kernel's control channel. Python takes the first and drops the second.
 *
 * The comm waits for the end of the cell on some kernels; the control channel never does, but not every host has one.
 * Either road may throw (a dead kernel, a host without it), which is no reason to leave out the other.
 */
export function sendAction(model: Model, act: Act): void {
  const action: Action = { ...act, id: newId() };
  attempt(() => model.send(action));
  attempt(() => {
    const kernel = model.widget_manager?.kernel;
    const content: ActionContent = { run_id: model.get("run_id"), action };
    kernel?.sendControlMessage?.(
      {
        header: {
          msg_id: newId(),
          session: kernel.clientId ?? "",
          username: kernel.username ?? "",
          msg_type: ACTION_MESSAGE,
          version: "5.3",
          date: new Date().toISOString(),
        },
        parent_header: {},
        metadata: {},
        content,
        buffers: [],
        channel: "control",
      },
      false,
      true,
    );
  });
}

/** Does what not every host can. */
export function attempt(act: () => void): void {
  try {
    act();
  } catch (error) {
    console.debug("agentcell: not in this host", error);
  }
}
