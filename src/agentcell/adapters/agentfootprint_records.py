"""One record of agentfootprint's after the other becomes events of ours.

Both forms are read: `{type, payload, meta}` as its dispatcher hands them on, and `{name, payload, pipelineId, subflowPath,
runtimeStageId}` as its recorders receive them, with and without the prefix `agentfootprint.`. A record that has no event of its
own here becomes `Reported`, so nothing is lost.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from agentcell.events import (
    AnyEvent,
    ContextEvaluated,
    LimitReached,
    ModelEnded,
    ModelStarted,
    PauseRequested,
    PauseResumed,
    Reported,
    Routed,
    RunStarted,
    TextDelta,
    ThinkingBlock,
    ThinkingDelta,
    ThinkingEnded,
    ThinkingFailed,
    ToolEnded,
    ToolOffer,
    ToolProgressed,
    ToolStarted,
    TurnEnded,
    TurnStarted,
    Usage,
)
from agentcell.text.fields import list_at, number_at, object_at, objects_at, text_at
from agentcell.text.javascript import trim

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Payload: TypeAlias = Mapping[str, Any]
    Read: TypeAlias = Callable[["RecordReader", Payload], Iterator[AnyEvent]]

PREFIX = "agentfootprint."
DEFAULT_QUESTION = "input required"
"""What a pause asks that brings no question and no reason."""


class RecordReader:
    """Reads records in their order, and remembers what the later ones leave out."""

    def __init__(self) -> None:
        self._seq = 0
        self._time = 0.0
        self._first_timestamp: float | None = None
        self._pipeline: Any = None
        # Its model calls have no id: an end, a token and a thought belong to the call that is open or was so last.
        self._model_calls = 0
        self._open_call = ""
        self._ended_call = ""
        self._streamed = False
        self._turns = 0

    def read(self, mapping: Mapping[str, Any]) -> Iterator[AnyEvent]:
        """The events of the next record; none for what is no record."""
        name = mapping.get("type") or mapping.get("name")
        if not isinstance(name, str):
            return
        name = name.removeprefix(PREFIX)
        payload = mapping.get("payload")
        payload = payload if isinstance(payload, dict) else {}
        meta = object_at(mapping, "meta") or mapping
        time, agent_id, source_id = self._tell_time(meta), _agent_name(meta.get("subflowPath")), text_at(meta, "runtimeStageId")
        for event in (*self._begin_run(mapping), *self._READERS.get(name, _report(name))(self, payload)):
            # The turn inside which all others were is the run's own, whichever agent had it: its text is the run's answer.
            own = isinstance(event, TurnEnded) and not self._turns
            yield replace(event, seq=self._seq, time=time, agent_id="" if own else agent_id, source_id=source_id)
            self._seq += 1

    def _tell_time(self, meta: Payload) -> float:
        offset, timestamp = number_at(meta, "runOffsetMs"), number_at(meta, "timestamp")
        if offset is None and timestamp is not None:
            if self._first_timestamp is None:
                self._first_timestamp = timestamp
            offset = timestamp - self._first_timestamp
        self._time = max(self._time, (offset or 0.0) / 1000)
        return self._time

    def _begin_run(self, mapping: Mapping[str, Any]) -> Iterator[AnyEvent]:
        pipeline = mapping.get("pipelineId")
        # An id that appears after records without one belongs to the same run.
        if not self._seq or (self._pipeline is not None and pipeline != self._pipeline):
            self._open_call, self._ended_call, self._turns = "", "", 0
            yield RunStarted()
        self._pipeline = pipeline

    def _turn_start(self, payload: Payload) -> Iterator[AnyEvent]:
        self._turns += 1
        yield TurnStarted(text=text_at(payload, "userPrompt") or "")

    def _turn_end(self, payload: Payload) -> Iterator[AnyEvent]:
        self._turns = max(0, self._turns - 1)
        text, refused = text_at(payload, "finalContent"), "refused" in payload
        if text is None and not refused:
            yield Reported(name="agent.turn_end", evidence=payload)
        else:
            yield TurnEnded(text=text or "", refused=refused)

    def _llm_start(self, payload: Payload) -> Iterator[AnyEvent]:
        if self._open_call:
            yield ModelEnded(model_call_id=self._open_call, outcome="cancelled")
        self._open_call, self._streamed = self._next_call(), False
        yield ModelStarted(
            model_call_id=self._open_call,
            model=text_at(payload, "model"),
            provider=text_at(payload, "provider"),
            tools=tuple(
                ToolOffer(tool["name"], text_at(tool, "description") or "")
                for tool in objects_at(payload, "tools")
                if isinstance(tool.get("name"), str)
            ),
        )

    def _llm_end(self, payload: Payload) -> Iterator[AnyEvent]:
        call_id = self._open_call or self._next_call()
        text, withheld = text_at(payload, "content") or "", payload.get("contentWithheld") is True
        if text and not withheld and not (self._open_call and self._streamed):
            yield TextDelta(text=text, model_call_id=call_id)
        yield ModelEnded(
            model_call_id=call_id,
            usage=_usage(payload.get("usage")),
            finish_reason=text_at(payload, "stopReason"),
            text=text,
            tool_calls=int(number_at(payload, "toolCallCount") or 0),
            withheld=withheld,
            duration=_seconds(payload, "durationMs"),
        )
        self._open_call, self._ended_call = "", call_id

    def _token(self, payload: Payload) -> Iterator[AnyEvent]:
        content = text_at(payload, "content")
        if content:
            self._streamed = True
            yield TextDelta(text=content, model_call_id=self._open_call or "unknown")

    def _thinking_delta(self, payload: Payload) -> Iterator[AnyEvent]:
        content = text_at(payload, "content")
        if content:
            yield ThinkingDelta(text=content, model_call_id=self._open_call or self._ended_call)

    def _thinking_end(self, payload: Payload) -> Iterator[AnyEvent]:
        # It is told after the end of the call whose thinking it is.
        yield ThinkingEnded(
            model_call_id=self._ended_call,
            blocks=tuple(
                ThinkingBlock(
                    "redacted_thinking" if block.get("type") == "redacted_thinking" else "thinking",
                    block["content"],
                    text_at(block, "signature"),
                    block.get("summary") is True,
                )
                for block in objects_at(payload, "blocks")
                if isinstance(block.get("content"), str)
            ),
        )

    def _thinking_failed(self, payload: Payload) -> Iterator[AnyEvent]:
        yield ThinkingFailed(
            provider=text_at(payload, "providerName") or "",
            handler=text_at(payload, "subflowId") or "",
            error=text_at(payload, "error") or "",
            error_type=text_at(payload, "errorName") or "",
            iteration=int(number_at(payload, "iteration") or 0),
        )

    def _tool_start(self, payload: Payload) -> Iterator[AnyEvent]:
        call_id, never_runs = text_at(payload, "toolCallId") or "", "notDispatched" in payload
        arguments = payload.get("args", {})
        yield ToolStarted(
            call_id=call_id,
            name=text_at(payload, "toolName") or "",
            arguments=arguments if isinstance(arguments, dict) else {"value": arguments},
            requested=never_runs,
        )
        if never_runs:
            yield ToolEnded(call_id=call_id, outcome="cancelled")

    def _tool_progress(self, payload: Payload) -> Iterator[AnyEvent]:
        # An id that is there and null belongs to no call; an id that is not there may belong to the only one.
        if payload.get("toolCallId", "") is not None:
            yield ToolProgressed(call_id=text_at(payload, "toolCallId") or "", payload=payload.get("payload"))

    def _tool_end(self, payload: Payload) -> Iterator[AnyEvent]:
        # The end of a call that never ran came with its start.
        if payload.get("toolCallId", "") is None or "notDispatched" in payload:
            return
        # Nothing came back is not the same as null came back.
        result = payload.get("result", {})
        yield ToolEnded(
            call_id=text_at(payload, "toolCallId") or "",
            outcome="failed" if payload.get("error") else "done",
            result={"value": None} if result is None else result,
            duration=_seconds(payload, "durationMs"),
        )

    def _pause_request(self, payload: Payload) -> Iterator[AnyEvent]:
        # `reason` is always the same sentence of the framework's; the person's question is in the question's payload.
        details = object_at(payload, "questionPayload")
        question = text_at(details, "question") or ""
        if not trim(question):
            reason = text_at(payload, "reason")
            question = DEFAULT_QUESTION if reason is None else reason
        call_id = text_at(payload, "toolCallId")
        yield PauseRequested(question=question, call_id=text_at(details, "toolCallId") if call_id is None else call_id)

    def _pause_resume(self, payload: Payload) -> Iterator[AnyEvent]:
        yield PauseResumed(answer=payload.get("resumeInput"))

    def _turn_routed(self, payload: Payload) -> Iterator[AnyEvent]:
        route = text_at(payload, "to") or text_at(payload, "from") or ""
        yield Routed(route=route, by=text_at(payload, "by") or "none", evidence=payload)

    def _route_conflict(self, payload: Payload) -> Iterator[AnyEvent]:
        yield Routed(route=text_at(object_at(payload, "winner"), "target") or "", by="conflict", evidence=payload)

    def _context_evaluated(self, payload: Payload) -> Iterator[AnyEvent]:
        parts = tuple(part for part in list_at(payload, "activeIds") if isinstance(part, str))
        yield ContextEvaluated(parts=parts, evidence=payload)

    def _limit_hit(self, payload: Payload) -> Iterator[AnyEvent]:
        yield LimitReached(
            kind=text_at(payload, "kind") or "",
            limit=number_at(payload, "limit"),
            actual=number_at(payload, "actual"),
            stops=payload.get("action") == "abort",
        )

    def _next_call(self) -> str:
        self._model_calls += 1
        return f"model-{self._model_calls}"

    _READERS: ClassVar[Mapping[str, Read]] = {
        "agent.turn_start": _turn_start,
        "agent.turn_end": _turn_end,
        "agent.thinking_parse_failed": _thinking_failed,
        "stream.llm_start": _llm_start,
        "stream.llm_end": _llm_end,
        "stream.token": _token,
        "stream.thinking_delta": _thinking_delta,
        "stream.thinking_end": _thinking_end,
        "stream.tool_start": _tool_start,
        "stream.tool_progress": _tool_progress,
        "stream.tool_end": _tool_end,
        "pause.request": _pause_request,
        "pause.resume": _pause_resume,
        "skill.turn_routed": _turn_routed,
        "skill.route_conflict": _route_conflict,
        "context.evaluated": _context_evaluated,
        "cost.limit_hit": _limit_hit,
    }


def _report(name: str) -> Read:
    return lambda _, payload: iter((Reported(name=name, evidence=payload),))


def _agent_name(path: Any) -> str:
    """The innermost part of a path that names somebody: not a stage of the framework's own."""
    segments = path.split("/") if isinstance(path, str) else path if isinstance(path, list) else []
    for segment in reversed(segments):
        if isinstance(segment, str) and segment not in ("", "final") and not segment.startswith(("sf-", "thinking-")):
            return segment.removeprefix("step-")
    return ""


def _seconds(payload: Payload, key: str) -> float | None:
    milliseconds = number_at(payload, key)
    return None if milliseconds is None else milliseconds / 1000


def _usage(usage: Any) -> Usage | None:
    if not isinstance(usage, dict):
        return None
    told = {field: number_at(usage, key) for key, field in _USAGE_FIELDS.items()}
    counts = {field: int(value) for field, value in told.items() if value is not None}
    return Usage(**counts, unsaid=tuple(field for field, value in told.items() if value is None))


_USAGE_FIELDS = {
    "input": "input_tokens",
    "output": "output_tokens",
    "cacheRead": "cache_read_tokens",
    "cacheWrite": "cache_write_tokens",
    "thinking": "reasoning_tokens",
}
