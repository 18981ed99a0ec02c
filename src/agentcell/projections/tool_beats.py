"""The ask and the return of a tool call, made from the call's events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentcell.projections.beats import Ask, Cost, Return
from agentcell.projections.commentary import NAMELESS_TOOL
from agentcell.projections.model_calls import milliseconds
from agentcell.text.fields import text_at

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentcell.events import CallOutcome, ToolEnded, ToolStarted
    from agentcell.projections.model_calls import Claim

SKILL_TOOL = "read_skill"
"""The tool whose reply is an instruction, not data; its argument `id` names the skill."""

WORDLESS: Mapping[CallOutcome, str] = {"done": "", "failed": "tool failed", "cancelled": "cancelled"}
"""What is said of a call that ended so without a word."""


@dataclass(frozen=True, slots=True)
class OpenAsk:
    """What the return of a call has to know of its ask: its place among the beats, its names, when it was."""

    index: int
    tool: str
    tool_name: str
    skill: str | None
    started: float

    @classmethod
    def of(cls, event: ToolStarted, index: int) -> OpenAsk:
        """The ask that `event` makes at place `index`."""
        name = event.name or NAMELESS_TOOL
        if name != SKILL_TOOL:
            return cls(index, name, name, None, event.time)
        skill = text_at(event.arguments, "id")
        return cls(index, "skill" if skill is None else skill, name, skill or None, event.time)


def ask_beat(event: ToolStarted, ask: OpenAsk, claim: Claim, brain: str) -> Ask:
    """The beat in which the model asks; `claim` is what it gets of the model call."""
    return Ask(
        brain=brain,
        cost=claim.cost,
        at=event.source_id,
        tool=ask.tool,
        tool_name=event.name or None,
        call_id=event.call_id,
        input=event.arguments,
        thinking=claim.thinking,
        tools_seen=claim.tools,
    )


def return_beat(event: ToolEnded, ask: OpenAsk, brain: str) -> Return:
    """The beat in which the tool replies to `ask`."""
    return Return(
        brain=brain,
        cost=Cost(milliseconds(event.duration, ask.started, event.time)),
        at=event.source_id,
        tool=ask.tool,
        tool_name=ask.tool_name,
        call_id=event.call_id,
        reply_type="instruction" if ask.tool_name == SKILL_TOOL else "data",
        output=_output(event),
        skill=ask.skill,
        error=_error(event),
        cancelled=event.outcome == "cancelled",
    )


def _output(event: ToolEnded) -> Mapping[str, Any]:
    if isinstance(event.result, dict):
        return event.result
    if event.result is None and event.outcome != "done":
        return {}
    return {"value": event.result}


def _error(event: ToolEnded) -> str | None:
    if event.outcome == "done":
        return None
    return event.error or WORDLESS[event.outcome]
