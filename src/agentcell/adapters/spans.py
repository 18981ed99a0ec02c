"""What a span of OpenTelemetry says of an agent, by the GenAI conventions or by OpenInference's."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from agentcell.adapters.fields import arguments_of, field, items_of, text_of
from agentcell.events import Usage
from agentcell.tool_call import is_interruption

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Kind: TypeAlias = Literal["model", "tool", "agent", "other"]

_OPERATIONS: Mapping[str, Kind] = {
    "chat": "model",
    "generate_content": "model",
    "text_completion": "model",
    "execute_tool": "tool",
    "invoke_agent": "agent",
    "invoke_workflow": "agent",
}
_OPENINFERENCE: Mapping[str, Kind] = {"LLM": "model", "TOOL": "tool", "AGENT": "agent"}
_NOT_RUN = "(merged)"  # the answers of several tools, which one framework tells as one more tool
_CANCELLED = ("CancelledError", "KeyboardInterrupt", "GeneratorExit")


def kind_of(span: Any) -> Kind:
    """What a span is about; as long as its attributes do not say, its name does."""
    attributes = attributes_of(span)
    operation, kind = text_of(attributes, "gen_ai.operation.name"), text_of(attributes, "openinference.span.kind")
    first, _, rest = str(span.name).partition(" ")
    if rest == _NOT_RUN:
        return "other"
    if kind or operation:
        return _OPENINFERENCE.get(kind, "other") if kind else _OPERATIONS.get(operation, "other")
    return _OPERATIONS.get(first, "other") if rest else "other"


def attributes_of(span: Any) -> Mapping[str, Any]:
    """A span's attributes so far."""
    return span.attributes or {}


def scope_of(span: Any) -> str:
    """Who emitted a span."""
    return text_of(span.instrumentation_scope, "name")


def name_of(span: Any) -> str:
    """The name of the tool or the agent that a span is about."""
    said = text_of(attributes_of(span), "gen_ai.tool.name", "gen_ai.agent.name", "gen_ai.workflow.name", "tool.name", "agent.name")
    first, _, rest = str(span.name).partition(" ")
    return said or (rest if first in _OPERATIONS else str(span.name).removesuffix(".run"))


def arguments_in(span: Any) -> Mapping[str, Any]:
    """A tool call's arguments; none where the span does not say. `tool.parameters` may be the schema that they keep to."""
    given = field(attributes_of(span), "gen_ai.tool.call.arguments", "input.value", "tool.parameters")
    if given is None:
        given = _in_event(span, "gen_ai.tool.message", "content")
    return {} if given is None else arguments_of(given)


def result_in(span: Any) -> Any:
    """What a tool gave back: JSON where it is, text else; None where the span does not say."""
    given = field(attributes_of(span), "gen_ai.tool.call.result", "output.value")
    return _read(_choice(span) if given is None else given)


