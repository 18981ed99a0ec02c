"""The beats of a trace become the events that made them: one model call for what a model said, one tool call for an ask."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from agentcell.adapters.loading import fault, list_in, number_in, object_in, object_of, text_in
from agentcell.events import (
    AnyEvent,
    CallOutcome,
    ModelEnded,
    ModelStarted,
    Routed,
    TextDelta,
    ThinkingBlock,
    ThinkingEnded,
    ToolEnded,
    ToolOffer,
    ToolStarted,
    TurnEnded,
    Usage,
)
from agentcell.projections.beats import Cost
from agentcell.projections.commentary import NAMELESS_TOOL, Commentary
from agentcell.projections.commentary_routing import TOLD
from agentcell.projections.tool_beats import WORDLESS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Beat: TypeAlias = Mapping[str, Any]


class BeatReader:
    """Reads the beats of one trace in their order.

    Args:
        agent: The agent's name in the trace.

    Attributes:
        prompt: What the prompt's beat said.
        time: Seconds from the run's start to the end of the beats so far.
    """

    def __init__(self, agent: str) -> None:
        self.prompt = ""
        self.time = 0.0
        self._commentary = Commentary(app_name=agent)
        self._model_calls = 0
        self._asking = ""
        self._answered = False
        self._made_up = 0
        self._open: dict[str, tuple[str, float]] = {}

    def read(self, where: str, beat: object, at: str | None) -> Iterator[AnyEvent]:
        """The events of the next beat; `where` names it in an error, `at` is the framework's id for its place."""
        beat = object_of(where, beat)
        match beat.get("kind"):
            case "prompt":
                self.prompt = self.prompt or text_in(where, beat, "brain")
                return
            case "ask":
                events = self._ask(where, beat, at)
            case "return":
                events = self._return(where, beat, at)
            case "answer":
                events = self._answer(where, beat, at)
            case kind:
                raise fault(f"kind of {where}", "'prompt', 'ask', 'return' or 'answer'", kind)
        for event in events:
            self._commentary.tell(event)
            yield event

    def _ask(self, where: str, beat: Beat, at: str | None) -> Iterator[AnyEvent]:
        cost, thinking, tools = _cost(where, beat), text_in(where, beat, "thinking"), _offers(where, beat)
        tool, brain = text_in(where, beat, "tool"), text_in(where, beat, "brain")
        name = text_in(where, beat, "toolName", "" if tool == NAMELESS_TOOL else tool)
        call_id = text_in(where, beat, "toolCallId") or self._new_id()
        # Another ask of the same model call has nothing of its own; so has the ask of a run without a model.
        new = cost != Cost() or bool(thinking or tools) or (self._model_calls > 0 and not self._asking)
        if new:
            self._asking = self._next_model_call()
            yield from self._begin_model(thinking, tools)
        started = ToolStarted(source_id=at, call_id=call_id, name=name, arguments=object_in(where, beat, "input"))
        # What the model did not say itself is the commentary's sentence, which comes again by itself.
        sentence = self._commentary.tell(started).text
        if brain != sentence and not self._asking:
            if brain.endswith(f"\n\n{sentence}"):
                yield self._lead(brain.removesuffix(sentence))
            else:
                new, self._asking = True, self._next_model_call()
                yield from self._begin_model("", ())
        if brain != sentence and self._asking:
            yield TextDelta(time=self.time, text=brain, model_call_id=self._asking)
        if new:
            yield self._end_model(cost, None, tool_calls=1)
        self._open[call_id] = (tool, self.time)
        yield replace(started, time=self.time, model_call_id=self._asking)

    def _return(self, where: str, beat: Beat, at: str | None) -> Iterator[AnyEvent]:
        tool, call_id = text_in(where, beat, "tool"), text_in(where, beat, "toolCallId")
        if not call_id:
            call_id = next((one for one, (asked, _) in self._open.items() if asked == tool), "")
        if call_id not in self._open:
            raise fault(where, "the return of a call that a beat before it asks for and that has not returned", dict(beat))
        _, asked_at = self._open.pop(call_id)
        duration = _cost(where, beat).ms / 1000
        self.time = max(self.time, asked_at + duration)
        error = text_in(where, beat, "error")
        outcome: CallOutcome = "cancelled" if beat.get("cancelled") is True else "failed" if error else "done"
        yield ToolEnded(
            time=self.time,
            source_id=at,
            call_id=call_id,
            outcome=outcome,
            result=_result(object_in(where, beat, "output"), outcome),
            error=None if error in ("", WORDLESS[outcome]) else error,
            duration=duration,
        )

    def _answer(self, where: str, beat: Beat, at: str | None) -> Iterator[AnyEvent]:
        cost, thinking, tools = _cost(where, beat), text_in(where, beat, "thinking"), _offers(where, beat)
        answer = object_in(where, beat, "answer")
        text = text_in(where, answer, "text", text_in(where, answer, "headline"))
        lead = text_in(where, beat, "brain").removesuffix(text)
        self._asking = ""
        plain = cost == Cost() and not thinking and not tools
        if plain and text and not self._answered:
            if lead:
                yield self._lead(lead)
            yield TurnEnded(time=self.time, source_id=at, text=text)
        else:
            call_id = self._next_model_call()
            yield from self._begin_model(thinking, tools)
            if lead:
                yield self._lead(lead)
            if text:
                yield TextDelta(time=self.time, text=text, model_call_id=call_id)
            yield self._end_model(cost, at, tool_calls=0)
        self._answered = True

    def _begin_model(self, thinking: str, tools: tuple[ToolOffer, ...]) -> Iterator[AnyEvent]:
        call_id = f"model-{self._model_calls}"
        yield ModelStarted(time=self.time, model_call_id=call_id, tools=tools)
        if thinking:
            yield ThinkingEnded(time=self.time, model_call_id=call_id, blocks=(ThinkingBlock(content=thinking),))

    def _end_model(self, cost: Cost, at: str | None, *, tool_calls: int) -> ModelEnded:
        self.time += cost.ms / 1000
        return ModelEnded(
            time=self.time,
            source_id=at,
            model_call_id=f"model-{self._model_calls}",
            usage=_usage(cost),
            tool_calls=tool_calls,
            duration=cost.ms / 1000,
        )

    def _lead(self, text: str) -> Routed:
        return Routed(time=self.time, by=TOLD, reason=text.removesuffix("\n\n"))

    def _next_model_call(self) -> str:
        self._model_calls += 1
        return f"model-{self._model_calls}"

    def _new_id(self) -> str:
        self._made_up += 1
        return f"call-{self._made_up}"


