"""Reads Responses streams: text, reasoning and its summaries, function calls, and the tools that the provider runs itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from agentcell.adapters.fields import arguments_of, count_of, field, items_of, message_of, plain, text_of
from agentcell.events import ThinkingBlock, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentcell.adapters.model_call import ModelCall

ASKED = frozenset(
    {
        "function_call",
        "custom_tool_call",
        "computer_call",
        "local_shell_call",
        "shell_call",
        "apply_patch_call",
        "mcp_approval_request",
    }
)
"""Items that ask the client to run something."""

HOSTED = frozenset(
    {
        "web_search_call",
        "file_search_call",
        "code_interpreter_call",
        "image_generation_call",
        "mcp_call",
        "mcp_list_tools",
        "tool_search_call",
        "program",
    }
)
"""Items that the provider runs itself."""

SILENT = frozenset({"message", "reasoning", "compaction", "additional_tools", "mcp_approval_response"})
"""Items whose words come as deltas, or that say nothing to a reader."""

QUIET = frozenset({"in_progress", "completed", "failed", "delta", "done", "added", "partial_image", "compacting"})
"""Last words of events that say nothing which the start or the end of an item does not say too."""


class ResponsesReader:
    """Reads the events of one stream; an item's start shows a tool at once, its end brings arguments and result."""

    derived: ClassVar[frozenset[str]] = frozenset()  # the helper only adds to the events

    def __init__(self, call: ModelCall) -> None:
        self.call = call
        self._calls: dict[str, str] = {}  # item id -> call id, of what the provider runs
        self._asking: dict[str, Any] = {}  # item id -> an item that asks for a tool and is not done yet
        self._arguments: dict[str, Any] = {}  # item id -> its arguments
        self._written: dict[tuple[str, int], list[str]] = {}  # (item id, content index) -> pieces of its text
        self._part: tuple[str, ...] | None = None  # the piece of reasoning that was heard last

    @staticmethod
    def takes(kind: str, _event: Any, /) -> bool:
        """Whether this is an event of such a stream."""
        return kind.startswith("response.") or kind == "error"

    def read(self, event: Any) -> None:
        """Records what one event says."""
        kind = text_of(event, "type").removeprefix("response.")
        item = field(event, "item")
        match kind:
            case "created" | "queued" | "in_progress":
                self._begin(field(event, "response"))
            case "completed" | "incomplete" | "failed":
                self._end(field(event, "response"))
            case "error":
                self.call.fail(message_of(event))
            case "output_text.delta" | "refusal.delta":
                self._write(event, text_of(event, "delta"))
            case "output_text.done" | "refusal.done":
                self._write_tail(event, text_of(event, "text", "refusal"))
            case "reasoning_summary_text.delta" | "reasoning_text.delta":
                self._think(event, kind)
            case "function_call_arguments.done":
                self._arguments[text_of(event, "item_id")] = field(event, "arguments")
            case "output_item.added":
                self._start_item(item, text_of(item, "type"))
            case "output_item.done":
                self._end_item(item, text_of(item, "type"))
            case _:
                self._progress(event, kind)

    def _begin(self, response: Any) -> None:
        self.call.begin(text_of(response, "id") or None)
        self.call.model = text_of(response, "model") or self.call.model

    def _end(self, response: Any) -> None:
        self._begin(response)
        status = text_of(response, "status")
        self.call.finish_reason = text_of(field(response, "incomplete_details"), "reason") or status or None
        if status == "failed":
            self.call.fail(message_of(response) if field(response, "error") else "the response failed")
        usage = field(response, "usage")
        if usage is not None:
            self.call.usage = usage_of(usage)
        for item_id, item in self._asking.items():  # some hosts send no output_item.done
            if item_id in self._arguments:
                arguments = arguments_of(self._arguments[item_id])
                self.call.ask(name_of(item, text_of(item, "type")), arguments, call_id=call_id_of(item))
        self._asking, self._arguments = {}, {}
        self.call.complete = True
        self.call.finish()

    def _write(self, event: Any, text: str) -> None:
        place = (text_of(event, "item_id"), count_of(event, "content_index"))
        self._written.setdefault(place, []).append(text)
        self.call.write(text)

    def _write_tail(self, event: Any, text: str) -> None:
        # The whole text again: only what no delta brought is new, and nothing where the deltas began in the middle.
        place = (text_of(event, "item_id"), count_of(event, "content_index"))
        told = "".join(self._written.get(place, ()))
        if text.startswith(told):
            self._write(event, text[len(told) :])

    def _think(self, event: Any, kind: str) -> None:
        part = (kind, text_of(event, "item_id"), str(field(event, "summary_index", "content_index")))
        if self.call.thinking and self._part not in (part, None):
            self.call.think("\n\n")
        self._part = part
        self.call.think(text_of(event, "delta"))

    def _end_reasoning(self, item: Any) -> None:
        summary = [text_of(part, "text") for part in items_of(item, "summary")]
        content = [text_of(part, "text") for part in items_of(item, "content")]
        if not self.call.thinking:
            self.call.think("\n\n".join(summary + content))
        blocks = [ThinkingBlock(content=text, summary=True) for text in summary]
        blocks += [ThinkingBlock(content=text) for text in content]
        signature = text_of(item, "encrypted_content") or None
        last = blocks.pop() if blocks else ThinkingBlock("redacted_thinking")
        blocks.append(ThinkingBlock(last.type, last.content, signature, last.summary))
        self.call.end_thinking(tuple(blocks))
        self._part = None

    def _start_item(self, item: Any, kind: str) -> None:
        item_id = text_of(item, "id")
        if kind in ASKED:
            self._asking[item_id] = item
        elif kind in HOSTED:
            arguments = input_of(item)
            self._calls[item_id] = self.call.start_tool(name_of(item, kind), arguments, call_id=call_id_of(item))

    def _end_item(self, item: Any, kind: str) -> None:
        parent_id = text_of(field(item, "caller"), "caller_id") or None
        if kind == "reasoning":
            self._end_reasoning(item)
        elif kind in ASKED:
            self._asking.pop(text_of(item, "id"), None)
            self.call.ask(name_of(item, kind), input_of(item), call_id=call_id_of(item), parent_id=parent_id)
        elif kind in HOSTED:
            call_id = self.call.start_tool(name_of(item, kind), input_of(item), call_id=call_id_of(item), parent_id=parent_id)
            if kind != "program":  # its result is an item of its own
                self.call.end_tool(call_id, result=result_of(item, kind), error=error_of(item))
        elif kind.endswith("_output"):
            self.call.end_tool(call_id_of(item), result=result_of(item, kind), error=error_of(item))
        elif kind not in SILENT:
            self.call.note_unknown(f"response item {kind}")

    def _progress(self, event: Any, kind: str) -> None:
        call_id = self._calls.get(text_of(event, "item_id"))
        stage = kind.rpartition(".")[2]
        if stage in QUIET:
            return
        if call_id is None:
            self.call.note_unknown(f"response.{kind}")
        else:
            self.call.progress(call_id, {"status": stage})


