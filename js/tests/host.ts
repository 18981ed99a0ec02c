// What a Jupyter front end does for one widget: attributes, events and messages, as Backbone and anywidget have them.

import type { Kernel, Listener, Model } from "../src/model";
import type { Action, Patch, Step, View } from "../src/wire";

export function step(id: number, more: Partial<Step> = {}): Step {
  const fixed = {
    parent: null,
    kind: "tool",
    tool: null,
    state: "done",
    started: 0,
    elapsed: 1.2,
    detail: "",
    body: "",
  } as const;
  return { id, text: `step ${id}`, ...fixed, ...more };
}

export function running(id: number, more: Partial<Step> = {}): Step {
  return step(id, { state: "running", elapsed: null, ...more });
}

export function steps(count: number): Step[] {
  return Array.from({ length: count }, (_, id) => step(id));
}

export function view(more: Partial<View> = {}): View {
  return {
    run_id: "run-1",
    protocol: 1,
    seq: 0,
    task: "Why is checkout slow?",
    live_steps: 4,
    expand: "auto",
    status: "reasoning",
    outcome: null,
    clock: "running",
    elapsed_seconds: 0,
    title: "Reasoning",
    facts: "",
    status_line: "",
    sentence: "",
    stop: "none",
    questions: [],
    steps: [],
    blocks: [],
    trace: "",
    ...more,
  };
}

export class Host {
  readonly kernel: Kernel & { sent: { header: Record<string, string>; content: unknown }[] };
  readonly manager: { kernel?: Kernel | null };
  readonly sent: Action[] = [];
  readonly #attributes: View;
  #listeners: [string, Listener][] = [];
  #seq: number;

  constructor(more: Partial<View> = {}) {
    this.#attributes = view(more);
    this.#seq = this.#attributes.seq;
    const sent: Host["kernel"]["sent"] = [];
    const sendControlMessage = (message: unknown) => sent.push(message as (typeof sent)[0]);
    this.kernel = {
      status: "idle",
      connectionStatus: "connected",
      clientId: "client",
      username: "ada",
      sendControlMessage,
      sent,
    };
    this.manager = { kernel: this.kernel };
  }

  /** As anywidget does it: another object each time, for the same model. */
  get model(): Model {
    return {
      get: (key) => this.#attributes[key],
      set: (key, value) => this.update({ [key]: value }),
      on: (event, callback) => void this.#listeners.push([event, callback]),
      off: (event, callback) => {
        this.#listeners = this.#listeners.filter(([name, one]) => name !== event || one !== callback);
      },
      send: (content) => void this.sent.push(content as Action),
      widget_manager: this.manager,
    };
  }

  get listening(): number {
    return this.#listeners.length;
  }

  get now(): View {
    return this.#attributes;
  }

  /** One state update: all values are there before the first event. */
  update(traits: Partial<View>): void {
    const before = { ...this.#attributes };
    Object.assign(this.#attributes, traits);
    this.#seq = Math.max(this.#seq, this.#attributes.seq);
    for (const key of Object.keys(traits) as (keyof View)[]) {
      if (JSON.stringify(before[key]) !== JSON.stringify(traits[key]) || key === "steps") this.emit(`change:${key}`, undefined);
    }
  }

  emit(event: string, content: unknown): void {
    for (const [name, callback] of this.#listeners) if (name === event) callback(content as never);
  }

  patch(patch: Patch, seq = this.#seq + 1): void {
    this.#seq = seq;
    this.emit("msg:custom", { type: "patch", seq, patch });
  }

  beat(elapsed_seconds: number, seq = this.#seq): void {
    this.emit("msg:custom", { type: "heartbeat", seq, elapsed_seconds });
  }
}