def error_in(span: Any) -> BaseException | str | None:
    """Why a span failed or was cancelled; None when it did not. To be asked while it ends."""
    raised_here = sys.exc_info()[1]
    if raised_here is not None and is_interruption(raised_here):
        return raised_here  # OpenTelemetry keeps only what is an Exception
    if span.status.status_code.name != "ERROR":
        return None
    raised = next((event.attributes or {} for event in span.events if event.name == "exception"), {})
    kind = text_of(raised, "exception.type") or text_of(attributes_of(span), "error.type")
    said = text_of(raised, "exception.message") or span.status.description or kind or "it failed"
    if kind.rpartition(".")[2] in _CANCELLED:
        return asyncio.CancelledError(said)
    return said.strip().splitlines()[0] if said.strip() else kind


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model said: all its text and reasoning, and how many tools it asked for; None where the span does not say."""

    text: str | None = None
    thinking: str | None = None
    tool_calls: int | None = None


def reply_in(span: Any) -> Reply:
    """What the model answered, as far as the framework was told to put that into its spans."""
    parts = list(_parts(span))
    if not parts:
        return Reply()
    texts = [text_of(part, "content", "text") for part in parts if _part_kind(part) == "text"]
    thoughts = [text_of(part, "content", "text") for part in parts if _part_kind(part) == "reasoning"]
    return Reply("".join(texts), "".join(thoughts), sum(_part_kind(part) == "tool_call" for part in parts))


def output_in(span: Any) -> str:
    """What an agent answered in the end; "" where the span does not say."""
    attributes = attributes_of(span)
    whole = reply_in(span).text or text_of(attributes, "final_result")
    if whole:
        return whole
    output = text_of(attributes, "output.value")
    return output if text_of(attributes, "output.mime_type") != "application/json" else ""


def usage_in(span: Any) -> Usage | None:
    """The tokens of a model call; None where the span does not say."""
    attributes = attributes_of(span)

    def count(*names: str) -> int:
        value = field(attributes, *names)
        return int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else 0

    read = count("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt")
    written = count("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion")
    if not (read or written):
        return None
    cached = count(
        *("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens", "gen_ai.usage.details.cache_read_tokens"),
        "llm.token_count.prompt_details.cache_read",
    )
    stored = count(
        *("gen_ai.usage.cache_creation.input_tokens", "gen_ai.usage.cache_write.input_tokens"),
        *("gen_ai.usage.cache_write_input_tokens", "gen_ai.usage.details.cache_write_tokens"),
        "llm.token_count.prompt_details.cache_write",
    )
    reasoned = count(
        *("gen_ai.usage.reasoning.output_tokens", "gen_ai.usage.reasoning_tokens", "gen_ai.usage.details.reasoning_tokens"),
        "gen_ai.usage.details.thinking_tokens",
        "llm.token_count.completion_details.reasoning",
    )
    if cached + stored > read:  # then the input cannot have held them
        read += cached + stored
    return Usage(read, written, cached, stored, reasoned)


def cost_in(span: Any) -> float | None:
    """US dollars of a model call; None where the span does not say."""
    cost = field(attributes_of(span), "llm.cost.total", "operation.cost")
    return float(cost) if isinstance(cost, (int, float)) and not isinstance(cost, bool) else None


def finish_in(span: Any) -> str | None:
    """Why the model stopped, in the provider's word."""
    reasons = items_of(attributes_of(span), "gen_ai.response.finish_reasons")
    return str(reasons[0]) if reasons else None


def _parts(span: Any) -> Iterator[Any]:
    """The parts of all messages that a model wrote."""
    attributes = attributes_of(span)
    messages = _read(field(attributes, "gen_ai.output.messages"))
    for message in messages if isinstance(messages, list) else ():
        yield from items_of(message, "parts")
    if not isinstance(messages, list):
        choice = _read(_choice(span))
        yield from choice if isinstance(choice, list) else [choice] if choice else []
        yield from _openinference_parts(attributes)


def _openinference_parts(attributes: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    prefix = "llm.output_messages.0.message."
    content = text_of(attributes, f"{prefix}content")
    if content:
        yield {"type": "text", "text": content}
    for name, value in attributes.items():
        if name.startswith(f"{prefix}contents.") and name.endswith(".message_content.text"):
            kind = text_of(attributes, f"{name.removesuffix('text')}type")
            yield {"type": "reasoning" if kind == "reasoning" else "text", "text": value}
        elif name.startswith(f"{prefix}tool_calls.") and name.endswith(".tool_call.function.name"):
            yield {"type": "tool_call"}


def _choice(span: Any) -> Any:
    """What the older conventions put into an event beside the span."""
    return _in_event(span, "gen_ai.choice", "message", "content")


def _in_event(span: Any, name: str, *fields: str) -> Any:
    told = next((event.attributes or {} for event in span.events if event.name == name), None)
    return None if told is None else field(told, *fields)


def _part_kind(part: Any) -> Literal["text", "reasoning", "tool_call", "other"]:
    match text_of(part, "type"):
        case "text":
            return "text"
        case "thinking" | "reasoning":
            return "reasoning"
        case "tool_call":
            return "tool_call"
        case "" if field(part, "text") is not None:
            return "text"
        case "" if field(part, "toolUse") is not None:
            return "tool_call"
        case _:
            return "other"


def _read(value: Any) -> Any:
    """JSON where it is, else the value itself."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value
