"""Hears the OpenAI Agents SDK: what its runner was called for, what its hooks tell, and what its stream brings.

All three tell of the same calls in an order of their own, so a model call is known by its number among those of its runner call: the
n-th that a hook tells to start is the n-th that ends, and the n-th whose response comes through the stream, however late that is read.
"""

from __future__ import annotations

import sys
from asyncio import CancelledError
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ClassVar

from agentcell.adapters.fields import arguments_of, field, items_of, plain, text_of
from agentcell.adapters.hearing import heard
from agentcell.adapters.ledger import Ledger
from agentcell.adapters.openai_responses import (
    ASKED,
    HOSTED,
    ResponsesReader,
    call_id_of,
    error_of,
    input_of,
    name_of,
    result_of,
    usage_of,
)
from agentcell.adapters.turn_call import TurnCall
from agentcell.events import LimitReached, ToolOffer, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agentcell.adapters.ledger import Turn
    from agentcell.run import Run

FAILED = "An error occurred while running the tool. Please try again."
"""What the SDK gives to a model for a tool that raised, when the tool has no words of its own for that."""

ENDS = frozenset({"response.completed", "response.incomplete", "response.failed"})


class RunnerCall:
    """One call of the runner: the user's own, or that of an agent inside a tool.

    Attributes:
        key: Its own id.
        turn: Where it is told.
        root: Whether the user's code made it.
        agent: The key of the sub-agent that speaks now; "" for the run's own agent.
        started: How many model calls hooks have told to start.
        ended: How many of them they have told to end.
        read: How many have come to their end in the stream.
        reader: Reads the response that the stream brings now.
        spans: The span of each tool call that began to run, where the SDK traces.
        handed: The calls that handed the conversation over.
        said: What the last model call wrote.
        over: Whether it has ended.
        max_turns: How many model calls it may make, None where nobody said.
        hold: Kept, so that its `id` stays its own.
    """

    def __init__(self, key: str, turn: Turn, *, agent: str = "", root: bool = True, hold: Any = None) -> None:
        self.key = key
        self.turn = turn
        self.root = root
        self.agent = self.first_agent = agent
        self.started = self.ended = self.read = 0
        self.reader: ResponsesReader | None = None
        self.spans: dict[str, Any] = {}
        self.handed: set[str] = set()
        self.said = ""
        self.over = False
        self.max_turns: int | None = None
        self.hold = hold

    def model(self, number: int) -> str:
        """The key of its n-th model call."""
        return f"{self.key}/{number}"


CURRENT: ContextVar[RunnerCall | None] = ContextVar("agentcell_openai_agents", default=None)
"""The runner's call that this code is in, where the ambient hook has seen it begin."""


