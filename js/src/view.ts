// One view of a run: header, the line of what goes on, the steps, the answer.

import { newId } from "./actions";
import { Answer } from "./answer";
import { button, codeMarked, expand, make, setText, words } from "./dom";
import { clockText } from "./duration";
import type { Change } from "./patch";
import { Questions } from "./questions";
import { Rows } from "./rows";
import type { Drawn, Store } from "./store";

/** The spinner: six dots, two rows of three, each lit so many seconds after the first. */
const DELAYS = [0, 0.12, 0.24, 0.6, 0.48, 0.36];

/** What stands before the title, instead of a chevron; CSS lights the dots while it is running. */
const SIGNS: Record<string, string> = { running: "", waiting: "◆", failed: "✕", cancelled: "■", limited: "■", lost: "○" };

function dot(delay: number): HTMLElement {
  const element = make("i", "");
  element.style.animationDelay = `${delay}s`;
  return element;
}

export class CellView implements Drawn {
  #store: Store;
  #id = `ac-${newId()}`;
  #root = make("div", "agentcell");
  #sign = words("");
  #icon = make("span", "ac-icon", this.#sign, ...DELAYS.map(dot));
  #title = words("ac-title");
  #time = words("ac-time");
  #header = button("ac-head", this.#icon, this.#title, this.#time);
  #stop = button("ac-stop", "");
  #line = make("div", "ac-line");
  #questions: Questions;
  #said = "";
  #rows: Rows;
  #answer = new Answer();
  #trace = make("div", "");
  #placed = ""; // what `#trace` was made from

  constructor(store: Store, place: HTMLElement) {
    this.#store = store;
    this.#rows = new Rows(store, this.#id);
    this.#questions = new Questions(store, () => this.#header.focus({ preventScroll: true }));
    this.#icon.ariaHidden = "true";
    this.#header.setAttribute("aria-controls", this.#id);
    this.#header.onclick = () => store.openBlock(this.#header.getAttribute("aria-expanded") !== "true");
    // The second press of a double click is no second thought.
    this.#stop.onclick = ({ detail }) => detail > 1 || store.stop();
    this.#line.role = "status";
    this.#line.setAttribute("aria-live", "polite");
    this.#root.role = "group";
    // JupyterLab takes Enter from whatever has the focus, unless told not to; after a click its own keys should work on.
    this.#root.addEventListener("focusin", ({ target }) =>
      (target as Element).toggleAttribute("data-lm-suppress-shortcuts", (target as Element).matches(":focus-visible")),
    );
    // A host may draw the view anew at the end: what the reader has opened is open there, too. This event does not bubble.
    this.#trace.addEventListener("toggle", () => (store.reader.trace = this.#trace.innerHTML), true);
    this.#root.append(
      make("div", "ac-top", this.#header, this.#stop),
      this.#line,
      this.#questions.element,
      this.#rows.element,
      this.#answer.element,
      this.#trace,
    );
    this.update(null);
    place.append(this.#root);
    store.add(this);
    if (place.closest(".jupyter-widgets-disconnected")) store.cutOff(); // as ipywidgets marks it
    store.send({ type: "hello", view: this.#id });
  }

  dispose(): void {
    this.#store.send({ type: "left", view: this.#id });
    this.#store.remove(this);
    this.#rows.dispose();
    this.#root.remove();
  }

  update(change: Change | null): void {
    const { view, shown, lost } = this.#store;
    this.#header.title = view.task;
    this.#root.ariaLabel = view.task || "Agent run";
    const state = this.#state();
    this.#root.dataset.state = state;
    this.#header.toggleAttribute("data-sign", state in SIGNS);
    setText(this.#sign, SIGNS[state] ?? "");
    this.#header.hidden = !view.title;
    this.#header.disabled = view.steps.length === 0;
    expand(this.#header, shown === "live" || shown === "all");
    this.#say(lost ? "No answer from the kernel" : view.sentence || view.status_line);
    this.tick();
    this.#questions.update(view.questions);
    this.#questions.element.hidden = lost;
    this.#rows.update(change);
    this.#answer.update(view.blocks, change?.blocks);
    if (view.trace === this.#placed) return;
    this.#placed = view.trace;
    this.#trace.innerHTML = this.#store.reader.trace || view.trace; // made safe by Python
  }

  tick(): void {
    this.#head();
    this.#rows.tick();
  }

  /** The one word that the look depends on. */
  #state(): string {
    const { lost, clock, view } = this.#store;
    if (lost) return "lost";
    if (view.status === "complete") return view.outcome ?? "answered";
    if (clock.running) return "running";
    return view.status === "reasoning" ? "waiting" : view.status;
  }

  #head(): void {
    const { view, lost, seen, clock } = this.#store;
    const state = this.#root.dataset.state;
    let time = view.facts;
    if (lost) time = `last seen at ${clockText(seen)}`;
    else if (state === "running") time = clockText(clock.read());
    else if (state === "waiting") time = `${clockText(clock.read())} thought so far`;
    const stopping = view.stop === "stopping";
    setText(this.#title, lost ? "Kernel lost" : stopping ? "Stopping…" : view.title);
    this.#stop.hidden = lost || view.stop === "none";
    setText(this.#stop, stopping ? "■ Interrupt" : "■ Stop");
    this.#stop.title = this.#stop.ariaLabel = stopping ? "Interrupt the kernel" : "Stop the run";
    setText(this.#time, time && ` · ${time}`);
  }

  /** The page's one live region: it speaks when the line changes, never of the clock. */
  #say(line: string): void {
    if (line === this.#said) return;
    this.#said = line;
    this.#line.replaceChildren(...codeMarked(line));
  }
}
