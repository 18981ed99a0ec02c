"""Where a run stands: each arrow of the state machine, each arrow that there is not, the draft, the clock and the answer."""

import itertools

import pytest

from agentcell.events import (
    EVENT_TYPES,
    AgentEnded,
    AgentStarted,
    ContextEvaluated,
    LimitReached,
    ModelEnded,
    ModelStarted,
    Noted,
    PauseRequested,
    PauseResumed,
    Reported,
    Routed,
    RunEnded,
    RunStarted,
    TextDelta,
    ThinkingDelta,
    ThinkingEnded,
    ThinkingFailed,
    ToolEnded,
    ToolProgressed,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from agentcell.projections.life import DRAFT_LIMIT, LifeProjection

LONG = "x" * (DRAFT_LIMIT + 1)


def says(text: str, model_call_id: str = "m1", **values) -> TextDelta:
    return TextDelta(text=text, model_call_id=model_call_id, **values)


def life(*events) -> LifeProjection:
    projection = LifeProjection()
    for event in events:
        projection.feed(event)
    return projection


def answer(*events) -> str:
    """The answer after the events; whether somebody reads it in between makes no difference."""
    unread, read = LifeProjection(), LifeProjection()
    for event in events:
        unread.feed(event)
        read.feed(event)
        str(read.answer)
    assert str(read.answer) == str(unread.answer)
    return str(read.answer)


# The state machine

IDLE = ()
REASONING = (RunStarted(),)
COLLAPSED = (RunStarted(), TextDelta(text="An answer"))
COMPLETE = (RunStarted(), TextDelta(text="An answer"), RunEnded(outcome="answered"))

TO_REASONING = [
    ThinkingDelta(text="hm"),
    ThinkingDelta(text="hm", model_call_id="m1"),
    ThinkingDelta(text="hm", agent_id="sub"),
    ModelEnded(model_call_id="m1", tool_calls=1),
    AgentStarted(agent_id="sub", name="Researcher"),
    ToolStarted(call_id="a", name="search"),
    ToolStarted(call_id="a", name="search", requested=True, model_call_id="m1"),
    ToolStarted(call_id="a", name="search", agent_id="sub"),
]
TO_COLLAPSED = [
    TextDelta(text="An answer"),
    says(LONG),
    TurnEnded(text="The whole answer"),
]
TO_COMPLETE = [RunEnded(), RunEnded(outcome="failed"), RunEnded(outcome="cancelled"), RunEnded(outcome="limited")]
NO_MOVE = [
    RunStarted(),
    AgentEnded(agent_id="sub"),
    ModelStarted(model_call_id="m1"),
    TextDelta(text=""),
    says("A draft"),
    says(LONG, agent_id="sub"),
    ThinkingEnded(model_call_id="m1"),
    ThinkingFailed(error="broken"),
    ModelEnded(model_call_id="m1"),
    ModelEnded(model_call_id="unknown", outcome="failed"),
    TurnEnded(text=""),
    TurnEnded(text="The whole answer of another agent", agent_id="sub"),
    ToolProgressed(call_id="a"),
    ToolEnded(call_id="a"),
    PauseRequested(pause_id="p", question="May I?"),
    PauseResumed(pause_id="p"),
    Routed(route="research"),
    ContextEvaluated(),
    TurnStarted(text="And why?"),
    Reported(name="memory.read"),
    Noted(text="a note"),
    Noted(text="a call", tool="search"),
    LimitReached(kind="iterations"),
    LimitReached(kind="iterations", stops=False),
]


def test_the_table_leaves_no_kind_of_event_out():
    assert {type(event) for event in TO_REASONING + TO_COLLAPSED + TO_COMPLETE + NO_MOVE} == set(EVENT_TYPES.values())


def test_a_run_is_idle_before_its_first_event():
    assert (life().status, life().outcome, life().ticking) == ("idle", None, False)


@pytest.mark.parametrize("event", TO_REASONING + NO_MOVE)
def test_any_first_event_makes_an_idle_run_reason(event):
    assert life(event).status == "reasoning"


@pytest.mark.parametrize("event", TO_COLLAPSED)
def test_an_answer_as_the_first_event_folds_at_once(event):
    assert life(event).status == "collapsed"


@pytest.mark.parametrize(
    ("before", "event", "after"),
    [
        *((REASONING, event, "reasoning") for event in TO_REASONING + NO_MOVE),
        *((REASONING, event, "collapsed") for event in TO_COLLAPSED),
        *((COLLAPSED, event, "collapsed") for event in TO_COLLAPSED + NO_MOVE),
        *((COLLAPSED, event, "reasoning") for event in TO_REASONING),
        *((state, event, "complete") for state in (IDLE, REASONING, COLLAPSED) for event in TO_COMPLETE),
        *((COMPLETE, event, "complete") for event in TO_REASONING + TO_COLLAPSED + TO_COMPLETE + NO_MOVE),
    ],
)
def test_each_arrow(before, event, after):
    assert life(*before, event).status == after


@pytest.mark.parametrize("event", TO_REASONING + TO_COLLAPSED + TO_COMPLETE + NO_MOVE)
def test_after_the_end_nothing_changes(event):
    ended = life(RunStarted(), says("An answer"), RunEnded(outcome="failed", time=5.0, error_type="ValueError", error="bad"))
    facts = ("complete", "failed", "ValueError", "bad", "An answer", 5.0, False, False, None)

    def told():
        found = ended.status, ended.outcome, ended.error_type, ended.error, str(ended.answer), ended.elapsed_seconds(99.0)
        return (*found, ended.ticking, ended.waiting, ended.limit)

    assert told() == facts
    ended.feed(event)
    assert told() == facts


def test_a_run_goes_back_and_forth_as_often_as_it_answers_and_calls():
    run, seen = LifeProjection(), []
    for event in itertools.islice(itertools.cycle([TO_REASONING[0], TO_COLLAPSED[0], TO_REASONING[4], TO_COLLAPSED[0]]), 20):
        run.feed(event)
        seen.append(run.status)
    assert seen == ["reasoning", "collapsed"] * 10


@pytest.mark.parametrize("outcome", ["answered", "failed", "cancelled", "limited"])
def test_the_end_says_how(outcome):
    ended = life(RunStarted(), RunEnded(outcome=outcome, error_type="E", error="why"))
    assert (ended.outcome, ended.error_type, ended.error) == (outcome, "E", "why")


def test_only_a_limit_that_stops_the_run_is_its_limit():
    stop = LimitReached(kind="iterations", limit=10, actual=10)
    assert life(RunStarted(), LimitReached(kind="cost", stops=False)).limit is None
    assert life(RunStarted(), stop).limit is stop


# The draft


@pytest.mark.parametrize("pieces", [[DRAFT_LIMIT], [100, DRAFT_LIMIT - 100], [1] * DRAFT_LIMIT])
def test_text_up_to_the_limit_is_a_draft(pieces):
    draft = life(RunStarted(), *(says("x" * length) for length in pieces))
    assert (draft.status, str(draft.answer)) == ("reasoning", "")


@pytest.mark.parametrize("pieces", [[DRAFT_LIMIT + 1], [DRAFT_LIMIT, 1], [1] * (DRAFT_LIMIT + 1)])
def test_one_character_more_is_the_answer(pieces):
    shown = life(RunStarted(), *(says("x" * length) for length in pieces))
    assert (shown.status, str(shown.answer)) == ("collapsed", LONG)


def test_a_draft_becomes_the_answer_when_its_call_ends_without_a_tool():
    run = life(RunStarted(), ModelStarted(model_call_id="m1"), says("Short "), says("answer."))
    assert (run.status, str(run.answer)) == ("reasoning", "")
    run.feed(ModelEnded(model_call_id="other"))
    assert (run.status, str(run.answer)) == ("reasoning", "")
    run.feed(ModelEnded(model_call_id="m1"))
    assert (run.status, str(run.answer)) == ("collapsed", "Short answer.")


def test_a_call_that_ends_without_a_word_does_not_fold():
    assert life(RunStarted(), ModelStarted(model_call_id="m1"), ModelEnded(model_call_id="m1")).status == "reasoning"


def test_a_draft_becomes_the_answer_when_the_run_ends():
    ended = life(RunStarted(), says("Half an ans"), RunEnded(outcome="cancelled"))
    assert str(ended.answer) == "Half an ans"


@pytest.mark.parametrize("text", ["I will look it up.", LONG], ids=["a draft", "text that was shown"])
def test_text_before_a_tool_call_leaves_the_answer(text):
    before = (RunStarted(), says(text))
    assert answer(*before, ToolStarted(call_id="a", name="search", model_call_id="m1")) == ""
    assert life(*before, ToolStarted(call_id="a", name="search", model_call_id="m1")).status == "reasoning"


@pytest.mark.parametrize("text", ["I will look it up.", LONG], ids=["a draft", "text that was shown"])
def test_text_leaves_the_answer_also_when_the_call_is_told_after_the_models_end(text):
    run = life(RunStarted(), says(text), ModelEnded(model_call_id="m1"))
    assert (run.status, str(run.answer)) == ("collapsed", text)
    run.feed(ToolStarted(call_id="a", name="search", model_call_id="m1"))
    assert (run.status, str(run.answer)) == ("reasoning", "")


@pytest.mark.parametrize("text", ["I will look it up.", LONG], ids=["a draft", "text that was shown"])
def test_text_leaves_the_answer_when_the_models_end_tells_of_calls(text):
    run = life(RunStarted(), says(text), ModelEnded(model_call_id="m1", tool_calls=2))
    assert (run.status, str(run.answer), run.ticking) == ("reasoning", "", True)


@pytest.mark.parametrize("text", ["A guess.", LONG], ids=["a draft", "text that was shown"])
def test_text_that_is_withheld_is_no_answer(text):
    withheld = (RunStarted(), says(text), ModelEnded(model_call_id="m1", withheld=True))
    assert answer(*withheld) == answer(*withheld, RunEnded()) == ""
    assert answer(*withheld, TurnEnded(text="What is delivered.")) == "What is delivered."


@pytest.mark.parametrize("end", [ModelEnded(), ModelEnded(tool_calls=1), ModelEnded(withheld=True), ModelStarted()])
def test_no_model_call_begins_or_ends_the_users_own_text(end):
    assert answer(RunStarted(), TextDelta(text="One "), end, TextDelta(text="text.")) == "One text."


def test_a_call_by_the_users_own_code_takes_nothing_out_of_the_answer():
    shown = (RunStarted(), TextDelta(text="Mine. "), says("The model's."), ModelEnded(model_call_id="m1"))
    assert answer(*shown, ToolStarted(call_id="a", name="search")) == "Mine. \n\nThe model's."


def test_a_call_by_another_model_call_takes_only_its_own_text():
    events = (RunStarted(), says("First.", "m1"), ModelEnded(model_call_id="m1"), says("Let me see.", "m2"))
    assert answer(*events, ToolStarted(call_id="a", name="search", model_call_id="m2")) == "First."


@pytest.mark.parametrize("again", [ModelStarted(model_call_id="m1"), says("Let me see.")], ids=["a start", "text"])
def test_an_id_that_is_used_again_is_another_call(again):
    call = ToolStarted(call_id="a", name="search", model_call_id="m1")
    assert answer(says("First."), ModelEnded(model_call_id="m1"), again, call, call) == "First."


def test_text_after_a_tool_call_of_the_same_model_call_is_a_draft_again():
    events = (RunStarted(), says("Let me see."), ToolStarted(call_id="a", name="search", model_call_id="m1"), says("Found it."))
    assert life(*events).status == "reasoning"
    assert answer(*events, ModelEnded(model_call_id="m1")) == "Found it."


def test_a_tool_call_after_the_answer_of_an_earlier_turn_leaves_that_answer():
    events = (says("First turn.", "m1"), ModelEnded(model_call_id="m1"), ToolStarted(call_id="a", name="b", model_call_id="m2"))
    assert answer(*events) == "First turn."


# The answer


def test_text_by_the_users_own_code_is_the_answer_at_once():
    run = life(RunStarted(), TextDelta(text="a"))
    assert (run.status, str(run.answer)) == ("collapsed", "a")


def test_two_model_calls_that_stream_at_once_do_not_mix_their_text():
    events = [RunStarted()]
    for one, other in zip("Red fish", "Blue cat", strict=True):
        events += [says(one, "m1"), says(other, "m2")]
    assert answer(*events) == ""
    both = [*events, ModelEnded(model_call_id="m2"), ModelEnded(model_call_id="m1")]
    assert answer(*both) == "Red fish\n\nBlue cat"
    assert answer(*events, ModelEnded(model_call_id="m1")) == "Red fish"
    assert answer(*events, ModelEnded(model_call_id="m1"), ModelEnded(model_call_id="m2")) == "Red fish\n\nBlue cat"
    assert answer(*events, RunEnded()) == "Red fish\n\nBlue cat"


def test_two_long_texts_that_stream_at_once_do_not_mix():
    one, other = "a" * 300, "b" * 300
    events = [RunStarted()]
    for first, second in zip(one, other, strict=True):
        events += [says(first, "m1"), says(second, "m2")]
    assert answer(*events) == f"{one}\n\n{other}"


def test_paragraphs_stand_in_the_order_in_which_they_began():
    events = [
        TextDelta(text="Before."),
        says("The model's.", "m1"),
        ModelEnded(model_call_id="m1"),
        TextDelta(text="After."),
        TextDelta(text=" Still after."),
        says("Second.", "m2"),
        ModelEnded(model_call_id="m2"),
    ]
    assert answer(*events) == "Before.\n\nThe model's.\n\nAfter. Still after.\n\nSecond."


def test_what_the_user_writes_while_a_model_drafts_goes_on_where_it_was():
    events = [TextDelta(text="One "), says("Draft.", "m1"), TextDelta(text="two.")]
    assert answer(*events) == "One two."
    assert answer(*events, ModelEnded(model_call_id="m1")) == "One two.\n\nDraft."


def test_text_of_a_sub_agent_is_not_the_answer():
    assert answer(RunStarted(), says(LONG, agent_id="sub"), ModelEnded(model_call_id="m1", agent_id="sub"), RunEnded()) == ""


@pytest.mark.parametrize(
    ("before", "whole", "rewritten"),
    [
        ([], "The answer.", 0),
        ([TextDelta(text="The ans")], "The answer.", 0),
        ([TextDelta(text="The answer.")], "The answer.", 0),
        ([says("The ans")], "The answer.", 0),
        ([TextDelta(text="A guess.")], "The answer.", 1),
        ([TextDelta(text="The answer. And more.")], "The answer.", 1),
        ([says("A guess.", "m1"), says("Another.", "m2")], "The answer.", 0),
    ],
)
def test_the_end_of_a_turn_brings_the_whole_answer(before, whole, rewritten):
    run = life(RunStarted(), *before)
    rewrites = run.rewrites
    run.feed(TurnEnded(text=whole))
    assert (run.status, str(run.answer), run.rewrites - rewrites) == ("collapsed", whole, rewritten)
    assert answer(RunStarted(), *before, TurnEnded(text=whole), RunEnded()) == whole


def test_the_end_of_a_turn_without_text_takes_nothing_away():
    assert answer(RunStarted(), TextDelta(text="Some."), TurnEnded(text="")) == "Some."


def test_what_follows_the_end_of_a_turn_is_a_paragraph_of_its_own():
    assert answer(TurnEnded(text="Whole."), TextDelta(text="More.")) == "Whole.\n\nMore."
    assert answer(TurnEnded(text="Whole."), says("More."), ModelEnded(model_call_id="m1")) == "Whole.\n\nMore."


def test_late_ends_of_calls_after_the_end_of_a_turn_do_not_say_it_twice():
    assert answer(says("Whole."), TurnEnded(text="Whole."), ModelEnded(model_call_id="m1"), RunEnded()) == "Whole."


def test_an_answer_that_only_grows_is_never_counted_as_rewritten():
    run = life(RunStarted(), *(TextDelta(text=str(number)) for number in range(50)))
    for event in (says(LONG), says("!"), ModelEnded(model_call_id="m1"), says("z" * 300, "m2"), TextDelta(text="end")):
        run.feed(event)
    assert run.rewrites == 0


# The quiet source: whose text may be taken without looking


def test_a_source_is_quiet_only_while_its_text_makes_nothing_but_the_answer_grow():
    run = LifeProjection()
    quiet = []
    for event in [
        RunStarted(),
        TextDelta(text="Mine"),
        says("draft"),
        ModelEnded(model_call_id="m1"),
        says(LONG, "m2"),
        ModelEnded(model_call_id="m2"),
        TextDelta(text="Mine again"),
        ThinkingDelta(text="hm"),
        TextDelta(text="."),
        TurnEnded(text="Whole"),
        RunEnded(),
    ]:
        run.feed(event)
        quiet.append(run.quiet_source)
    assert quiet == [None, "", "", None, "m2", None, "", None, "", None, None]


@pytest.mark.parametrize("source", ["", "m1"])
def test_text_of_the_quiet_source_gives_the_same_answer_without_an_event(source):
    slow, fast = life(says(LONG, source)), life(says(LONG, source))
    assert fast.quiet_source == source
    for piece in ("a", "", "bc", "\n"):
        slow.feed(says(piece, source))
        fast.feed_text(piece)
        assert str(fast.answer) == str(slow.answer)
    for event in (ToolStarted(call_id="a", name="b", model_call_id="m1"), TextDelta(text="end"), RunEnded()):
        slow.feed(event)
        fast.feed(event)
        assert str(fast.answer) == str(slow.answer)


# The clock


def seconds(*events, now: float) -> float:
    return life(*events).elapsed_seconds(now)


@pytest.mark.parametrize(
    ("events", "now", "expected"),
    [
        ([], 7.0, 0.0),
        ([RunStarted()], 0.0, 0.0),
        ([RunStarted()], 9.5, 9.5),
        ([RunStarted(), TextDelta(text="a", time=4.0)], 60.0, 4.0),
        ([RunStarted(), says("a draft", time=4.0)], 60.0, 60.0),
        ([RunStarted(), says("short", time=4.0), ModelEnded(model_call_id="m1", time=6.0)], 60.0, 6.0),
        ([RunStarted(), TextDelta(text="a", time=4.0), ToolStarted(name="b", time=10.0)], 13.0, 7.0),
        ([RunStarted(), TextDelta(text="a", time=4.0), ThinkingDelta(text="b", time=10.0)], 13.0, 7.0),
        ([RunStarted(), TextDelta(text="a", time=4.0), RunEnded(time=10.0)], 60.0, 4.0),
        ([RunStarted(), RunEnded(time=10.0)], 60.0, 10.0),
        ([RunStarted(), PauseRequested(pause_id="p", time=3.0)], 60.0, 3.0),
        ([RunStarted(), PauseRequested(pause_id="p", time=3.0), PauseResumed(pause_id="p", time=50.0)], 60.0, 13.0),
        ([RunStarted(), PauseRequested(pause_id="p", time=3.0), RunEnded(time=50.0)], 60.0, 3.0),
        ([RunStarted(), PauseRequested(pause_id="p", time=3.0), PauseResumed(pause_id="other", time=50.0)], 60.0, 3.0),
        ([RunStarted(), PauseRequested(pause_id="p", time=3.0), ToolStarted(name="b", time=5.0)], 60.0, 3.0),
        ([RunStarted(), PauseResumed(pause_id="p", time=5.0)], 6.0, 6.0),
        ([PauseRequested(pause_id="p", time=3.0)], 60.0, 0.0),
        ([RunStarted(), TextDelta(text="a", time=1.0), PauseRequested(time=2.0), PauseResumed(time=3.0)], 60.0, 1.0),
    ],
)
def test_the_clock_counts_the_time_spent_reasoning(events, now, expected):
    assert seconds(*events, now=now) == expected


def test_two_questions_at_once_stop_the_clock_until_both_are_answered():
    run = life(RunStarted(), PauseRequested(pause_id="p", time=2.0), PauseRequested(pause_id="q", time=3.0))
    run.feed(PauseResumed(pause_id="p", time=10.0))
    assert (run.waiting, run.elapsed_seconds(20.0)) == (True, 2.0)
    run.feed(PauseResumed(pause_id="q", time=20.0))
    assert (run.waiting, run.ticking, run.elapsed_seconds(25.0)) == (False, True, 7.0)


def test_the_clock_ticks_exactly_while_the_run_reasons_and_does_not_wait():
    run = LifeProjection()
    ticking = []
    for event in [
        RunStarted(),
        PauseRequested(pause_id="p"),
        ToolStarted(call_id="a", name="b"),
        PauseResumed(pause_id="p"),
        TextDelta(text="a"),
        ThinkingDelta(text="b"),
        RunEnded(),
    ]:
        run.feed(event)
        ticking.append(run.ticking)
    assert ticking == [True, False, False, True, False, True, False]


def test_a_waiting_run_knows_its_question_until_it_has_ended():
    run = life(RunStarted(), PauseRequested(pause_id="p", question="May I?"))
    assert (run.waiting, run.question) == (True, "May I?")
    run.feed(RunEnded(outcome="cancelled"))
    assert not run.waiting


def test_a_time_before_the_clock_was_started_takes_nothing_away():
    assert seconds(RunStarted(time=5.0), now=2.0) == 0.0
    assert seconds(RunStarted(time=5.0), TextDelta(text="a", time=1.0), now=2.0) == 0.0
