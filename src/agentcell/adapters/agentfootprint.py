"""agentfootprint's event records become events of ours.

Both forms are read: `{type, payload, meta}` as its dispatcher hands them on, and `{name, payload, pipelineId, subflowPath,
runtimeStageId}` as its recorders receive them, with and without the prefix `agentfootprint.`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, TypeAlias

from agentcell.events import (
    Event,
    ModelEnded,
    ModelStarted,
    PauseRequested,
    PauseResumed,
    TextDelta,
    ToolEnded,
    ToolProgressed,
    ToolStarted,
    Usage,
)
from agentcell.text.javascript import trim

Payload: TypeAlias = Mapping[str, Any]

PREFIX = "agentfootprint."
DEFAULT_QUESTION = "input required"


def read_events(mappings: Iterable[Mapping[str, Any]]) -> Iterator[Event]:
    """Our events for agentfootprint's records, in their order; records that say nothing to us are passed over."""
    reader = _Reader()
    for mapping in mappings:
        yield from reader.read(mapping)


class _Reader:
    """Keeps what pairs a start with its end: agentfootprint's model calls have no id, so the open one is meant."""

    def __init__(self) -> None:
        self._model_calls = 0
        self._open_model_call = ""

    def read(self, mapping: Mapping[str, Any]) -> Iterator[Event]:
        name = mapping.get("type") or mapping.get("name")
        payload = mapping.get("payload")
        read = self._READERS.get(name.removeprefix(PREFIX)) if isinstance(name, str) else None
        if read is not None:
            yield from read(self, payload if isinstance(payload, Mapping) else {})

    def _llm_start(self, payload: Payload) -> Iterator[Event]:
        if self._open_model_call:
            yield ModelEnded(model_call_id=self._open_model_call, outcome="cancelled")
        self._open_model_call = self._next_model_call()
        yield ModelStarted(
            model_call_id=self._open_model_call, model=_text(payload, "model"), provider=_text(payload, "provider")
        )

    def _llm_end(self, payload: Payload) -> Iterator[Event]:
        yield ModelEnded(
            model_call_id=self._open_model_call or self._next_model_call(),
            usage=_usage(payload.get("usage")),
            finish_reason=_text(payload, "stopReason"),
        )
        self._open_model_call = ""

    def _token(self, payload: Payload) -> Iterator[Event]:
        content = payload.get("content")
        if isinstance(content, str):
            yield TextDelta(text=content, model_call_id=self._open_model_call or "unknown")

    def _tool_start(self, payload: Payload) -> Iterator[Event]:
        yield ToolStarted(
            call_id=_text(payload, "toolCallId") or "",
            name=_text(payload, "toolName") or "",
            arguments=_object(payload, "args"),
            model_call_id=self._open_model_call,
        )

    def _tool_progress(self, payload: Payload) -> Iterator[Event]:
        # An id that is there and null belongs to no call; an id that is not there may belong to the only one.
        if payload.get("toolCallId", "") is not None:
            yield ToolProgressed(call_id=_text(payload, "toolCallId") or "", payload=payload.get("payload"))

    def _tool_end(self, payload: Payload) -> Iterator[Event]:
        if payload.get("toolCallId", "") is not None:
            yield ToolEnded(
                call_id=_text(payload, "toolCallId") or "",
                outcome="failed" if payload.get("error") else "done",
                result=payload.get("result"),
            )

    def _pause_request(self, payload: Payload) -> Iterator[Event]:
        # `reason` is always the same sentence of the framework's; the person's question is in the question's payload.
        details = _object(payload, "questionPayload")
        question = _text(details, "question") or ""
        if not trim(question):
            reason = _text(payload, "reason")
            question = DEFAULT_QUESTION if reason is None else reason
        call_id = _text(payload, "toolCallId")
        yield PauseRequested(question=question, call_id=_text(details, "toolCallId") if call_id is None else call_id)

    def _pause_resume(self, payload: Payload) -> Iterator[Event]:
        yield PauseResumed(answer=payload.get("resumeInput"))

    def _next_model_call(self) -> str:
        self._model_calls += 1
        return f"model-{self._model_calls}"

    _READERS: ClassVar[Mapping[str, Callable[[_Reader, Payload], Iterator[Event]]]] = {
        "stream.llm_start": _llm_start,
        "stream.llm_end": _llm_end,
        "stream.token": _token,
        "stream.tool_start": _tool_start,
        "stream.tool_progress": _tool_progress,
        "stream.tool_end": _tool_end,
        "pause.request": _pause_request,
        "pause.resume": _pause_resume,
    }


def _text(payload: Payload, key: str) -> str | None:
    value = payload.get(key)
    return value if isinstance(value, str) else None


def _object(payload: Payload, key: str) -> Payload:
    value = payload.get(key)
    return value if isinstance(value, Mapping) else {}


def _usage(usage: Any) -> Usage | None:
    if not isinstance(usage, Mapping):
        return None

    def tokens(key: str) -> int:
        value = usage.get(key)
        return int(value) if isinstance(value, (int, float)) else 0

    return Usage(tokens("input"), tokens("output"), tokens("cacheRead"), tokens("cacheWrite"), tokens("thinking"))
