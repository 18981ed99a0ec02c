"""Reads what smolagents streams: `agent.run(…, stream=True)`."""

from __future__ import annotations

from asyncio import CancelledError
from typing import TYPE_CHECKING, Any, ClassVar

from agentcell.adapters.smolagents import SmolagentsAdapter

if TYPE_CHECKING:
    from agentcell.adapters.model_call import ModelCall
    from agentcell.adapters.smolagents import AgentRun


class AgentRunReader:
    """Reads what `agent.run(…, stream=True)` gives, unless its agent is heard without that."""

    derived: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, call: ModelCall) -> None:
        self.call = self
        self._adapter: SmolagentsAdapter = call.run.adapter(SmolagentsAdapter)
        self._generator = call.handle
        self._told: AgentRun | None = None

    @staticmethod
    def takes(_kind: str, event: Any, /) -> bool:
        """Whether this is an event of such a stream."""
        return type(event).__module__.startswith("smolagents.")

    def read(self, event: Any) -> None:
        """Takes one event."""
        if any(event is one for one in self._adapter.events):
            return
        if self._told is None:
            self._told = self._adapter.begin(local(self._generator, "self"))
        self._told.hear(event, local(self._generator, "action_step"))

    def finish(self, error: BaseException | None = None, *, closed: bool = False) -> None:
        """The stream is over."""
        if self._told is not None:
            left = CancelledError("the stream was closed before its last event")
            self._told.finish(left if closed and error is None else error)


def local(generator: Any, name: str) -> Any:
    """What a generator that is not through holds under this name."""
    frame = getattr(generator, "gi_frame", None)
    return None if frame is None else frame.f_locals.get(name)
