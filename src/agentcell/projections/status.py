"""The one line that says what goes on right now, and nothing once nothing does.

A waiting question comes first, then a tool call in flight, then a model at work; between them and after the run there is
nothing. Of several calls in flight the one with the newest report is shown, else the one that started last. Templates are a
flat map with `{{word}}` placeholders; your own keys are merged over `DEFAULT_TEMPLATES` before rendering. The rules are
agentfootprint's (`selectStatus`, 9.62), so that its logs give the same lines here.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from agentcell.events import (
    Event,
    ModelEnded,
    ModelStarted,
    PauseRequested,
    PauseResumed,
    RunEnded,
    TextDelta,
    ToolEnded,
    ToolProgressed,
    ToolStarted,
)
from agentcell.text.javascript import first_units, trim, units
from agentcell.text.templates import check, fill

StatusKind: TypeAlias = Literal["paused", "tool", "streaming", "idle"]

DEFAULT_TEMPLATES: Mapping[str, str] = {
    "idle": "Thinking…",
    "streaming": "{{partial}}",
    "tool": "Working on `{{toolName}}`…",
    "paused": "Waiting on you: {{question}}",
    "tool.progress": "{{progressMessage}}",
    "tool.progress.generic": "`{{toolName}}` reported progress ({{progressCount}} so far)…",
}
"""The line for each situation. `tool.<name>`, `tool.<name>.progress` and `tool.<name>.progress.generic` say it for one tool."""

MESSAGE_UNITS = 120
"""How much of a tool's own message a line shows, in UTF-16 units."""

LIVE_PARTIAL = 1_000
"""How many characters of a model's text a live line keeps: far more than a line shows, far less than an answer may have."""

_RESERVED_NAMES = frozenset({"progress", "progress.generic"})


@dataclass(frozen=True, slots=True)
class StatusState:
    """What goes on.

    Attributes:
        kind: `paused`, `tool`, `streaming` (a model writes) or `idle` (a model has not written yet).
        vars: What a template can say: `question`, `toolName`, `toolCallId`, `progressCount`, `progressMessage`, `partial`.
        tool_name: The tool's name when `kind` is `tool`.
    """

    kind: StatusKind
    vars: Mapping[str, str] = field(default_factory=dict)
    tool_name: str | None = None


@dataclass(slots=True)
class _Call:
    name: str
    call_id: str
    reports: int = 0
    message: str | None = None


@dataclass(slots=True)
class _Draft:
    """The text of one model call; its pieces are joined only when somebody reads it."""

    pieces: list[str] = field(default_factory=list)
    length: int = 0

    def add(self, text: str, limit: int | None) -> None:
        if limit is not None:
            text = text[: max(0, limit - self.length)]
        if text:
            self.pieces.append(text)
            self.length += len(text)

    def text(self) -> str:
        if len(self.pieces) > 1:
            self.pieces[:] = ["".join(self.pieces)]
        return self.pieces[0] if self.pieces else ""


class StatusProjection:
    """Follows a run, one event at a time; each takes the same time, however many calls are in flight.

    Args:
        partial_limit: How many characters of a model's text to keep; None keeps all, and then reading `state` after each of n
            deltas costs n joins.
    """

    def __init__(self, *, partial_limit: int | None = LIVE_PARTIAL) -> None:
        self._partial_limit = partial_limit
        self._pauses: OrderedDict[str, PauseRequested] = OrderedDict()
        # A call sits in one of two queues, oldest first; linked lists, so that the newest is found at once after any removal.
        self._silent: OrderedDict[str | int, _Call] = OrderedDict()
        self._reported: OrderedDict[str | int, _Call] = OrderedDict()
        self._nameless = 0
        self._drafts: OrderedDict[str, _Draft] = OrderedDict()

    def feed(self, event: Event) -> None:
        """Takes the next event; kinds that say nothing about now are passed over."""
        match event:
            case TextDelta() | ModelStarted() | ModelEnded():
                self._follow_model(event)
            case ToolStarted():
                self._start(event)
            case ToolProgressed():
                self._report(event)
            case ToolEnded():
                self._end(event)
            case PauseRequested() | PauseResumed():
                self._pauses.pop(event.pause_id, None)
                if isinstance(event, PauseRequested):
                    self._pauses[event.pause_id] = event
            case RunEnded():
                for open_ones in (self._pauses, self._silent, self._reported, self._drafts):
                    open_ones.clear()
            case _:
                pass

    def forget_text(self, model_call_id: str) -> None:
        """What this model call wrote so far is told anew."""
        if model_call_id in self._drafts:
            self._drafts[model_call_id] = _Draft()

    def indifferent_to(self, model_call_id: str) -> bool:
        """Whether more text of this model call changes nothing: nobody waits for it, or enough of it is here."""
        draft = self._drafts.get(model_call_id) if model_call_id else None
        return draft is None or (self._partial_limit is not None and draft.length >= self._partial_limit)

    @property
    def state(self) -> StatusState | None:
        """What goes on after the events so far, None for nothing."""
        if self._pauses:
            pause = _newest(self._pauses)
            call = {} if pause.call_id is None else {"toolCallId": pause.call_id}
            return StatusState("paused", {"question": pause.question, **call})
        if self._reported or self._silent:
            return _tool_state(_newest(self._reported or self._silent))
        if self._drafts:
            partial = _newest(self._drafts).text()
            return StatusState("streaming", {"partial": partial}) if partial else StatusState("idle")
        return None

    def _follow_model(self, event: TextDelta | ModelStarted | ModelEnded) -> None:
        key = event.model_call_id
        if isinstance(event, TextDelta):
            draft = self._drafts.get(key)
            # "" marks text by the user's own code, never a model's.
            if draft is not None and key:
                draft.add(event.text, self._partial_limit)
            return
        self._drafts.pop(key, None)
        if isinstance(event, ModelStarted):
            self._drafts[key] = _Draft()

    def _start(self, event: ToolStarted) -> None:
        key: str | int = event.call_id
        if not key:
            # Calls without an id are told apart by number; nothing can name them later.
            self._nameless += 1
            key = self._nameless
        self._end_one(key)
        self._silent[key] = _Call(event.name, event.call_id)

    def _report(self, event: ToolProgressed) -> None:
        key: str | int = event.call_id
        if not key:
            # Whose report it is can be told only when there is one call.
            if len(self._silent) + len(self._reported) != 1:
                return
            key = next(iter(self._silent or self._reported))
        call = self._silent.pop(key, None) or self._reported.pop(key, None)
        if call is None:
            return
        call.reports += 1
        call.message = progress_message(event.payload)
        self._reported[key] = call

    def _end(self, event: ToolEnded) -> None:
        if event.call_id:
            self._end_one(event.call_id)
        else:
            self._silent.clear()
            self._reported.clear()

    def _end_one(self, key: str | int) -> None:
        self._silent.pop(key, None)
        self._reported.pop(key, None)


