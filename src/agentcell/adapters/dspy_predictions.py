"""What DSPy's predictions and histories say: the answer, the reasoning before it, and the tokens."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agentcell.adapters.fields import count_of, field, text_of
from agentcell.events import Usage

REASONING = ("reasoning", "rationale", "next_thought", "thought")
"""Fields in which DSPy's own modules ask a model for what it thinks."""

_NO_ANSWER = (
    *REASONING,
    "trajectory",
    "next_tool_name",
    "next_tool_args",
    "tool_calls",
    "completions",
    "history",
    "termination_reason",
)
_NEWEST = 50


def thinking_in(prediction: Any) -> str:
    """The reasoning that a prediction holds beside what was asked for."""
    return "\n\n".join(filter(None, (_thought_of(value) for name, value in _fields(prediction) if name in REASONING)))


def answer_fields_of(predict: Any) -> tuple[str, ...]:
    """The fields that a predictor answers in."""
    fields = field(field(predict, "signature"), "output_fields") or ()
    return tuple(name for name in fields if name not in _NO_ANSWER)


def answer_in(prediction: Any) -> str:
    """What was asked for, as markdown: the only field's value, or each value under its name."""
    values = [(name, _words_of(value)) for name, value in _fields(prediction) if name not in _NO_ANSWER and value is not None]
    if len(values) == 1:
        return values[0][1]
    return "\n\n".join(f"**{name}:** {words}" for name, words in values)


def usage_of(model: Any, outputs: Any) -> Usage | None:
    """The tokens of the call that gave these outputs, from the model's history; None for a cached call, or where nobody counted."""
    history = getattr(model, "history", None) or []
    entry = next((one for one in reversed(history[-_NEWEST:]) if one.get("outputs") == outputs), None)
    told = (entry or {}).get("usage")
    if not told or not (count_of(told, "prompt_tokens", "input_tokens") or count_of(told, "completion_tokens", "output_tokens")):
        return None
    read, written = field(told, "prompt_tokens_details") or {}, field(told, "completion_tokens_details") or {}
    return Usage(
        count_of(told, "prompt_tokens", "input_tokens"),
        count_of(told, "completion_tokens", "output_tokens"),
        cache_read_tokens=count_of(read, "cached_tokens") or count_of(told, "cache_read_input_tokens", "cache_read_tokens"),
        cache_write_tokens=count_of(read, "cache_creation_tokens")
        or count_of(told, "cache_creation_input_tokens", "cache_write_tokens"),
        reasoning_tokens=count_of(written, "reasoning_tokens") or count_of(told, "reasoning_tokens"),
    )


def _thought_of(value: Any) -> str:
    return value if isinstance(value, str) else text_of(value, "content")  # DSPy's own type for it is made like a message


def _fields(prediction: Any) -> list[tuple[str, Any]]:
    items = getattr(prediction, "items", None)
    found = items() if callable(items) else ()
    return [(str(name), value) for name, value in found]


def _words_of(value: Any) -> str:
    if isinstance(value, str):
        return value
    dump = getattr(value, "model_dump", None)
    plain = dump(mode="json") if callable(dump) else value
    if isinstance(plain, list) and all(isinstance(one, str) for one in plain):
        return "\n".join(["", "", *(f"- {one}" for one in plain)])
    return json.dumps(plain, default=str, ensure_ascii=False) if isinstance(plain, Mapping | list) else str(plain)