def _result(output: Mapping[str, Any], outcome: CallOutcome) -> Any:
    """What a tool gave back, of which a trace makes an object."""
    if set(output) == {"value"} and not isinstance(output["value"], dict):
        return output["value"] if output["value"] is not None or outcome == "done" else output
    return output


def _usage(cost: Cost) -> Usage | None:
    told = {"input_tokens": cost.tokens_in, "output_tokens": cost.tokens_out, "cache_read_tokens": cost.tokens_cached}
    unsaid = tuple(name for name, count in told.items() if count is None)
    if len(unsaid) == len(told) and not cost.tokens:
        return None
    # A count that was not told is the rest of the whole, so that the whole stays right.
    read, written = cost.tokens_in, cost.tokens_out
    if read is None:
        read = max(0, cost.tokens - (written or 0))
    if written is None:
        written = max(0, cost.tokens - read)
    return Usage(read, written, cost.tokens_cached or 0, unsaid=unsaid)


def _cost(where: str, beat: Beat) -> Cost:
    where, cost = f"the cost of {where}", object_in(where, beat, "cost")
    read, written, cached = (_count(where, cost, key) for key in ("tokensIn", "tokensOut", "tokensCached"))
    return Cost(number_in(where, cost, "ms") or 0, _count(where, cost, "tokens") or 0, read, written, cached)


def _count(where: str, cost: Mapping[str, Any], key: str) -> int | None:
    value = number_in(where, cost, key)
    return None if value is None else int(value)


def _offers(where: str, beat: Beat) -> tuple[ToolOffer, ...]:
    tools = (object_of(f"a tool of {where}", tool) for tool in list_in(where, beat, "toolsSeen"))
    return tuple(ToolOffer(text_in(where, tool, "name"), text_in(where, tool, "description")) for tool in tools)
