"""Traces out to AgentThinkingUI's JSON, which its player plays, and back in.

Whatever it calls optional may be missing on the way in and is left out, never null, on the way out: players have crashed on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentcell.errors import LoadError
from agentcell.events import ToolOffer
from agentcell.projections.beats import Answer, Ask, Cost, Prompt, Return, Step
from agentcell.projections.trace_shape import Trace
from agentcell.text.fields import list_at, number_at, object_at, objects_at, text_at

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def write_trace(trace: Trace) -> dict[str, Any]:
    """The JSON of `trace` as the player reads it: `to_dict` with `spanId` on the beats and `status` on a failed run."""
    written = trace.to_dict()
    for beat, at in zip(written["steps"], trace.at, strict=True):
        if at:
            beat["spanId"] = at
    if trace.error is not None:
        written["status"] = "error"
    return written


def read_trace(written: Mapping[str, Any]) -> Trace:
    """The trace that `written` holds, by us or by another recorder; beats of a kind that we do not know are passed over.

    Raises:
        LoadError: it has no list of steps, so it is no trace.
    """
    if not isinstance(written.get("steps"), list):
        raise LoadError(f"a trace must have a list of steps, but this has the keys {sorted(written)}: is it a saved trace?")
    places = list_at(written, "at")
    steps: list[Step] = []
    for n, beat in enumerate(list_at(written, "steps")):
        read = _READERS.get(beat.get("kind")) if isinstance(beat, dict) else None
        if read is not None:
            at = places[n] if n < len(places) else text_at(beat, "spanId")
            steps.append(read(beat, at if isinstance(at, str) else None))
    return Trace(
        text_at(written, "task") or "",
        _text(written, "agent", "Agent"),
        _text(written, "model", "model"),
        _text(written, "asker", "you"),
        tuple(steps),
        text_at(written, "title"),
        tuple(call_id for call_id in list_at(written, "open") if isinstance(call_id, str)),
        text_at(written, "error"),
    )


def _prompt(beat: dict[str, Any], at: str | None) -> Prompt:
    return Prompt(brain=_text(beat, "brain"), cost=_cost(beat), at=at or "")


def _ask(beat: dict[str, Any], at: str | None) -> Ask:
    return Ask(
        brain=_text(beat, "brain"),
        cost=_cost(beat),
        at=at,
        tool=_text(beat, "tool"),
        tool_name=text_at(beat, "toolName"),
        call_id=_text(beat, "toolCallId"),
        input=object_at(beat, "input"),
        thinking=text_at(beat, "thinking"),
        tools_seen=_offers(beat),
    )


def _return(beat: dict[str, Any], at: str | None) -> Return:
    return Return(
        brain=_text(beat, "brain"),
        cost=_cost(beat),
        at=at,
        tool=_text(beat, "tool"),
        tool_name=_text(beat, "toolName", _text(beat, "tool")),
        call_id=_text(beat, "toolCallId"),
        # `both` is an instruction too: its reader has to act on it.
        reply_type="data" if beat.get("replyType", "data") == "data" else "instruction",
        output=object_at(beat, "output"),
        skill=text_at(beat, "skill"),
        error=text_at(beat, "error"),
    )


def _answer(beat: dict[str, Any], at: str | None) -> Answer:
    answer = object_at(beat, "answer")
    return Answer(
        brain=_text(beat, "brain"),
        cost=_cost(beat),
        at=at,
        to=_text(beat, "to", "you"),
        text=_text(answer, "text", _text(answer, "headline")),
        thinking=text_at(beat, "thinking"),
        tools_seen=_offers(beat),
    )


_READERS: Mapping[Any, Callable[[dict[str, Any], str | None], Step]] = {
    "prompt": _prompt,
    "ask": _ask,
    "return": _return,
    "answer": _answer,
}


def _cost(beat: dict[str, Any]) -> Cost:
    cost = object_at(beat, "cost")
    return Cost(
        number_at(cost, "ms") or 0,
        _count(cost, "tokens") or 0,
        _count(cost, "tokensIn"),
        _count(cost, "tokensOut"),
        _count(cost, "tokensCached"),
    )


def _count(cost: dict[str, Any], key: str) -> int | None:
    value = number_at(cost, key)
    return None if value is None else int(value)


def _offers(beat: dict[str, Any]) -> tuple[ToolOffer, ...]:
    return tuple(ToolOffer(_text(tool, "name"), _text(tool, "description")) for tool in objects_at(beat, "toolsSeen"))


def _text(mapping: Mapping[str, Any], key: str, default: str = "") -> str:
    value = text_at(mapping, key)
    return default if value is None else value
