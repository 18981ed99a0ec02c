"""Reads Gemini's `generate_content_stream`: chunks of parts, as the SDK's objects or as the REST API writes them."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from agentcell.adapters.fields import arguments_of, count_of, field, items_of, message_of, plain, text_of
from agentcell.events import Usage

if TYPE_CHECKING:
    from agentcell.adapters.model_call import ModelCall

MARKS = ("candidates", "prompt_feedback", "promptFeedback", "usage_metadata", "usageMetadata")

COUNTS = {
    "prompt": ("prompt_token_count", "promptTokenCount"),
    "tools": ("tool_use_prompt_token_count", "toolUsePromptTokenCount"),
    "cached": ("cached_content_token_count", "cachedContentTokenCount"),
    "candidates": ("candidates_token_count", "candidatesTokenCount"),
    "thoughts": ("thoughts_token_count", "thoughtsTokenCount"),
}


class GenerateContentReader:
    """Reads the chunks of one stream; only candidate 0 is the answer.

    A finish reason is the last event that counts. With the SDK's automatic function calling one stream carries several model
    calls: the next one shows in a new response id, and its first chunk brings what the functions gave back.
    """

    derived: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, call: ModelCall) -> None:
        self.call = call
        self._asked: list[tuple[str, str]] = []  # (name, call id) of what was asked and not answered
        self._partial: dict[str, Any] | None = None  # a function call whose arguments still come in
        self._code_id = ""
        self._counts: dict[str, int] = {}

    @staticmethod
    def takes(kind: str, event: Any, /) -> bool:
        """Whether this is an event of such a stream."""
        if kind:
            return False
        known = event.__contains__ if isinstance(event, Mapping) else lambda name: hasattr(event, name)
        return any(known(name) for name in MARKS) or field(event, "error") is not None

    def read(self, event: Any) -> None:
        """Records what one chunk says."""
        response_id = text_of(event, "response_id", "responseId") or None
        candidates = items_of(event, "candidates")
        candidate = next((candidate for candidate in candidates if not field(candidate, "index")), None)
        if self.call.complete and candidate is not None and response_id != self.call.response_id:
            self._finish(event)
        self.call.begin()
        self.call.response_id = response_id or self.call.response_id
        self.call.model = text_of(event, "model_version", "modelVersion") or self.call.model
        self._count(field(event, "usage_metadata", "usageMetadata"))
        if field(event, "error") is not None:
            self.call.fail(message_of(event))
        blocked = text_of(field(event, "prompt_feedback", "promptFeedback"), "block_reason", "blockReason")
        if blocked:
            self.call.fail(f"the prompt was blocked: {blocked}")
        for part in items_of(field(candidate, "content"), "parts"):
            self._read_part(part)
        reason = text_of(candidate, "finish_reason", "finishReason")
        if reason and reason != "FINISH_REASON_UNSPECIFIED":
            self.call.finish_reason = reason
            self.call.complete = True

    def _finish(self, event: Any) -> None:
        self.call.finish()
        self._counts = {}
        history = items_of(event, "automatic_function_calling_history")
        for part in items_of(history[-1], "parts") if history else ():
            self._answer(field(part, "function_response"))

    def _count(self, usage: Any) -> None:
        """Takes over counts: each is the total so far, so the newest one holds."""
        if usage is None:
            return
        self._counts |= counts_of(usage)
        self.call.usage = usage_of(self._counts)

    def _read_part(self, part: Any) -> None:
        text = text_of(part, "text")
        if field(part, "thought") is True:
            self.call.think(text)
            self.call.signature = signature_of(part) or self.call.signature
            return
        self.call.write(text)
        asked = field(part, "function_call", "functionCall")
        if asked is not None:
            self._ask(asked)
        self._answer(field(part, "function_response", "functionResponse"))
        self._read_code(part)
        self._read_hosted(part)
        data = field(part, "inline_data", "inlineData")
        if data is not None:
            self.call.note(f"Received {text_of(data, 'mime_type', 'mimeType') or 'data'}")

    def _ask(self, asked: Any) -> None:
        partial = self._partial or {"name": "", "id": "", "arguments": {}}
        partial["name"] = text_of(asked, "name") or partial["name"]
        partial["id"] = text_of(asked, "id") or partial["id"]
        partial["arguments"] |= arguments_of(field(asked, "args"))
        for piece in items_of(asked, "partial_args", "partialArgs"):
            path = text_of(piece, "json_path", "jsonPath").removeprefix("$.")
            value = field(piece, "string_value", "stringValue", "number_value", "numberValue", "bool_value", "boolValue")
            before = partial["arguments"].get(path)
            both = isinstance(before, str) and isinstance(value, str)
            partial["arguments"][path] = before + value if both else value
        if field(asked, "will_continue", "willContinue") is True:
            self._partial = partial
            return
        self._partial = None
        if partial["name"]:
            call_id = self.call.ask(partial["name"], partial["arguments"], call_id=partial["id"] or None)
            self._asked.append((partial["name"], call_id))

    def _answer(self, answer: Any) -> None:
        """What a function gave back: under the call's id, or only under its name when the call had none."""
        name, call_id = text_of(answer, "name"), text_of(answer, "id")
        known = next((asked for asked in self._asked if asked[1] == call_id or (not call_id and asked[0] == name)), None)
        if known is None:
            return
        self._asked.remove(known)
        given = plain(field(answer, "response"))
        if field(given, "error") is not None:
            self.call.end_tool(known[1], error=message_of(given))
        else:
            value = field(given, "result", "output")
            self.call.end_tool(known[1], result=given if value is None else value)

    def _read_code(self, part: Any) -> None:
        code = field(part, "executable_code", "executableCode")
        if code is not None:
            arguments = {"language": text_of(code, "language"), "code": text_of(code, "code")}
            self._code_id = self.call.start_tool("code_execution", arguments, call_id=text_of(code, "id") or None)
        result = field(part, "code_execution_result", "codeExecutionResult")
        if result is not None:
            outcome = text_of(result, "outcome")
            error = None if outcome in ("", "OUTCOME_OK") else outcome
            self.call.end_tool(text_of(result, "id") or self._code_id, result=text_of(result, "output"), error=error)

    def _read_hosted(self, part: Any) -> None:
        hosted = field(part, "tool_call", "toolCall")
        if hosted is not None:
            name = text_of(hosted, "tool_type", "toolType").lower()
            self.call.start_tool(name, arguments_of(field(hosted, "args")), call_id=text_of(hosted, "id") or None)
        answer = field(part, "tool_response", "toolResponse")
        if answer is not None:
            self.call.end_tool(text_of(answer, "id"), result=plain(field(answer, "response")))


def counts_of(usage: Any) -> dict[str, int]:
    """The counts that `usage_metadata` has."""
    return {name: count_of(usage, *spellings) for name, spellings in COUNTS.items() if field(usage, *spellings) is not None}


def usage_of(counts: Mapping[str, int]) -> Usage:
    """Counts as a run's: what a tool of Google's brought to the prompt is input, and a thought is output."""
    thoughts = counts.get("thoughts", 0)
    return Usage(
        input_tokens=counts.get("prompt", 0) + counts.get("tools", 0),
        output_tokens=counts.get("candidates", 0) + thoughts,
        cache_read_tokens=counts.get("cached", 0),
        reasoning_tokens=thoughts,
    )


def signature_of(part: Any) -> str:
    """The signature as it was sent, in base64; the SDK has it as bytes."""
    value = field(part, "thought_signature", "thoughtSignature")
    return base64.b64encode(value).decode() if isinstance(value, bytes) else text_of(part, "thoughtSignature")
