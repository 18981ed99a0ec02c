"""Where a run stands: its state, its clock and its answer.

    idle ──first event──▶ reasoning ──answer text starts──▶ collapsed ──run ends──▶ complete
                              ▲──────── a tool call or thinking follows ────────┘

The clock counts the time spent in `reasoning` without the time spent waiting on the person.

Text by the user's own code is the answer at once. Text that a model streams is a draft until its call ends without having asked
for a tool, or until it is longer than `DRAFT_LIMIT`: so one line before a tool call never folds and reopens the block. When the
model asks for a tool after all, what it wrote before was no answer and leaves it, also when its end was told before the call.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, TypeAlias

from agentcell.events import (
    AgentStarted,
    AnyEvent,
    LimitReached,
    ModelEnded,
    ModelStarted,
    Outcome,
    PauseRequested,
    PauseResumed,
    RunEnded,
    RunStarted,
    TextDelta,
    ThinkingDelta,
    ToolStarted,
    TurnEnded,
)
from agentcell.text.growing import GrowingText

_AT_LIMIT = "The answer was cut at its token limit."
_FILTERED = "The provider withheld the rest of the answer."
_SHORTFALLS = {
    **dict.fromkeys(("length", "max_tokens", "max_output_tokens", "model_context_window_exceeded"), _AT_LIMIT),
    **dict.fromkeys(("content_filter", "safety", "refusal", "recitation", "prohibited_content", "blocklist"), _FILTERED),
}
"""What is said when a model call ended for one of these reasons (the providers' words, in small letters)."""

Status: TypeAlias = Literal["idle", "reasoning", "collapsed", "complete"]

DRAFT_LIMIT = 240
"""Characters of a model's text before it counts as the answer, although the model may still ask for a tool."""


class _Segment:
    """A stretch of text by one source; `shown` once it is part of the answer."""

    __slots__ = ("model_call_id", "shown", "text")

    def __init__(self, model_call_id: str) -> None:
        self.model_call_id = model_call_id
        self.text = GrowingText()
        self.shown = False


class LifeProjection:
    """The state of a run after the events it was fed.

    Attributes:
        status: `idle`, `reasoning`, `collapsed` or `complete`.
        outcome: None until the run has ended.
        error_type: The class of the exception that it ended with.
        error: What that said, in one line.
        limit: The limit that stopped it, if one did.
        shortfall: Why the answer is not whole, in a sentence; "" when it is.
        rewrites: How often the answer changed otherwise than by growing at its end; a view that sees another number starts over.
    """

    def __init__(self) -> None:
        self.status: Status = "idle"
        self.outcome: Outcome | None = None
        self.started: RunStarted | None = None
        self.error_type: str | None = None
        self.error: str | None = None
        self.limit: LimitReached | None = None
        self.question = ""
        self.shortfall = ""
        self.rewrites = 0
        self._reasoned = 0.0
        self._reasoning_since: float | None = None
        self._pauses: dict[str, str] = {}
        self._segments: list[_Segment] = []
        self._open: dict[str, _Segment] = {}  # by model_call_id, while more text may come
        self._ended: dict[str, _Segment] = {}  # by model_call_id, while a tool call of it may still be told
        self._answer = GrowingText()
        self._stale = False
        self._newest: _Segment | None = None

    @property
    def started_at(self) -> float:
        """When the run started, in seconds since the epoch; 0 when nobody said."""
        return 0.0 if self.started is None else self.started.started_at

    def elapsed_seconds(self, now: float) -> float:
        """Seconds spent reasoning, up to `now` (seconds since the run's start)."""
        if self._reasoning_since is None:
            return self._reasoned
        return self._reasoned + max(0.0, now - self._reasoning_since)

    @property
    def ticking(self) -> bool:
        """Whether the clock runs."""
        return self._reasoning_since is not None

    @property
    def waiting(self) -> bool:
        """Whether the run waits on the person."""
        return bool(self._pauses) and self.status != "complete"

    @property
    def answer(self) -> GrowingText:
        """The answer so far, as markdown."""
        if self._stale:
            self._answer = GrowingText("\n\n".join(str(segment.text) for segment in self._segments if segment.shown))
            self._stale = False
        return self._answer

    @property
    def quiet_source(self) -> str | None:
        """The source (a `model_call_id`) whose text can now do nothing here but make the answer grow; None for no source."""
        newest = self._newest
        if self.status != "collapsed" or newest is None or self._open.get(newest.model_call_id) is not newest:
            return None
        return newest.model_call_id

    def feed(self, event: AnyEvent) -> None:
        """Takes one event. After the end nothing changes any more."""
        if self.status == "complete":
            return
        if self.status == "idle":
            self._reason(event.time)
        match event:
            case RunStarted() if self.started is None:  # a log may tell of several runs; the block is the first one's
                self.started = event
            case TextDelta(agent_id="") if event.text:
                self._take_text(event)
            case ThinkingDelta() | AgentStarted():
                self._reason(event.time)
            case ToolStarted():
                if event.model_call_id:
                    self._drop(event.model_call_id)
                self._reason(event.time)
            case ModelStarted():
                self._ended.pop(event.model_call_id, None)
            case ModelEnded(agent_id=""):
                self._judge(event)
                self._end_call(event)
            case TurnEnded(agent_id="") if event.text:
                self._replace(event)
            case PauseRequested():
                self._pauses[event.pause_id] = self.question = event.question
                self._stop_clock(event.time)
            case PauseResumed():
                self._pauses.pop(event.pause_id, None)
                if self.status == "reasoning":
                    self._start_clock(event.time)
            case LimitReached(stops=True):
                self.limit = event
            case RunEnded():
                self._end(event)
            case _:
                pass

    def _judge(self, event: ModelEnded) -> None:
        """Finds out whether the model could say all that it had to say."""
        if event.outcome == "done":
            self.shortfall = _SHORTFALLS.get((event.finish_reason or "").lower(), "")
        else:
            self.shortfall = f"The answer broke off: {event.error or 'the model call did not end'}"

    def feed_text(self, text: str) -> None:
        """Takes more text of the `quiet_source`, at a tenth of what `feed` costs."""
        if self._newest is not None:
            self._newest.text.append(text)
            self._answer.append(text)

    def begins_anew(self, model_call_id: str) -> bool:
        """Whether more text of this source would be a paragraph of its own, not more of what it wrote last."""
        segment = self._open.get(model_call_id)
        # The user's own text stands behind what was shown since; a model's stays together.
        return segment is None or (not model_call_id and segment is not self._newest)

    def retake_text(self, event: TextDelta, text: str) -> None:
        """Sets the whole text of the source of `event`: part of what it seemed to answer was reasoning, or the other way round."""
        segment = self._open.get(event.model_call_id)
        if event.agent_id or self.status == "complete":
            return
        if segment is None:
            self.feed(replace(event, text=text))
            return
        segment.text = GrowingText(text)
        if not segment.shown:
            if text and (not event.model_call_id or len(text) > DRAFT_LIMIT):
                self._show(segment, event.time)
            return
        if not text:
            segment.shown = False
            self._newest = self._last_shown()
        self._rewrite()
        if text:
            self._collapse(event.time)

    def _reason(self, time: float) -> None:
        self.status = "reasoning"
        self._start_clock(time)

    def _start_clock(self, time: float) -> None:
        if self._reasoning_since is None and not self._pauses:
            self._reasoning_since = time

    def _stop_clock(self, time: float) -> None:
        self._reasoned = self.elapsed_seconds(time)
        self._reasoning_since = None

    def _collapse(self, time: float) -> None:
        self.status = "collapsed"
        self._stop_clock(time)

    def _take_text(self, event: TextDelta) -> None:
        if not event.model_call_id:
            self.shortfall = ""  # the user's own code goes on where the model did not
        segment = self._open.get(event.model_call_id)
        if segment is None or self.begins_anew(event.model_call_id):
            self._ended.pop(event.model_call_id, None)
            segment = self._open[event.model_call_id] = _Segment(event.model_call_id)
            self._segments.append(segment)
        segment.text.append(event.text)
        if segment.shown:
            if segment is self._newest:
                self._answer.append(event.text)
            else:
                self._rewrite()
            self._collapse(event.time)
        elif not event.model_call_id or len(segment.text) > DRAFT_LIMIT:
            self._show(segment, event.time)

    def _show(self, segment: _Segment, time: float) -> None:
        if segment.shown or not segment.text:
            return
        segment.shown = True
        last = self._last_shown()
        if last is segment:
            # Two sources are paragraphs of their own.
            self._answer.append("\n\n" * (self._newest is not None) + str(segment.text))
        else:
            self._rewrite()
        self._newest = last
        self._collapse(time)

    def _end_call(self, event: ModelEnded) -> None:
        if event.tool_calls:
            self._reason(event.time)
        source = event.model_call_id
        if not source:  # the user's own text has no model call that could end it
            return
        if event.tool_calls or event.withheld:
            self._drop(source)
        elif source in self._open:
            segment = self._ended[source] = self._open.pop(source)
            self._show(segment, event.time)

    def _last_shown(self) -> _Segment | None:
        return next((one for one in reversed(self._segments) if one.shown), None)

    def _drop(self, model_call_id: str) -> None:
        segment = self._open.pop(model_call_id, None) or self._ended.pop(model_call_id, None)
        if segment is None:
            return
        self._segments.remove(segment)
        self._newest = self._last_shown()
        if segment.shown:
            self._rewrite()

    def _replace(self, event: TurnEnded) -> None:
        so_far = str(self.answer)
        whole = _Segment("")
        whole.text.append(event.text)
        whole.shown = True
        self._open.clear()
        self._ended.clear()
        self._segments, self._newest = [whole], whole
        if event.text.startswith(so_far):
            self._answer.append(event.text[len(so_far) :])
        else:
            self._rewrite()
        self._collapse(event.time)

    def _rewrite(self) -> None:
        """The answer is no longer what it was with more at its end: whoever reads it next puts it together again."""
        self._stale = True
        self.rewrites += 1

    def _end(self, event: RunEnded) -> None:
        for segment in list(self._open.values()):
            self._show(segment, event.time)
        self._open.clear()
        self._pauses.clear()
        self._stop_clock(event.time)
        self.status = "complete"
        self.outcome = event.outcome
        self.error_type, self.error = event.error_type, event.error
