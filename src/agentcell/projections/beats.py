"""A run as a short play: its beats, in the shape that AgentThinkingUI plays.

A prompt comes in, the model asks for tools, they return, an answer goes out. `to_dict` of each gives its JSON, camelCase,
without the keys that say nothing: players have crashed on optional keys that were there and null.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from agentcell.text.javascript import first_units, trim, units

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentcell.events import ToolOffer

Json: TypeAlias = dict[str, Any]

HEADLINE_UNITS = 140
"""How much of the answer's first line is its headline, in UTF-16 units."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a beat took: milliseconds and tokens; a count that nobody told is None."""

    ms: float = 0
    tokens: int = 0
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None

    def to_dict(self) -> Json:
        """The JSON of it."""
        ms = int(self.ms) if float(self.ms).is_integer() else self.ms
        counts = {"tokensIn": self.tokens_in, "tokensOut": self.tokens_out, "tokensCached": self.tokens_cached}
        return {"ms": ms, "tokens": self.tokens, **told(counts)}


_NO_COST = Cost()


@dataclass(frozen=True, slots=True, kw_only=True)
class Beat:
    """What every beat has.

    Attributes:
        brain: What the model, or the commentary in its place, says here.
        cost: What it took.
        at: The framework's id for the place, "" for the prompt, None when it has none.
    """

    brain: str
    cost: Cost = _NO_COST
    at: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt(Beat):
    """The task comes in."""

    at: str | None = ""

    def to_dict(self) -> Json:
        """The JSON of it."""
        return {"kind": "prompt", "brain": self.brain, "cost": self.cost.to_dict()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask(Beat):
    """The model asks for a tool.

    Attributes:
        tool: What is asked for: the tool's name, or the skill that `read_skill` reads.
        tool_name: The tool's own name, None when nobody told.
        call_id: The tool call's id, which its return has too.
        input: The arguments.
        thinking: The model's reasoning before it asked, on the first ask of a model call.
        tools_seen: The tools it could choose from, on the first ask of a model call.
    """

    tool: str
    tool_name: str | None = None
    call_id: str = ""
    input: Mapping[str, Any] = field(default_factory=dict)
    thinking: str | None = None
    tools_seen: tuple[ToolOffer, ...] = ()

    def to_dict(self) -> Json:
        """The JSON of it."""
        return {
            "kind": "ask",
            "tool": self.tool,
            **told({"toolName": self.tool_name}),
            "toolCallId": self.call_id,
            "input": dict(self.input),
            "brain": self.brain,
            "cost": self.cost.to_dict(),
            **told({"thinking": self.thinking, "toolsSeen": _offers(self.tools_seen)}),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Return(Beat):
    """A tool's reply.

    Attributes:
        tool: As in the ask.
        tool_name: The tool's own name.
        call_id: As in the ask.
        reply_type: `data` to reason with, or an `instruction` to act on.
        output: The result; what is no object stands under `value`.
        skill: The skill that was read.
        error: What went wrong.
        cancelled: Whether the call was given up; `error` says why.
    """

    tool: str
    tool_name: str
    call_id: str = ""
    reply_type: Literal["data", "instruction"] = "data"
    output: Mapping[str, Any] = field(default_factory=dict)
    skill: str | None = None
    error: str | None = None
    cancelled: bool = False

    def to_dict(self) -> Json:
        """The JSON of it."""
        return {
            "kind": "return",
            "tool": self.tool,
            "toolName": self.tool_name,
            "toolCallId": self.call_id,
            "replyType": self.reply_type,
            "output": dict(self.output),
            "brain": self.brain,
            "brainSource": "framework",
            "brainMode": "act" if self.reply_type == "instruction" else "reason",
            **told({"skill": self.skill}),
            "cost": self.cost.to_dict(),
            **told({"error": self.error, "cancelled": self.cancelled or None}),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Beat):
    """The answer goes out.

    Attributes:
        to: Who gets it.
        text: The whole answer.
        thinking: The model's reasoning before it.
        tools_seen: The tools that the model could have chosen from.
    """

    to: str
    text: str
    thinking: str | None = None
    tools_seen: tuple[ToolOffer, ...] = ()

    @property
    def headline(self) -> str:
        """The first line that is not blank, cut at `HEADLINE_UNITS`; `Done` when there is none."""
        line = next((line for line in self.text.split("\n") if trim(line)), "Done")
        return line if units(line) <= HEADLINE_UNITS else first_units(line, HEADLINE_UNITS) + "…"

    def to_dict(self) -> Json:
        """The JSON of it."""
        return {
            "kind": "answer",
            "to": self.to,
            "brain": self.brain,
            "answer": {"headline": self.headline, "text": self.text},
            "cost": self.cost.to_dict(),
            **told({"toolsSeen": _offers(self.tools_seen), "thinking": self.thinking}),
        }


Step: TypeAlias = Prompt | Ask | Return | Answer


def told(values: Json) -> Json:
    """The values without those that are None."""
    return {key: value for key, value in values.items() if value is not None}


def _offers(tools: tuple[ToolOffer, ...]) -> list[Json] | None:
    return [{"name": tool.name, **({"description": tool.description} if tool.description else {})} for tool in tools] or None
