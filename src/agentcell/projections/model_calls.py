"""The model calls of a run, each with what it said, thought and cost, until a beat of the trace takes it.

A tool call mostly names the model call that asked for it. Where it does not, the newest call that asked for tools is meant,
with the newest thinking and the newest tools.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agentcell.projections.beats import Cost
from agentcell.text.control_tokens import strip_control_tokens
from agentcell.text.javascript import trim
from agentcell.text.think import split_reasoning

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentcell.events import ModelEnded, ModelStarted, TextDelta, ThinkingDelta, ThinkingEnded, ToolOffer

_ASKS_FOR_TOOLS = frozenset({"tool_calls", "tool_use", "function_call", "tool_call"})
"""The providers' words for a call that ended because the model wants a tool."""

_NO_COST = Cost()


@dataclass(slots=True)
class ModelCall:
    """One model call.

    Attributes:
        tools: What it could choose from.
        started: When, in seconds of the run.
        thinking: Its reasoning in paragraphs.
        cost: What it took, once it is over.
        waiting: The tool calls it asked for that have not returned.
        ended: Whether it is over.
        first_ask: The place of the beat that took its cost and thinking.
        answer: The place of the beat that took its text for the answer.
        thought_inside: Its reasoning as found inside its text.
        splits: Whether to look for that: not where its reasoning comes apart from its text.
    """

    tools: tuple[ToolOffer, ...] = ()
    started: float = 0.0
    thinking: str | None = None
    cost: Cost = _NO_COST
    waiting: set[str] = field(default_factory=set)
    ended: bool = False
    first_ask: int | None = None
    answer: int | None = None
    thought_inside: str | None = None
    splits: bool = True
    _text: list[str] = field(default_factory=list)
    _thoughts: list[str] = field(default_factory=list)

    @property
    def thinks_apart(self) -> bool:
        """Whether its reasoning came on a channel of its own, so that its text holds none."""
        return bool(self.thinking or self._thoughts)

    def say(self, text: str) -> None:
        """Adds to its text."""
        self._text.append(text)

    def give_back(self, text: str) -> None:
        """Makes `text` all that it said and nobody took."""
        self._text[:] = [text]

    def take_text(self) -> str:
        """What it said since somebody took that, without reasoning inside."""
        text = "".join(self._text)
        self._text.clear()
        if not self.splits:
            return text
        split = split_reasoning(text)
        if split.reasoning:
            self.thought_inside = paragraphs([self.thought_inside or "", *split.reasoning])
            self.thinking = paragraphs([self.thinking or "", *split.reasoning])
        return strip_control_tokens(split.answer)

    def think(self, text: str) -> None:
        """Adds to the stretch of thinking that goes on."""
        self.splits = False
        self._thoughts.append(text)

    def end_thought(self, parts: Iterable[str]) -> None:
        """Closes a stretch of thinking: its `parts`, or what was streamed of it where they are empty."""
        stretch = paragraphs(parts) or paragraphs(["".join(self._thoughts)])
        self.thinking = paragraphs([self.thinking or "", stretch or ""])
        self._thoughts.clear()


@dataclass(frozen=True, slots=True)
class Claim:
    """What an ask gets of the model call behind it: its text so far, the rest only on the first ask."""

    text: str
    cost: Cost = _NO_COST
    thinking: str | None = None
    tools: tuple[ToolOffer, ...] = ()


class ModelCalls:
    """The calls by id, and the newest of everything for those who name none."""

    def __init__(self, *, splits: bool) -> None:
        self._splits = splits
        self._by_id: dict[str, ModelCall] = {}
        self._asking = ModelCall()
        self._thinking: str | None = None
        self._tools: tuple[ToolOffer, ...] = ()

    def find(self, model_call_id: str) -> ModelCall:
        """The call with that id; one that nobody saw start begins here."""
        return self._by_id.setdefault(model_call_id, ModelCall(self._tools, splits=self._splits))

    def asker(self, model_call_id: str) -> ModelCall:
        """The call with that id, "" for the newest that asked for tools."""
        return self.find(model_call_id) if model_call_id else self._asking

    def start(self, event: ModelStarted) -> None:
        """A call begins; thinking told so far was not its own."""
        self._thinking, self._tools = None, event.tools
        self._by_id[event.model_call_id] = ModelCall(event.tools, event.time, splits=self._splits)

    def stream(self, event: TextDelta | ThinkingDelta, *, thought: bool) -> None:
        """Text or thinking of a call goes on."""
        call = self.find(event.model_call_id)
        (call.think if thought else call.say)(event.text)

    def end_thinking(self, event: ThinkingEnded) -> tuple[bool, str | None]:
        """Whether the call was over already when its thinking was told, and then the whole of it."""
        call = self._by_id.get(event.model_call_id)
        parts = [block.content for block in event.blocks]
        if call is not None and not call.ended:
            # Told while the call still runs, it is one stretch of several, and the beat is yet to come.
            call.end_thought(parts)
            return False, None
        self._thinking = paragraphs(parts)
        return True, self._thinking

    def end(self, event: ModelEnded) -> tuple[ModelCall, bool]:
        """The call that ended, and whether it wants a tool before it answers."""
        call = self.find(event.model_call_id)
        call.ended = True
        call.cost = _cost(event, call.started)
        if event.text is not None and call.first_ask is None:
            call.give_back(event.text)
        wants = bool(call.waiting) or event.finish_reason in _ASKS_FOR_TOOLS
        if event.tool_calls is not None:
            wants = event.tool_calls != 0
        if wants and event.outcome == "done":
            self._asking = call
            self._thinking = call.thinking or self._thinking
        return call, wants

    def claim(self, model_call_id: str, index: int) -> Claim:
        """What the ask at place `index` gets of the call that asked."""
        call = self.asker(model_call_id)
        text = call.take_text()
        if call.first_ask is not None:
            return Claim(text)
        call.first_ask = index
        thinking, tools = (call.thinking, call.tools) if model_call_id else (self._thinking or call.thought_inside, self._tools)
        return Claim(text, call.cost, thinking, tools)


def paragraphs(parts: Iterable[str]) -> str | None:
    """The parts that are not blank, trimmed, a blank line between them; None when there are none."""
    return "\n\n".join(part for part in map(trim, parts) if part) or None


def milliseconds(duration: float | None, started: float, ended: float) -> float:
    """A duration as somebody measured it, else the time between; whole milliseconds stay whole."""
    return round((ended - started if duration is None else duration) * 1000, 3)


def _cost(event: ModelEnded, started: float) -> Cost:
    ms, usage = milliseconds(event.duration, started, event.time), event.usage
    if usage is None:
        return Cost(ms)
    return Cost(
        ms,
        usage.total_tokens,
        None if "input_tokens" in usage.unsaid else usage.input_tokens,
        None if "output_tokens" in usage.unsaid else usage.output_tokens,
        None if "cache_read_tokens" in usage.unsaid else usage.cache_read_tokens,
    )
