"""What can happen in a run: frozen facts with sound fields."""

import dataclasses
import math

import pytest

from agentcell.events import (
    EVENT_TYPES,
    AgentEnded,
    Event,
    LimitReached,
    ModelEnded,
    ModelStarted,
    Noted,
    PauseRequested,
    Routed,
    RunEnded,
    RunStarted,
    TextDelta,
    ThinkingBlock,
    ThinkingEnded,
    ToolEnded,
    ToolStarted,
    Usage,
)
from agentcell.fields import checked, restored

KINDS = list(EVENT_TYPES.values())


@pytest.mark.parametrize("kind", KINDS)
def test_an_event_is_frozen_and_can_be_made_without_any_field(kind):
    event = kind()
    assert isinstance(event, Event)
    assert (event.seq, event.time, event.agent_id) == (0, 0.0, "")
    assert event == kind()
    assert checked(event) is event
    with pytest.raises(dataclasses.FrozenInstanceError):
        event.time = 1.0
    assert not hasattr(event, "__dict__"), "events have slots: a run may hold very many"


def test_every_kind_of_event_is_found_by_its_name():
    assert all(kind.__name__ == name for name, kind in EVENT_TYPES.items())
    assert set(EVENT_TYPES) == {kind.__name__ for kind in Event.__subclasses__()}


def test_usages_add_up_field_by_field():
    together = Usage(100, 20, 30, 4, 5) + Usage(1, 2, 3, 4, 5)
    assert together == Usage(101, 22, 33, 8, 10)
    assert together.total_tokens == 123
    assert Usage() + Usage() == Usage()


def test_a_signature_is_neither_shown_nor_compared():
    signed, unsigned = ThinkingBlock(content="hm", signature="c2VjcmV0"), ThinkingBlock(content="hm")
    assert signed == unsigned
    assert "c2VjcmV0" not in repr(signed)


@pytest.mark.parametrize(
    ("event", "sentence"),
    [
        (Noted(text=5), "Noted.text must be a string, not 5 (int)"),
        (TextDelta(text=None), "TextDelta.text must be a string, not None (NoneType)"),
        (ToolStarted(call_id=["a"]), "ToolStarted.call_id must be a string, not ['a'] (list)"),
        (ToolStarted(arguments="{}"), "ToolStarted.arguments must be a mapping, not '{}' (str)"),
        (ToolStarted(requested=1), "ToolStarted.requested must be True or False, not 1 (int)"),
        (ToolStarted(time="now"), "ToolStarted.time must be a finite number, not 'now' (str)"),
        (ToolStarted(time=math.inf), "ToolStarted.time must be a finite number, not inf (float)"),
        (ToolStarted(seq=1.5), "ToolStarted.seq must be a whole number of at most 64 bits, not 1.5 (float)"),
        (ToolStarted(parent_id=3), "ToolStarted.parent_id must be a string or None, not 3 (int)"),
        (ToolEnded(outcome="lost"), "ToolEnded.outcome must be one of 'done', 'failed', 'cancelled', not 'lost' (str)"),
        (
            RunEnded(outcome=None),
            "RunEnded.outcome must be one of 'answered', 'failed', 'cancelled', 'limited', not None (NoneType)",
        ),
        (ModelEnded(usage={}), "ModelEnded.usage must be a sound Usage or None, not {} (dict)"),
        (ToolEnded(time=True), "ToolEnded.time must be a finite number, not True (bool)"),
        (Routed(confidence="sure"), "Routed.confidence must be a finite number or None, not 'sure' (str)"),
        (PauseRequested(choices=["yes"]), "PauseRequested.choices must be a tuple, each item a string, not ['yes'] (list)"),
        (PauseRequested(choices=("yes", 1)), "PauseRequested.choices must be a tuple, each item a string, not ('yes', 1) (tuple)"),
        (
            ThinkingEnded(blocks=("hm",)),
            "ThinkingEnded.blocks must be a tuple, each item a sound ThinkingBlock, not ('hm',) (tuple)",
        ),
        (5, "an event must be one of those in agentcell.events, not 5 (int)"),
        ("text", "an event must be one of those in agentcell.events, not 'text' (str)"),
        (Usage(), "an event must be one of those in agentcell.events, not Usage(input_tokens=0, output_tokens=0, cache_read_to"),
    ],
)
def test_an_event_that_does_not_fit_is_refused_in_words(event, sentence):
    with pytest.raises(TypeError) as caught:
        checked(event)
    assert str(caught.value).startswith(sentence)


def test_a_whole_number_that_no_file_can_hold_does_not_fit():
    with pytest.raises(TypeError, match=r"ModelEnded\.usage must be a sound Usage"):
        checked(ModelEnded(usage=Usage(input_tokens=10**5000)))
    with pytest.raises(TypeError, match=r"AgentEnded\.time must be a finite number"):
        checked(AgentEnded(time=10**400))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_none_becomes_none_where_none_may_stand(value):
    assert checked(LimitReached(kind="cost", limit=value, actual=2.5)) == LimitReached(kind="cost", limit=None, actual=2.5)
    assert checked(Routed(route="a", confidence=value)) == Routed(route="a")


def test_a_whole_number_does_where_a_fraction_may_stand():
    event = RunStarted(started_at=1_700_000_000)
    assert checked(event) is event


def test_an_event_is_restored_from_what_json_makes_of_it():
    assert restored(ModelEnded, {"usage": {"input_tokens": 3}}) == ModelEnded(usage=Usage(3))
    assert restored(PauseRequested, {"choices": ["yes", "no"]}) == PauseRequested(choices=("yes", "no"))
    blocks = [{"content": "hm"}, {"type": "redacted_thinking"}]
    assert restored(ThinkingEnded, {"blocks": blocks}) == ThinkingEnded(
        blocks=(ThinkingBlock(content="hm"), ThinkingBlock("redacted_thinking"))
    )
    assert restored(ToolEnded, {"result": [1, {"a": []}]}) == ToolEnded(result=[1, {"a": []}]), "a result stays as it was"
    with pytest.raises(TypeError, match="colour"):
        restored(ModelStarted, {"colour": "blue"})
