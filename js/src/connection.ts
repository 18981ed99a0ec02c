// Whether the kernel behind a model is still there, as far as the host lets us see.

import type { Model } from "./model";

/** Words of a kernel's status, and of its connection's: it will not come back with the run, or it is at least out of reach. */
export const ENDED = /dead|restarting/;
export const GONE = /dead|restarting|terminating|connecting|disconnected/;

/** True when the host says that its kernel is so, or that there is none; false when it is well or nobody can tell. */
export function kernelIs(gone: RegExp, model: Model): boolean {
  try {
    // anywidget means to narrow `widget_manager` one day, so each step may be missing.
    const kernel = model.widget_manager?.kernel;
    return kernel === null || gone.test(`${kernel?.status} ${kernel?.connectionStatus}`);
  } catch {
    return false; // a host that throws here tells nothing; the age of the last message decides
  }
}