def call_id_of(item: Any) -> str:
    """The id that a result will carry; an approved MCP call goes on under the id with which approval was asked."""
    return text_of(item, "call_id", "approval_request_id", "id")


def name_of(item: Any, kind: str) -> str:
    """The tool's own name, or that of its kind: `web_search` of a `web_search_call`."""
    return text_of(item, "name") or kind.removesuffix("_call")


def input_of(item: Any) -> Mapping[str, Any]:
    """What a tool was called with, in whichever field its kind keeps it."""
    arguments = field(item, "arguments", "action", "operation")
    if arguments is not None:
        given = arguments_of(arguments)
        return {name: value for name, value in given.items() if name != "sources"}
    names = ("input", "code", "queries", "revised_prompt", "server_label")
    return {name: plain(value) for name in names if (value := field(item, name))}


def result_of(item: Any, kind: str) -> Any:
    """What a tool gave back, as far as the item carries it."""
    if kind == "image_generation_call":  # its result is the picture, a megabyte of base64
        names = ("output_format", "size", "quality")
        return {name: value for name in names if (value := field(item, name))}
    if kind == "mcp_list_tools":
        return [text_of(tool, "name") for tool in items_of(item, "tools")]
    return plain(field(item, "output", "outputs", "results", "result") or field(field(item, "action"), "sources"))


def error_of(item: Any) -> str | None:
    """Why a tool's call failed; None when it did not."""
    if field(item, "error") is not None:
        return message_of(item)
    status = text_of(item, "status")
    return status if status in ("failed", "incomplete") else None


def usage_of(usage: Any) -> Usage:
    """Counts of a response, as `Usage` has them."""
    read, written = field(usage, "input_tokens_details"), field(usage, "output_tokens_details")
    return Usage(
        input_tokens=count_of(usage, "input_tokens"),
        output_tokens=count_of(usage, "output_tokens"),
        cache_read_tokens=count_of(read, "cached_tokens"),
        cache_write_tokens=count_of(read, "cache_write_tokens"),
        reasoning_tokens=count_of(written, "reasoning_tokens"),
    )
