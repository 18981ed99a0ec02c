// One model's run in this page: what it shows, where the reader is in it, and whether Python still speaks.

import { type Act, sendAction } from "./actions";
import { Clock, now } from "./clock";
import { ENDED, GONE, kernelIs } from "./connection";
import { CHECK, FIRST_RETRY, LAST_RETRY, SILENCE, TICK } from "./limits";
import { lastSeen } from "./lost";
import { type Listener, type Model, readView } from "./model";
import { replaceOutputs } from "./output";
import { applyPatch, type Change, NO_CHANGE } from "./patch";
import { Tree } from "./tree";
import { type Message, type PatchMessage, type Step, VIEW_KEYS, type View } from "./wire";

/** Something that draws the run. A change of null means that anything may be different. */
export interface Drawn {
  update(change: Change | null): void;
  tick(): void;
}

/** Which rows are drawn: the live window, all, those worth keeping in sight when the block folds by itself, or none. */
export type Shown = "live" | "all" | "kept" | "none";

export class Store {
  view: View;
  readonly clock = new Clock();
  readonly tree = new Tree();
  /** What the reader did: it wins over what opens and folds by itself, and survives every update. */
  readonly reader = { open: null as boolean | null, all: false, rows: new Set<number>(), trace: "" };
  /** The kernel is out of reach; `seen` is the clock's time when it last spoke. */
  lost = false;
  seen = 0;

  readonly model: Model;
  #drawn = new Set<Drawn>();
  #listeners: [event: string, callback: Listener][];
  #heard = now();
  #checked = 0;
  #timer: ReturnType<typeof setInterval> | undefined;
  #cutOff = false;
  #writing = false;
  #stale = false;
  #newest = 0; // the highest seq that Python spoke of
  #retry: ReturnType<typeof setTimeout> | undefined;

