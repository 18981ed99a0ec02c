"""What LangChain's messages say: text, reasoning, tool calls and tokens, whichever provider wrote them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentcell.adapters.fields import count_of, field, items_of, text_of
from agentcell.events import ThinkingBlock, ToolOffer, Usage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PARAGRAPH = "\n\n"
"""What stands between two blocks of reasoning."""

_REASONING = ("reasoning", "thinking", "reasoning_content")


@dataclass(frozen=True, slots=True)
class Spoken:
    """What one message, or a piece of one, says; `place` is that of its last block of reasoning in the message, None for none."""

    text: str
    thinking: str
    place: Any = None


def spoken_of(message: Any) -> Spoken:
    """The text and the reasoning of a message or of a chunk of one."""
    content = field(message, "content")
    more = field(message, "additional_kwargs") or {}
    if isinstance(content, str) and not more.get("reasoning_content"):  # most pieces of most models
        return Spoken(content, "")
    text, thinking, place = [], [], None
    for block in blocks_of(message):
        kind = text_of(block, "type")
        if isinstance(block, str) or kind == "text":
            text.append(block if isinstance(block, str) else text_of(block, "text"))
        elif kind in _REASONING:
            thinking.append(_reasoning_in(block))
            place = field(block, "index")
    return Spoken("".join(text), PARAGRAPH.join(filter(None, thinking)), place)


def blocks_of(message: Any) -> Sequence[Any]:
    """The blocks of a message: in LangChain's own shapes, or as the provider gave them where LangChain has no such shapes yet (0.3)."""
    return items_of(message, "content_blocks") or items_of(message, "content")


def private_thinking(message: Any) -> tuple[ThinkingBlock, ...]:
    """The reasoning that the provider keeps to itself: it is hidden, or only encrypted words of it are given."""
    hidden = 0
    for block in blocks_of(message):
        told = field(block, "value") or block
        private = text_of(field(told, "extras"), "encrypted_content") and not _reasoning_in(told)
        hidden += text_of(told, "type") == "redacted_thinking" or bool(text_of(told, "type") == "reasoning" and private)
    return (ThinkingBlock("redacted_thinking"),) * hidden


def usage_of(message: Any) -> Usage | None:
    """The tokens of a model call; None when nobody counted."""
    told = field(message, "usage_metadata")
    if not told:
        return None
    read, written = field(told, "input_token_details") or {}, field(told, "output_token_details") or {}
    into_cache = ("cache_creation", "ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens")
    counts = {
        "cache_read_tokens": None if "cache_read" not in read else count_of(read, "cache_read"),
        "cache_write_tokens": sum(count_of(read, name) for name in into_cache)
        if any(name in read for name in into_cache)
        else None,
        "reasoning_tokens": None if "reasoning" not in written else count_of(written, "reasoning"),
    }
    return Usage(
        count_of(told, "input_tokens"),
        count_of(told, "output_tokens"),
        **{name: count or 0 for name, count in counts.items()},
        unsaid=tuple(name for name, count in counts.items() if count is None),
    )


def response_id_of(message: Any) -> str | None:
    """The provider's id of the response; None for one that LangChain made up."""
    found = text_of(field(message, "response_metadata"), "id") or text_of(message, "id")
    return None if found.startswith(("run-", "lc_run-")) else found or None


def offers_of(tools: Any) -> tuple[ToolOffer, ...]:
    """The tools that a model may ask for, in any provider's shape; what has no name is left out."""
    offers = []
    for tool in tools if isinstance(tools, list | tuple) else ():
        told = field(tool, "function") if isinstance(field(tool, "function"), Mapping) else tool
        name = text_of(told, "name") or (tool.__name__ if isinstance(tool, type) else "")
        if name:
            offers.append(ToolOffer(name, text_of(told, "description")))
    return tuple(offers)


def messages_in(output: Any) -> Iterator[Any]:
    """The messages in what a node of a graph returned: a state, a command, or several of these."""
    if isinstance(output, list | tuple):
        for one in output:
            yield from messages_in(one) if not hasattr(one, "content") else (one,)
        return
    update = output if isinstance(output, Mapping) else field(output, "update")
    found = update.get("messages") if isinstance(update, Mapping) else None
    yield from found if isinstance(found, list | tuple) else ()


def tool_end_of(output: Any, call_id: str | None) -> tuple[Any, str | None]:
    """The result and the error that a tool's return value holds."""
    message = output
    if type(output).__name__ == "Command":
        answers = [one for one in messages_in(output) if field(one, "tool_call_id") == call_id]
        message = answers[0] if answers else (f"→ {field(output, 'goto')}" if field(output, "goto") else None)
    if not hasattr(message, "tool_call_id"):
        return message, None
    content = field(message, "content")
    if text_of(message, "status") == "error":
        return None, spoken_of(message).text
    return content, None


def _reasoning_in(block: Any) -> str:
    words = text_of(block, *_REASONING)
    if words:
        return words
    parts = items_of(block, "summary")
    return PARAGRAPH.join(text_of(part, "text") for part in parts) or text_of(field(block, "reasoning_content"), "text")
