"""Hears the OpenAI Agents SDK: what its runner was called for, what its hooks tell, and what its stream brings.

All three tell of the same calls in an order of their own, so a model call is known by its number among those of its runner call: the
n-th that a hook tells to start is the n-th that ends, and the n-th whose response comes through the stream, however late that is read.
"""

from __future__ import annotations

from asyncio import CancelledError
from typing import TYPE_CHECKING, Any, ClassVar

from agentcell.adapters.fields import arguments_of, field, items_of, plain, text_of
from agentcell.adapters.hearing import heard
from agentcell.adapters.ledger import Ledger
from agentcell.adapters.openai_agents_calls import (
    FAILED,
    RunnerCall,
    current,
    function_span,
    guardrail_in,
    known,
    model_of,
    texts_of,
)
from agentcell.adapters.openai_agents_pauses import ask_person, resume
from agentcell.adapters.openai_responses import (
    ASKED,
    HOSTED,
    call_id_of,
    error_of,
    input_of,
    name_of,
    result_of,
    usage_of,
)
from agentcell.events import LimitReached, Noted, ToolOffer
from agentcell.tool_call import call_around

if TYPE_CHECKING:
    from agentcell.run import Run


class OpenAIAgentsAdapter:
    """Tells one run of the agents of the OpenAI Agents SDK."""

    framework: ClassVar[str] = "the OpenAI Agents SDK"

    def __init__(self, run: Run) -> None:
        self.run = run
        self.ledger = Ledger(run)
        self._by_usage: dict[int, RunnerCall] = {}  # those that only their hooks or their stream tell of
        self.streaming: list[RunnerCall] = []  # those whose stream may still be read
        self.heard: tuple[Any, ...] = ()  # the newest events: the same stream may be heard in two ways

    def close(self, error: BaseException | None = None) -> None:
        """The run's block is left."""
        self._by_usage.clear()
        self.streaming.clear()
        self.ledger.close(error)

    # Calls of the runner

    def begin(self, agent: Any, given: Any, context: Any) -> RunnerCall:
        """The runner is called with `agent`; `given` is the input, or the state of a run that was interrupted."""
        outer = current()
        tool = self._tool_around(outer, context) if outer is not None else None
        if (
            outer is not None
            and outer.turn.run is self.run
            and not outer.over
            and (tool is None or self.ledger.is_here(outer.turn, tool))
        ):
            key = f"{tool or self.run.new_id()} {text_of(agent, 'name')}"
            outer.turn.start_agent(key, text_of(agent, "name"), agent=outer.agent, inside=tool)
            return RunnerCall(self.run.new_id(), outer.turn, agent=key, root=False)
        turn = resume(self.ledger, given)
        key = self.run.new_id()
        return RunnerCall(key, turn or self.ledger.turn(key, text_of(agent, "name")))

    def finish(self, call: RunnerCall, result: Any = None, error: BaseException | None = None) -> None:
        """The runner is through, or waits on the person."""
        if call.over:
            return
        call.over = True
        interruptions = items_of(result, "interruptions")
        if interruptions and error is None:
            for item in interruptions:
                ask_person(call, item)
            return
        self._blame(call, error)
        guardrail = guardrail_in(error)
        if guardrail is not None:
            self.run.record(Noted(text=f"The guardrail `{guardrail}` stopped it"))
            error = CancelledError(f"the guardrail `{guardrail}` stopped it")
        if type(error).__name__ == "MaxTurnsExceeded":
            self.run.record(LimitReached(kind="turns", limit=call.max_turns))
        if not call.root:
            call.turn.end_agent(call.first_agent, error=error)
            return
        output = field(result, "final_output")
        if error is None and isinstance(output, str):
            call.turn.answer(output)  # a tool's result may be the whole answer
        call.turn.close(error)

    def _tool_around(self, outer: RunnerCall, context: Any) -> str | None:
        """The tool call of `outer` that this code runs in: as the SDK says, or else the newest that runs."""
        told = text_of(context, "tool_call_id")
        if told and outer.tool(told) in self.ledger.tools:
            return outer.tool(told)
        running = self._running(outer)
        return running[-1] if running else None

    def call_here(self) -> str | None:
        """The id of the tool call that this code is in, None where the SDK does not say it: of several at once, where it does not trace."""
        call = current()
        if call is None or call.turn.run is not self.run or call.entered != call_around(self.run):
            return None  # or this code is in a tool of another framework, inside that of this one
        running = self._running(call)
        return self.ledger.tools[running[0]].call_id if len(running) == 1 else None

    def _running(self, call: RunnerCall) -> list[str]:
        """The keys of its tool calls that run; the one that this code is in alone, where the SDK traces."""
        span = function_span()
        running = [key for key in call.spans if self.ledger.tools[key].state == "running"]
        return [key for key in running if span is not None and call.spans[key] is span] or running

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
        for item in items:
            self._tell_hosted(call, key, item)
        call.turn.end_model(
            key,
            text=texts_of(items, "message", "content"),
            thinking=texts_of(items, "reasoning", "summary", "content", between="\n\n"),
            usage=known(usage_of(field(response, "usage"))),
            tool_calls=len(asked) or None,
        )
        for item in asked:
            name = name_of(item, text_of(item, "type"))
            call.turn.ask_tool(call.tool(call_id_of(item)), name, input_of(item), agent=call.agent, model=key)
        self.run.raise_if_stopping()

    @heard
    def on_tool_start(self, context: Any, _agent: Any, tool: Any) -> None:
        """A tool begins to run."""
        call = self._call(context)
        call_id = self._call_id(call, context, tool)
        arguments = arguments_of(field(context, "tool_arguments"))
        call.spans[call_id] = function_span()
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
        self.hand_over(call, transfer or self.run.new_id(), to_agent)

    @heard
    def on_agent_end(self, context: Any, _agent: Any, output: Any) -> None:
        """The agent has its final output; where nobody sees the runner return, this is the end."""
        call = self._call(context)
        if call is not current():
            self._by_usage.pop(id(field(context, "usage")), None)
            self.finish(call, {"final_output": output})

    # What hooks and streams share

    def attend(self, handle: Any) -> RunnerCall:
        """The call that this stream tells of."""
        about = getattr(handle, "agentcell_call", None)
        told = about() if callable(about) else None
        if isinstance(told, RunnerCall):
            return told
        return self._known_by(field(field(handle, "context_wrapper"), "usage"), resumed=None)

    def hand_over(self, call: RunnerCall, transfer: str, agent: Any) -> None:
        """Another agent goes on, because of the tool call with the key `transfer`."""
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
        kind, call_id = text_of(item, "type"), call.tool(call_id_of(item))
        if kind in HOSTED and call_id not in self.ledger.tools:
            call.turn.start_tool(call_id, name_of(item, kind), input_of(item), agent=call.agent, model=model)
            call.turn.end_tool(call_id, result=result_of(item, kind), error=error_of(item))

    def _call(self, context: Any) -> RunnerCall:
        """The runner's call that a hook is about."""
        call = current()
        if call is not None and call.turn.run is self.run and not call.over:
            return call
        return self._known_by(field(context, "usage"), resumed=text_of(context, "tool_call_id"))

    def _known_by(self, usage: Any, *, resumed: str | None) -> RunnerCall:
        # All contexts of a run share one count of its tokens, and nothing else.
        call = self._by_usage.get(id(usage))
        if call is None:
            # A call of the runner begins with a model; one that begins with a tool goes on, and nobody may have told that it waited.
            waiting = self.ledger.tools.get(self.ledger.waiting(resumed or "") or resumed or "")
            key = self.run.new_id()
            turn = waiting.turn if waiting is not None and waiting.state in ("asked", "waiting") else self.ledger.turn(key)
            call = self._by_usage[id(usage)] = RunnerCall(key, turn, hold=usage)
        return call

    def _call_id(self, call: RunnerCall, context: Any, tool: Any) -> str:
        """The id of a tool call; those of tools that are no functions have none, and are told in order."""
        told = text_of(context, "tool_call_id")
        if told:
            return call.tool(told)
        name = text_of(tool, "name")
        open_ones = [key for key, one in self.ledger.tools.items() if one.turn is call.turn and one.state in ("asked", "running")]
        alike = [key for key in open_ones if self.ledger.tools[key].name == name]
        return next(iter(alike or open_ones), None) or f"{call.key} {name}"
