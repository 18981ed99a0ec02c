"""The rows of a run: what makes one, what it says, what ends it, and under which it stands."""

import pytest

from agentcell.events import (
    AgentEnded,
    AgentStarted,
    ContextEvaluated,
    LimitReached,
    ModelEnded,
    ModelStarted,
    Noted,
    PauseRequested,
    PauseResumed,
    Routed,
    RunEnded,
    RunStarted,
    TextDelta,
    ThinkingBlock,
    ThinkingDelta,
    ThinkingEnded,
    ThinkingFailed,
    ToolEnded,
    ToolProgressed,
    ToolStarted,
    TurnEnded,
)
from agentcell.projections.bullets import BULLET_LIMIT
from agentcell.projections.step import Step
from agentcell.projections.steps import StepsProjection, project_steps

SEARCH = ToolStarted(call_id="a", name="search", arguments={"query": "p95"}, time=1.0)
FETCH = ToolStarted(call_id="b", name="fetch", time=2.0)


def says(text: str, model_call_id: str = "m1", **values) -> TextDelta:
    return TextDelta(text=text, model_call_id=model_call_id, **values)


def steps(*events) -> tuple[Step, ...]:
    return project_steps(events)


def lines(*events) -> list[str]:
    """Each row as `text: state`, a tool call under its name."""
    return [f"{step.tool if step.kind == 'tool' else step.text}: {step.state}" for step in project_steps(events)]


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (SEARCH, [Step(0, "Searching for “p95”", "tool", tool="search", time=1.0, call_id="a", arguments={"query": "p95"})]),
        (Noted(text="Looking around", time=1.0), [Step(0, "Looking around", time=1.0)]),
        (Noted(text="Searched", tool="search"), [Step(0, "Searched", tool="search")]),
        (Noted(text="", tool="search"), [Step(0, "search", tool="search")]),
        (Noted(text=" \n"), []),
        (ThinkingDelta(text="hm"), [Step(0, "Thinking", "thinking", content="hm")]),
        (AgentStarted(agent_id="r", name="Researcher"), [Step(0, "Researcher", "agent")]),
        (AgentStarted(agent_id="r"), [Step(0, "Sub-agent", "agent")]),
        (PauseRequested(pause_id="p", question="May I?"), [Step(0, "Waiting on you: May I?")]),
        (Routed(route="billing", confidence=0.93, reason="an invoice"), [Step(0, "Routed to billing (93%)", detail="an invoice")]),
        (Routed(route="billing"), [Step(0, "Routed to billing")]),
        (LimitReached(kind="iterations"), [Step(0, "Reached the limit of iterations")]),
        (LimitReached(), [Step(0, "Reached the limit of this run")]),
        (
            ThinkingFailed(error="no parser", time=2.0),
            [Step(0, "The model's thinking could not be read", state="failed", time=2.0, ended=2.0, detail="no parser")],
        ),
        (
            ModelEnded(outcome="failed", error="overloaded", time=2.0),
            [Step(0, "Model call failed", state="failed", time=2.0, ended=2.0, detail="overloaded")],
        ),
        (
            ModelEnded(outcome="cancelled", error="cut", time=2.0),
            [Step(0, "Model call broke off", state="cancelled", time=2.0, ended=2.0, detail="cut")],
        ),
        (
            ThinkingEnded(blocks=(ThinkingBlock(content="One."), ThinkingBlock(content="Two.")), time=2.0),
            [Step(0, "Thinking", "thinking", state="done", time=2.0, ended=2.0, content="One.\n\nTwo.")],
        ),
        (
            ThinkingEnded(blocks=(ThinkingBlock("redacted_thinking"),), time=2.0),
            [Step(0, "Thinking, kept private by the provider", "thinking", state="done", time=2.0, ended=2.0)],
        ),
        (RunStarted(), []),
        (RunEnded(), []),
        (ModelStarted(), []),
        (ModelEnded(), []),
        (ModelEnded(outcome="cancelled"), []),
        (ThinkingEnded(), []),
        (TextDelta(text="answer"), []),
        (TurnEnded(text="answer"), []),
        (ContextEvaluated(parts=("system",)), []),
        (AgentEnded(agent_id="unknown"), []),
        (ToolProgressed(call_id="unknown", payload=1), []),
        (ToolEnded(call_id="unknown", result=1), []),
        (PauseResumed(pause_id="unknown"), []),
    ],
)
def test_the_rows_that_one_event_makes(event, expected):
    assert list(steps(event)) == expected


