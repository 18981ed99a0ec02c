"""One call of a tool: as a context manager around the code that does it, or as a framework runs it."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from agentcell.errors import AgentcellError, first_line, must_be_text
from agentcell.events import CallOutcome, ToolEnded, ToolProgressed, ToolStarted

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from typing_extensions import Self

    from agentcell.recorder import Recorder
    from agentcell.run import Run

_inside: ContextVar[ToolCall | FrameworkCall | None] = ContextVar("agentcell_tool_call", default=None)


def is_interruption(error: BaseException) -> bool:
    """Whether an exception ends something from outside, by the person's will or the program's, and is no failure of its own.

    Python keeps these apart from `Exception` (an interrupt, a cancelled task, a closed generator, an exit, trio's `Cancelled`); only
    `concurrent.futures.CancelledError` is known by its name.
    """
    return not isinstance(error, Exception) or type(error).__name__ == "CancelledError"


def payload_of(progress: Any) -> Any:
    """What a tool reports, a text as a mapping whose `message` it is."""
    return {"message": progress} if isinstance(progress, str) else progress


def call_around(run: Recorder) -> str | None:
    """The id of the tool call of `run` inside which this code is; None outside."""
    call = _inside.get()
    return call.call_id if call is not None and call.run is run else None


class FrameworkCall:
    """A tool call that a framework runs: what this code does from now on is done inside it.

    Attributes:
        call_id: The call's id.
        run: The run that it belongs to.
        around: The call inside which this one was started.
        left: Whether it is over.
    """

    def __init__(self, run: Run, call_id: str) -> None:
        self.call_id = call_id
        self.run = run
        self.around = _inside.get()
        self.left = False
        _inside.set(self)

    def leave(self) -> None:
        """It is over; to be called where it was begun, if that can be."""
        self.left = True
        _step_out(self)


def _step_out(call: ToolCall | FrameworkCall) -> None:
    """What this code does from here on is not inside that call."""
    if _inside.get() is call:  # it is not where a call is left in another context than entered, as a generator may be
        around = call.around
        while around is not None and around.left:
            around = around.around
        _inside.set(around)


class ToolCall:
    """A tool call of a run: `with run.tool("search", query="x") as call: call.result(search("x"))`.

    Leaving the block by an exception records a failed call (a cancelled one for an interrupt or a cancellation), and the exception
    goes on. Leaving it without `result` or `fail` records that the call is done.

    Attributes:
        name: The tool's name.
        call_id: The call's id; "" before the block.
        run: The run that it belongs to.
        around: The call inside whose block this one's was entered.
        left: Whether the block has been left.
    """

    def __init__(self, run: Run, name: str, arguments: Mapping[str, Any]) -> None:
        self.name = name
        self.call_id = ""
        self.run = run
        self._arguments = arguments
        self.around: ToolCall | FrameworkCall | None = None
        self.left = False
        self._ended = False

    def __enter__(self) -> Self:
        if self.call_id:
            raise AgentcellError("a tool call is entered once: call run.tool(...) again for another one")
        self.run.raise_if_stopping()
        self.around, parent = _inside.get(), self.run.call_here()
        self.call_id = self.run.claim_call(self.name, self._arguments, around=parent)
        self.run.record(
            ToolStarted(
                call_id=self.call_id,
                name=self.name,
                arguments=self._arguments,
                parent_id=None if parent == self.call_id else parent,
            )
        )
        _inside.set(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.left = True
        _step_out(self)
        if error is None:
            self._end("done")
        else:
            self._end(
                "cancelled" if is_interruption(error) else "failed",
                error=first_line(error),
                error_type=type(error).__name__,
            )

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.__exit__(kind, error, trace)

    def suspend(self) -> None:
        """Code that runs from here on is not inside it: its own has handed over to the caller's, as a generator does."""
        _step_out(self)

    def resume(self) -> None:
        """Its own code runs again."""
        self.around = _inside.get()
        _inside.set(self)

    def progress(self, payload: Any) -> None:
        """Reports that the call goes on: a text, or a mapping whose `message` is one."""
        self._must_be_entered()
        self.run.raise_if_stopping()
        self.run.record(ToolProgressed(call_id=self.call_id, payload=payload_of(payload)))

    def result(self, value: Any) -> None:
        """Records what the tool gave back; the call is done with it."""
        self._end("done", result=value)

    def fail(self, error: BaseException | str) -> None:
        """Records that the call failed, without raising anything."""
        if isinstance(error, BaseException):
            self._end("failed", error=first_line(error), error_type=type(error).__name__)
        else:
            self._end("failed", error=must_be_text("what call.fail is given, if no exception,", error))

    def _end(self, outcome: CallOutcome, *, result: Any = None, error: str | None = None, error_type: str | None = None) -> None:
        self._must_be_entered()
        if not self._ended:
            self._ended = True
            self.run.record(ToolEnded(call_id=self.call_id, outcome=outcome, result=result, error=error, error_type=error_type))

    def _must_be_entered(self) -> None:
        if not self.call_id:
            raise AgentcellError("a tool call records inside its block only: use `with run.tool(...) as call:`")
