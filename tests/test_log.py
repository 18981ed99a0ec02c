"""The log: in order, never edited, times that never run backwards, and a few bytes for a delta."""

import dataclasses
import math
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcell.events import ModelStarted, Noted, TextDelta, ThinkingDelta
from agentcell.log import EventLog
from drawn import any_event


@settings(max_examples=60, deadline=None)
@given(st.lists(any_event, max_size=20))
def test_what_is_appended_is_what_is_read_in_order(events):
    log = EventLog()
    kept = [log.append(event) for event in events]
    read = list(log)
    assert read == kept
    assert len(log) == len(read) == len(events)
    assert [event.seq for event in read] == list(range(len(events)))
    assert [type(event) for event in read] == [type(event) for event in events]
    assert list(EventLog(read)) == read, "a log made of a log is the same log"


@pytest.mark.parametrize(
    ("given_times", "kept_times"),
    [
        ([], []),
        ([1.0, 2.0, 2.0, 5.0], [1.0, 2.0, 2.0, 5.0]),
        ([3.0, 1.0, 4.0, 2.0], [3.0, 3.0, 4.0, 4.0]),
        ([-5.0, 1.0], [0.0, 1.0]),
        ([math.nan, 2.0, math.nan], [0.0, 2.0, 2.0]),
        ([2**53 + 1, 0], [2.0**53, 2.0**53]),
    ],
)
@pytest.mark.parametrize("kind", [Noted, TextDelta, ThinkingDelta])
def test_a_time_never_runs_backwards(kind, given_times, kept_times):
    log = EventLog(kind(text="x", time=time) for time in given_times)
    assert [event.time for event in log] == kept_times
    assert log.time == (kept_times[-1] if kept_times else 0.0)


def test_an_event_that_was_handed_in_is_not_changed():
    event = Noted(text="x", time=5.0)
    log = EventLog([Noted(), event])
    assert event == Noted(text="x", time=5.0)
    assert list(log)[1] == Noted(text="x", time=5.0, seq=1)


def test_deltas_of_several_sources_keep_their_order_and_their_source():
    deltas = [
        TextDelta(text="a", model_call_id="m1"),
        TextDelta(text="b", model_call_id="m2"),
        TextDelta(text="c", model_call_id="m1"),
        ThinkingDelta(text="d", model_call_id="m1"),
        TextDelta(text="e", model_call_id="m1", agent_id="sub"),
        TextDelta(text="", model_call_id="m1", agent_id="sub"),
        TextDelta(text="ee", model_call_id="m1", agent_id="sub", source_id="span-1"),
        Noted(text="f"),
        TextDelta(text="g", model_call_id="m1", agent_id="sub"),
    ]
    kept = list(EventLog(deltas))
    assert kept == [dataclasses.replace(event, seq=place) for place, event in enumerate(deltas)]


def test_a_delta_without_an_object_is_the_same_as_one_with():
    made, bare = EventLog([ModelStarted()]), EventLog([ModelStarted()])
    for time, text in enumerate(["one", "", "two"]):
        made.append(TextDelta(text=text, time=time, model_call_id="m"))
        bare.append_delta(TextDelta, time, text, "", "m")
    assert list(made) == list(bare)


def test_a_log_can_grow_while_somebody_reads_it():
    log = EventLog([Noted(text="a"), Noted(text="b")])
    reader = iter(log)
    assert next(reader).text == "a"
    log.append(Noted(text="c"))
    assert [event.text for event in reader] == ["b"]


def test_a_delta_costs_forty_bytes_and_its_letters_at_the_most():
    count, letters = 100_000, 5
    tracemalloc.start()
    log = EventLog()
    for number in range(count):
        log.append_delta(TextDelta, number / 100, f"{number:05}", "", "m1")
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(log) == count
    assert used / count <= letters + 40
