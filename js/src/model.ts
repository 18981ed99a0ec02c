// What a host gives a widget: anywidget's model, as far as agentcell uses it.

import { VIEW_KEYS, type View } from "./wire";

export interface Kernel {
  status?: string;
  connectionStatus?: string;
  clientId?: string;
  username?: string;
  sendControlMessage?(message: unknown, expectReply: boolean, disposeOnDone: boolean): unknown;
}

/** JupyterLab's notebook, as far as agentcell uses it; a cell that is no code has no outputs. */
export interface Notebook {
  dirty: boolean;
  cells: Iterable<{ outputs?: Outputs }>;
}

export interface Outputs {
  toJSON(): { data?: Record<string, { model_id?: string } | undefined> }[];
  set(place: number, output: unknown): void;
}

export interface Model {
  get<K extends keyof View>(key: K): View[K];
  set<K extends keyof View>(key: K, value: View[K]): void;
  on(event: string, callback: Listener): void;
  off(event: string, callback: Listener): void;
  send(content: unknown): void;
  /** Jupyter hosts have one; its kernel is null once the kernel was shut down. Others (an embed, marimo) have none. */
  widget_manager?: { kernel?: Kernel | null; context?: { model: Notebook } } | undefined;
}

export type Listener = (content: never) => void;

/** The whole view as the model has it now. `steps` and `blocks` are the model's own arrays, no copies. */
export function readView(model: Model): View {
  return Object.fromEntries(VIEW_KEYS.map((key) => [key, model.get(key)])) as unknown as View;
}
