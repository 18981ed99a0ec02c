"""The trace: which beats a run has, what each says and costs, what is left open."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

import agentcell
from agentcell.adapters.agentfootprint import read_events
from agentcell.events import (
    Event,
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
    ToolEnded,
    ToolOffer,
    ToolStarted,
    TurnEnded,
    TurnStarted,
    Usage,
)
from agentcell.projections.beats import Answer, Ask, Cost, Prompt, Return
from agentcell.projections.trace import TraceProjection, project_trace
from agentcell.projections.trace_shape import Trace
from agentcell.testing.clock import FakeClock
from shared import shared_path

USAGE = Usage(input_tokens=10, output_tokens=5)


def said(text: str, call: str = "m1") -> TextDelta:
    return TextDelta(text=text, model_call_id=call)


def thought(text: str, call: str = "m1") -> ThinkingEnded:
    return ThinkingEnded(model_call_id=call, blocks=(ThinkingBlock(content=text),))


def asked(call_id: str, call: str = "", **more: Any) -> ToolStarted:
    return ToolStarted(call_id=call_id, name="db", model_call_id=call, **more)


SEARCH_THEN_ANSWER: list[Event] = [
    RunStarted(task="Weather?", agent="Atlas", model="gpt-x"),
    ModelStarted(model_call_id="m1", tools=(ToolOffer("db", "The database"),), time=1.0),
    ThinkingDelta(text="Hm. ", model_call_id="m1"),
    ThinkingEnded(model_call_id="m1"),
    said("Let me "),
    said("look."),
    asked("c1", "m1", arguments={"q": "p95"}, requested=True),
    ModelEnded(model_call_id="m1", usage=USAGE, finish_reason="tool_use", time=3.0),
    asked("c1", "m1", arguments={"q": "p95"}, time=3.0, source_id="s1"),
    ToolEnded(call_id="c1", result=[21], time=3.5),
    ModelStarted(model_call_id="m2", time=4.0),
    thought("Easy.", "m2"),
    said("\nSunny.\nAll day.", "m2"),
    ModelEnded(model_call_id="m2", finish_reason="stop", time=5.0),
    RunEnded(),
]


def test_a_run_becomes_prompt_ask_return_and_answer() -> None:
    trace = project_trace(SEARCH_THEN_ANSWER)
    assert (trace.task, trace.agent, trace.model, trace.asker) == ("Weather?", "Atlas", "gpt-x", "you")
    assert trace.steps == (
        Prompt(brain="Weather?"),
        Ask(
            brain="Let me look.",
            cost=Cost(2000, 15, 10, 5, 0),
            at="s1",
            tool="db",
            tool_name="db",
            call_id="c1",
            input={"q": "p95"},
            thinking="Hm.",
            tools_seen=(ToolOffer("db", "The database"),),
        ),
        Return(
            brain="`db` came back with a result.",
            cost=Cost(500),
            tool="db",
            tool_name="db",
            call_id="c1",
            output={"value": [21]},
        ),
        Answer(brain="\nSunny.\nAll day.", cost=Cost(1000), to="you", text="\nSunny.\nAll day.", thinking="Easy."),
    )
    assert (trace.open, trace.error) == ((), None)
    assert trace.at == ("", "s1", None, None)


def test_a_trace_prints_as_a_tree() -> None:
    trace = project_trace([*SEARCH_THEN_ANSWER[:-1], asked("c2"), RunEnded(outcome="cancelled", error="stopped by hand")])
    assert str(trace).splitlines() == [
        "Atlas (gpt-x)",
        "you: Weather?",
        '├─ db {"q": "p95"} · 2.0s · 15 tokens',
        "│  thought: Hm.",
        "│  Let me look.",
        '│  → {"value": [21]} · 0.5s',
        "├─ answer · 1.0s",
        "│  thought: Easy.",
        "│",
        "│  Sunny.",
        "│  All day.",
        "├─ db {}",
        "│  Atlas called `db` (The database).",
        "│  did not return",
        "└─ ended: stopped by hand",
    ]


def kinds(events: list[Event]) -> list[str]:
    return [type(step).__name__ for step in project_trace(events).steps[1:]]


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([], []),
        ([said("x"), ModelEnded(model_call_id="m1", tool_calls=0)], ["Answer"]),
        ([said("x"), ModelEnded(model_call_id="m1", tool_calls=1)], []),
        ([said("x"), ModelEnded(model_call_id="m1", outcome="failed")], []),
        ([said("x"), ModelEnded(model_call_id="m1", withheld=True)], []),
        ([said("x"), ModelEnded(model_call_id="m1", withheld=True), TurnEnded(text="y")], ["Answer"]),
        ([said("x"), ModelEnded(model_call_id="m1", withheld=True), TurnEnded(text="no", refused=True)], []),
        ([ModelEnded(model_call_id="m1", withheld=True), ModelStarted(model_call_id="m2"), TurnEnded()], []),
        ([TurnEnded(text="cut short")], ["Answer"]),
        ([TurnEnded(text="no", refused=True)], []),
        ([TurnEnded()], []),
        ([said("x"), ModelEnded(model_call_id="m1", tool_calls=0), TurnEnded(text="x")], ["Answer"]),
        ([TurnEnded(text="one"), TurnStarted(), TurnEnded(text="two")], ["Answer", "Answer"]),
        ([TextDelta(text="by hand"), RunEnded()], ["Answer"]),
        ([said("x"), ModelEnded(model_call_id="m1", tool_calls=0), TextDelta(text="x"), RunEnded()], ["Answer"]),
        ([asked("c1", requested=True)], []),
        ([asked("c1", requested=True), RunEnded()], ["Ask"]),
        ([asked("c1", requested=True), ToolEnded(call_id="c1", outcome="cancelled"), RunEnded()], []),
        ([asked("c1", requested=True), ToolEnded(call_id="c1", result=1)], ["Ask", "Return"]),
        ([asked("c1", requested=True), asked("c1"), ToolEnded(call_id="c1")], ["Ask", "Return"]),
        ([asked("c1"), asked("c1"), ToolEnded(call_id="c1"), ToolEnded(call_id="c1")], ["Ask", "Ask", "Return"]),
        ([asked("c1"), PauseRequested(), PauseResumed(), asked("c1"), ToolEnded(call_id="c1")], ["Ask", "Return"]),
        ([asked("c1"), ToolEnded(), ToolEnded(call_id="z")], ["Ask"]),
        ([said("x"), ModelEnded(model_call_id="m1"), asked("c1", "m1")], ["Ask"]),
        ([said("x"), asked("c1", "m1"), ToolEnded(call_id="c1"), ModelEnded(model_call_id="m1")], ["Ask", "Return", "Answer"]),
        ([asked("c1"), RunStarted()], []),
    ],
)
def test_beats_are_made_for_what_really_happened(events: list[Event], expected: list[str]) -> None:
    assert kinds([RunStarted(), *events]) == expected


def test_only_the_first_ask_of_a_model_call_has_its_text_cost_and_thinking() -> None:
    events: list[Event] = [thought("Both."), said("Two things."), ModelEnded(model_call_id="m1", usage=USAGE, tool_calls=2)]
    trace = project_trace([ModelStarted(model_call_id="m1"), *events, asked("c1"), asked("c2")])
    first, second = trace.steps[1:]
    assert (first.brain, first.cost.tokens) == ("Two things.", 15)
    assert isinstance(first, Ask)
    assert first.thinking == "Both."
    assert (second.brain, second.cost) == ("Agent called `db`.", Cost())


def test_thinking_belongs_to_one_model_call() -> None:
    events = [
        *(ModelStarted(model_call_id="m1"), thought("First."), ModelEnded(model_call_id="m1", tool_calls=1), asked("c1")),
        *(ModelStarted(model_call_id="m2"), ModelEnded(model_call_id="m2", tool_calls=1), asked("c2")),
    ]
    assert [getattr(step, "thinking", None) for step in project_trace(events).steps[1:]] == ["First.", None]


def test_a_cost_that_comes_after_the_ask_is_put_there() -> None:
    events = [ModelStarted(model_call_id="m1"), asked("c1", "m1"), ModelEnded(model_call_id="m1", usage=USAGE, tool_calls=1)]
    assert project_trace(events).steps[1].cost.tokens == 15


def test_an_answer_that_was_none_is_taken_back_when_its_tool_runs() -> None:
    events: list[Event] = [Routed(route="a"), said("I will look."), ModelEnded(model_call_id="m1"), asked("c1", "m1")]
    ask = project_trace(events).steps[-1]
    assert isinstance(ask, Ask)
    assert ask.brain == "Agent went on with `a`.\n\nI will look."


def test_a_second_start_adds_to_what_the_first_said() -> None:
    requested = ToolStarted(call_id="c1", name="db", arguments={"q": 1}, requested=True)
    (ask,) = project_trace([requested, ToolStarted(call_id="c1")]).steps[1:]
    assert isinstance(ask, Ask)
    assert (ask.tool, ask.input, ask.brain) == ("db", {"q": 1}, "Agent called `db`.")


def test_routing_leads_the_next_beat_once() -> None:
    route = Routed(route="billing", confidence=0.95, reason="it names an invoice")
    events = [route, said("x"), ModelEnded(model_call_id="m1"), said("y", "m2"), ModelEnded(model_call_id="m2")]
    first, second = project_trace(events).steps[1:]
    assert first.brain == "Agent went on with `billing` (95% sure): it names an invoice.\n\nx"
    assert second.brain == "y"


def test_open_calls_and_the_error_that_ended_the_run_are_named() -> None:
    trace = project_trace([asked("c1"), asked("c2"), ToolEnded(call_id="c1"), RunEnded(outcome="failed", error="no network")])
    assert trace.open == ("c2",)
    assert trace.error == "no network"
    assert trace.to_dict()["open"] == ["c2"]
    assert project_trace([Reported(name="error.fatal", evidence={"error": "boom"})]).error == "boom"
    assert project_trace([RunEnded(outcome="limited")]).error == "limited"


@pytest.mark.parametrize(
    ("end", "output", "error"),
    [
        (ToolEnded(result={"a": 1}), {"a": 1}, None),
        (ToolEnded(result="text"), {"value": "text"}, None),
        (ToolEnded(result=None), {"value": None}, None),
        (ToolEnded(outcome="failed", error="KeyError: x"), {}, "KeyError: x"),
        (ToolEnded(outcome="failed", result="r"), {"value": "r"}, "tool failed"),
        (ToolEnded(outcome="cancelled"), {}, "cancelled"),
    ],
)
def test_a_return_has_an_object_and_an_error(end: ToolEnded, output: dict[str, Any], error: str | None) -> None:
    beat = project_trace([asked("c1"), ToolEnded(call_id="c1", outcome=end.outcome, result=end.result, error=end.error)]).steps[2]
    assert isinstance(beat, Return)
    assert (beat.output, beat.error) == (output, error)


def test_reading_a_skill_returns_an_instruction() -> None:
    start = ToolStarted(call_id="c1", name="read_skill", arguments={"id": "billing"})
    ask, reply = project_trace([start, ToolEnded(call_id="c1", result="Do this.")]).steps[1:]
    assert isinstance(ask, Ask)
    assert isinstance(reply, Return)
    assert (ask.tool, ask.tool_name) == ("billing", "read_skill")
    assert (reply.skill, reply.reply_type, reply.to_dict()["brainMode"]) == ("billing", "instruction", "act")


@pytest.mark.parametrize(
    ("text", "headline"),
    [
        ("", "Done"),
        (" \n\ufeff\n", "Done"),
        ("\n  two \nthree", "  two "),
        ("x" * 140, "x" * 140),
        ("x" * 141, "x" * 140 + "…"),
        ("x" * 139 + "🙂y", "x" * 139 + "…"),
    ],
)
def test_a_headline_is_the_first_line_that_says_something(text: str, headline: str) -> None:
    assert Answer(brain="", to="you", text=text).headline == headline


def test_feeding_step_by_step_gives_the_same_trace() -> None:
    projection = TraceProjection()
    for n, event in enumerate(SEARCH_THEN_ANSWER, start=1):
        projection.feed(event)
        assert projection.trace() == project_trace(SEARCH_THEN_ANSWER[:n])


def test_the_trace_of_a_run_has_the_names_of_the_run_and_prints_as_a_tree() -> None:
    clock = FakeClock()
    with agentcell.watch("Why?", agent="Atlas", model="m-1", asker="Ana", clock=clock, display=False) as run:
        with run.tool("search", query="p95") as call:
            clock.advance(0.5)
            call.result([1])
        run.write("Tuesday's deploy.")
    trace = run.trace()
    assert (trace.task, trace.agent, trace.model, trace.asker) == ("Why?", "Atlas", "m-1", "Ana")
    assert str(trace).splitlines() == [
        "Atlas (m-1)",
        "Ana: Why?",
        '├─ search {"query": "p95"}',
        "│  Atlas called `search`.",
        '│  → {"value": [1]} · 0.5s',
        "└─ answer",
        "   Tuesday's deploy.",
    ]


@pytest.mark.parametrize(
    ("split", "events", "text", "thinking"),
    [
        ("auto", [said("<think>Hm.</think>"), said("Sunny.")], "Sunny.", "Hm."),
        ("off", [said("<think>Hm.</think>"), said("Sunny.")], "<think>Hm.</think>Sunny.", None),
        (
            "auto",
            [ThinkingDelta(text="Hm.", model_call_id="m1"), ThinkingEnded(model_call_id="m1"), said("Write <think>x</think>.")],
            *("Write <think>x</think>.", "Hm."),
        ),
    ],
)
def test_reasoning_inside_text_is_thinking_in_the_trace_too(split: Any, events: list[Any], text: str, thinking: str | None) -> None:
    with agentcell.watch("x", split=split, display=False) as run:
        for event in (ModelStarted(model_call_id="m1"), *events, ModelEnded(model_call_id="m1", tool_calls=0)):
            run.record(event)
    answer = run.trace().steps[1]
    assert isinstance(answer, Answer)
    assert (answer.text, answer.brain, answer.thinking) == (text, text, thinking)
    assert run.answer_text == text


def test_reasoning_inside_text_before_a_tool_is_thinking_of_the_ask() -> None:
    events = [said("<think>Hm.</think>I will look."), ModelEnded(model_call_id="m1", tool_calls=1), asked("c1"), asked("c2")]
    first, second = project_trace([ModelStarted(model_call_id="m1"), *events]).steps[1:]
    assert isinstance(first, Ask)
    assert (first.brain, first.thinking) == ("I will look.", "Hm.")
    assert isinstance(second, Ask)
    assert second.thinking is None


@pytest.mark.parametrize(
    ("events", "model"),
    [
        ([], "model"),
        ([ModelStarted(model_call_id="m1", model="m-2"), ModelStarted(model_call_id="m2", model="m-3")], "m-2"),
        ([ModelStarted(model_call_id="m1"), ModelEnded(model_call_id="m1", model="m-4")], "m-4"),
    ],
)
def test_a_run_that_names_no_model_has_the_first_that_was_called(events: list[Any], model: str) -> None:
    with agentcell.watch("x", display=False) as run:
        for event in events:
            run.record(event)
    assert run.trace().model == model


def recorded(name: str) -> list[Any]:
    records: list[Any] = json.loads(shared_path("vectors", f"agentfootprint_{name}.json").read_text(encoding="utf-8"))
    return records


def record_trace(record: dict[str, Any]) -> Trace:
    options = record["options"]
    projection = TraceProjection(
        agent=options.get("agent"),
        model=options.get("model"),
        asker=options.get("asker"),
        sentences=options.get("commentaryTemplates"),
    )
    since_clear: list[Any] = []
    for event in record["events"]:
        if event.get("op") == "clear":
            since_clear.clear()
        else:
            since_clear.append(event)
    for event in read_events(since_clear):
        projection.feed(event)
    return projection.trace(**record["overrides"])


def same(expected: Any, got: Any) -> bool:
    if isinstance(expected, dict):
        return isinstance(got, dict) and expected.keys() == got.keys() and all(same(expected[key], got[key]) for key in expected)
    if isinstance(expected, list):
        return isinstance(got, list) and len(expected) == len(got) and all(map(same, expected, got))
    if isinstance(expected, str) and "[engine]" in expected:
        pattern = re.escape(expected).replace(re.escape("[engine]"), ".+?")
        return isinstance(got, str) and re.fullmatch(pattern, got, re.DOTALL) is not None
    if isinstance(expected, str) and expected.endswith("…") and "\ud800" <= expected[-2:-1] <= "\udbff":
        return bool(expected[:-2] + "…" == got)
    return type(expected) is type(got) and bool(expected == got)


@pytest.mark.parametrize("name", ["trace", "trace_new", "trace_templates"])
def test_every_recorded_log_gives_the_recorded_trace(name: str) -> None:
    differing = []
    for record in recorded(name):
        if "quirk" in record:
            continue
        written = record_trace(record).to_dict()
        # What we add of our own is not in what the original recorded.
        written.pop("open", None), written.pop("error", None)
        if not same(record.get("ours", record["trace"]), written):
            differing.append(record["id"])
    assert differing == []


def test_logs_that_the_original_cannot_read_make_a_trace_here() -> None:
    throwing = [record for record in recorded("trace") if "throws" in record]
    assert throwing
    for record in throwing:
        assert record_trace(record).steps
