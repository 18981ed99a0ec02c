"""Whatever happens in a run, in whatever order: what must hold for every one of them."""

import dataclasses
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcell.events import (
    EVENT_TYPES,
    AgentEnded,
    AgentStarted,
    AnyEvent,
    ModelEnded,
    ModelStarted,
    Noted,
    PauseRequested,
    PauseResumed,
    RunEnded,
    TextDelta,
    ThinkingDelta,
    ThinkingEnded,
    ToolEnded,
    ToolProgressed,
    ToolStarted,
    TurnEnded,
)
from agentcell.log import EventLog
from agentcell.projections.run import RunProjection
from agentcell.run import Run, load
from agentcell.testing.clock import FakeClock
from drawn import any_event, events_of, texts

# A few ids, so that starts and ends meet; "" and ids that nobody started among them.
ids = st.sampled_from(["", "a", "b", "c"])
model_ids = st.sampled_from(["", "m1", "m2"])
agents = st.sampled_from(["", "", "", "r", "s"])
short = st.sampled_from(["", " ", "\n", "x", "A line.\nAnother.", "x" * 90]) | texts
words = short | st.integers(1, 400).map("y".__mul__)
times = st.floats(-10, 1000) | st.floats()

meeting = st.one_of(
    events_of(TextDelta, text=words, model_call_id=model_ids, agent_id=agents, time=times),
    events_of(TextDelta, text=words, model_call_id=model_ids, agent_id=st.just(""), time=times),
    events_of(ThinkingDelta, text=words, model_call_id=model_ids, agent_id=agents, time=times),
    events_of(ThinkingEnded, model_call_id=model_ids, agent_id=agents, time=times),
    events_of(ModelStarted, model_call_id=model_ids, agent_id=agents, time=times),
    events_of(ModelEnded, model_call_id=model_ids, agent_id=agents, time=times),
    events_of(ToolStarted, call_id=ids, parent_id=st.none() | ids, model_call_id=model_ids, agent_id=agents, time=times),
    events_of(ToolProgressed, call_id=ids, agent_id=agents, time=times),
    events_of(ToolEnded, call_id=ids, agent_id=agents, time=times),
    events_of(AgentStarted, agent_id=agents, parent_id=st.none() | ids | agents, time=times),
    events_of(AgentEnded, agent_id=agents, time=times),
    events_of(PauseRequested, pause_id=ids, time=times),
    events_of(PauseResumed, pause_id=ids, time=times),
    events_of(TurnEnded, text=words, agent_id=agents, time=times),
    events_of(Noted, text=short, agent_id=agents, time=times),
    any_event,
)
# The same few over and over: what changes one another's meaning is often side by side.
few = st.sampled_from(
    [
        *(TextDelta(text=text) for text in ("a", "b" * 300)),
        *(TextDelta(text=text, model_call_id=call) for text in ("a", " " * 250, "b" * 300, "\n") for call in ("m1", "m2")),
        TextDelta(text="a", model_call_id="m1", agent_id="r"),
        *(ThinkingDelta(text="hm", model_call_id=call) for call in ("", "m1")),
        ThinkingEnded(model_call_id="m1"),
        *(ModelStarted(model_call_id=call) for call in ("m1", "m2")),
        *(ModelEnded(model_call_id=call) for call in ("m1", "m2")),
        *(ToolStarted(call_id="a", name="t", model_call_id=call) for call in ("", "m1")),
        ToolStarted(call_id="b", name="t", requested=True, model_call_id="m1"),
        *(ToolEnded(call_id=call) for call in ("a", "b")),
        Noted(text="a note"),
        Noted(text="a note", agent_id="r"),
        AgentStarted(agent_id="r"),
        PauseRequested(pause_id="p"),
        PauseResumed(pause_id="p"),
        TurnEnded(text="ab"),
    ]
)

not_the_end = meeting.filter(lambda event: not isinstance(event, RunEnded))
happenings = st.lists(not_the_end, max_size=30) | st.lists(few, max_size=40)
with_ends = st.lists(meeting | events_of(RunEnded, time=times), max_size=30)

STATES = ("idle", "reasoning", "collapsed", "complete")


def shown(run: RunProjection) -> dict[str, Any]:
    """All that a view shows of a run."""
    return {
        "status": run.life.status,
        "outcome": run.life.outcome,
        "error": (run.life.error_type, run.life.error),
        "limit": run.life.limit,
        "answer": str(run.life.answer),
        "steps": run.steps.rows,
        "tools": run.steps.tools,
        "usage": run.usage.total,
        "by model": run.usage.by_model,
        "status line": run.status_line,
        "ticking": run.life.ticking,
        "waiting": run.life.waiting,
        "elapsed": run.life.elapsed_seconds(2000.0),
    }


def holds(run: RunProjection) -> None:
    """What holds after every event."""
    status, steps = run.life.status, run.steps.rows
    assert status in STATES
    assert (run.life.outcome is not None) == (status == "complete")
    assert run.life.ticking <= (status == "reasoning")
    assert not (run.life.ticking and run.life.waiting)
    assert [step.id for step in steps] == list(range(len(steps)))
    assert all(step.parent is None or step.parent < step.id for step in steps), "no row stands under itself"
    assert all((step.ended is None) == (step.state == "running") for step in steps)
    assert all(step.text == " ".join(step.text.split()) for step in steps)
    if status == "complete":
        assert all(step.state != "running" for step in steps)
        assert run.status_line == ""
        assert not run.life.waiting