  constructor(model: Model) {
    this.model = model;
    this.view = readView(model);
    this.#read();
    this.#listeners = [
      ["msg:custom", (message: Message) => this.#receive(message)],
      ["comm_live_update", () => this.#end()],
      ...VIEW_KEYS.map((key): [string, Listener] => [`change:${key}`, () => this.#changed()]),
    ];
    for (const [event, callback] of this.#listeners) model.on(event, callback);
  }

  dispose(): void {
    for (const [event, callback] of this.#listeners) this.model.off(event, callback);
    this.#drawn.clear();
    this.#schedule();
    clearTimeout(this.#retry);
    this.#stale = false;
  }

  add(drawn: Drawn): void {
    this.#drawn.add(drawn);
    this.#schedule();
  }

  remove(drawn: Drawn): void {
    this.#drawn.delete(drawn);
    this.#schedule();
  }

  /** Whether the answer has not begun. */
  get working(): boolean {
    return this.view.status === "idle" || this.view.status === "reasoning";
  }

  /** Which rows are drawn now. */
  get shown(): Shown {
    const { open, all } = this.reader;
    const { expand } = this.view;
    if (open ?? (expand === "open" || (expand === "auto" && this.working))) return all || expand === "open" ? "all" : "live";
    return open === null && expand === "auto" ? "kept" : "none";
  }

  /** Seconds that a row took, or has taken so far; of a lost run, until Python's last word. */
  rowSeconds(step: Step): number {
    const until = this.lost ? this.#heard : now();
    return step.elapsed ?? Math.max(0, until - (this.tree.running.get(step.id) ?? Infinity)) / 1000;
  }

  /** The reader opens or folds the whole block. */
  openBlock(open: boolean): void {
    this.reader.open = open;
    this.reader.all ||= open;
    this.send({ type: "open", row: null, open });
    this.#draw(null);
  }

  /** The reader opens or closes one row. */
  openRow(row: number, open: boolean): void {
    if (open) this.reader.rows.add(row);
    else this.reader.rows.delete(row);
    this.send({ type: "open", row, open });
    this.#draw({ ...NO_CHANGE, steps: [row] });
  }

  /** The reader wants the run to stop; again, while it is about to stop, interrupts the kernel. */
  stop(): void {
    this.send({ type: "stop", again: this.view.stop === "stopping" });
    this.view.stop = "stopping"; // as Python will say
    this.#draw(NO_CHANGE);
  }

  /** The host says that no kernel is behind the model: it has ended, or the model was made from a file. */
  cutOff(): void {
    this.#cutOff = true;
    this.#look();
  }

  send(act: Act): void {
    sendAction(this.model, act);
  }

  #draw(change: Change | null): void {
    this.#schedule();
    for (const drawn of this.#drawn) drawn.update(change);
  }

  // --- what Python says ---

  #receive(message: Message): void {
    const type = message?.type;
    if (type === "end") replaceOutputs(this.model, message);
    if (type !== "patch" && type !== "heartbeat") return;
    this.#catchUp();
    this.#hear();
    const { seq } = this.view;
    if (message.seq > this.#newest) this.#newest = message.seq;
    let change: Change | null = NO_CHANGE;
    if (type === "heartbeat") this.#beat(message.elapsed_seconds);
    else if (message.seq === seq + 1) change = this.#apply(message);
    this.seen = this.clock.read();
    const found = this.#judge();
    if (change !== NO_CHANGE || found) this.#draw(change);
    if (this.#newest > this.view.seq && this.#retry === undefined) this.#resync(FIRST_RETRY);
  }

  #hear(): void {
    this.#heard = now();
    this.#cutOff = false;
  }

  #beat(elapsed: number): void {
    this.view.elapsed_seconds = elapsed;
    this.#write(["elapsed_seconds"]);
    this.clock.set(elapsed, this.view.clock === "running");
  }

  /** Applies a patch and keeps the model equal; what does not fit is left to a resync. */
  #apply({ seq, patch }: PatchMessage): Change {
    const { view, model } = this;
    // The host may hold equal arrays that are not the ones we had: changed are those that it holds.
    view.steps = model.get("steps");
    view.blocks = model.get("blocks");
    let change: Change;
    try {
      change = applyPatch(view, patch);
    } catch (error) {
      console.warn("agentcell: a patch did not fit", error);
      return NO_CHANGE;
    }
    view.seq = seq;
    const header = Object.keys(patch.header ?? {}) as (keyof View)[];
    this.#write([...header, "seq", "trace"]);
    for (const id of change.steps) this.tree.set(view.steps[id] as Step, () => this.#heard);
    // The time goes along with whatever changes.
    if (patch.header) this.clock.set(view.elapsed_seconds, view.clock === "running");
    return change;
  }

  #write(keys: (keyof View)[]): void {
    this.#writing = true;
    for (const key of keys) this.model.set(key, this.view[key]); // it came from Python: nothing is told to save it
    this.#writing = false;
  }

  /** A trait came from Python. All traits of one update are read at once, when the last of them is there. */
  #changed(): void {
    if (this.#writing || this.#stale) return;
    this.#stale = true;
    queueMicrotask(() => this.#catchUp());
  }

  #catchUp(): void {
    if (!this.#stale) return;
    this.#stale = false;
    this.view = readView(this.model);
    this.#hear();
    this.#read();
    if (this.view.seq >= this.#newest) {
      clearTimeout(this.#retry);
      this.#retry = undefined;
    }
    this.#judge();
    this.#draw(null);
  }

  #read(): void {
    const { view, clock } = this;
    this.#newest = Math.max(this.#newest, view.seq);
    clock.set(view.elapsed_seconds, view.clock === "running");
    this.seen = clock.read();
    this.tree.reset(view.steps, (step) => now() - Math.max(0, this.seen - step.started) * 1000);
  }

  #resync(wait: number): void {
    this.send({ type: "resync" });
    this.#retry = setTimeout(() => this.#resync(Math.min(wait * 2, LAST_RETRY)), wait);
  }

  // --- whether Python still speaks ---

  get #underWay(): boolean {
    return this.view.status === "reasoning" || this.view.status === "collapsed";
  }

  #schedule(): void {
    const on = this.#drawn.size > 0 && this.#underWay;
    if (on === (this.#timer !== undefined)) return;
    clearInterval(this.#timer);
    this.#timer = on ? setInterval(() => this.#tick(), TICK) : undefined;
  }

  #tick(): void {
    if (now() - this.#checked >= CHECK) {
      this.#checked = now();
      this.#look();
    }
    if (!this.lost && this.clock.running) for (const drawn of this.#drawn) drawn.tick();
  }

  #look(): void {
    if (kernelIs(ENDED, this.model)) this.#end();
    if (this.#judge()) this.#draw(NO_CHANGE);
  }

  /** The kernel has ended, and nobody will end the run: the notebook keeps what is here. A file that was opened stays as it is. */
  #end(): void {
    if (this.#cutOff) return;
    this.cutOff();
    if (this.lost) replaceOutputs(this.model, { output: lastSeen(this), quiet: false });
  }

  /** Finds out whether the kernel is lost; true when that is news. */
  #judge(): boolean {
    const silent = this.clock.running && now() - this.#heard > SILENCE;
    const lost = this.#underWay && (this.#cutOff || silent || kernelIs(GONE, this.model));
    const news = lost !== this.lost;
    this.lost = lost;
    return news;
  }
}
