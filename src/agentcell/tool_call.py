"""One call of a tool, as a context manager around the code that does it."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar, Token
from typing import TYPE_CHECKING, Any

from agentcell.errors import first_line
from agentcell.events import CallOutcome, ToolEnded, ToolProgressed, ToolStarted

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from typing_extensions import Self

    from agentcell.recorder import Run

_inside: ContextVar[ToolCall | None] = ContextVar("agentcell_tool_call", default=None)

# What ends a call from outside, by the person's will or the program's; everything else is the tool's own failure.
INTERRUPTIONS = (KeyboardInterrupt, asyncio.CancelledError, GeneratorExit, SystemExit)


class ToolCall:
    """A tool call of a run: `with run.tool("search", query="x") as call: call.result(search("x"))`.

    Leaving the block by an exception records a failed call (a cancelled one for an interrupt or a cancellation), and the exception
    goes on. Leaving it without `result` or `fail` records that the call is done.
    """

    def __init__(self, run: Run, name: str, arguments: Mapping[str, Any]) -> None:
        self.name = name
        self.call_id = ""
        self.run = run
        self._arguments = arguments
        self._token: Token[ToolCall | None] | None = None
        self._ended = False

    def __enter__(self) -> Self:
        outer = _inside.get()
        self.call_id = self.run.claim_call(self.name, self._arguments)
        self.run.record(
            ToolStarted(
                call_id=self.call_id,
                name=self.name,
                arguments=self._arguments,
                parent_id=outer.call_id if outer is not None and outer.run is self.run else None,
            )
        )
        self._token = _inside.set(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._token is not None:
            try:
                _inside.reset(self._token)
            except ValueError:  # left in another context than entered: a generator that somebody else closed
                _inside.set(None)
        if error is None:
            self._end("done")
        else:
            self._end(
                "cancelled" if isinstance(error, INTERRUPTIONS) else "failed",
                error=first_line(error),
                error_type=type(error).__name__,
            )

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.__exit__(kind, error, trace)

    def progress(self, payload: Any) -> None:
        """Reports that the call goes on: a text, or a mapping whose `message` is one."""
        self.run.record(ToolProgressed(call_id=self.call_id, payload={"message": payload} if isinstance(payload, str) else payload))

    def result(self, value: Any) -> None:
        """Records what the tool gave back; the call is done with it."""
        self._end("done", result=value)

    def fail(self, error: BaseException | str) -> None:
        """Records that the call failed, without raising anything."""
        if isinstance(error, BaseException):
            self._end("failed", error=first_line(error), error_type=type(error).__name__)
        else:
            self._end("failed", error=str(error))

    def _end(self, outcome: CallOutcome, *, result: Any = None, error: str | None = None, error_type: str | None = None) -> None:
        if not self._ended:
            self._ended = True
            self.run.record(ToolEnded(call_id=self.call_id, outcome=outcome, result=result, error=error, error_type=error_type))
