"""Tokens in a provider's response as LlamaIndex passes it on: it counts nothing itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from agentcell.adapters import anthropic_messages, openai_chat, openai_responses
from agentcell.adapters.fields import count_of, field
from agentcell.events import Usage


def usage_of(raw: Any) -> Usage | None:
    """Tokens of a raw response, by the shape that its provider gives them; None when it has none."""
    told = field(raw, "usage", "usage_metadata")
    if told is None:
        return None
    if field(told, "prompt_tokens") is not None:
        return openai_chat.usage_of(told)
    if field(told, "prompt_token_count") is not None:
        thoughts = count_of(told, "thoughts_token_count")
        return Usage(
            input_tokens=count_of(told, "prompt_token_count"),
            output_tokens=count_of(told, "candidates_token_count") + thoughts,
            cache_read_tokens=count_of(told, "cached_content_token_count"),
            reasoning_tokens=thoughts,
        )
    thinking = count_of(field(told, "output_tokens_details"), "thinking_tokens")
    if thinking or count_of(told, "cache_read_input_tokens") or count_of(told, "cache_creation_input_tokens"):
        return replace(anthropic_messages.usage_of(told), reasoning_tokens=thinking)
    return openai_responses.usage_of(told) if field(told, "input_tokens") is not None else None
