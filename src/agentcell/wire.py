"""What crosses between Python and the browser: the one source of both sides' types.

`python -m agentcell.wire` prints `js/src/wire.ts`; a test compares the two. Everything here is JSON. Text is plain text unless
its field says HTML; HTML was made safe by Python and is placed as it is.

How it goes: the synced traits (`View`) hold the whole view model, so that a late view, a reloaded page and saved state have the
truth, but they are sent only when the model opens and when the browser asks for a resync. Between, one `PatchMessage` for each
flush brings what changed. `seq` counts the patches; a browser that misses one asks for a resync and lets patches pass until the
traits arrive.
"""

from __future__ import annotations

import sys
from types import NoneType, UnionType
from typing import Any, Literal, TypeAlias, TypedDict, Union, get_args, get_origin, get_type_hints

PROTOCOL_VERSION = 1
"""Raised when one side could not read what the other side of an earlier version sends."""

Status: TypeAlias = Literal["idle", "reasoning", "collapsed", "complete"]
Clock: TypeAlias = Literal["running", "stopped"]
StepKind: TypeAlias = Literal["note", "tool", "thinking", "agent"]
StepState: TypeAlias = Literal["running", "done", "failed", "cancelled"]
Expand: TypeAlias = Literal["auto", "open", "closed"]
Stop: TypeAlias = Literal["none", "ready", "stopping"]


class Step(TypedDict):
    """One row. `id` is its place in `steps` and never changes; `parent` is the row that it belongs under.

    `started` and `elapsed` are seconds; `elapsed` is null while the row runs. `detail` is faint text behind the row's own.
    `body` is HTML that is placed when the reader opens the row; "" when there is nothing to open.
    """

    id: int
    parent: int | None
    kind: StepKind
    text: str
    tool: str | None
    state: StepState
    started: float
    elapsed: float | None
    detail: str
    body: str


class Question(TypedDict):
    """A question that the reader may answer: by a button for each of `choices`, and with `words` in a field. All is plain text."""

    id: str
    text: str
    choices: list[str]
    words: bool


class Controls(TypedDict):
    """What the reader can do about the run. `stop` is `none` where no click would reach Python; then there are no questions, too."""

    stop: Stop
    questions: list[Question]


class Header(TypedDict, total=False):
    """What stands above and around the rows; a patch carries only the keys that changed.

    `elapsed_seconds` is the time thought so far, at the moment of sending; while `clock` is running the browser counts on from
    there. `title` is `Reasoning` while it runs (the browser puts the time behind it), else complete, like `Thought for 12s`.
    `status_line` is the one line of what goes on now, "" for none; backticks in it mark code. `facts` is faint text like
    `2 tools · 3.1k tokens`. `sentence` says why a run ended without an answer, "" when it has one. `stop` and `questions` are as in
    `Controls`.
    """

    status: Status
    outcome: str | None
    clock: Clock
    elapsed_seconds: float
    title: str
    facts: str
    status_line: str
    sentence: str
    stop: Stop
    questions: list[Question]


class StepText(TypedDict):
    """More text at the end of a thinking row's body, as HTML."""

    id: int
    html: str


class Block(TypedDict):
    """A block of the answer that changed: keep the first `keep` UTF-16 units of the HTML that it held, then comes `html`."""

    id: int
    keep: int
    html: str


class Patch(TypedDict, total=False):
    """What changed since the patch before, in this order: header, steps (set by id; the next id appends), texts, blocks, trace.

    `blocks_count`, when there, cuts the list of blocks to that length first; then `blocks` change blocks that are there, and
    `blocks_added` come behind them. `trace` comes once, when the run has ended.
    """

    header: Header
    steps: list[Step]
    texts: list[StepText]
    blocks_count: int
    blocks: list[Block]
    blocks_added: list[str]
    trace: str


class PatchMessage(TypedDict):
    """Python to browser, at most once each flush."""

    type: Literal["patch"]
    seq: int
    patch: Patch


class Heartbeat(TypedDict):
    """Python to browser, every few seconds when there is nothing else to say: alive, and `seq` is the newest patch."""

    type: Literal["heartbeat"]
    seq: int
    elapsed_seconds: float


class EndMessage(TypedDict):
    """Python to browser, after the end: `output` (of nbformat's form) takes the place of each view that is an output of a notebook.

    `quiet` when the notebook has it already, from another page: then this page's copy of the notebook does not count as changed.
    """

    type: Literal["end"]
    output: object
    quiet: bool


