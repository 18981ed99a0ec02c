"""Reads the events of pydantic-ai's agents, from the capability that hears them or from a stream of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import TYPE_CHECKING, Any, ClassVar

from agentcell.adapters.fields import arguments_of, count_of, field, items_of, text_of
from agentcell.adapters.model_call import CLOSED
from agentcell.events import ThinkingBlock, Usage

if TYPE_CHECKING:
    from agentcell.adapters.ledger import Ledger, Turn
    from agentcell.adapters.model_call import ModelCall


@dataclass(slots=True)
class AgentRun:
    """One run of one agent.

    Attributes:
        turn: The turn that it belongs to.
        agent: Its key there, "" for the agent that the user's code called.
        model: The key of its newest model call.
        outputs: The tools by which a model gives its answer; these are no rows.
        keys: The keys of the tool calls, by their ids.
        said: What the newest model call said in words.
        thought: Whether its reasoning was told as its provider gave it.
        newest: The newest event, which two capabilities may bring.
    """

    turn: Turn
    agent: str = ""
    model: str = ""
    outputs: frozenset[str] = frozenset()
    keys: dict[str, str] = dataclass_field(default_factory=dict)
    said: str = ""
    thought: bool = False
    newest: Any = None

    def key(self, call: Any) -> str:
        """The key of a tool call in the turn: agents side by side may ask their models under the same ids."""
        call_id = text_of(call, "tool_call_id")
        if call_id not in self.keys:
            self.keys[call_id] = f"{self.agent}:{call_id}" if self.agent else self.turn.own_key(call_id)
        return self.keys[call_id]


def tell_event(ledger: Ledger, run: AgentRun, event: Any) -> None:
    """Tells what an event of the agent run says; one of a kind that says nothing here is passed over."""
    part = field(event, "part", "result")
    match text_of(event, "event_kind"):
        case "part_start":
            _start_part(run, part)
        case "part_delta":
            delta = field(event, "delta")
            if text_of(delta, "part_delta_kind") == "text":
                run.turn.write(run.model, text_of(delta, "content_delta"), agent=run.agent)
            elif text_of(delta, "part_delta_kind") == "thinking":
                run.turn.think(run.model, text_of(delta, "content_delta"), agent=run.agent)
        case "part_end":
            _end_part(run, part)
        case "function_tool_call":
            _ask(run, part)
        case "function_tool_result":
            _end_tool(run, part)
        case "deferred_tool_requests":
            tell_requests(run, field(event, "requests"))
        case "deferred_tool_results":
            results = field(event, "results")
            for answers in (field(results, "approvals"), field(results, "calls")):
                for call_id in answers if isinstance(answers, Mapping) else ():
                    ledger.resume(run.key({"tool_call_id": call_id}))
        case _:
            pass


def tell_requests(run: AgentRun, requests: Any) -> None:
    """Tells which calls wait on the person; one that is known to wait is nothing new."""
    for waiting in items_of(requests, "approvals"):
        _pause(run, waiting, f"Run {text_of(waiting, 'tool_name')}?")
    for waiting in items_of(requests, "calls"):
        _pause(run, waiting, f"What does {text_of(waiting, 'tool_name')} give?")


def tell_thoughts(run: AgentRun, response: Any) -> None:
    """Tells the reasoning in a whole response, if no event did."""
    parts = [part for part in items_of(response, "parts") if text_of(part, "part_kind") == "thinking"]
    if parts and not run.thought:
        run.turn.reconcile(run.model, thinking=words_of(response, "thinking"), agent=run.agent)
        run.turn.end_thinking(run.model, [_block(part) for part in parts])


def _start_part(run: AgentRun, part: Any) -> None:
    match text_of(part, "part_kind"):
        case "text":
            run.turn.write(run.model, text_of(part, "content"), agent=run.agent)
        case "thinking":
            run.turn.think(run.model, text_of(part, "content"), agent=run.agent)
        case "tool-call" | "builtin-tool-call" if text_of(part, "tool_name") not in run.outputs:
            run.turn.ask_tool(run.key(part), text_of(part, "tool_name"), agent=run.agent, model=run.model)
        case "builtin-tool-return":
            _end_tool(run, part)
        case _:
            pass


def _end_part(run: AgentRun, part: Any) -> None:
    match text_of(part, "part_kind"):
        case "thinking":
            run.thought = True
            run.turn.end_thinking(run.model, [_block(part)])
        case "tool-call":
            _ask(run, part)
        case "builtin-tool-call":  # the provider runs it, and waits for nobody
            run.turn.start_tool(
                run.key(part), text_of(part, "tool_name"), arguments_of(field(part, "args")), agent=run.agent, model=run.model
            )
        case _:
            pass


def _ask(run: AgentRun, part: Any) -> None:
    name = text_of(part, "tool_name")
    if name not in run.outputs:
        run.turn.ask_tool(run.key(part), name, arguments_of(field(part, "args")), agent=run.agent, model=run.model)


def _end_tool(run: AgentRun, part: Any) -> None:
    content = field(part, "content")
    outcome = text_of(part, "outcome")
    if outcome == "denied":
        run.turn.refuse_tool(run.key(part), str(content))
    elif outcome in ("failed", "retried", "interrupted") or text_of(part, "part_kind") == "retry-prompt":
        run.turn.end_tool(run.key(part), error=content if isinstance(content, str) else repr(content))
    else:
        run.turn.end_tool(run.key(part), result=content)


def _pause(run: AgentRun, part: Any, question: str) -> None:
    run.turn.pause(run.key(part), question, call=run.key(part))


def _block(part: Any) -> ThinkingBlock:
    content, signature = text_of(part, "content"), text_of(part, "signature") or None
    # OpenAI's Responses give reasoning under ids of this form, and never but summed up.
    summary = text_of(part, "id").startswith("rs_")
    return ThinkingBlock("thinking" if content else "redacted_thinking", content, signature, summary=bool(content) and summary)


def usage_of(usage: Any) -> Usage | None:
    """Tokens as pydantic-ai counts them, which is as `Usage` does; None when nobody counted."""
    details = field(usage, "details")
    told = Usage(
        input_tokens=count_of(usage, "input_tokens", "request_tokens"),
        output_tokens=count_of(usage, "output_tokens", "response_tokens"),
        cache_read_tokens=count_of(usage, "cache_read_tokens"),
        cache_write_tokens=count_of(usage, "cache_write_tokens"),
        reasoning_tokens=count_of(usage, "output_reasoning_tokens") or count_of(details, "reasoning_tokens"),
    )
    return told if told.total_tokens else None


def words_of(response: Any, kind: str) -> str:
    """All text, or all thinking, of a whole response."""
    return "".join(text_of(part, "content") for part in items_of(response, "parts") if text_of(part, "part_kind") == kind)


def calls_of(response: Any) -> int:
    """How many tools a whole response asks for."""
    return sum(text_of(part, "part_kind") == "tool-call" for part in items_of(response, "parts"))


class AgentEventsReader:
    """Reads `agent.run_stream_events()`, or any other stream of an agent's events; one whose agent is heard anyway says nothing new."""

    derived: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, call: ModelCall) -> None:
        self.call = self
        self._first = call
        self._heard: AgentRun | None = None
        self._deaf: bool | None = None
        self._count = 0

    @staticmethod
    def takes(kind: str, event: Any, /) -> bool:  # noqa: ARG004 - the event says its kind in a field of its own
        """Whether this is an event of an agent."""
        return bool(text_of(event, "event_kind"))

    def read(self, event: Any) -> None:
        """Records what one event says."""
        from agentcell.adapters.pydantic_ai import PydanticAIAdapter

        adapter = self._first.run.adapter(PydanticAIAdapter)
        if self._deaf is None:
            self._deaf = adapter.has_heard(event)
            if self._deaf:
                self._first.complete = True
                self._first.finish()
        if self._deaf:
            return
        if self._heard is None:
            self._heard = AgentRun(adapter.ledger.turn(self._first.run.new_id(), ""))
            self._heard.turn.adopt(self._first)
        self._read(adapter.ledger, self._heard, event)

    def _read(self, ledger: Ledger, heard: AgentRun, event: Any) -> None:
        match text_of(event, "event_kind"):
            case "part_start" | "part_delta" | "part_end":
                if not heard.turn.is_asked(heard.model):
                    self._count += 1
                    heard.model = f"{heard.turn.key}:{self._count}"
                    heard.turn.start_model(heard.model)
            case "function_tool_call":
                heard.turn.end_model(heard.model)
            case "agent_run_result":
                # Only the whole run's tokens are told here, so the last call stands for all of them.
                heard.turn.end_model(heard.model, usage=usage_of(run_usage(field(event, "result"))))
            case _:
                pass
        tell_event(ledger, heard, event)
        if text_of(event, "event_kind") == "function_tool_call" and field(event, "args_valid") is not False:
            part = field(event, "part")
            heard.turn.start_tool(heard.key(part), text_of(part, "tool_name"), arguments_of(field(part, "args")), model=heard.model)

    def finish(self, error: BaseException | None = None, *, closed: bool = False) -> None:
        """The stream is over."""
        if self._heard is not None:
            self._heard.turn.close(GeneratorExit(CLOSED) if closed and error is None else error)


def run_usage(result: Any) -> Any:
    """The tokens of a whole agent run, which the major version before gave by a method."""
    usage = field(result, "usage")
    return usage if hasattr(usage, "input_tokens") else usage()
