"""One model call while it streams in: what a reader finds in it goes to the run, in order and each end exactly once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentcell.errors import first_line
from agentcell.events import (
    CallOutcome,
    ModelEnded,
    ModelStarted,
    Noted,
    TextDelta,
    ThinkingBlock,
    ThinkingDelta,
    ThinkingEnded,
    ToolEnded,
    ToolProgressed,
    ToolStarted,
    Usage,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentcell.run import Run

CUT = "the stream ended without its last event"
CLOSED = "the stream was closed before its last event"


class ModelCall:
    """The call that a stream is about; once it has ended, the next thing that is heard begins another one.

    A reader sets what it learns, in any order; `finish` puts it into one `ModelEnded`.

    Attributes:
        run: The run that it is recorded in.
        handle: A framework's handle on the agent whose stream it is, or None.
        id: Pairs the call's events; "" before it begins.
        model: The model's name as the provider gives it, or None.
        response_id: The provider's id of the response, or None.
        usage: The newest count of tokens, or None.
        finish_reason: The provider's own word, or None.
        cost: US dollars as the provider told them, or None.
        complete: The stream's last event has been seen.
        signature: The provider's signature of the reasoning that is open, or None.
    """

    def __init__(self, run: Run, *, handle: Any = None) -> None:
        self.run = run
        self.handle = handle
        self._open = False
        self._clear()

    def _clear(self) -> None:
        self.id = ""
        self.model: str | None = None
        self.response_id: str | None = None
        self.usage: Usage | None = None
        self.finish_reason: str | None = None
        self.cost: float | None = None
        self._error: str | None = None
        self.complete = False
        self.signature: str | None = None
        self._thoughts: list[str] = []
        self.running: dict[str, None] = {}

    def begin(self, response_id: str | None = None) -> None:
        """Records the start, once. Another `response_id` than before means that the call before is over."""
        if response_id and self.response_id and response_id != self.response_id:
            self.finish()
        if not self._open:
            self._clear()
            self._open = True
            self.id = self.run.new_id()
            self.run.record(ModelStarted(model_call_id=self.id))
        self.response_id = response_id or self.response_id

    def hand_over(self) -> str:
        """Lets somebody else go on with the call, and end it; returns its id, "" when none is open."""
        self._open, call_id = False, self.id if self._open else ""
        return call_id

    def write(self, text: str) -> None:
        """More of the answer's text."""
        if text:
            self.end_thinking()
            self.begin()
            self.run.record(TextDelta(text=text, model_call_id=self.id))

    def think(self, text: str) -> None:
        """More of the model's reasoning."""
        if text:
            self.begin()
            self._thoughts.append(text)
            self.run.record(ThinkingDelta(text=text, model_call_id=self.id))

    @property
    def thinking(self) -> bool:
        """Whether there is reasoning that is not closed yet."""
        return bool(self._thoughts or self.signature)

    def end_thinking(self, blocks: tuple[ThinkingBlock, ...] = ()) -> None:
        """Closes the reasoning that is open, if any, with `blocks` when the provider gave them apart.

        A signature without a word is reasoning that the provider keeps to itself.
        """
        blocks = blocks or self.open_blocks()
        self._thoughts, self.signature = [], None
        if blocks:
            self.begin()
            self.run.record(ThinkingEnded(model_call_id=self.id, blocks=blocks))

    def open_blocks(self) -> tuple[ThinkingBlock, ...]:
        """The reasoning that is open, as a block."""
        if not self.thinking:
            return ()
        words = "".join(self._thoughts)
        return (ThinkingBlock("thinking" if words else "redacted_thinking", words, self.signature),)

    def ask(self, name: str, arguments: Mapping[str, Any], *, call_id: str | None = None, parent_id: str | None = None) -> str:
        """The model asked for a tool that somebody else has to run. Returns the call's id, a new one if it came without."""
        return self._start(name, arguments, call_id=call_id, parent_id=parent_id, requested=True)

    def start_tool(
        self, name: str, arguments: Mapping[str, Any], *, call_id: str | None = None, parent_id: str | None = None
    ) -> str:
        """The provider itself runs a tool; a second start with the same id says more about the same call. Returns its id."""
        call_id = self._start(name, arguments, call_id=call_id, parent_id=parent_id, requested=False)
        self.running[call_id] = None
        return call_id

    def _start(
        self, name: str, arguments: Mapping[str, Any], *, call_id: str | None, parent_id: str | None, requested: bool
    ) -> str:
        self.end_thinking()
        self.begin()
        call_id = call_id or self.run.new_id()
        self.run.record(
            ToolStarted(
                call_id=call_id,
                name=name,
                arguments=arguments,
                parent_id=parent_id,
                model_call_id=self.id,
                requested=requested,
            )
        )
        return call_id

    def progress(self, call_id: str, payload: Any) -> None:
        """A tool that the provider runs came further."""
        self.run.record(ToolProgressed(call_id=call_id, payload=payload))

    def end_tool(self, call_id: str, *, result: Any = None, error: str | None = None) -> None:
        """A tool call is over, with a result or an error."""
        self.running.pop(call_id, None)
        outcome: CallOutcome = "done" if error is None else "failed"
        self.run.record(ToolEnded(call_id=call_id, outcome=outcome, result=result, error=error))

    def fail(self, message: str) -> None:
        """The stream itself says that something went wrong; behind the call's end that changes nothing any more."""
        if self._open or not self.id:
            self.begin()
            self._error = message

    def note(self, text: str) -> None:
        """Something to be said in plain words."""
        self.run.record(Noted(text=text))

    def note_unknown(self, kind: str) -> None:
        """A part of the stream has a shape that nobody knows."""
        self.run.report_unknown(kind)

    def finish(self, error: BaseException | None = None, *, closed: bool = False) -> None:
        """Records the end, once.

        Args:
            error: What the stream's iterator raised, if it did.
            closed: Somebody stopped reading before the stream was through.
        """
        if not self._open:
            return
        self.end_thinking()
        outcome, reason = self._verdict(error, closed=closed)
        # After a good end a tool may go on: the provider gives its result in the next response (pause_turn).
        for call_id in self.running if outcome != "done" else ():
            self.run.record(ToolEnded(call_id=call_id, outcome="cancelled", error=reason))
        self._open = False
        self.run.record(
            ModelEnded(
                model_call_id=self.id,
                model=self.model,
                usage=self.usage,
                finish_reason=self.finish_reason,
                outcome=outcome,
                error=reason,
                response_id=self.response_id,
                cost=self.cost,
            )
        )

    def _verdict(self, error: BaseException | None, *, closed: bool) -> tuple[CallOutcome, str | None]:
        if error is not None:
            said = ": ".join(filter(None, (type(error).__name__, first_line(error))))
            # What is no Exception is no failure: the person's interrupt, or the cancelling of a task.
            return ("failed" if isinstance(error, Exception) else "cancelled"), said
        if self._error is not None:
            return "failed", self._error
        if self.complete:
            return "done", None
        return "cancelled", CLOSED if closed else CUT
