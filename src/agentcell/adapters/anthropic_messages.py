"""Reads Anthropic Messages streams, the raw ones and those of the SDK's `.stream()` helper."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from agentcell.adapters.fields import arguments_of, count_of, field, items_of, message_of, plain, text_of
from agentcell.events import Usage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentcell.adapters.model_call import ModelCall

RAW = frozenset(
    {
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
        "ping",
        "error",
    }
)

SILENT_BLOCKS = frozenset({"text", "thinking", "redacted_thinking", "container_upload", "compaction", "mcp_tool_listing"})
SILENT_DELTAS = frozenset({"citations_delta", "compaction_delta"})

# Given to be sent back as it is; it says nothing to anybody but the provider.
OPAQUE = frozenset({"encrypted_content", "encrypted_index", "encrypted_stdout"})

COUNTS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")


class MessagesReader:
    """Reads the events of one stream, block by block."""

    derived: ClassVar[frozenset[str]] = frozenset({"text", "thinking", "citation", "signature", "input_json", "compaction"})

    def __init__(self, call: ModelCall) -> None:
        self.call = call
        self._blocks: dict[int, Any] = {}  # index -> the block as it started
        self._json: dict[int, list[str]] = {}  # index -> pieces of a tool's arguments
        self._counts: dict[str, int] = {}

    @staticmethod
    def takes(kind: str, _event: Any, /) -> bool:
        """Whether this is an event of such a stream."""
        return kind in RAW

    def read(self, event: Any) -> None:
        """Records what one event says."""
        match text_of(event, "type"):
            case "message_start":
                self._start(field(event, "message"))
            case "content_block_start":
                self._start_block(count_of(event, "index"), field(event, "content_block"))
            case "content_block_delta":
                self._read_delta(count_of(event, "index"), field(event, "delta"))
            case "content_block_stop":
                self._stop_block(count_of(event, "index"))
            case "message_delta":
                self.call.begin()
                self.call.finish_reason = text_of(field(event, "delta"), "stop_reason") or self.call.finish_reason
                self._count(field(event, "usage"))
            case "message_stop":
                self.call.complete = True
                self.call.finish()
            case "error":
                self.call.fail(message_of(event))
            case _:  # a ping
                pass

    def _start(self, message: Any) -> None:
        self.call.begin(text_of(message, "id") or None)
        self.call.model = text_of(message, "model") or None
        self._blocks, self._json, self._counts = {}, {}, {}
        self._count(field(message, "usage"))

    def _count(self, usage: Any) -> None:
        """Takes over counts, which are totals so far: never to be added up, and some hosts leave out or zero what they told."""
        if usage is None:
            return
        for name in COUNTS:
            self._counts[name] = max(self._counts.get(name, 0), count_of(usage, name))
        thinking = count_of(field(usage, "output_tokens_details"), "thinking_tokens")
        self._counts["thinking_tokens"] = max(self._counts.get("thinking_tokens", 0), thinking)
        self.call.usage = usage_of(self._counts)

    def _start_block(self, index: int, block: Any) -> None:
        kind = text_of(block, "type")
        self._blocks[index] = block
        self._json[index] = []
        if kind == "thinking":
            self.call.think(text_of(block, "thinking"))
            self.call.signature = text_of(block, "signature") or None
        elif kind == "redacted_thinking":
            self.call.signature = text_of(block, "data") or None
        elif kind == "text":
            self.call.write(text_of(block, "text"))
        elif kind == "fallback":
            self.call.model = text_of(field(block, "to"), "model") or self.call.model
        elif kind.endswith("_tool_result"):
            self._end_tool(block)
        elif not kind.endswith("tool_use") and kind not in SILENT_BLOCKS:
            self.call.note_unknown(f"content block {kind}")

    def _read_delta(self, index: int, delta: Any) -> None:
        match text_of(delta, "type"):
            case "text_delta":
                self.call.write(text_of(delta, "text"))
            case "thinking_delta":
                self.call.think(text_of(delta, "thinking"))
            case "signature_delta":
                self.call.signature = text_of(delta, "signature") or None
            case "input_json_delta":
                self._json.setdefault(index, []).append(text_of(delta, "partial_json"))
            case kind if kind not in SILENT_DELTAS:
                self.call.note_unknown(f"content delta {kind}")

    def _stop_block(self, index: int) -> None:
        block = self._blocks.pop(index, None)
        pieces = "".join(self._json.pop(index, []))
        kind = text_of(block, "type")
        if kind in ("thinking", "redacted_thinking"):
            self.call.end_thinking()
        elif kind.endswith("tool_use"):
            # `tool_use` is for the client; `server_tool_use` and `mcp_tool_use` run on the provider's side.
            start = self.call.ask if kind == "tool_use" else self.call.start_tool
            start(
                text_of(block, "name"),
                arguments_of(pieces or field(block, "input")),
                call_id=text_of(block, "id") or None,
                parent_id=text_of(field(block, "caller"), "tool_id") or None,
            )

    def _end_tool(self, block: Any) -> None:
        content = field(block, "content")
        call_id = text_of(block, "tool_use_id")
        result = readable(content)
        if field(block, "is_error") is True or text_of(content, "type").endswith("_error"):
            self.call.end_tool(call_id, result=result, error=message_of(result if isinstance(result, str) else content))
        else:
            self.call.end_tool(call_id, result=result)


def message_events(message: Any) -> Iterator[dict[str, Any]]:
    """The events of a stream that would have brought this whole message."""
    yield {"type": "message_start", "message": message}
    for index, block in enumerate(items_of(message, "content")):
        yield {"type": "content_block_start", "index": index, "content_block": block}
        yield {"type": "content_block_stop", "index": index}
    yield {"type": "message_delta", "delta": {"stop_reason": field(message, "stop_reason")}, "usage": field(message, "usage")}
    yield {"type": "message_stop"}


def usage_of(usage: Any) -> Usage:
    """Counts of a message, as `Usage` has them: their input leaves the cache out, ours has it in."""
    written, read = count_of(usage, "cache_creation_input_tokens"), count_of(usage, "cache_read_input_tokens")
    return Usage(
        input_tokens=count_of(usage, "input_tokens") + written + read,
        output_tokens=count_of(usage, "output_tokens"),
        cache_read_tokens=read,
        cache_write_tokens=written,
        reasoning_tokens=count_of(usage, "thinking_tokens"),
    )


def readable(content: Any) -> Any:
    """A tool's result as plain values: text alone as text, and without what only the provider can read."""
    value = without_opaque(plain(content))
    if isinstance(value, list) and value and all(text_of(part, "type") == "text" for part in value):
        return "\n".join(text_of(part, "text") for part in value)
    return value


def without_opaque(value: Any) -> Any:
    """The same JSON value without the fields that only the provider can read."""
    if isinstance(value, dict):
        return {name: without_opaque(item) for name, item in value.items() if name not in OPAQUE}
    if isinstance(value, list):
        return [without_opaque(item) for item in value]
    return value
