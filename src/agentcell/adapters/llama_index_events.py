"""Reads the events that the handle of a LlamaIndex workflow streams."""

from __future__ import annotations

from asyncio import CancelledError
from typing import TYPE_CHECKING, Any, ClassVar

from agentcell.adapters.fields import field, items_of, text_of

if TYPE_CHECKING:
    from agentcell.adapters.llama_index import Flow, LlamaIndexAdapter
    from agentcell.adapters.model_call import ModelCall


class WorkflowReader:
    """Reads `agent.run("…")`, or its `stream_events()`; a workflow that the block hears anyway says nothing new here."""

    derived: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, call: ModelCall) -> None:
        from agentcell.adapters.llama_index import LlamaIndexAdapter

        self.call = self
        self._adapter: LlamaIndexAdapter = call.run.adapter(LlamaIndexAdapter)
        self._key = text_of(call.handle, "run_id") or call.run.new_id()
        self._flow: Flow | None = None
        self._paused = False
        self._first = call

    @staticmethod
    def takes(kind: str, event: Any, /) -> bool:  # noqa: ARG004 - the event has no field for its kind
        """Whether this is an event of a workflow, one that a user made included."""
        return any(base.__module__ == "workflows.events" and base.__name__ == "Event" for base in type(event).__mro__)

    def read(self, event: Any) -> None:
        """Records what one event says."""
        if self._flow is None:
            if self._adapter.has_heard(self._first.handle):
                return
            self._flow = self._adapter.begin(self._key)
            self._flow.turn.adopt(self._first)
        self._read(self._adapter, self._flow, type(event).__name__, event)

    def _read(self, adapter: LlamaIndexAdapter, flow: Flow, kind: str, event: Any) -> None:
        if self._paused and kind != "InputRequiredEvent":
            self._paused = False
            adapter.ledger.resume(f"{flow.key}:pause")
        adapter.give_word(flow, text_of(event, "current_agent_name"))
        match kind:
            case "AgentInput":
                adapter.ask(flow)
            case "AgentStream":
                flow.turn.think(flow.model, text_of(event, "thinking_delta"), agent=flow.agent)
                flow.turn.write(flow.model, text_of(event, "delta"), agent=flow.agent)
            case "AgentOutput":
                adapter.hear_output(flow, field(event, "response"), field(event, "raw"))
                adapter.hear_requests(flow, items_of(event, "tool_calls"))
            case "ToolCall":
                adapter.start_tool(flow, event)
            case "ToolCallResult":
                adapter.end_tool(flow, event)
                flow.tool = ""
            case "WorkflowFailedEvent":
                flow.turn.close(field(event, "exception"))
            case "WorkflowCancelledEvent":
                flow.turn.close(CancelledError("the workflow was cancelled"))
            case "WorkflowTimedOutEvent":
                flow.turn.close("the workflow took too long")
            case _ if any(base.__name__ == "InputRequiredEvent" for base in type(event).__mro__):
                self._paused = not flow.tool
                adapter.pause(flow, event, call=flow.tool or None)
            case _:
                pass

    def finish(self, error: BaseException | None = None, *, closed: bool = False) -> None:
        """The stream is over; a workflow whose stream is left goes on unheard."""
        if self._flow is not None:
            self._adapter.end(self._flow, error or (CancelledError("nobody listens to it any more") if closed else None))
