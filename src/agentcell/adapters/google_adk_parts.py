"""What Google's ADK passes to its plugins, read: the parts of a response, the questions to the person, and their answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentcell.adapters.fields import field, items_of, message_of, plain, text_of
from agentcell.adapters.google_genai import counts_of, usage_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentcell.events import Usage

CONFIRMATION = "adk_request_confirmation"
CREDENTIAL = "adk_request_credential"
INPUT = "adk_request_input"
REQUESTS = frozenset({CONFIRMATION, CREDENTIAL, INPUT})
"""The names of the calls that no tool runs but the person answers."""


def words_of(content: Any) -> tuple[str, str]:
    """The text and the reasoning in a content."""
    parts = [(field(part, "thought") is True, text_of(part, "text")) for part in items_of(content, "parts")]
    return "".join(text for thought, text in parts if not thought), "".join(text for thought, text in parts if thought)


def calls_in(content: Any) -> Sequence[Any]:
    """The function calls in a content."""
    return [call for part in items_of(content, "parts") if (call := field(part, "function_call")) is not None]


def answers_in(content: Any) -> Sequence[Any]:
    """The function responses in a content."""
    return [answer for part in items_of(content, "parts") if (answer := field(part, "function_response")) is not None]


def usage_in(response: Any) -> Usage | None:
    """The tokens of a model's response."""
    counted = field(response, "usage_metadata")
    return None if counted is None else usage_of(counts_of(counted))


def error_in(response: Any) -> str | None:
    """Why a response is a failure; None for one that is none."""
    code = text_of(response, "error_code")
    return (message_of(text_of(response, "error_message")) or code) if code else None


def waiting_in(request: Any) -> tuple[str | None, str, tuple[str, ...]]:
    """Which call a request to the person is about, with the question and the choices."""
    arguments = plain(field(request, "args")) or {}
    if request.name == CONFIRMATION:
        asked = arguments.get("originalFunctionCall") or {}
        hint = text_of(arguments.get("toolConfirmation"), "hint")
        if "FunctionResponse" in hint:  # ADK's own, which speaks to whoever writes the program
            hint = ""
        return asked.get("id"), hint or f"May `{asked.get('name')}` run?", ("approve", "reject")
    if request.name == CREDENTIAL:
        call = text_of(arguments, "functionCallId", "function_call_id") or None
        return call, "A tool needs you to sign in.", ()
    return None, text_of(arguments, "message") or "The agent waits for an answer.", ()


def said_in(answer: Any) -> Any:
    """What the person answered to a request."""
    response = plain(field(answer, "response"))
    if answer.name == CONFIRMATION and isinstance(response, dict) and isinstance(response.get("confirmed"), bool):
        return "approve" if response["confirmed"] else "reject"
    return None if answer.name == CREDENTIAL else response  # what signs somebody in is nobody's business
