"""Reads Chat Completions streams: OpenAI's own, and those of the many hosts that speak its shape in their own way."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from agentcell.adapters.fields import arguments_of, count_of, field, items_of, message_of, text_of
from agentcell.events import Usage

if TYPE_CHECKING:
    from agentcell.adapters.model_call import ModelCall


class AskedTool:
    """A tool call as far as it has come."""

    def __init__(self, index: int | None, call_id: str) -> None:
        self.index = index
        self.call_id = call_id
        self.name = ""
        self.arguments = ""
        self.mapping: Mapping[str, Any] | None = None

    def is_over(self, name: str) -> bool:
        """Whether a piece that gives `name`, but no id, must begin another call."""
        return bool(self.name) and (name != self.name or self.mapping is not None or is_json(self.arguments))


class ChatReader:
    """Reads the chunks of one stream; only choice 0 is the answer.

    `finish_reason` is the last event that counts. The call stays open behind it, because the usage comes later.
    """

    derived: ClassVar[frozenset[str]] = frozenset(
        {
            "content.delta",
            "content.done",
            "refusal.delta",
            "refusal.done",
            "tool_calls.function.arguments.delta",
            "tool_calls.function.arguments.done",
            "logprobs.content.delta",
            "logprobs.content.done",
            "logprobs.refusal.delta",
            "logprobs.refusal.done",
        }
    )

    def __init__(self, call: ModelCall) -> None:
        self.call = call
        self._asked: list[AskedTool] = []

    @staticmethod
    def takes(kind: str, event: Any, /) -> bool:
        """Whether this is an event of such a stream."""
        if kind:
            return kind == "chunk" and field(event, "chunk") is not None  # so the SDK's helper wraps them
        return (
            field(event, "object") == "chat.completion.chunk"
            or field(event, "choices") is not None
            or field(event, "error") is not None
        )

    def read(self, event: Any) -> None:
        """Records what one event says."""
        chunk = field(event, "chunk") if text_of(event, "type") == "chunk" else event
        choice = next((choice for choice in items_of(chunk, "choices") if not field(choice, "index")), None)
        # A user's own generator may chain the streams of several calls: the end of one shows in new words under a new id.
        if self.call.complete and text_of(chunk, "id") != self.call.response_id and says_something(choice):
            self.call.finish()
        self.call.begin()
        self.call.model = text_of(chunk, "model") or self.call.model
        self.call.response_id = self.call.response_id or text_of(chunk, "id") or None
        groq = field(chunk, "x_groq")
        usage = field(chunk, "usage") or field(groq, "usage")
        if usage:
            self.call.usage = usage_of(usage)
            self.call.cost = cost_of(usage)
        for told in (chunk, groq, choice):
            if field(told, "error") is not None:
                self.call.fail(message_of(told))
        if choice is not None:
            self._read_choice(choice)

    def _read_choice(self, choice: Any) -> None:
        delta = field(choice, "delta")
        self._read_reasoning(delta)
        content = field(delta, "content")
        if isinstance(content, str):
            self.call.write(content)
        for part in items_of(delta, "content"):
            self._read_part(part)
        self.call.write(text_of(delta, "refusal"))
        for tool in items_of(delta, "tool_calls"):
            self._read_tool(tool)
        legacy = field(delta, "function_call")
        if legacy is not None:
            self._read_tool({"index": 0, "function": legacy})
        reason = text_of(choice, "finish_reason")
        if reason:
            self.call.finish_reason = reason
            self.call.complete = True
            self._ask()

    def _read_reasoning(self, delta: Any) -> None:
        # The same words may come in several of these fields at once, so the first that says something is taken.
        said = text_of(delta, "reasoning_content") or text_of(delta, "reasoning")
        details = items_of(delta, "reasoning_details")
        self.call.think(said or "".join(text_of(detail, "text", "summary") for detail in details))
        for detail in details:
            self.call.signature = text_of(detail, "signature") or text_of(detail, "data") or self.call.signature

    def _read_part(self, part: Any) -> None:
        kind = text_of(part, "type")
        if kind == "thinking":
            thinking = field(part, "thinking")
            pieces = [thinking] if isinstance(thinking, str) else [text_of(piece, "text") for piece in items_of(part, "thinking")]
            self.call.think("".join(pieces))
        elif kind == "text":
            self.call.write(text_of(part, "text"))
        else:
            self.call.note_unknown(f"content part {kind}")

    def _read_tool(self, tool: Any) -> None:
        function = field(tool, "function")
        name = text_of(function, "name") or text_of(field(tool, "custom"), "name")
        index = field(tool, "index")
        asked = self._find(index, call_id=text_of(tool, "id"), name=name)
        asked.name = asked.name or name
        arguments = field(function, "arguments") or field(field(tool, "custom"), "input")
        if isinstance(arguments, str):
            asked.arguments += arguments
        elif isinstance(arguments, Mapping):
            asked.mapping = arguments

    def _find(self, index: Any, *, call_id: str, name: str) -> AskedTool:
        """The call that a piece belongs to: hosts leave out or reuse the index, leave out the id, or invent one a piece."""
        latest = next((asked for asked in reversed(self._asked) if index is None or asked.index == index), None)
        if call_id:
            same = next((asked for asked in self._asked if asked.call_id == call_id), None)
            known = same or (None if name else latest)
        else:
            known = None if latest is None or (name and latest.is_over(name)) else latest
        if known is None:
            known = AskedTool(index, call_id)
            self._asked.append(known)
        return known

    def _ask(self) -> None:
        for asked in self._asked:
            arguments = arguments_of(asked.arguments if asked.mapping is None else asked.mapping)
            self.call.ask(asked.name, arguments, call_id=asked.call_id or None)
        self._asked = []


def is_json(text: str) -> bool:
    """Whether `text` is complete."""
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def says_something(choice: Any) -> bool:
    """Whether a choice's delta carries words or a tool call."""
    delta = field(choice, "delta")
    return any(field(delta, name) for name in ("content", "refusal", "reasoning_content", "reasoning", "tool_calls"))


def usage_of(usage: Any) -> Usage:
    """Counts of a Chat Completions stream, as `Usage` has them."""
    read = count_of(usage, "prompt_tokens")
    written = count_of(usage, "completion_tokens")
    reasoning = count_of(field(usage, "completion_tokens_details"), "reasoning_tokens")
    # OpenAI counts reasoning as part of the completion; xAI counts it beside, and only the total tells.
    if reasoning and count_of(usage, "total_tokens") == read + written + reasoning:
        written += reasoning
    details = field(usage, "prompt_tokens_details")
    return Usage(
        input_tokens=read,
        output_tokens=written,
        cache_read_tokens=count_of(details, "cached_tokens") or count_of(usage, "prompt_cache_hit_tokens"),
        cache_write_tokens=count_of(details, "cache_write_tokens"),
        reasoning_tokens=reasoning,
    )


def cost_of(usage: Any) -> float | None:
    """US dollars, where a provider tells them beside its counts, as OpenRouter does; None for one that does not.

    With a key of the person's own, what it tells is its fee alone.
    """
    cost = field(usage, "cost")
    told = isinstance(cost, (int, float)) and not isinstance(cost, bool) and field(usage, "is_byok") is not True
    return float(cost) if told else None
