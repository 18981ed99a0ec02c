"""Tells a run as AG-UI events, for a front end that speaks the Agent User Interaction Protocol."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from agentcell.events import (
    AgentEnded,
    AgentStarted,
    AnyEvent,
    ModelEnded,
    ModelStarted,
    Noted,
    PauseRequested,
    PauseResumed,
    RunEnded,
    RunStarted,
    TextDelta,
    ThinkingDelta,
    ThinkingEnded,
    ToolEnded,
    ToolProgressed,
    ToolStarted,
    TurnEnded,
    Usage,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

VERSION = "1.0"
"""The protocol's version that is spoken here."""


def to_ag_ui(events: Iterable[AnyEvent]) -> Iterator[dict[str, Any]]:
    """The events of one run as AG-UI events: plain dicts with the protocol's own names, ready for JSON."""
    teller = _Teller()
    for event in events:
        for told in teller.tell(event):
            yield {"type": told.pop("type"), "timestamp": int((teller.started_at + event.time) * 1000), **told}


class _Teller:
    """Turns one event after the other."""

    def __init__(self) -> None:
        self.started_at = 0.0
        self._ids = {"threadId": "agentcell", "runId": "agentcell"}
        self._open_messages: dict[str, tuple[str, str]] = {}  # by agent: the source of the text, the id of its message
        self._open_thoughts: dict[str, tuple[str, str]] = {}  # likewise, of reasoning
        self._said = ""
        self._messages = 0
        self._calls: dict[str, ToolStarted] = {}  # by id, those whose arguments may still become known
        self._begun: set[str] = set()
        self._agents: set[str] = set()
        self._models: dict[str, tuple[str | None, str | None]] = {}  # provider and model of each model call
        self._usage: dict[tuple[str | None, str | None], Usage] = {}
        self._pauses: dict[str, PauseRequested] = {}

    def tell(self, event: AnyEvent) -> Iterator[dict[str, Any]]:  # noqa: PLR0915 - one table of all kinds of events
        """What the event is in AG-UI: none, one or several events."""
        match event:
            case RunStarted():
                self.started_at = event.started_at
                self._ids = {"threadId": "agentcell", "runId": f"agentcell-{int(event.started_at * 1000)}"}
                yield {"type": "RUN_STARTED", **self._ids, "protocolVersion": VERSION}
            case ModelStarted():
                self._models[event.model_call_id] = (event.provider, event.model)
            case TextDelta():
                yield from self._end_thought(event.agent_id)
                yield from self._write(event.text, event.model_call_id, event.agent_id)
            case TurnEnded():
                tail = event.text.removeprefix(self._said)
                yield from self._write(tail, "", event.agent_id) if tail else ()
            case ThinkingDelta():
                yield from self._think(event.text, event.model_call_id, event.agent_id)
            case ThinkingEnded():
                if event.agent_id not in self._open_thoughts:
                    for block in event.blocks:
                        yield from self._think(block.content, event.model_call_id, event.agent_id) if block.content else ()
                yield from self._end_thought(event.agent_id)
            case ModelEnded():
                yield from self._end_texts(event.agent_id)
                yield from self._end_arguments(call.call_id for call in self._asked_by(event.model_call_id))
                if event.usage is not None:
                    provider, model = self._models.get(event.model_call_id, (None, None))
                    name = (provider, event.model or model)
                    self._usage[name] = self._usage.get(name, Usage()) + event.usage
            case ToolStarted():
                yield from self._end_texts(event.agent_id)
                yield from self._call(event)
            case ToolProgressed():
                yield _custom("progress", event, {"toolCallId": event.call_id, "payload": event.payload})
            case ToolEnded():
                yield from self._end_arguments([event.call_id])
                yield {
                    "type": "TOOL_CALL_RESULT",
                    "messageId": f"{event.call_id}-result",
                    "toolCallId": event.call_id,
                    "content": _content(event.result if event.outcome == "done" else event.error),
                    "role": "tool",
                    **({} if event.outcome == "done" else {"metadata": {"agentcell": {"outcome": event.outcome}}}),
                    **_by(event.agent_id),
                }
            case AgentStarted():
                self._agents.add(event.agent_id)
                place = "parentSubagentRunId" if event.parent_id in self._agents else "parentToolCallId"
                parent = {place: event.parent_id} if event.parent_id else {}
                yield {"type": "SUBAGENT_STARTED", "subagentRunId": event.agent_id, "name": event.name, **parent}
            case AgentEnded():
                yield from self._end_texts(event.agent_id)
                if event.outcome == "done":
                    yield {"type": "SUBAGENT_FINISHED", "subagentRunId": event.agent_id}
                else:
                    said = event.error or event.outcome
                    yield {"type": "SUBAGENT_ERROR", "subagentRunId": event.agent_id, "message": said}
            case PauseRequested():
                self._pauses[event.pause_id] = event
                call = {"toolCallId": event.call_id} if event.call_id else {}
                asked = {"id": event.pause_id, "question": event.question, "choices": list(event.choices), **call}
                yield _custom("pause", event, asked)
            case PauseResumed():
                self._pauses.pop(event.pause_id, None)
                yield _custom("resume", event, {"id": event.pause_id, "answer": event.answer})
            case Noted() if event.text:
                for kind in ("STEP_STARTED", "STEP_FINISHED"):
                    yield {"type": kind, "stepName": event.text, **_by(event.agent_id)}
            case RunEnded():
                yield from self._end(event)
            case _:
                pass  # AG-UI has no word for it

    def _write(self, text: str, source: str, agent: str) -> Iterator[dict[str, Any]]:
        if agent not in self._open_messages or self._open_messages[agent][0] != source:
            yield from self._end_texts(agent)
            self._open_messages[agent] = source, self._new_message(source or "own")
            own = {} if source else {"metadata": {"agentcell": {"own": True}}}
            name = self._open_messages[agent][1]
            yield {"type": "TEXT_MESSAGE_START", "messageId": name, "role": "assistant", **own, **_by(agent)}
        self._said += "" if agent else text
        yield {"type": "TEXT_MESSAGE_CONTENT", "messageId": self._open_messages[agent][1], "delta": text, **_by(agent)}

    def _think(self, text: str, source: str, agent: str) -> Iterator[dict[str, Any]]:
        if agent not in self._open_thoughts or self._open_thoughts[agent][0] != source:
            yield from self._end_texts(agent)
            self._open_thoughts[agent] = source, self._new_message(f"{source or 'own'}-reasoning")
            place = {"messageId": self._open_thoughts[agent][1], **_by(agent)}
            yield {"type": "REASONING_START", **place}
            yield {"type": "REASONING_MESSAGE_START", "role": "reasoning", **place}
        yield {"type": "REASONING_MESSAGE_CONTENT", "messageId": self._open_thoughts[agent][1], "delta": text, **_by(agent)}

    def _new_message(self, name: str) -> str:
        self._messages += 1
        return f"{name}-{self._messages}"

    def _end_thought(self, agent: str) -> Iterator[dict[str, Any]]:
        open_one = self._open_thoughts.pop(agent, None)
        if open_one is not None:
            place = {"messageId": open_one[1], **_by(agent)}
            yield {"type": "REASONING_MESSAGE_END", **place}
            yield {"type": "REASONING_END", **place}

    def _end_texts(self, agent: str) -> Iterator[dict[str, Any]]:
        yield from self._end_thought(agent)
        open_one = self._open_messages.pop(agent, None)
        if open_one is not None:
            yield {"type": "TEXT_MESSAGE_END", "messageId": open_one[1], **_by(agent)}

    def _call(self, event: ToolStarted) -> Iterator[dict[str, Any]]:
        if event.call_id not in self._begun:
            self._begun.add(event.call_id)
            yield {"type": "TOOL_CALL_START", "toolCallId": event.call_id, "toolCallName": event.name, **_by(event.agent_id)}
            self._calls[event.call_id] = event
        elif event.call_id in self._calls:
            self._calls[event.call_id] = event
        if not event.requested:
            yield from self._end_arguments([event.call_id])

    def _asked_by(self, model_call_id: str) -> list[ToolStarted]:
        return [call for call in self._calls.values() if call.model_call_id == model_call_id]

    def _end_arguments(self, call_ids: Iterable[str]) -> Iterator[dict[str, Any]]:
        for call_id in call_ids:
            call = self._calls.pop(call_id, None)
            if call is not None:
                place = {"toolCallId": call_id, **_by(call.agent_id)}
                yield {"type": "TOOL_CALL_ARGS", "delta": json.dumps(dict(call.arguments), ensure_ascii=False), **place}
                yield {"type": "TOOL_CALL_END", **place}

    def _end(self, event: RunEnded) -> Iterator[dict[str, Any]]:
        for agent in (*self._open_thoughts, *self._open_messages):
            yield from self._end_texts(agent)
        yield from self._end_arguments(tuple(self._calls))
        counted = [_counts(name, usage) for name, usage in self._usage.items()]
        usage = {"usage": counted} if counted else {}
        if event.outcome == "failed":
            code = {"code": event.error_type} if event.error_type else {}
            yield {"type": "RUN_ERROR", "message": event.error or "the run failed", **code, **usage}
            return
        outcome: dict[str, Any] = {"type": "cancelled" if event.outcome == "cancelled" else "success"}
        if self._pauses and event.outcome == "answered":
            outcome = {"type": "interrupt", "interrupts": [_interrupt(pause) for pause in self._pauses.values()]}
        yield {"type": "RUN_FINISHED", **self._ids, "outcome": outcome, **usage}


def _by(agent: str) -> dict[str, str]:
    return {"subagentRunId": agent} if agent else {}


def _custom(name: str, event: AnyEvent, value: dict[str, Any]) -> dict[str, Any]:
    return {"type": "CUSTOM", "name": f"agentcell.{name}", "value": value, **_by(event.agent_id)}


def _content(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _interrupt(pause: PauseRequested) -> dict[str, Any]:
    call = {"toolCallId": pause.call_id} if pause.call_id else {}
    return {"id": pause.pause_id, "reason": "tool_call" if call else "input_required", "message": pause.question, **call}


def _counts(name: tuple[str | None, str | None], usage: Usage) -> dict[str, Any]:
    provider, model = name
    counted = {
        "provider": provider,
        "model": model,
        "inputTokens": usage.input_tokens,
        "outputTokens": usage.output_tokens,
        "totalTokens": usage.total_tokens,
        "reasoningTokens": usage.reasoning_tokens,
        "cachedInputTokens": usage.cache_read_tokens,
        "cacheWriteInputTokens": usage.cache_write_tokens,
    }
    return {key: value for key, value in counted.items() if value is not None}