@pytest.mark.parametrize("text", ["two\nlines", "two \r\n\t lines", "two\u2028lines", "  two lines\n"])
@pytest.mark.parametrize(
    "event",
    [
        lambda text: Noted(text=text),
        lambda text: ToolStarted(call_id="a", name=text),
        lambda text: AgentStarted(agent_id="r", name=text),
        lambda text: PauseRequested(question=text),
        lambda text: Routed(route=text),
        lambda text: LimitReached(kind=text),
    ],
    ids=["note", "tool", "agent", "pause", "route", "limit"],
)
def test_a_row_says_it_in_one_line(event, text):
    (step,) = steps(event(text))
    assert "two lines" in step.text
    assert step.text == " ".join(step.text.split())


# Tool calls


def test_a_tool_call_from_start_to_end():
    rows = StepsProjection()
    rows.feed(SEARCH)
    rows.feed(ToolProgressed(call_id="a", payload={"message": "page 2"}, time=2.0))
    assert (rows.row(0).state, rows.row(0).progress, rows.row(0).elapsed_seconds) == ("running", {"message": "page 2"}, None)
    rows.feed(ToolEnded(call_id="a", result=[1], time=4.0))
    assert (rows.row(0).state, rows.row(0).result, rows.row(0).elapsed_seconds) == ("done", [1], 3.0)
    assert rows.tools == 1


@pytest.mark.parametrize(
    ("end", "state", "detail"),
    [
        (ToolEnded(call_id="a"), "done", ""),
        (ToolEnded(call_id="a", outcome="failed", error="no route", error_type="OSError"), "failed", "OSError: no route"),
        (ToolEnded(call_id="a", outcome="failed", error="no route"), "failed", "no route"),
        (ToolEnded(call_id="a", outcome="failed", error_type="OSError"), "failed", "OSError"),
        (ToolEnded(call_id="a", outcome="failed"), "failed", ""),
        (ToolEnded(call_id="a", outcome="cancelled", error="", error_type="CancelledError"), "cancelled", ""),
    ],
)
def test_a_call_ends_as_it_is_told(end, state, detail):
    (step,) = steps(SEARCH, end)
    assert (step.state, step.detail) == (state, detail)


def test_a_call_that_has_ended_stays_as_it_ended():
    first = ToolEnded(call_id="a", result=1, time=2.0)
    late = (ToolEnded(call_id="a", outcome="failed", error="late", time=3.0), ToolProgressed(call_id="a", payload="late"))
    assert steps(SEARCH, first, *late) == steps(SEARCH, first)


def test_calls_at_the_same_time_end_in_any_order():
    assert lines(SEARCH, FETCH, ToolEnded(call_id="a")) == ["search: done", "fetch: running"]
    assert lines(SEARCH, FETCH, ToolEnded(call_id="b", outcome="failed")) == ["search: running", "fetch: failed"]


def test_a_second_start_says_more_about_the_same_call():
    asked = ToolStarted(call_id="a", name="search", requested=True, time=1.0)
    (step,) = steps(asked, ToolStarted(call_id="a", name="search", arguments={"query": "p95"}, time=2.0))
    assert (step.text, step.state, step.arguments) == ("Searching for “p95”", "running", {"query": "p95"})
    assert step.time == 2.0, "it begins when it runs, not when the model asks for it"
    (step,) = steps(SEARCH, ToolStarted(call_id="a", time=2.0))
    assert (step.text, step.tool, step.arguments) == ("Searching for “p95”", "search", {"query": "p95"}), "nothing is forgotten"
    assert step.time == 1.0


def test_a_call_that_is_resumed_runs_again():
    ended = ToolEnded(call_id="a", outcome="failed", error="broken", time=3.0)
    (step,) = steps(SEARCH, ToolProgressed(call_id="a", payload="half"), ended, SEARCH)
    assert (step.state, step.ended, step.detail, step.result, step.progress) == ("running", None, "", None, None)
    (step,) = steps(SEARCH, ended, SEARCH, ToolEnded(call_id="a", result=7, time=9.0))
    assert (step.state, step.result, step.elapsed_seconds) == ("done", 7, 8.0)


