"""agentfootprint's records read into events, and traces out to AgentThinkingUI's JSON and back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentcell.adapters.agentfootprint import read_events
from agentcell.adapters.agentthinkingui import read_trace, write_trace
from agentcell.errors import LoadError
from agentcell.events import (
    ContextEvaluated,
    Event,
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
from agentcell.projections.beats import Answer, Ask, Cost, Prompt, Return
from agentcell.projections.trace_shape import Trace
from shared import shared_path


def read(*records: Any) -> list[Event]:
    """The events of records given as (name, payload), without those that only say where and when."""
    events = read_events({"name": name, "payload": payload} for name, payload in records)
    return [event for event in events if not isinstance(event, RunStarted)]


@pytest.mark.parametrize(
    ("name", "payload", "expected"),
    [
        ("agent.turn_start", {"userPrompt": "Why?"}, TurnStarted(text="Why?")),
        ("agent.turn_end", {"finalContent": "So."}, TurnEnded(text="So.")),
        ("agent.turn_end", {"finalContent": "No.", "refused": None}, TurnEnded(text="No.", refused=True)),
        ("agent.turn_end", {"turnIndex": 0}, Reported(name="agent.turn_end", evidence={"turnIndex": 0})),
        (
            "agent.thinking_parse_failed",
            {"providerName": "p", "subflowId": "h", "error": "e", "errorName": "E", "iteration": 2},
            ThinkingFailed(provider="p", handler="h", error="e", error_type="E", iteration=2),
        ),
        (
            "stream.llm_start",
            {"model": "m", "provider": "p", "tools": [{"name": "db", "description": "d"}, {"name": "x"}, {}, None]},
            ModelStarted(model_call_id="model-1", model="m", provider="p", tools=(ToolOffer("db", "d"), ToolOffer("x"))),
        ),
        ("stream.token", {"content": "a"}, TextDelta(text="a", model_call_id="unknown")),
        ("stream.thinking_delta", {"content": "a"}, ThinkingDelta(text="a")),
        (
            "stream.thinking_end",
            {"blocks": [{"type": "redacted_thinking", "content": ""}, {"content": "s", "summary": True}, {"content": None}]},
            ThinkingEnded(blocks=(ThinkingBlock("redacted_thinking"), ThinkingBlock(content="s", summary=True))),
        ),
        (
            "stream.tool_start",
            {"toolCallId": "c", "toolName": "db", "args": {"q": 1}},
            ToolStarted(call_id="c", name="db", arguments={"q": 1}),
        ),
        ("stream.tool_start", {"toolCallId": "c", "args": None}, ToolStarted(call_id="c", arguments={"value": None})),
        ("stream.tool_start", {"toolCallId": "c"}, ToolStarted(call_id="c")),
        ("stream.tool_progress", {"toolCallId": "c", "payload": 1}, ToolProgressed(call_id="c", payload=1)),
        ("stream.tool_progress", {"payload": 1}, ToolProgressed(payload=1)),
        (
            "stream.tool_end",
            {"toolCallId": "c", "result": "r", "durationMs": 20},
            ToolEnded(call_id="c", result="r", duration=0.02),
        ),
        ("stream.tool_end", {"error": True}, ToolEnded(result={}, outcome="failed")),
        ("stream.tool_end", {"result": None}, ToolEnded(result={"value": None})),
        ("pause.request", {"reason": "Sure?", "toolCallId": "c"}, PauseRequested(question="Sure?", call_id="c")),
        (
            "pause.request",
            {"reason": "stage requested pause", "questionPayload": {"question": "Send it?", "toolCallId": "c"}},
            PauseRequested(question="Send it?", call_id="c"),
        ),
        ("pause.request", {"questionPayload": {"question": " "}}, PauseRequested(question="input required")),
        ("pause.resume", {"resumeInput": {"ok": True}}, PauseResumed(answer={"ok": True})),
        ("skill.turn_routed", {"by": "entry", "to": "b"}, Routed(route="b", by="entry", evidence={"by": "entry", "to": "b"})),
        (
            "skill.route_conflict",
            {"winner": {"target": "b"}},
            Routed(route="b", by="conflict", evidence={"winner": {"target": "b"}}),
        ),
        ("context.evaluated", {"activeIds": ["a", 1]}, ContextEvaluated(parts=("a",), evidence={"activeIds": ["a", 1]})),
        (
            "cost.limit_hit",
            {"kind": "max_cost", "limit": 1, "actual": 2.5, "action": "abort"},
            LimitReached(kind="max_cost", limit=1, actual=2.5, stops=True),
        ),
        ("artifacts.minted", {"id": 1}, Reported(name="artifacts.minted", evidence={"id": 1})),
    ],
)
def test_a_record_becomes_an_event(name: str, payload: dict[str, Any], expected: Event) -> None:
    (event,) = (event for event in read((name, payload), ("agentfootprint.x", None)) if event.seq == 1)
    for field in expected.__dataclass_fields__:
        if field != "seq":
            assert getattr(event, field) == getattr(expected, field), field


def test_an_answer_that_was_not_streamed_comes_as_one_delta() -> None:
    start, end = ("stream.llm_start", {}), ("stream.llm_end", {"content": "Sunny.", "toolCallCount": 0, "usage": {"input": 3}})
    ended = ModelEnded(
        seq=3,
        model_call_id="model-1",
        usage=Usage(3, unsaid=("output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")),
        text="Sunny.",
        tool_calls=0,
    )
    assert read(start, end)[1:] == [TextDelta(seq=2, text="Sunny.", model_call_id="model-1"), ended]
    assert [type(event) for event in read(start, ("stream.token", {"content": "Sun"}), end)] == [
        ModelStarted,
        TextDelta,
        ModelEnded,
    ]


def test_a_withheld_answer_is_not_shown_before_it_is_delivered() -> None:
    (ended,) = read(("stream.llm_end", {"content": "draft", "contentWithheld": True}))
    assert isinstance(ended, ModelEnded)
    assert (ended.text, ended.withheld) == ("draft", True)


def test_a_model_call_that_never_ended_is_over_when_the_next_one_starts() -> None:
    _, ended, second = read(("stream.llm_start", {}), ("stream.llm_start", {}))
    assert isinstance(ended, ModelEnded)
    assert (ended.model_call_id, ended.outcome) == ("model-1", "cancelled")
    assert isinstance(second, ModelStarted)
    assert second.model_call_id == "model-2"


def test_a_call_that_never_ran_ends_with_its_start() -> None:
    start = ("stream.tool_start", {"toolCallId": "c", "notDispatched": "paused"})
    events = read(start, ("stream.tool_end", {"toolCallId": "c", "notDispatched": "paused"}))
    assert [type(event) for event in events] == [ToolStarted, ToolEnded]
    assert events[1] == ToolEnded(seq=2, call_id="c", outcome="cancelled")


def test_a_null_id_is_nobodys() -> None:
    assert read(("stream.tool_progress", {"toolCallId": None}), ("stream.tool_end", {"toolCallId": None})) == []


def test_both_forms_say_when_and_where() -> None:
    meta = {"runOffsetMs": 1500, "runtimeStageId": "s1", "subflowPath": ["step-writer", "sf-call-llm"]}
    dispatched = {"type": "agentfootprint.agent.turn_start", "payload": {"userPrompt": "x"}, "meta": meta}
    received = {"name": "agent.turn_start", "payload": {}, "subflowPath": "a/thinking-x/final", "timestamp": 7_002_000}
    earlier = {"name": "agent.turn_start", "payload": {}, "timestamp": 7_000_000}
    (event,) = list(read_events([dispatched]))[1:]
    assert (event.time, event.agent_id, event.source_id) == (1.5, "writer", "s1")
    *_, event = read_events([earlier, received, earlier])
    assert (event.time, event.agent_id, event.source_id) == (2.0, "", None)
    _, _, event, _ = read_events([earlier, received, earlier])
    assert (event.time, event.agent_id) == (2.0, "a")


@pytest.mark.parametrize(
    ("pipelines", "runs"),
    [(["p", "p"], 1), (["p", "q"], 2), ([None, "p"], 1), (["p", None, "p"], 2), (["", ""], 1)],
)
def test_another_pipeline_is_another_run(pipelines: list[Any], runs: int) -> None:
    events = read_events({"name": "x", "pipelineId": pipeline} for pipeline in pipelines)
    assert sum(isinstance(event, RunStarted) for event in events) == runs


@pytest.mark.parametrize("record", [{}, {"type": 3}, {"name": None, "payload": []}])
def test_what_is_no_record_is_passed_over(record: dict[str, Any]) -> None:
    assert list(read_events([record])) == []


TRACE = Trace(
    task="Why?",
    agent="Atlas",
    model="gpt-x",
    asker="Ana",
    title="T",
    steps=(
        Prompt(brain="Why?"),
        Ask(
            brain="b",
            cost=Cost(1.5, 3, 2, 1, 0),
            at="s1",
            tool="db",
            tool_name="db",
            call_id="c",
            input={"q": 1},
            thinking="t",
            tools_seen=(ToolOffer("db", "d"),),
        ),
        Return(brain="b", at="s2", tool="db", tool_name="db", call_id="c", output={"v": 1}, error="e"),
        Return(brain="b", tool="s", tool_name="read_skill", call_id="d", reply_type="instruction", skill="s"),
        Answer(brain="a", to="Ana", text="a\nb", thinking="t"),
    ),
    open=("d",),
    error="boom",
)


def test_a_trace_comes_back_as_it_was_written() -> None:
    assert read_trace(json.loads(json.dumps(write_trace(TRACE)))) == TRACE


def test_a_written_trace_has_no_null_beside_its_places() -> None:
    written = write_trace(TRACE)
    assert written["status"] == "error"
    assert written["steps"][1]["spanId"] == "s1"
    assert None not in [value for beat in written["steps"] for value in beat.values()]
    assert "status" not in write_trace(Trace("", "A", "m", "you", ()))


def test_a_trace_with_nothing_optional_is_read() -> None:
    beats = [{"kind": kind} for kind in ("prompt", "ask", "return", "answer", "dance")]
    trace = read_trace({"steps": [*beats, None]})
    assert [type(step).__name__ for step in trace.steps] == ["Prompt", "Ask", "Return", "Answer"]
    assert (trace.agent, trace.model, trace.asker) == ("Agent", "model", "you")


def test_what_is_no_trace_is_refused() -> None:
    with pytest.raises(LoadError, match=r"must have a list of steps, but this has the keys \['nodes'\]"):
        read_trace({"nodes": []})


def test_every_recorded_trace_is_read_and_written_the_same() -> None:
    for name in ("trace", "trace_new"):
        for record in json.loads(shared_path("vectors", f"agentfootprint_{name}.json").read_text(encoding="utf-8")):
            if "trace" in record and "quirk" not in record and "lone_surrogate" not in record:
                written = record["trace"]
                assert read_trace(written).to_dict() == without_cut_headlines(written), record["id"]


def without_cut_headlines(written: dict[str, Any]) -> dict[str, Any]:
    for beat in written["steps"]:
        headline = beat.get("answer", {}).get("headline", "")
        if "\ud800" <= headline[-2:-1] <= "\udbff":
            beat["answer"]["headline"] = headline[:-2] + "…"
    return written