class OpenAIAgentsAdapter:
    """Tells one run of the agents of the OpenAI Agents SDK."""

    framework: ClassVar[str] = "the OpenAI Agents SDK"

    def __init__(self, run: Run) -> None:
        self.run = run
        self.ledger = Ledger(run)
        self._by_usage: dict[int, RunnerCall] = {}  # those that only their hooks or their stream tell of
        self._heard: tuple[Any, ...] = ()  # the newest events: the same stream may be heard in two ways

    def close(self, error: BaseException | None = None) -> None:
        """The run's block is left."""
        self._by_usage.clear()
        self.ledger.close(error)

    # Calls of the runner

    def begin(self, agent: Any, given: Any, context: Any) -> RunnerCall:
        """The runner is called with `agent`; `given` is the input, or the state of a run that was interrupted."""
        outer = CURRENT.get()
        if outer is not None and outer.turn.run is self.run and not outer.over:
            tool = self._tool_around(outer, context)
            key = f"{tool or self.run.new_id()} {text_of(agent, 'name')}"
            outer.turn.start_agent(key, text_of(agent, "name"), agent=outer.agent, inside=tool)
            return RunnerCall(self.run.new_id(), outer.turn, agent=key, root=False)
        turn = self._resume(given)
        key = self.run.new_id()
        return RunnerCall(key, turn or self.ledger.turn(key))

    def finish(self, call: RunnerCall, result: Any = None, error: BaseException | None = None) -> None:
        """The runner is through, or waits on the person."""
        if call.over:
            return
        call.over = True
        interruptions = items_of(result, "interruptions")
        if interruptions and error is None:
            for item in interruptions:
                self._ask_person(call, item)
            return
        self._blame(call, error)
        if type(error).__name__ == "MaxTurnsExceeded":
            self.run.record(LimitReached(kind="turns", limit=call.max_turns))
        if not call.root:
            call.turn.end_agent(call.first_agent, error=error)
            return
        output = field(result, "final_output")
        if error is None and isinstance(output, str) and output.strip() != call.said.strip():
            call.turn.answer(output)  # a tool's result may be the whole answer
        call.turn.close(error)

    def _tool_around(self, outer: RunnerCall, context: Any) -> str | None:
        """The tool call of `outer` that this code runs in: as the SDK says, or else the newest that runs."""
        told = text_of(context, "tool_call_id")
        if told in self.ledger.tools:
            return told
        span = _span()
        running = [call_id for call_id in outer.spans if self.ledger.tools[call_id].state == "running"]
        here = (call_id for call_id in running if span is not None and outer.spans[call_id] is span)
        return next(here, running[-1] if running else None)

    def _resume(self, given: Any) -> Turn | None:
        """The turn that goes on with this state, None when it is no state or another run's; what was refused is over."""
        interruptions = getattr(given, "get_interruptions", None)
        if not callable(interruptions):
            return None
        turn = None
        for item in interruptions():
            call_id = call_id_of(field(item, "raw_item"))
            known = self.ledger.tools.get(call_id)
            if known is None:
                continue
            turn = known.turn if self.ledger.find(known.turn.key) is known.turn else turn
            approved = given._context.is_tool_approved(item.name, call_id)  # noqa: SLF001 - the state has no other way to say it
            if approved is False:
                self.ledger.resume(call_id, "reject")
                known.turn.refuse_tool(call_id, "it was not approved")
            elif approved:
                self.ledger.resume(call_id, "approve")
        return turn

    def _ask_person(self, call: RunnerCall, item: Any) -> None:
        raw = field(item, "raw_item")
        call_id = call_id_of(raw)
        name, arguments = text_of(item, "name", "tool_name") or text_of(raw, "name"), arguments_of(field(raw, "arguments"))
        call.turn.ask_tool(call_id, name, arguments, agent=call.agent)
        call.turn.pause(call_id, f"May `{name}` run?", choices=("approve", "reject"), call=call_id)

    def _blame(self, call: RunnerCall, error: BaseException | None) -> None:
        """A tool that ends the whole run by its error has no end of its own; its siblings have none either."""
        for call_id, span in call.spans.items():
            tool = self.ledger.tools[call_id]
            named = isinstance(error, Exception) and str(error).startswith(f"Error running tool {tool.name}:")
            if tool.state == "running" and (named or field(span, "error") is not None):
                cause = error.__cause__ if error is not None else None
                call.turn.end_tool(call_id, error=cause or error or text_of(field(span, "error"), "message"))

    # Hooks

    @heard
    def on_llm_start(self, context: Any, agent: Any, *_told: Any) -> None:
        """A model is asked."""
        call = self._call(context)
        call.started += 1
        tools = [ToolOffer(text_of(tool, "name"), text_of(tool, "description")) for tool in items_of(agent, "tools")]
        call.turn.start_model(
            call.model(call.started), agent=call.agent, model=model_of(agent), tools=[tool for tool in tools if tool.name]
        )
        self.run.raise_if_stopping()

    @heard
    def on_llm_end(self, context: Any, _agent: Any, response: Any) -> None:
        """A model has answered, with all that its stream may have told already."""
        call = self._call(context)
        call.ended += 1
        key, items = call.model(call.ended), items_of(response, "output")
        asked = [item for item in items if text_of(item, "type") in ASKED]
        call.said = _texts(items, "message", "content")
        for item in items:
            self._tell_hosted(call, key, item)
        call.turn.end_model(
            key,
            text=call.said,
            thinking=_texts(items, "reasoning", "summary", "content", between="\n\n"),
            usage=known(usage_of(field(response, "usage"))),
            tool_calls=len(asked) or None,
        )
        for item in asked:
            name = name_of(item, text_of(item, "type"))
            call.turn.ask_tool(call_id_of(item), name, input_of(item), agent=call.agent, model=key)
        self.run.raise_if_stopping()

    @heard
    def on_tool_start(self, context: Any, _agent: Any, tool: Any) -> None:
        """A tool begins to run."""
        call = self._call(context)
        call_id = self._call_id(call, context, tool)
        arguments = arguments_of(field(context, "tool_arguments"))
        call.spans[call_id] = _span()
        call.turn.start_tool(call_id, text_of(tool, "name"), arguments, agent=call.agent)
        self.run.raise_if_stopping()

    @heard
    def on_tool_end(self, context: Any, _agent: Any, tool: Any, result: Any) -> None:
        """A tool has given something back; whether it failed stands only in its span."""
        call = self._call(context)
        call_id = self._call_id(call, context, tool)
        failed = field(call.spans.get(call_id), "error") is not None or result == FAILED
        said = result if isinstance(result, str) else text_of(field(call.spans.get(call_id), "error"), "message")
        call.turn.end_tool(call_id, result=plain(result), error=said if failed else None)
        self.run.raise_if_stopping()

    @heard
    def on_handoff(self, context: Any, from_agent: Any, to_agent: Any) -> None:
        """Another agent goes on with the conversation."""
        call = self._call(context)
        own = {text_of(tool, "name") for tool in items_of(from_agent, "tools")}
        asked = (key for key, tool in self.ledger.tools.items() if tool.turn is call.turn and tool.state == "asked")
        transfer = next((key for key in asked if self.ledger.tools[key].name not in own), None)
        self._hand_over(call, transfer or self.run.new_id(), to_agent)

    @heard
    def on_agent_end(self, context: Any, _agent: Any, output: Any) -> None:
        """The agent has its final output; where nobody sees the runner return, this is the end."""
        call = self._call(context)
        if call is not CURRENT.get():
            self._by_usage.pop(id(field(context, "usage")), None)
            self.finish(call, {"final_output": output})

    # The stream

    def attend(self, handle: Any) -> RunnerCall:
        """The call that this stream tells of."""
        told = getattr(handle, "agentcell_call", None)
        if isinstance(told, RunnerCall):
            return told
        return self._known_by(field(field(handle, "context_wrapper"), "usage"), resumed=None)

    def hear(self, call: RunnerCall, event: Any) -> None:
        """Takes one event of a stream."""
        if any(event is one for one in self._heard):
            return
        self._heard = (*self._heard[-15:], event)
        if text_of(event, "type") == "raw_response_event":
            self._hear_model(call, field(event, "data"))
        elif text_of(event, "type") == "run_item_stream_event":
            self._hear_item(call, text_of(event, "name"), field(event, "item"))

    def _hear_model(self, call: RunnerCall, event: Any) -> None:
        if call.reader is None:
            call.reader = ResponsesReader(TurnCall(call.turn, call.model(call.read + 1), agent=call.agent))
        call.reader.read(event)
        if text_of(event, "type") in ENDS:
            call.read += 1
            call.reader = None
            call.said = _texts(items_of(field(event, "response"), "output"), "message", "content")

    def _hear_item(self, call: RunnerCall, name: str, item: Any) -> None:
        raw = field(item, "raw_item")
        if name == "tool_called" and text_of(raw, "type") in ASKED:
            arguments, key = input_of(raw), call.model(max(call.read, call.ended))
            call.turn.ask_tool(call_id_of(raw), name_of(raw, text_of(raw, "type")), arguments, agent=call.agent, model=key)
        elif name == "tool_output":
            output = plain(field(item, "output"))
            call.turn.end_tool(call_id_of(raw), result=output, error=FAILED if output == FAILED else None)
        elif name == "handoff_occured":
            self._hand_over(call, call_id_of(raw), field(item, "target_agent"))

    # What they share

    def _hand_over(self, call: RunnerCall, transfer: str, agent: Any) -> None:
        if transfer in call.handed:
            return
        call.handed.add(transfer)
        name = text_of(agent, "name")
        call.turn.end_tool(transfer, result=f"{name} goes on")
        key = f"{transfer} {name}"
        call.turn.start_agent(key, name, agent=call.agent, inside=transfer, speaks=True)
        call.agent = key

    def _tell_hosted(self, call: RunnerCall, model: str, item: Any) -> None:
        """A tool that the provider has run, if its stream has not told of it."""
        kind, call_id = text_of(item, "type"), call_id_of(item)
        if kind in HOSTED and call_id not in self.ledger.tools:
            call.turn.start_tool(call_id, name_of(item, kind), input_of(item), agent=call.agent, model=model)
            call.turn.end_tool(call_id, result=result_of(item, kind), error=error_of(item))

    def _call(self, context: Any) -> RunnerCall:
        """The runner's call that a hook is about."""
        call = CURRENT.get()
        if call is not None and call.turn.run is self.run and not call.over:
            return call
        return self._known_by(field(context, "usage"), resumed=text_of(context, "tool_call_id"))

    def _known_by(self, usage: Any, *, resumed: str | None) -> RunnerCall:
        # All contexts of a run share one count of its tokens, and nothing else.
        call = self._by_usage.get(id(usage))
        if call is None:
            waiting = self.ledger.tools.get(resumed or "")
            key = self.run.new_id()
            turn = waiting.turn if waiting is not None and waiting.state == "waiting" else self.ledger.turn(key)
            call = self._by_usage[id(usage)] = RunnerCall(key, turn, hold=usage)
        return call

    def _call_id(self, call: RunnerCall, context: Any, tool: Any) -> str:
        """The id of a tool call; those of tools that are no functions have none, and are told in order."""
        told = text_of(context, "tool_call_id")
        if told:
            return told
        name = text_of(tool, "name")
        open_ones = [key for key, one in self.ledger.tools.items() if one.turn is call.turn and one.state in ("asked", "running")]
        alike = [key for key in open_ones if self.ledger.tools[key].name == name]
        return next(iter(alike or open_ones), None) or f"{call.key} {name}"


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
        self._adapter.hear(self._about, event)

    def finish(self, error: BaseException | None = None, *, closed: bool = False) -> None:
        """The stream is over."""
        if error is None and closed:
            error = CancelledError("the stream was closed before its last event")
        self._adapter.finish(self._about, self._handle, error)


def model_of(agent: Any) -> str | None:
    """The name of an agent's model, as far as the agent says it."""
    model = field(agent, "model")
    return model if isinstance(model, str) else text_of(model, "model") or None


def known(usage: Usage) -> Usage | None:
    """A count of tokens, None when nothing was counted."""
    return usage if usage.total_tokens else None


def _texts(items: Iterable[Any], kind: str, *names: str, between: str = "") -> str:
    parts = (part for item in items if text_of(item, "type") == kind for name in names for part in items_of(item, name))
    return between.join(text_of(part, "text", "refusal") for part in parts)


def _span() -> Any:
    """The SDK's span that this code is in, None where it does not trace."""
    current: Callable[[], Any] | None = getattr(sys.modules.get("agents"), "get_current_span", None)
    span = current() if current is not None else None
    return span if text_of(field(span, "span_data"), "type") == "function" else None