def test_a_call_made_inside_another_stands_under_it():
    inner = ToolStarted(call_id="b", name="fetch", parent_id="a")
    stray = ToolStarted(call_id="c", name="fetch", parent_id="unknown")
    assert [step.parent for step in steps(SEARCH, inner, stray)] == [None, 0, None]


def test_calls_without_an_id_are_rows_of_their_own():
    one, two = ToolStarted(name="one"), ToolStarted(name="two")
    assert lines(one, two) == ["one: running", "two: running"]
    assert lines(one, two, ToolEnded(result=1)) == ["one: running", "two: done"]
    assert lines(one, two, ToolEnded(), ToolEnded(), ToolEnded()) == ["one: done", "two: done"]
    assert [step.progress for step in steps(one, two, ToolProgressed(payload=5))] == [None, 5]
    assert [step.call_id for step in steps(one, two)] == [None, None]


def test_an_end_without_an_id_is_that_of_the_only_call_that_runs():
    assert lines(SEARCH, ToolEnded()) == ["search: done"]
    assert lines(SEARCH, FETCH, ToolEnded()) == ["search: running", "fetch: running"], "it could be either"
    assert lines(SEARCH, ToolStarted(name="one"), ToolEnded()) == ["search: running", "one: done"]


def test_tools_are_counted_once_each_also_those_that_a_note_stands_for():
    rows = StepsProjection()
    for event in (SEARCH, SEARCH, FETCH, Noted(text="Called", tool="third"), Noted(text="no tool"), ToolEnded(call_id="a"), SEARCH):
        rows.feed(event)
    assert rows.tools == 3


# What a model writes before it calls a tool

CALL = ToolStarted(call_id="a", name="search", model_call_id="m1")


@pytest.mark.parametrize(
    ("pieces", "bullet"),
    [
        (["I will look it up."], "I will look it up."),
        (["I will ", "look ", "it up."], "I will look it up."),
        (["First line.\nSecond line."], "First line."),
        (["\n\n  First", " line.  \n", "Second line."], "First line."),
        (["x" * 100], "x" * 100),
        (["x" * 101], "x" * 99 + "…"),
        (["x"] * 500, "x" * 99 + "…"),
        (["x" * 100, "  \n", "more"], "x" * 100),
        (["x" * 100, "   "], "x" * 100),
        (["x" * 100, " more"], "x" * 99 + "…"),
        (["x" * 100 + "     more"], "x" * 99 + "…"),
        (["x" * 100_000], "x" * 99 + "…"),
    ],
)
def test_the_first_line_of_the_text_before_a_call_becomes_a_bullet(pieces, bullet):
    text, call = steps(*(says(piece) for piece in pieces), CALL)
    assert (text.kind, text.text, text.state) == ("note", bullet, "done")
    assert len(text.text) <= BULLET_LIMIT
    assert call.tool == "search"


@pytest.mark.parametrize("pieces", [[], [""], [" \n\t "]])
def test_no_words_before_a_call_make_no_bullet(pieces):
    assert lines(*(says(piece) for piece in pieces), CALL) == ["search: running"]


def test_the_words_are_a_bullet_also_when_the_call_is_told_after_the_models_end():
    assert lines(says("Let me see."), ModelEnded(model_call_id="m1"), CALL) == ["Let me see.: done", "search: running"]


def test_the_words_are_a_bullet_when_the_models_end_tells_of_calls():
    assert lines(says("Let me see."), ModelEnded(model_call_id="m1", tool_calls=1), CALL) == [
        "Let me see.: done",
        "search: running",
    ]


def test_words_that_are_withheld_are_no_bullet():
    assert lines(says("Let me see."), ModelEnded(model_call_id="m1", withheld=True, tool_calls=1), CALL) == ["search: running"]


def test_two_calls_that_one_text_asked_for_make_one_bullet():
    second = ToolStarted(call_id="b", name="fetch", model_call_id="m1")
    assert lines(says("Both."), CALL, second) == ["Both.: done", "search: running", "fetch: running"]


