// What crosses between Python and the browser. Made by `python -m agentcell.wire`; change wire.py, not this.

export const PROTOCOL_VERSION = 1;
export const ACTION_MESSAGE = "agentcell_action";

export type Status = "idle" | "reasoning" | "collapsed" | "complete";
export type Clock = "running" | "stopped";
export type StepKind = "note" | "tool" | "thinking" | "agent";
export type StepState = "running" | "done" | "failed" | "cancelled";
export type Expand = "auto" | "open" | "closed";
export type Stop = "none" | "ready" | "stopping";

export interface Step {
  id: number;
  parent: number | null;
  kind: StepKind;
  text: string;
  tool: string | null;
  state: StepState;
  started: number;
  elapsed: number | null;
  detail: string;
  body: string;
}

export interface Question {
  id: string;
  text: string;
  choices: string[];
  words: boolean;
}

export interface Header {
  status?: Status;
  outcome?: string | null;
  clock?: Clock;
  elapsed_seconds?: number;
  title?: string;
  facts?: string;
  status_line?: string;
  sentence?: string;
  stop?: Stop;
  questions?: Question[];
}

export interface StepText {
  id: number;
  html: string;
}

export interface Block {
  id: number;
  keep: number;
  html: string;
}

export interface Patch {
  header?: Header;
  steps?: Step[];
  texts?: StepText[];
  blocks_count?: number;
  blocks?: Block[];
  blocks_added?: string[];
  trace?: string;
}

export interface PatchMessage {
  type: "patch";
  seq: number;
  patch: Patch;
}

export interface Heartbeat {
  type: "heartbeat";
  seq: number;
  elapsed_seconds: number;
}

export interface EndMessage {
  type: "end";
  output: unknown;
  quiet: boolean;
}

export interface View {
  run_id: string;
  protocol: number;
  seq: number;
  task: string;
  live_steps: number;
  expand: Expand;
  status: Status;
  outcome: string | null;
  clock: Clock;
  elapsed_seconds: number;
  title: string;
  facts: string;
  status_line: string;
  sentence: string;
  stop: Stop;
  questions: Question[];
  steps: Step[];
  blocks: string[];
  trace: string;
}

export interface OpenAction {
  type: "open";
  id: string;
  row: number | null;
  open: boolean;
}

export interface ResyncAction {
  type: "resync";
  id: string;
}

export interface HelloAction {
  type: "hello";
  id: string;
  view: string;
}

export interface LeftAction {
  type: "left";
  id: string;
  view: string;
}

export interface StopAction {
  type: "stop";
  id: string;
  again: boolean;
}

export interface AnswerAction {
  type: "answer";
  id: string;
  question: string;
  choice: number | null;
  text: string;
}

export interface ActionContent {
  run_id: string;
  action: OpenAction | ResyncAction | HelloAction | LeftAction | StopAction | AnswerAction;
}

/** The names of the synced traits. */
export const VIEW_KEYS: (keyof View)[] = [
  "run_id",
  "protocol",
  "seq",
  "task",
  "live_steps",
  "expand",
  "status",
  "outcome",
  "clock",
  "elapsed_seconds",
  "title",
  "facts",
  "status_line",
  "sentence",
  "stop",
  "questions",
  "steps",
  "blocks",
  "trace",
];

export type Message = PatchMessage | Heartbeat | EndMessage;
export type Action = OpenAction | ResyncAction | HelloAction | LeftAction | StopAction | AnswerAction;
