"""Events on their way into the log: their values as plain JSON, without secrets."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agentcell.events import (
    ContextEvaluated,
    Noted,
    PauseRequested,
    PauseResumed,
    Reported,
    Routed,
    ToolEnded,
    ToolProgressed,
    ToolStarted,
)
from agentcell.redact import plain

if TYPE_CHECKING:
    from agentcell.events import AnyEvent
    from agentcell.redact import Redact


def cleaned(event: AnyEvent, redact: Redact) -> AnyEvent:
    """The event with its values as plain JSON and without secrets."""
    match event:
        case ToolStarted():
            return replace(event, arguments=_mapping("arguments", plain(event.arguments, redact=redact)))
        case Routed() | ContextEvaluated() | Reported():
            return replace(event, evidence=_mapping("evidence", plain(event.evidence, redact=redact)))
        case ToolProgressed():
            return replace(event, payload=plain(event.payload, redact=redact))
        case ToolEnded():
            return replace(event, result=plain(event.result, redact=redact), error=plain(event.error, redact=redact))
        case Noted():
            return replace(event, text=plain(event.text, redact=redact))
        case PauseRequested():
            choices = tuple(plain(choice, redact=redact) for choice in event.choices)
            return replace(event, question=plain(event.question, redact=redact), choices=choices)
        case PauseResumed():
            return replace(event, answer=plain(event.answer, redact=redact))
        case _:
            return replace(event, error=plain(event.error, redact=redact)) if hasattr(event, "error") else event


def _mapping(name: str, value: Any) -> dict[str, Any]:
    """`value` where a mapping belongs: a model may have asked with something else than what a tool takes."""
    return value if isinstance(value, dict) else {name: value}
