"""Reads what the OpenAI Agents SDK streams: `Runner.run_streamed(...).stream_events()`."""

from __future__ import annotations

from asyncio import CancelledError
from typing import TYPE_CHECKING, Any, ClassVar

from agentcell.adapters.fields import field, plain, text_of
from agentcell.adapters.openai_agents import OpenAIAgentsAdapter
from agentcell.adapters.openai_agents_calls import FAILED
from agentcell.adapters.openai_responses import ASKED, ResponsesReader, call_id_of, input_of, name_of
from agentcell.adapters.turn_call import TurnCall

if TYPE_CHECKING:
    from agentcell.adapters.openai_agents_calls import RunnerCall

ENDS = frozenset({"response.completed", "response.incomplete", "response.failed"})


def hear(adapter: OpenAIAgentsAdapter, call: RunnerCall, event: Any) -> None:
    """Takes one event of a stream."""
    if any(event is one for one in adapter.heard):
        return
    adapter.heard = (*adapter.heard[-15:], event)
    if text_of(event, "type") == "raw_response_event":
        _hear_model(call, field(event, "data"))
    elif text_of(event, "type") == "run_item_stream_event":
        _hear_item(adapter, call, text_of(event, "name"), field(event, "item"))


def _hear_model(call: RunnerCall, event: Any) -> None:
    if call.reader is None:
        call.reader = ResponsesReader(TurnCall(call.turn, call.model(call.read + 1), agent=call.agent, owner=call.first_agent))
    call.reader.read(event)
    if text_of(event, "type") in ENDS:
        call.read += 1
        call.reader = None


def _hear_item(adapter: OpenAIAgentsAdapter, call: RunnerCall, name: str, item: Any) -> None:
    raw = field(item, "raw_item")
    if name == "tool_called" and text_of(raw, "type") in ASKED:
        arguments, key = input_of(raw), call.model(call.read or call.ended)
        call.turn.ask_tool(call.tool(call_id_of(raw)), name_of(raw, text_of(raw, "type")), arguments, agent=call.agent, model=key)
    elif name == "tool_output":
        output = plain(field(item, "output"))
        call.turn.end_tool(call.tool(call_id_of(raw)), result=output, error=FAILED if output == FAILED else None)
    elif name == "handoff_occured":
        adapter.hand_over(call, call.tool(call_id_of(raw)), field(item, "target_agent"))


class AgentStreamReader:
    """Reads the events of `Runner.run_streamed(...).stream_events()`."""

    derived: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, call: Any) -> None:
        self.call = self
        self._handle = call.handle
        self._adapter: OpenAIAgentsAdapter = call.run.adapter(OpenAIAgentsAdapter)
        self._about = self._adapter.attend(call.handle)
        self._about.turn.adopt(call)

    @staticmethod
    def takes(kind: str, _event: Any, /) -> bool:
        """Whether this is an event of such a stream."""
        return kind in ("raw_response_event", "run_item_stream_event", "agent_updated_stream_event")

    def read(self, event: Any) -> None:
        """Takes one event."""
        hear(self._adapter, self._about, event)

    def finish(self, error: BaseException | None = None, *, closed: bool = False) -> None:
        """The stream is over."""
        if error is None and closed:
            error = CancelledError("the stream was closed before its last event")
        self._adapter.finish(self._about, self._handle, error)
