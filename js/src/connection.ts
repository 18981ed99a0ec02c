// Whether the kernel behind a model is still there, as far as the host lets us see.

import type { Model } from "./model";

const GONE = /dead|restarting|terminating/;

/** True when the host says that its kernel is gone or out of reach; false when it is well or nobody can tell. */
export function kernelGone(model: Model): boolean {
  try {
    // anywidget means to narrow `widget_manager` one day, so each step may be missing.
    const kernel = model.widget_manager?.kernel;
    if (!kernel) return kernel === null;
    const { status = "", connectionStatus = "connected" } = kernel;
    return GONE.test(status) || connectionStatus !== "connected";
  } catch {
    return false; // a host that throws here tells nothing; the age of the last message decides
  }
}
