"""How each provider brings a model's reasoning along, read into blocks.

Every handler takes what the provider's SDK gives, as plain JSON values or as the SDK's own objects, and passes over whatever it
does not know: a new kind of item must not cost the reasoning that is there. What a provider adds beside text and signature
stays out.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from agentcell.events import ThinkingBlock
from agentcell.text.javascript import trim

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Anthropic:
    """The content of a message: `thinking` and `redacted_thinking` blocks; a chunk is an event with a `thinking_delta`."""

    id: ClassVar[str] = "anthropic"
    provider_names: ClassVar[tuple[str, ...]] = ("anthropic", "browser-anthropic")

    def normalize(self, raw: Any) -> Sequence[ThinkingBlock]:
        """The message's content, a list."""
        blocks = []
        for item in _items(raw):
            kind, signature = _at(item, "type"), _text(item, "signature")
            text = _text(item, "thinking")
            if kind == "redacted_thinking":
                blocks.append(ThinkingBlock("redacted_thinking", "", signature))
            elif kind == "thinking" and text is not None:
                # An empty one stays: its signature has to go back to the provider.
                blocks.append(ThinkingBlock("thinking", text, signature))
        return blocks

    def parse_chunk(self, chunk: Any) -> str | None:
        """An event of the stream."""
        delta = _at(chunk, "delta")
        return _text(delta, "thinking") if _at(delta, "type") == "thinking_delta" else None


class OpenAI:
    """Summaries of the reasoning, as one text or as the parts of a reasoning item's `summary`."""

    id: ClassVar[str] = "openai"
    provider_names: ClassVar[tuple[str, ...]] = ("openai",)

    def normalize(self, raw: Any) -> Sequence[ThinkingBlock]:
        """A text, or a list of items with a `text`."""
        texts = [raw] if isinstance(raw, str) else [_text(item, "text") for item in _items(raw)]
        return [ThinkingBlock(content=text, summary=True) for text in texts if text]

    def parse_chunk(self, chunk: Any) -> str | None:
        """An event of the stream of Responses."""
        return _text(chunk, "delta") if _at(chunk, "type") == "response.reasoning_summary_text.delta" else None


class Ollama:
    """A field of its own, or tags inside the answer."""

    id: ClassVar[str] = "ollama"
    provider_names: ClassVar[tuple[str, ...]] = ("ollama",)

    _TAGGED: ClassVar[re.Pattern[str]] = re.compile(r"<think>(.*?)(?:</think>|\Z)", re.DOTALL | re.IGNORECASE)

    def normalize(self, raw: Any) -> Sequence[ThinkingBlock]:
        """`{kind: "field", thinking}`, the same as a bare text, or `{kind: "inline", content}`, whose text is left as it is."""
        kind = _at(raw, "kind")
        if kind == "inline":
            return self._tagged(_text(raw, "content") or "")
        field = raw if isinstance(raw, str) else _text(raw, "thinking") if kind == "field" else None
        if field is None:
            return ()
        whole = trim(field)
        return self._tagged(field) or ([ThinkingBlock(content=whole)] if whole else [])

    def parse_chunk(self, chunk: Any) -> str | None:
        """A line of the stream."""
        return _text(_at(chunk, "message"), "thinking") or None

    def _tagged(self, text: str) -> Sequence[ThinkingBlock]:
        thoughts = (trim(match[1]) for match in self._TAGGED.finditer(text))
        return [ThinkingBlock(content=thought) for thought in thoughts if thought]


class ReasoningField:
    """Chat Completions with one more text field: `reasoning_content` or `reasoning`."""

    id: ClassVar[str] = "reasoning-field"
    provider_names: ClassVar[tuple[str, ...]] = ("deepseek", "qwen", "dashscope", "vllm", "sglang", "groq", "xai")

    def normalize(self, raw: Any) -> Sequence[ThinkingBlock]:
        """A message, or the text of its field."""
        text = raw if isinstance(raw, str) else self._field(raw)
        return [ThinkingBlock(content=text)] if text else []

    def parse_chunk(self, chunk: Any) -> str | None:
        """A chunk of the stream."""
        return self._field(_delta(chunk))

    @staticmethod
    def _field(message: Any) -> str | None:
        return _text(message, "reasoning_content") or _text(message, "reasoning")


