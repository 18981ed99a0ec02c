"""Runs out to AgentThinkingUI's JSON and back: the same beats, nothing null, and a plain word for what is no trace."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import agentcell
from agentcell.adapters.agentfootprint import read_run
from agentcell.adapters.agentthinkingui import read_trace, write_trace
from agentcell.errors import LoadError
from agentcell.events import (
    AnyEvent,
    ModelEnded,
    ModelStarted,
    Noted,
    Reported,
    Routed,
    RunEnded,
    RunStarted,
    TextDelta,
    ThinkingBlock,
    ThinkingEnded,
    ToolEnded,
    ToolOffer,
    ToolStarted,
    TurnEnded,
    Usage,
)
from agentcell.run import Run
from shared import shared_path


def through_json(run: Run) -> Run:
    return read_trace(json.loads(json.dumps(write_trace(run))))


def sample() -> Run:
    """A run with everything that a trace can hold."""
    with agentcell.watch("Why is checkout slow?", agent="Atlas", model="m-1", asker="Ana", display=False) as run:
        run.record(Routed(route="metrics", confidence=0.9, reason="it names a page"))
        run.record(ModelStarted(model_call_id="m", tools=(ToolOffer("query", "Asks the database"), ToolOffer("notes"))))
        run.record(ThinkingEnded(model_call_id="m", blocks=(ThinkingBlock(content="Hm.", signature="sig=="),)))
        run.record(TextDelta(text="Two things to look at.", model_call_id="m"))
        run.record(ModelEnded(model_call_id="m", usage=Usage(10, 5, 2), tool_calls=2, duration=1.5))
        run.record(ToolStarted(call_id="a", name="query", arguments={"q": "p95"}, model_call_id="m", source_id="stage#1"))
        run.record(ToolStarted(call_id="b", name="read_skill", arguments={"id": "billing"}, model_call_id="m"))
        run.record(ToolEnded(call_id="b", result="Do this.", duration=0.25))
        run.record(ToolEnded(call_id="a", outcome="failed", error="KeyError: p95", duration=0.5))
        with run.tool("notes", tag="deploy") as call:
            call.result(["Deploy 4121"])
        run.record(ToolStarted(call_id="c", name="notes", model_call_id="m"))
        run.record(ToolEnded(call_id="c", outcome="cancelled", error="no time"))
        run.record(ToolStarted(call_id="d", name="query", model_call_id="m"))
        run.record(Routed(route="writer"))
        run.record(ModelStarted(model_call_id="n", tools=(ToolOffer("query"),)))
        run.record(TextDelta(text="\nTuesday's **deploy**.\nMore below.", model_call_id="n"))
        run.record(ModelEnded(model_call_id="n", usage=Usage(30, 7), tool_calls=0, duration=2.0, source_id="stage#2"))
    return run


def test_a_run_comes_back_with_the_same_beats() -> None:
    run = sample()
    back = through_json(run)
    assert back.trace() == run.trace()
    assert back.trace().to_dict() == run.trace().to_dict()
    assert write_trace(back) == write_trace(run)
    assert (back.status, back.outcome, back.answer_text) == ("complete", "answered", run.answer_text)
    assert (back.usage.input_tokens, back.usage.output_tokens, back.usage.cache_read_tokens) == (40, 12, 2)
    assert (back.options.task, back.options.agent, back.options.model, back.options.asker) == (
        *("Why is checkout slow?", "Atlas"),
        *("m-1", "Ana"),
    )


def test_a_run_that_was_read_shows_its_rows_and_can_be_saved(tmp_path: Path) -> None:
    back = through_json(sample())
    tools = [(step.tool, step.state, step.result) for step in back.steps if step.kind == "tool"]
    assert tools == [
        ("query", "failed", {}),
        ("read_skill", "done", "Do this."),
        ("notes", "done", ["Deploy 4121"]),
        ("notes", "cancelled", {}),
        ("query", "cancelled", None),
    ]
    assert [step.content for step in back.steps if step.kind == "thinking"] == ["Hm."]
    assert "Tuesday" in back.to_html()
    back.save(tmp_path / "run.jsonl")
    assert agentcell.load(tmp_path / "run.jsonl") == back


def test_what_is_written_is_the_trace_with_places_and_how_it_ended() -> None:
    run = sample()
    written = write_trace(run)
    assert (written["outcome"], "status" in written, written["open"]) == ("answered", False, ["d"])
    assert [beat.get("spanId") for beat in written["steps"]] == [None, "stage#1", *[None] * 8, "stage#2"]
    for beat in written["steps"]:
        beat.pop("spanId", None)
    del written["outcome"]
    assert written == run.trace().to_dict()


def test_nothing_optional_is_null_and_no_signature_is_in_it() -> None:
    def values(value: Any) -> list[Any]:
        if isinstance(value, dict):
            return [inner for one in value.values() for inner in values(one)]
        return [inner for one in value for inner in values(one)] if isinstance(value, list) else [value]

    written = write_trace(sample())
    assert "sig==" not in json.dumps(written)
    del written["at"]  # its beats may have no place
    assert None not in values(written)


@pytest.mark.parametrize(
    ("end", "outcome", "error"),
    [
        (RunEnded(), "answered", None),
        (RunEnded(outcome="failed", error="no network", error_type="OSError"), "failed", "no network"),
        (RunEnded(outcome="failed"), "failed", "failed"),
        (RunEnded(outcome="cancelled", error_type="KeyboardInterrupt"), "cancelled", "KeyboardInterrupt"),
        (RunEnded(outcome="limited"), "limited", "limited"),
    ],
)
def test_how_it_ended_comes_back(end: RunEnded, outcome: str, error: str | None) -> None:
    run = Run.of([RunStarted(), end])
    written = write_trace(run)
    assert (written.get("error"), written.get("status")) == (error, None if error is None else "error")
    back = read_trace(written)
    assert (back.outcome, back.trace().error) == (outcome, error)


def test_an_error_before_a_good_end_comes_back() -> None:
    run = Run.of([RunStarted(), Reported(name="error.fatal", evidence={"error": "boom"}), RunEnded()])
    back = read_trace(write_trace(run))
    assert (back.outcome, back.trace()) == ("answered", run.trace())


def test_a_run_that_goes_on_is_written_as_far_as_it_is() -> None:
    with agentcell.watch("x", display=False) as run, run.tool("search"):
        written = write_trace(run)
    assert "outcome" not in written
    assert written["open"] == ["ac_1"]
    assert read_trace(written).steps[0].state == "cancelled"


def told(kind: str, **more: Any) -> dict[str, Any]:
    return {"kind": kind, **more}


def test_a_trace_with_nothing_optional_is_read() -> None:
    run = read_trace({"steps": [told("prompt", brain="Why?"), told("ask"), told("return"), told("answer")]})
    assert [type(step).__name__ for step in run.trace().steps] == ["Prompt", "Ask", "Return", "Answer"]
    assert (run.options.task, run.options.agent, run.options.model, run.options.asker) == ("Why?", "Agent", None, "you")
    assert (run.outcome, run.answer_text) == ("answered", "")


def test_null_is_as_good_as_missing() -> None:
    optional = dict.fromkeys(
        ["brain", "cost", "thinking", "toolsSeen", "toolName", "toolCallId", "input", "output", "error", "skill"]
    )
    steps = [told("prompt", **optional), told("ask", tool="a", **optional), told("return", tool="a", **optional)]
    steps += [told("answer", to=None, answer=None, **optional)]
    trace = read_trace(
        {"task": None, "agent": None, "title": None, "at": None, "open": None, "error": None, "status": None, "steps": steps}
    ).trace()
    assert [type(step).__name__ for step in trace.steps] == ["Prompt", "Ask", "Return", "Answer"]
    assert (trace.open, trace.error) == ((), None)


def test_calls_without_ids_are_paired_by_their_tools_in_their_order() -> None:
    asks = [told("ask", tool="a", input={"n": 1}), told("ask", tool="b"), told("ask", tool="a", input={"n": 2})]
    run = read_trace({"steps": [*asks, told("return", tool="a", output={"value": 1}), told("return", tool="b")]})
    assert [(step.tool, step.state, step.result) for step in run.steps] == [
        ("a", "done", 1),
        ("b", "done", {}),
        ("a", "cancelled", None),
    ]


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (None, "a trace must be an object, not None"),
        ([], r"a trace must be an object, not \[\]"),
        ("{}", "a trace must be an object, not '{}'"),
        ({"nodes": [], "edges": []}, "a trace must be an object with a list of steps, not {'nodes'"),
        ({"steps": {}}, "steps of a trace must be a list, not {}"),
        ({"steps": [3]}, r"steps\[0\] of a trace must be an object, not 3"),
        ({"steps": [{}]}, r"kind of steps\[0\] of a trace must be 'prompt', 'ask', 'return' or 'answer', not None"),
        ({"steps": [told("dance")]}, r"kind of steps\[0\] of a trace must be .* not 'dance'"),
        ({"steps": [told(["ask"])]}, r"kind of steps\[0\]"),  # type: ignore[arg-type]
        ({"steps": [told("ask", input=[1])]}, r"input of steps\[0\] of a trace must be an object, not \[1\]"),
        ({"steps": [told("ask", brain=3)]}, r"brain of steps\[0\] of a trace must be a string, not 3"),
        ({"steps": [told("ask", toolsSeen=["a"])]}, r"a tool of steps\[0\] of a trace must be an object, not 'a'"),
        ({"steps": [told("ask", cost={"ms": -1})]}, r"ms of the cost of steps\[0\] of a trace must be a number from 0 to 2\*\*53"),
        ({"steps": [told("ask", cost={"tokens": True})]}, r"tokens of the cost of steps\[0\]"),
        ({"steps": [told("ask", cost={"ms": float("inf")})]}, r"ms of the cost of steps\[0\]"),
        (
            {"steps": [told("return", tool="a")]},
            r"steps\[0\] of a trace must be the return of a call that a beat before it asks for",
        ),
        ({"steps": [], "task": 3}, "task of a trace must be a string, not 3"),
        ({"steps": [], "at": 3}, "at of a trace must be a list, not 3"),
        (
            {"steps": [], "outcome": "won"},
            "outcome of a trace must be one of 'answered', 'failed', 'cancelled', 'limited', not 'won'",
        ),
        ({"steps": [], "outcome": ["won"]}, "outcome of a trace must be one of"),
    ],
)
def test_what_is_no_trace_is_refused_with_what_must_hold(written: Any, message: str) -> None:
    with pytest.raises(LoadError, match=message):
        read_trace(written)


TOOLS = {"a": "db", "b": "read_skill", "c": "", "d": "db"}
calls, models = st.sampled_from(list(TOOLS)), st.sampled_from(["m", "n"])
words = st.sampled_from(["", " ", "x", "Two\nlines", "Agent called `db`.", "value"])
usages = st.none() | st.builds(
    Usage, st.integers(0, 9), st.integers(0, 9), unsaid=st.sets(st.sampled_from(["input_tokens"])).map(tuple)
)
happenings: st.SearchStrategy[AnyEvent] = st.one_of(
    st.builds(ModelStarted, model_call_id=models, tools=st.sampled_from([(), (ToolOffer("db", "The database"),)])),
    st.builds(TextDelta, model_call_id=models | st.just(""), text=words),
    st.builds(ThinkingEnded, model_call_id=models, blocks=words.map(lambda text: (ThinkingBlock(content=text),))),
    st.builds(
        ModelEnded,
        model_call_id=models,
        usage=usages,
        tool_calls=st.none() | st.integers(0, 2),
        duration=st.none() | st.sampled_from([0.0, 0.25]),
        outcome=st.sampled_from(["done", "done", "failed"]),
        withheld=st.booleans(),
    ),
    calls.flatmap(
        lambda call_id: st.builds(
            ToolStarted,
            call_id=st.just(call_id),
            name=st.just(TOOLS[call_id]),
            model_call_id=models | st.just(""),
            arguments=st.sampled_from([{}, {"id": "billing"}]),
            requested=st.booleans(),
            source_id=st.none() | st.just("s"),
        )
    ),
    st.builds(
        ToolEnded,
        call_id=calls,
        outcome=st.sampled_from(["done", "failed", "cancelled"]),
        result=st.sampled_from([None, 1, "x", {}, {"value": None}, {"value": {"a": 1}}, [1]]),
        error=st.none() | words,
    ),
    st.builds(Routed, route=st.sampled_from(["", "billing"])),
    st.builds(TurnEnded, text=words),
    st.builds(Noted, text=words),
)
ends = st.builds(RunEnded, outcome=st.sampled_from(["answered", "failed", "cancelled", "limited"]), error=st.none() | words)


@settings(max_examples=150, deadline=None)
@given(st.lists(happenings, max_size=14), ends)
def test_whatever_happens_the_beats_come_back(events: list[AnyEvent], end: RunEnded) -> None:
    run = Run.of([RunStarted(task="t"), *events, end])
    back = through_json(run)
    assert back.trace().to_dict() == run.trace().to_dict()
    assert back.outcome == run.outcome


def recorded(name: str) -> list[Any]:
    records: list[Any] = json.loads(shared_path("vectors", f"agentfootprint_{name}.json").read_text(encoding="utf-8"))
    return records


def test_the_beats_of_every_recorded_log_come_back() -> None:
    for name in ("status", "trace", "trace_new", "trace_templates"):
        for record in recorded(name):
            run = read_run(event for event in record["events"] if event.get("op") != "clear")
            assert through_json(run).trace().to_dict() == run.trace().to_dict(), record["id"]


def carried(written: dict[str, Any]) -> dict[str, Any]:
    """What is carried of another recorder's trace."""
    steps = []
    for beat in written["steps"]:
        kept = {key: value for key, value in beat.items() if key not in ("toolCallId", "spanId")}
        if kept["kind"] in ("prompt", "return"):
            del kept["brain"]
        if "answer" in kept:
            del kept["to"]
            kept["brain"] = kept["brain"].removesuffix("\n\n")  # a placeholder stands for the routes and this
            headline = kept["answer"]["headline"]
            if "\ud800" <= headline[-2:-1] <= "\udbff":  # half a character
                kept["answer"] = {**kept["answer"], "headline": headline[:-2] + "…"}
        steps.append(kept)
    return {
        **{key: value for key, value in written.items() if key not in ("title", "open", "status", "outcome")},
        "steps": steps,
        "model": written["model"] or "model",
    }


@pytest.mark.parametrize("name", ["trace", "trace_new"])
def test_every_trace_of_the_original_recorder_is_read(name: str) -> None:
    differing = []
    for record in recorded(name):
        written = record.get("trace")
        if written is None or "quirk" in record or "lone_surrogate" in record:
            continue
        if carried(read_trace(written).trace().to_dict()) != carried(written):
            differing.append(record["id"])
    assert differing == []