@pytest.mark.parametrize(
    "events",
    [
        [says("The answer."), ModelEnded(model_call_id="m1"), RunEnded()],
        [says("Another call's.", "m2"), CALL],
        [TextDelta(text="The user's own."), ToolStarted(call_id="a", name="search")],
        [says("The turn before."), ModelStarted(model_call_id="m1"), CALL],
    ],
)
def test_text_that_no_call_followed_is_no_bullet(events):
    assert [step.text for step in steps(*events) if step.kind == "note"] == []


# Notes


def test_a_note_is_over_when_the_next_row_of_its_level_begins():
    one, two = steps(Noted(text="one", time=1.0), Noted(text="two", time=3.0))
    assert (one.state, one.elapsed_seconds, two.state) == ("done", 2.0, "running")


@pytest.mark.parametrize(
    "event", [TextDelta(text="a"), says("a"), TurnEnded(text="a"), RunEnded(), SEARCH, ThinkingDelta(text="a")]
)
def test_a_note_is_over_when_something_else_begins(event):
    assert steps(Noted(text="one"), event)[0].state == "done"


def test_a_note_of_another_level_does_not_end_it():
    agent = AgentStarted(agent_id="r", name="Researcher")
    rows = steps(agent, Noted(text="inside", agent_id="r"), Noted(text="outside"))
    assert [(step.text, step.parent, step.state) for step in rows[1:]] == [("inside", 0, "running"), ("outside", None, "running")]


# Thinking


def test_a_stretch_of_thinking_grows_until_it_ends():
    rows = StepsProjection()
    for event in (ThinkingDelta(text="a", model_call_id="m1", time=1.0), ThinkingDelta(text="b", model_call_id="m1", time=2.0)):
        rows.feed(event)
    assert (rows.row(0).content, rows.row(0).state) == ("ab", "running")
    rows.feed(ThinkingEnded(model_call_id="m1", blocks=(ThinkingBlock(content="ab"),), time=4.0))
    assert (rows.row(0).content, rows.row(0).state, rows.row(0).elapsed_seconds) == ("ab", "done", 3.0)
    assert len(rows) == 1, "what was told in pieces is not told again as a whole"


@pytest.mark.parametrize(
    "event",
    [says("answer"), CALL, ModelEnded(model_call_id="m1"), ThinkingEnded(model_call_id="m1"), RunEnded()],
)
def test_thinking_is_over_when_its_call_goes_on(event):
    assert steps(ThinkingDelta(text="hm", model_call_id="m1"), event)[0].state == "done"


def test_thinking_of_two_calls_does_not_mix():
    pieces = [ThinkingDelta(text=text, model_call_id=call) for text, call in (("a", "m1"), ("x", "m2"), ("b", "m1"), ("y", "m2"))]
    assert [step.content for step in steps(*pieces)] == ["ab", "xy"]
    assert [step.state for step in steps(*pieces, says("answer", "m1"))] == ["done", "running"]


def test_thinking_after_its_end_is_a_stretch_of_its_own():
    pieces = [
        ThinkingDelta(text="a", model_call_id="m1"),
        ThinkingEnded(model_call_id="m1"),
        ThinkingDelta(text="b", model_call_id="m1"),
    ]
    assert [step.content for step in steps(*pieces)] == ["a", "b"]


# Sub-agents and pauses


def test_what_happens_in_a_sub_agent_stands_under_it():
    rows = steps(
        SEARCH,
        AgentStarted(agent_id="r", name="Researcher", parent_id="a"),
        ToolStarted(call_id="b", name="fetch", agent_id="r"),
        AgentStarted(agent_id="s", name="Reader", parent_id="r"),
        Noted(text="reading", agent_id="s"),
        ThinkingDelta(text="hm", agent_id="r", model_call_id="m9"),
        Noted(text="outside"),
    )
    assert [step.parent for step in rows] == [None, 0, 1, 1, 3, 1, None]


@pytest.mark.parametrize("outcome", ["done", "failed", "cancelled"])
def test_a_sub_agent_ends_as_it_is_told(outcome):
    (step,) = steps(AgentStarted(agent_id="r", time=1.0), AgentEnded(agent_id="r", outcome=outcome, error="why", time=3.0))
    assert (step.state, step.detail, step.elapsed_seconds) == (outcome, "why", 2.0)