class Mistral:
    """Chat Completions whose content is a list, with items of type `thinking` that hold text items."""

    id: ClassVar[str] = "mistral"
    provider_names: ClassVar[tuple[str, ...]] = ("mistral", "mistralai")

    def normalize(self, raw: Any) -> Sequence[ThinkingBlock]:
        """A message, or its content."""
        content = raw if isinstance(raw, (list, tuple)) else _at(raw, "content")
        return [ThinkingBlock(content=text) for text in self._texts(content) if text]

    def parse_chunk(self, chunk: Any) -> str | None:
        """A chunk of the stream."""
        return "".join(self._texts(_at(_delta(chunk), "content"))) or None

    @staticmethod
    def _texts(content: Any) -> Iterator[str]:
        for item in _items(content):
            if _at(item, "type") == "thinking":
                yield "".join(_text(part, "text") or "" for part in _items(_at(item, "thinking")))


class OpenRouter:
    """`reasoning_details` of any provider behind it, else a `reasoning` text."""

    id: ClassVar[str] = "openrouter"
    provider_names: ClassVar[tuple[str, ...]] = ("openrouter",)

    def normalize(self, raw: Any) -> Sequence[ThinkingBlock]:
        """A message, or its `reasoning_details`."""
        details = raw if isinstance(raw, (list, tuple)) else _at(raw, "reasoning_details")
        blocks = [block for block in map(self._block, _items(details)) if block]
        text = _text(raw, "reasoning")
        return blocks or ([ThinkingBlock(content=text)] if text else [])

    def parse_chunk(self, chunk: Any) -> str | None:
        """A chunk of the stream; its text stands in both fields, and is taken once."""
        delta = _delta(chunk)
        blocks = map(self._block, _items(_at(delta, "reasoning_details")))
        return "".join(block.content for block in blocks if block) or _text(delta, "reasoning") or None

    @staticmethod
    def _block(detail: Any) -> ThinkingBlock | None:
        text, signature = _text(detail, "text"), _text(detail, "signature")
        match _at(detail, "type"):
            case "reasoning.text" if text or signature:
                return ThinkingBlock("thinking", text or "", signature)
            case "reasoning.summary" if summary := _text(detail, "summary"):
                return ThinkingBlock(content=summary, summary=True)
            case "reasoning.encrypted":
                return ThinkingBlock("redacted_thinking")
            case _:
                return None


class Gemini:
    """Parts with `thought` set; Gemini sums its reasoning up, so each is a summary."""

    id: ClassVar[str] = "gemini"
    provider_names: ClassVar[tuple[str, ...]] = ("gemini", "google", "google_genai")

    def normalize(self, raw: Any) -> Sequence[ThinkingBlock]:
        """A response, its content, or the content's parts."""
        blocks = []
        for part in self._parts(raw):
            text = _text(part, "text")
            if _at(part, "thought") is True and text:
                blocks.append(ThinkingBlock("thinking", text, self._signature(part), summary=True))
        return blocks

    def parse_chunk(self, chunk: Any) -> str | None:
        """A chunk of the stream, which is a response too."""
        return "".join(block.content for block in self.normalize(chunk)) or None

    @staticmethod
    def _parts(raw: Any) -> Sequence[Any]:
        if isinstance(raw, (list, tuple)):
            return raw
        candidates = _items(_at(raw, "candidates"))
        content = _at(candidates[0], "content") if candidates else raw
        return _items(_at(content, "parts"))

    @staticmethod
    def _signature(part: Any) -> str | None:
        # The API says thoughtSignature, in base64; the SDK says thought_signature, in bytes.
        value = _at(part, "thought_signature") or _at(part, "thoughtSignature")
        if isinstance(value, bytes):
            return b64encode(value).decode()
        return value if isinstance(value, str) else None


def _at(item: Any, name: str) -> Any:
    return item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)


def _text(item: Any, name: str) -> str | None:
    value = _at(item, name)
    return value if isinstance(value, str) else None


def _items(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else ()


def _delta(chunk: Any) -> Any:
    choices = _items(_at(chunk, "choices"))
    return _at(choices[0], "delta") if choices else None