def select_status(events: Iterable[Event]) -> StatusState | None:
    """What goes on after `events`, with the whole text of the model."""
    projection = StatusProjection(partial_limit=None)
    for event in events:
        projection.feed(event)
    return projection.state


def progress_message(payload: object) -> str | None:
    """The line that a tool's report brings along: the string `message` of an object, None when there is none or it is blank.

    Past `MESSAGE_UNITS` it is cut and says how much is missing, in UTF-16 units. No other field is read: what `done` or
    `percent` mean is not ours to guess.
    """
    message = payload.get("message") if isinstance(payload, Mapping) else None
    if not isinstance(message, str):
        return None
    message = trim(message)
    head = first_units(message, MESSAGE_UNITS)
    if len(head) < len(message):
        return f"{head}… (+{units(message) - units(head)} more)"
    return message or None


def render_status_line(
    state: StatusState | None,
    *,
    app_name: str,
    templates: Mapping[str, str] = DEFAULT_TEMPLATES,
) -> str | None:
    """The line for `state`: of the keys that fit, the most special one that `templates` holds. None without state or key.

    An empty template is there all the same, and gives an empty line. `templates` is used as it is: merge your own keys over the
    defaults with `compose_templates` first.
    """
    if state is None:
        return None
    values = {"appName": app_name, **state.vars}
    for key in _ladder(state):
        if key in templates:
            return fill(templates[key], values)
    return None


def compose_templates(overrides: Mapping[str, str]) -> dict[str, str]:
    """The defaults with `overrides` over them, key by key."""
    return {**DEFAULT_TEMPLATES, **overrides}


def validate_templates(templates: Mapping[str, Any]) -> None:
    """Checks that `templates` has a line for every situation, and none for a situation that there is not.

    Raises:
        TypeError: a template is no string; names the key.
        ValueError: a required key is missing or empty, or a key would never be looked up; names it.
    """
    check(templates, required=DEFAULT_TEMPLATES, what="status")
    for key in templates:
        if key not in DEFAULT_TEMPLATES and not key.startswith("tool."):
            known = ", ".join(map(repr, DEFAULT_TEMPLATES))
            raise ValueError(f"a status template must be for {known} or 'tool.<name>', not for {key!r}")


def _ladder(state: StatusState) -> list[str]:
    if state.kind != "tool":
        return [state.kind]
    suffix = ""
    if "progressMessage" in state.vars:
        suffix = ".progress"
    elif "progressCount" in state.vars:
        suffix = ".progress.generic"
    # `tool.progress` is always the general key, so a tool of that name has none of its own.
    own = None if state.tool_name in _RESERVED_NAMES else f"tool.{state.tool_name}"
    keys = [f"{own}{suffix}" if own else None, f"tool{suffix}", own, "tool"]
    return [key for key in keys if key is not None]


def _tool_state(call: _Call) -> StatusState:
    values = {"toolName": call.name}
    if call.call_id:
        values["toolCallId"] = call.call_id
    if call.reports:
        values["progressCount"] = str(call.reports)
    if call.message is not None:
        values["progressMessage"] = call.message
    return StatusState("tool", values, call.name)


def _newest(queue: OrderedDict[Any, Any]) -> Any:
    return queue[next(reversed(queue))]
