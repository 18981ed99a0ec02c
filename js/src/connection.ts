// Whether the kernel behind a model is still there, as far as the host lets us see.

import type { Model } from "./model";

/** Words of a kernel's status, and of its connection's. */
const GONE = /dead|restarting|terminating|connecting|disconnected/;

/** True when the host says that its kernel is gone or out of reach; false when it is well or nobody can tell. */
export function kernelGone(model: Model): boolean {
  try {
    // anywidget means to narrow `widget_manager` one day, so each step may be missing.
    const kernel = model.widget_manager?.kernel;
    return kernel === null || GONE.test(`${kernel?.status} ${kernel?.connectionStatus}`);
  } catch {
    return false; // a host that throws here tells nothing; the age of the last message decides
  }
}