class View(TypedDict):
    """The synced traits: the whole view model. `body` of a thinking row is its text, escaped; `trace` is HTML, "" for none.

    `run_id` names the widget's run; it differs for each widget and stays the same for its life. It is the model's id, too.
    """

    run_id: str
    protocol: int
    seq: int
    task: str
    live_steps: int
    expand: Expand
    status: Status
    outcome: str | None
    clock: Clock
    elapsed_seconds: float
    title: str
    facts: str
    status_line: str
    sentence: str
    stop: Stop
    questions: list[Question]
    steps: list[Step]
    blocks: list[str]
    trace: str


class OpenAction(TypedDict):
    """Browser to Python: the reader opened or closed a row, or (`row` null) the whole block."""

    type: Literal["open"]
    id: str
    row: int | None
    open: bool


class ResyncAction(TypedDict):
    """Browser to Python: patches were missed, send the traits."""

    type: Literal["resync"]
    id: str


class HelloAction(TypedDict):
    """Browser to Python: a view of the run is in a page; `view` names it. That this arrives shows that clicks do."""

    type: Literal["hello"]
    id: str
    view: str


class LeftAction(TypedDict):
    """Browser to Python: a view of the run has left the page, as it does when the final output takes its place."""

    type: Literal["left"]
    id: str
    view: str


class StopAction(TypedDict):
    """Browser to Python: stop the run; `again` when the reader was told that it is about to stop, and presses once more."""

    type: Literal["stop"]
    id: str
    again: bool


class AnswerAction(TypedDict):
    """Browser to Python: the answer to a question, by the number of a choice, or (`choice` null) in words."""

    type: Literal["answer"]
    id: str
    question: str
    choice: int | None
    text: str


class ActionContent(TypedDict):
    """What the control channel carries: one handler serves every run of the kernel, `run_id` says whose action it is."""

    run_id: str
    action: OpenAction | ResyncAction | HelloAction | LeftAction | StopAction | AnswerAction


Message: TypeAlias = PatchMessage | Heartbeat | EndMessage
Action: TypeAlias = OpenAction | ResyncAction | HelloAction | LeftAction | StopAction | AnswerAction

ACTION_MESSAGE = "agentcell_action"
"""The type of the control-channel message that carries an `Action` beside the comm; content `ActionContent`."""

_ALIASES: dict[str, Any] = {
    "Status": Status,
    "Clock": Clock,
    "StepKind": StepKind,
    "StepState": StepState,
    "Expand": Expand,
    "Stop": Stop,
}
_RECORDS: tuple[Any, ...] = (
    Step,
    Question,
    Header,
    StepText,
    Block,
    Patch,
    PatchMessage,
    Heartbeat,
    EndMessage,
    View,
    OpenAction,
    ResyncAction,
    HelloAction,
    LeftAction,
    StopAction,
    AnswerAction,
    ActionContent,
)
_UNIONS: dict[str, Any] = {"Message": Message, "Action": Action}


def typescript() -> str:
    """The same types in TypeScript, as `js/src/wire.ts` holds them."""
    lines = [
        "// What crosses between Python and the browser. Made by `python -m agentcell.wire`; change wire.py, not this.",
        "",
        f"export const PROTOCOL_VERSION = {PROTOCOL_VERSION};",
        f'export const ACTION_MESSAGE = "{ACTION_MESSAGE}";',
        "",
    ]
    lines += [f"export type {name} = {_ts(alias, alias)};" for name, alias in _ALIASES.items()]
    for record in _RECORDS:
        optional = "" if record.__total__ else "?"
        lines += ["", f"export interface {record.__name__} {{"]
        lines += [f"  {key}{optional}: {_ts(hint)};" for key, hint in get_type_hints(record).items()]
        lines += ["}"]
    lines += ["", "/** The names of the synced traits. */", "export const VIEW_KEYS: (keyof View)[] = ["]
    lines += [f'  "{key}",' for key in View.__annotations__]
    lines += ["];", ""]
    lines += [f"export type {name} = {_ts(union)};" for name, union in _UNIONS.items()]
    return "\n".join(lines) + "\n"


def _ts(hint: Any, defining: Any = None) -> str:
    for name, alias in _ALIASES.items():
        if hint == alias and defining is None:
            return name
    origin, args = get_origin(hint), get_args(hint)
    if origin is Literal:
        return " | ".join(f'"{value}"' for value in args)
    if origin in (Union, UnionType):
        return " | ".join(_ts(arg) for arg in args)
    if origin is list:
        return f"{_ts(args[0])}[]"
    if hint in _RECORDS:
        return str(hint.__name__)
    return {str: "string", int: "number", float: "number", bool: "boolean", NoneType: "null", object: "unknown"}[hint]


if __name__ == "__main__":
    sys.stdout.write(typescript())
