"""agentfootprint's records read into events, and into whole runs that can be watched, saved and replayed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import agentcell
from agentcell.adapters.agentfootprint import CUT, WAITING, read_events, read_run
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
    RunEnded,
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
from agentcell.projections.status import render_status_line, select_status
from agentcell.testing.clock import FakeClock
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


def at(ms: int, name: str, **payload: Any) -> dict[str, Any]:
    return {"type": f"agentfootprint.{name}", "payload": payload, "meta": {"runOffsetMs": ms, "runtimeStageId": f"stage#{ms}"}}


LOG = [
    at(0, "agent.turn_start", userPrompt="Weather in Linz?"),
    at(0, "context.evaluated", activeIds=["base"]),
    at(10, "stream.llm_start", model="m-1", provider="mock", tools=[{"name": "weather", "description": "Current weather"}]),
    at(20, "stream.token", content="Let me "),
    at(30, "stream.token", content="look."),
    at(40, "stream.llm_end", content="Let me look.", toolCallCount=2, usage={"input": 10, "output": 5}, durationMs=30),
    at(41, "stream.thinking_end", blocks=[{"type": "thinking", "content": "Two cities.", "signature": "sig=="}]),
    at(
        50,
        "stream.tool_start",
        toolName="weather",
        toolCallId="w1",
        args={"city": "Linz", "api_key": "sk-ant-api03-abcdefghijklmnop"},
    ),
    at(60, "stream.tool_start", toolName="weather", toolCallId="w2", args={"city": "Enns"}),
    at(70, "stream.tool_progress", toolCallId="w1", payload={"message": "asking the station"}),
    at(80, "stream.tool_end", toolCallId="w1", result={"degrees": 21}, durationMs=30),
    at(90, "stream.tool_end", toolCallId="w2", error=True, durationMs=30),
    at(95, "pause.request", reason="stage requested pause", questionPayload={"question": "Celsius?"}),
    at(1095, "pause.resume", resumeInput="yes"),
    at(1100, "stream.llm_start", model="m-1", provider="mock"),
    at(1110, "stream.token", content="21 degrees."),
    at(1120, "stream.llm_end", content="21 degrees.", toolCallCount=0, usage={"input": 20, "output": 3}, durationMs=20),
    at(1120, "agent.turn_end", finalContent="21 degrees."),
]


def test_a_log_is_a_run_with_rows_answer_usage_and_trace() -> None:
    run = read_run(LOG, agent="Atlas", asker="Ana")
    assert (run.status, run.outcome, run.answer_text, run.status_line) == ("complete", "answered", "21 degrees.", "")
    assert (run.usage.input_tokens, run.usage.output_tokens) == (30, 8)
    assert run.elapsed_seconds == pytest.approx(0.12)
    assert [(step.text, step.state) for step in run.steps] == [
        ("Let me look.", "done"),
        ("Thinking", "done"),
        ("Calling `weather`", "done"),
        ("Calling `weather`", "failed"),
        ("Waiting on you: Celsius?", "done"),
    ]
    trace = run.trace()
    assert (trace.task, trace.agent, trace.model, trace.asker) == ("Weather in Linz?", "Atlas", "m-1", "Ana")
    assert [type(step).__name__ for step in trace.steps] == ["Prompt", "Ask", "Ask", "Return", "Return", "Answer"]
    html = run.to_html()
    assert "21 degrees." in html
    assert "sk-ant" not in html + repr(run.events)
    assert "sig==" not in html


def test_a_run_of_a_log_is_saved_and_loaded_as_the_same(tmp_path: Path) -> None:
    run = read_run(LOG)
    run.save(tmp_path / "run.jsonl")
    loaded = agentcell.load(tmp_path / "run.jsonl")
    assert loaded == run
    assert (loaded.trace(), loaded.to_html()) == (run.trace(), run.to_html())
    assert (loaded.options, loaded.steps, loaded.usage) == (run.options, run.steps, run.usage)


def watched(records: list[dict[str, Any]], **options: Any) -> agentcell.Run:
    """The run in whose block the log is told live; checks the status line after every event."""
    clock = FakeClock()
    told: list[Event] = []
    with agentcell.watch(**options, display=False, clock=clock) as run:
        for event in read_events(records):
            clock.advance(event.time - clock())
            run.record(event)
            told.append(event)
            expected = render_status_line(select_status(told), app_name=run.options.agent) or ""
            shown = run.status in ("idle", "reasoning") or run.cell.title == "Waiting on you"
            assert run.status_line == (expected if shown else "")
    return run


def test_the_same_log_told_live_is_the_same_run() -> None:
    run, live = read_run(LOG), watched(LOG, task="Weather in Linz?", model="m-1")
    assert live.events[1:] == run.events[1:]
    assert (live.steps, live.answer_text, live.usage, live.outcome) == (run.steps, run.answer_text, run.usage, run.outcome)
    assert (live.elapsed_seconds, live.trace()) == (run.elapsed_seconds, run.trace())
    assert live.to_html() == run.to_html()
    assert live.faults == {}


def test_a_log_does_not_rename_the_run_that_it_is_told_in() -> None:
    live = watched(LOG, task="Mine", agent="Atlas")
    assert (live.trace().task, live.trace().agent, live.trace().model) == ("Mine", "Atlas", "m-1")
    assert sum(isinstance(event, RunStarted) for event in live.events) == 1


@pytest.mark.parametrize(
    ("records", "outcome", "error"),
    [
        ([], "answered", None),
        (LOG, "answered", None),
        (LOG[:-1], "cancelled", CUT),
        (LOG[1:-1], "answered", None),
        (LOG[1:8], "cancelled", CUT),
        (LOG[1:3], "cancelled", CUT),
        (LOG[:13], "cancelled", WAITING),
        ([*LOG[:-1], at(1120, "agent.turn_end")], "answered", None),
        ([*LOG[:4], at(50, "error.fatal", error="no network")], "failed", "no network"),
        ([*LOG[:4], at(50, "error.fatal")], "failed", None),
        ([*LOG, at(1130, "cost.limit_hit", kind="max_cost", action="abort")], "limited", None),
        ([*LOG, at(1130, "cost.limit_hit", kind="max_cost", action="warn")], "answered", None),
    ],
)
def test_how_a_run_ended_is_read_from_what_its_log_holds(records: list[dict[str, Any]], outcome: str, error: str | None) -> None:
    run = read_run(records)
    ended = run.events[-1]
    assert isinstance(ended, RunEnded)
    assert (run.outcome, ended.outcome, ended.error) == (outcome, outcome, error)


def test_several_runs_of_one_log_are_turns_of_one_run() -> None:
    again = [at(5, "agent.turn_start", userPrompt="And now?"), at(9, "agent.turn_end", finalContent="Cold.")]
    run = read_run([{**record, "pipelineId": "p"} for record in LOG] + [{**record, "pipelineId": "q"} for record in again])
    assert sum(isinstance(event, RunStarted) for event in run.events) == 1
    assert (run.options.task, run.answer_text) == ("Weather in Linz?", "Cold.")
    assert len(run.trace().steps) == 7


def test_the_outermost_turn_answers_whichever_agent_has_it() -> None:
    def by(agent: str, name: str, **payload: Any) -> dict[str, Any]:
        return {"name": name, "payload": payload, "subflowPath": [f"step-{agent}"]}

    inner = [by("helper", "agent.turn_start"), by("helper", "agent.turn_end", finalContent="A part.")]
    run = read_run([by("writer", "agent.turn_start"), *inner, by("writer", "agent.turn_end", finalContent="The whole.")])
    assert (run.answer_text, run.outcome) == ("The whole.", "answered")


def test_every_recorded_log_is_a_run_that_is_saved_loaded_and_told_live(tmp_path: Path) -> None:
    for name in ("status", "trace", "trace_new", "trace_templates"):
        records = json.loads(shared_path("vectors", f"agentfootprint_{name}.json").read_text(encoding="utf-8"))
        for record in records:
            log = [event for event in record["events"] if event.get("op") != "clear"]
            run = read_run(log)
            assert run.status == "complete", record["id"]
            if record["id"].startswith(("real", "hand")):
                run.save(tmp_path / "run.jsonl")
                loaded = agentcell.load(tmp_path / "run.jsonl")
                assert (loaded, loaded.trace()) == (run, run.trace()), record["id"]
                live = watched(log, task=run.options.task, model=run.options.model)
                assert live.events[1:-1] == run.events[1:-1], record["id"]
                if run.outcome == "answered":
                    assert (live.steps, live.answer_text, live.usage, live.trace()) == (
                        *(run.steps, run.answer_text, run.usage),
                        run.trace(),
                    ), record["id"]