def test_a_sub_agent_that_is_called_again_is_a_new_row():
    start, end = AgentStarted(agent_id="r", name="Researcher"), AgentEnded(agent_id="r")
    assert lines(start, start) == ["Researcher: running"]
    assert lines(start, end, start) == ["Researcher: done", "Researcher: running"]
    rows = steps(start, end, start, Noted(text="again", agent_id="r"))
    assert [step.parent for step in rows] == [None, None, 1]


def test_a_sub_agent_without_an_id_takes_nothing_under_it():
    rows = steps(AgentStarted(name="Somebody"), SEARCH, AgentStarted(name="Somebody else"), AgentEnded())
    assert [step.parent for step in rows] == [None, None, None]


def test_a_question_is_open_until_it_is_answered():
    asked = PauseRequested(pause_id="p", question="May I?", time=1.0)
    (step,) = steps(asked, PauseResumed(pause_id="p", answer="yes", time=4.0))
    assert (step.state, step.detail, step.elapsed_seconds) == ("done", "yes", 3.0)
    assert lines(asked, PauseResumed(pause_id="other")) == ["Waiting on you: May I?: running"]
    assert lines(asked, RunEnded(outcome="cancelled")) == ["Waiting on you: May I?: cancelled"]


# The end

OPEN = (
    SEARCH,
    ToolEnded(call_id="a", time=1.5),
    FETCH,
    AgentStarted(agent_id="r", name="Researcher"),
    ThinkingDelta(text="hm", model_call_id="m1"),
    PauseRequested(pause_id="p", question="May I?"),
    Noted(text="a note"),
)


@pytest.mark.parametrize(
    ("outcome", "state"), [("answered", "cancelled"), ("failed", "failed"), ("cancelled", "cancelled"), ("limited", "cancelled")]
)
def test_the_end_closes_every_row(outcome, state):
    rows = steps(*OPEN, RunEnded(outcome=outcome, time=9.0))
    assert [step.state for step in rows] == ["done", state, state, "done", state, "done"]
    assert rows[0].ended == 1.5, "what was over stays as it was"
    assert {step.ended for step in rows[1:]} == {9.0}


@pytest.mark.parametrize("event", [*OPEN, ToolProgressed(call_id="b"), ToolEnded(call_id="b", result=1), says("x"), RunEnded()])
def test_after_the_end_no_row_changes(event):
    rows = StepsProjection()
    for one in (*OPEN, RunEnded(time=9.0)):
        rows.feed(one)
    before = rows.rows
    rows.feed(event)
    assert rows.rows == before


# What a view is told


def test_it_tells_which_rows_changed_and_which_only_grew():
    rows = StepsProjection()

    def news(*events):
        rows.changed.clear()
        rows.grown.clear()
        for event in events:
            rows.feed(event)
        return list(rows.changed), list(rows.grown)

    think = ThinkingDelta(text="hm", model_call_id="m1")
    assert news(SEARCH, think) == ([0, 1], [1])
    assert news(think, think) == ([], [1])
    assert news(ToolProgressed(call_id="a")) == ([0], [])
    assert news(ToolEnded(call_id="a"), ToolEnded(call_id="a")) == ([0], [])
    assert news(ToolEnded(call_id="unknown"), says("draft", "m2"), ModelStarted()) == ([], [])
    assert news(RunEnded()) == ([1], [])


@pytest.mark.parametrize(
    ("events", "indifferent"),
    [
        ([], True),
        ([Noted(text="a note")], False),
        ([Noted(text="a note"), TextDelta(text="x")], True),
        ([ThinkingDelta(text="hm")], False),
        ([SEARCH], True),
    ],
)
def test_it_tells_whether_more_text_by_the_users_own_code_changes_a_row(events, indifferent):
    rows = StepsProjection()
    for event in events:
        rows.feed(event)
    assert rows.indifferent_to("") is indifferent
    assert rows.indifferent_to("m1") is False, "its words may become a bullet"
    rows.feed(says("x" * 2 * BULLET_LIMIT))
    assert rows.indifferent_to("m1") is True, "the bullet is known"
