"""Tokens in a provider's response as LlamaIndex passes it on: it counts nothing itself."""

from __future__ import annotations

from typing import Any

from agentcell.adapters import openai_chat, openai_responses
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
    read, written = count_of(told, "cache_read_input_tokens"), count_of(told, "cache_creation_input_tokens")
    if read or written:  # Anthropic's input is what came from no cache
        return Usage(count_of(told, "input_tokens") + read + written, count_of(told, "output_tokens"), read, written)
    return openai_responses.usage_of(told) if field(told, "input_tokens") is not None else None