@settings(max_examples=150, deadline=None)
@given(with_ends)
def test_no_sequence_of_events_breaks_the_projections(events):
    run, before, over = RunProjection(), 0, None
    for event in events:
        run.feed(event)
        holds(run)
        assert len(run.steps) >= before, "rows only come"
        before = len(run.steps)
        if over is not None:
            assert shown(run) == over, "after the end nothing changes"
        elif run.life.status == "complete":
            over = shown(run)


@settings(max_examples=100, deadline=None)
@given(with_ends)
def test_the_clock_never_runs_backwards_and_stands_still_after_the_end(events):
    run, now, elapsed = RunProjection(), 0.0, 0.0
    for event in EventLog(dataclasses.replace(event, time=min(event.time, 1e6)) for event in events):
        run.feed(event)
        now = max(now, event.time)
        assert run.life.elapsed_seconds(now) >= elapsed
        elapsed = run.life.elapsed_seconds(now)
        assert elapsed <= now + 1e-6, "nobody reasons longer than the run goes on"
        assert run.life.elapsed_seconds(now + 7) - elapsed == pytest.approx(7 if run.life.ticking else 0)
        assert all(step.ended is None or step.time <= step.ended for step in run.steps.rows)


def recorded(events: list[AnyEvent], data: st.DataObject) -> Run:
    """A run in which these events were recorded; it is read now and then, or never."""
    clock = FakeClock()
    with Run(clock=clock) as run:
        elapsed = 0.0
        for event in events:
            clock.advance(data.draw(st.sampled_from([0, 0, 0.5, 7])))
            if event == TextDelta(text=getattr(event, "text", "")):
                run.write(event.text)
            else:
                run.record(dataclasses.replace(event, time=0.0))  # the run sets it
            if data.draw(st.booleans()):
                holds(run.catch_up())
                assert run.elapsed_seconds >= elapsed
                elapsed = run.elapsed_seconds
    clock.advance(1000)
    assert elapsed <= run.elapsed_seconds <= clock() - 1000
    return run


@settings(max_examples=150, deadline=None)
@given(happenings, st.data())
def test_a_run_that_was_followed_shows_what_its_log_says(events, data):
    run = recorded(events, data)
    assert run.faults == {}
    holds(run.projection)
    again = RunProjection(run.events)
    assert shown(again) == shown(run.projection)
    assert run.events == tuple(EventLog(run.events)), "the log has its places and times already"


@pytest.mark.parametrize(
    "events",
    [
        [TextDelta(text="a"), Noted(text="a note"), TextDelta(text="b"), ThinkingDelta(text="hm")],
        [TextDelta(text="a"), TextDelta(text="b"), Noted(text="a note"), TextDelta(text="c"), TextDelta(text="d")],
        [
            *(TextDelta(text=text, model_call_id="m") for text in (" " * 250, "Let me see.")),
            ToolStarted(name="t", model_call_id="m"),
        ],
        [
            ModelStarted(model_call_id="m"),
            *(TextDelta(text=text, model_call_id="m") for text in ("x" * 250, "y" * 250, "z" * 900)),
            ThinkingDelta(text="hm", model_call_id="n"),
        ],
        [TextDelta(text="a"), TextDelta(text="b"), TextDelta(text="c", model_call_id="m"), ModelEnded(model_call_id="m")],
    ],
    ids=["a note before text", "a note between texts", "blanks before words", "a status line of a long text", "two sources"],
)
def test_text_that_is_taken_at_once_shows_what_it_would_have_shown_event_by_event(events):
    with Run(clock=FakeClock()) as run:
        for event in events:
            run.record(event)
        assert shown(run.catch_up()) == shown(RunProjection(run.events))


@settings(max_examples=60, deadline=None)
@given(happenings, st.data())
def test_a_run_comes_back_equal_from_a_file(events, data):
    run = recorded(events, data)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "run.jsonl")
        run.save(path)
        back = load(path)
    assert back == run
    assert shown(back.projection) == shown(run.projection)


hostile = st.sampled_from(
    [None, 5, "x", b"x", [], {}, object(), float("nan"), float("inf"), 10**5000, "\ud83d", ("a",), {"a": {1}}]
)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(list(EVENT_TYPES.values())), st.data())
def test_fields_that_hold_anything_at_all_never_break_a_run(kind, data):
    fields = [name for cls in kind.__mro__ for name in getattr(cls, "__slots__", ())]
    event = kind(**data.draw(st.fixed_dictionaries({}, optional=dict.fromkeys(fields, hostile))))
    with Run() as run:
        run.write("before ")
        run.record(event)
        run.write("after")
    assert run.status == "complete"
    assert sum(run.faults.values()) <= 1
    assert shown(RunProjection(run.events)) == shown(run.projection)
    with tempfile.TemporaryDirectory() as folder:
        run.save(Path(folder, "run.jsonl"))
        assert load(Path(folder, "run.jsonl")) == run
