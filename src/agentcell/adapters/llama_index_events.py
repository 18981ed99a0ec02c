"""Reads the events that the handle of a LlamaIndex workflow streams."""

from __future__ import annotations

import asyncio
from asyncio import CancelledError
from typing import TYPE_CHECKING, Any, ClassVar

from agentcell.adapters.fields import field, items_of, text_of
from agentcell.adapters.model_call import CUT
from agentcell.errors import RunStopped

if TYPE_CHECKING:
    from agentcell.adapters.llama_index import Flow, LlamaIndexAdapter
    from agentcell.adapters.model_call import ModelCall


class WorkflowReader:
    """Reads `agent.run("…")`, or its `stream_events()`; a workflow that the block hears anyway says nothing new here."""

    derived: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, call: ModelCall) -> None:
        from agentcell.adapters.llama_index import LlamaIndexAdapter

        self.call = self
        self._handle = call.handle
        self._adapter: LlamaIndexAdapter = call.run.adapter(LlamaIndexAdapter)
        self._key = text_of(call.handle, "run_id") or call.run.new_id()
        self._flow: Flow | None = None
        self._paused = False
        self._first = call
        self._ended = False
        self._cancelling: asyncio.Future[None] | None = None

    @staticmethod
    def takes(kind: str, event: Any, /) -> bool:  # noqa: ARG004 - the event has no field for its kind
        """Whether this is an event of a workflow, one that a user made included."""
        return is_a(event, "Event")

    def read(self, event: Any) -> None:
        """Records what one event says."""
        if self._flow is None:
            if self._adapter.has_heard(self._handle):
                return
            self._flow = self._adapter.begin(self._key)
            self._flow.turn.adopt(self._first)
        self._read(self._adapter, self._flow, type(event).__name__, event)

    def _read(self, adapter: LlamaIndexAdapter, flow: Flow, kind: str, event: Any) -> None:
        asks = is_a(event, "InputRequiredEvent")
        if self._paused and not asks:
            self._paused = False
            adapter.resume(flow, call=None)
        self._ended = self._ended or is_a(event, "StopEvent")
        adapter.give_word(flow, text_of(event, "current_agent_name"))
        match kind:
            case "AgentInput":
                adapter.ask(flow)
            case "AgentStream":
                adapter.hear_piece(flow, flow.model, text=text_of(event, "delta"), thinking=text_of(event, "thinking_delta"))
            case "AgentOutput":
                adapter.hear_output(flow, flow.model, field(event, "response"), field(event, "raw"))
                adapter.hear_requests(flow, items_of(event, "tool_calls"))
            case "ToolCall":
                adapter.start_tool(flow, event)
            case "ToolCallResult":
                adapter.end_tool(flow, event)
            case "WorkflowFailedEvent":
                flow.turn.close(field(event, "exception"))
            case "WorkflowCancelledEvent":
                flow.turn.close(CancelledError("the workflow was cancelled"))
            case "WorkflowTimedOutEvent":
                flow.turn.close("the workflow took too long")
            case _ if asks:
                # The event does not say which call it is about; of several that run it may be any.
                call = next(iter(flow.running)) if len(flow.running) == 1 else None
                self._paused = call is None
                adapter.pause(flow, event, call=call)
            case _ if is_own(event):
                adapter.note(event)
            case _:
                pass

    def finish(self, error: BaseException | None = None, *, closed: bool = False) -> None:
        """The stream is over; a workflow whose stream is left goes on unheard, but for one whose run was stopped."""
        if self._flow is not None:
            # A model that is asked still has not answered: before 0.14 a workflow that fails says just that it ended.
            good = self._ended and not self._flow.turn.is_asked(self._flow.model)
            cut = None if good else CancelledError("nobody listens to it any more" if closed else CUT)
            self._adapter.end(self._flow, error or cut)
        if isinstance(error, RunStopped) and self._handle is not None:
            self._cancelling = asyncio.ensure_future(self._handle.cancel_run())


def is_a(event: Any, name: str) -> bool:
    """Whether something is an event of workflows, of the class with this name or one that inherits from it."""
    return any(base.__name__ == name and base.__module__ == "workflows.events" for base in type(event).__mro__)


def is_own(event: Any) -> bool:
    """Whether an event is of a class that the user's code has made."""
    return type(event).__module__.partition(".")[0] not in ("llama_index", "workflows")
