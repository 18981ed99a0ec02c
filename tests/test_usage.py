"""The tokens of a run: each model call counts once."""

import pytest

from agentcell.events import ModelEnded, ModelStarted, Noted, RunEnded, Usage
from agentcell.projections.usage import UNKNOWN_MODEL, UsageProjection


def used(*events) -> UsageProjection:
    projection = UsageProjection()
    for event in events:
        projection.feed(event)
    return projection


def ended(tokens: int, model_call_id: str = "", response_id: str | None = None, **values) -> ModelEnded:
    return ModelEnded(model_call_id=model_call_id, response_id=response_id, usage=Usage(tokens, 1, 2, 3, 1), **values)


@pytest.mark.parametrize(
    ("events", "tokens"),
    [
        ([], 0),
        ([Noted(text="x"), ModelEnded(model_call_id="a")], 0),
        ([ended(10, "a")], 10),
        ([ended(10, "a"), ended(20, "b")], 30),
        ([ended(10, "a"), ended(10, "a")], 10),
        ([ended(10, "a"), ended(25, "a")], 25),
        ([ended(10, "a", "r1"), ended(12, "b", "r1")], 12),
        ([ended(10, "a", "r1"), ended(12, "a", "r2")], 22),
        ([ended(10), ended(12)], 22),
        ([ended(10, "a"), ModelEnded(model_call_id="a")], 10),
        ([ended(10, "a"), RunEnded(), ended(99, "b"), ended(99, "a")], 10),
    ],
    ids=[
        "nothing",
        "nobody said",
        "one call",
        "two calls",
        "told twice",
        "told again, and it grew",
        "one response that two watched",
        "two responses of one call",
        "two calls that nobody can tell apart",
        "an end that says nothing more",
        "after the end of the run",
    ],
)
def test_each_call_counts_once(events, tokens):
    usage = used(*events)
    assert usage.total.input_tokens == tokens
    assert sum((one for one in usage.by_model.values()), Usage()) == usage.total


def test_every_kind_of_token_is_added():
    assert used(ended(10, "a"), ended(20, "b")).total == Usage(30, 2, 4, 6, 2)


def test_tokens_are_told_by_model():
    usage = used(
        ModelStarted(model_call_id="a", model="small"),
        ended(10, "a"),
        ModelStarted(model_call_id="b", model="large"),
        ended(20, "b", model="large-2026"),
        ended(30, "c", model="small"),
        ended(40, "d"),
    )
    assert {model: tokens.input_tokens for model, tokens in usage.by_model.items()} == {
        "small": 40,
        "large-2026": 20,
        UNKNOWN_MODEL: 40,
    }
