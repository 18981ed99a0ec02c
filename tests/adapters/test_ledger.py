"""The rules that hold for every framework: what is told late, twice, in pieces or not at all comes out right."""

import asyncio

import pytest

from agentcell.adapters.ledger import Ledger
from agentcell.adapters.model_call import ModelCall
from agentcell.events import AgentStarted, ModelEnded, ModelStarted, TextDelta, ThinkingEnded, ToolEnded, ToolStarted, Usage
from agentcell.run import Run


@pytest.fixture
def run():
    with Run() as run:
        yield run


@pytest.fixture
def ledger(run):
    return Ledger(run)


def of(run, *kinds):
    return [event for event in run.events if isinstance(event, kinds)]


def rows(run):
    return [(step.tool, step.state, step.result) for step in run.steps if step.tool]


def test_a_whole_text_behind_its_deltas_adds_only_what_is_missing(run, ledger):
    turn = ledger.turn("t")
    turn.write("m", "Oslo ")
    turn.write("m", "is")
    turn.end_model("m", text="Oslo is mild.")
    assert run.answer_text == "Oslo is mild."
    assert "".join(event.text for event in of(run, TextDelta)) == "Oslo is mild."


def test_a_whole_text_that_was_never_streamed_is_the_answer(run, ledger):
    ledger.turn("t").end_model("m", text="Mild.", usage=Usage(3, 2))
    assert run.answer_text == "Mild."
    assert run.usage.total_tokens == 5


def test_a_whole_text_that_says_something_else_than_its_deltas_leaves_these(run, ledger):
    turn = ledger.turn("t")
    turn.write("m", "  Mild.")
    turn.end_model("m", text="Mild.")
    assert run.answer_text == "  Mild."


def test_whole_thinking_behind_its_deltas_is_told_once(run, ledger):
    turn = ledger.turn("t")
    turn.think("m", "Let me ")
    turn.end_model("m", thinking="Let me see.")
    assert [step.content for step in run.steps] == ["Let me see."]
    assert len(of(run, ThinkingEnded)) == 1


def test_what_comes_behind_the_end_of_a_model_call_is_passed_over(run, ledger):
    turn = ledger.turn("t")
    turn.write("m", "Mild.")
    turn.end_model("m")
    turn.write("m", "Mild.")
    turn.end_model("m", text="Mild.")
    assert run.answer_text == "Mild."
    assert len(of(run, ModelEnded)) == 1


def test_a_call_that_is_told_by_two_hooks_is_one_row(run, ledger):
    turn = ledger.turn("t")
    for _ in range(2):
        turn.ask_tool("c", "weather", {"city": "Oslo"})
    for _ in range(2):
        turn.start_tool("c", "weather", {"city": "Oslo"})
    turn.end_tool("c", result="7 degrees")
    turn.end_tool("c", error="told again, and worse")
    turn.ask_tool("c", "weather", {"city": "Oslo"})
    assert rows(run) == [("weather", "done", "7 degrees")]
    assert len(of(run, ToolEnded)) == 1


def test_a_request_whose_arguments_are_known_only_later_is_told_more_of(run, ledger):
    turn = ledger.turn("t")
    turn.ask_tool("c", "weather")
    turn.ask_tool("c", "weather", {"city": "Oslo"})
    assert [step.arguments for step in run.steps] == [{"city": "Oslo"}]


def test_the_same_id_in_the_next_turn_is_another_call(run, ledger):
    for answer in ("7", "8"):
        turn = ledger.turn("t")
        turn.ask_tool("c", "weather")
        turn.start_tool("c", "weather")
        turn.end_tool("c", result=answer)
        turn.close()
    assert rows(run) == [("weather", "done", "7"), ("weather", "done", "8")]


def test_a_call_that_is_tried_again_in_its_turn_stays_one_row(run, ledger):
    turn = ledger.turn("t")
    turn.start_tool("c", "weather")
    turn.end_tool("c", error=ValueError("no such city"))
    turn.start_tool("c", "weather")
    assert rows(run) == [("weather", "running", None)]
    turn.end_tool("c", result="7")
    assert rows(run) == [("weather", "done", "7")]


def test_a_call_that_waits_for_approval_outlives_its_turn_and_goes_on_in_the_next(run, ledger):
    turn = ledger.turn("first")
    turn.start_tool("c", "delete")
    turn.pause("p", "Delete it?", choices=("yes", "no"), call="c")
    turn.close()
    assert run.status_line
    assert rows(run) == [("delete", "running", None)]
    resumed = ledger.turn("second")
    resumed.start_tool("c", "delete")
    resumed.end_tool("c", result="gone")
    assert rows(run) == [("delete", "done", "gone")]
    assert [step.state for step in run.steps] == ["done", "done"]


def test_a_pause_is_asked_once_and_answered_once(run, ledger):
    turn = ledger.turn("t")
    turn.pause("p", "Go on?")
    turn.pause("p", "Go on?")
    ledger.resume("p", "yes")
    ledger.resume("p", "no")
    assert [(step.state, step.detail) for step in run.steps] == [("done", "yes")]


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (None, "done"),
        (ValueError("boom"), "failed"),
        (asyncio.CancelledError(), "cancelled"),
        (KeyboardInterrupt(), "cancelled"),
    ],
)
def test_the_end_of_a_turn_ends_what_its_framework_left_open(run, ledger, error, outcome):
    turn = ledger.turn("t")
    turn.start_agent("a", "Researcher")
    turn.start_model("m", agent="a")
    turn.start_tool("c", "weather", agent="a")
    turn.close(error)
    assert [event.outcome for event in of(run, ModelEnded)] == [outcome]
    assert [event.outcome for event in of(run, ToolEnded)] == ["cancelled"]  # nobody has seen it fail
    assert all(step.state != "running" for step in run.steps)


def test_turns_side_by_side_end_only_what_is_their_own(run, ledger):
    one, other = ledger.turn("1"), ledger.turn("2")
    one.start_tool("a", "weather")
    other.start_tool("b", "traffic")
    one.close()
    assert rows(run) == [("weather", "cancelled", None), ("traffic", "running", None)]


def test_a_sub_agent_stands_under_the_tool_call_that_started_it(run, ledger):
    turn = ledger.turn("t")
    turn.start_tool("c", "ask_expert")
    turn.start_agent("a", "Expert", inside="c")
    turn.start_tool("d", "look_up", agent="a")
    turn.end_agent("a")
    assert [(step.text, step.parent) for step in run.steps][1:] == [("Expert", 0), (run.steps[2].text, 1)]
    assert [step.state for step in run.steps] == ["running", "done", "cancelled"]


def test_the_text_of_a_sub_agent_is_no_answer(run, ledger):
    turn = ledger.turn("t")
    turn.start_agent("a", "Expert")
    turn.write("m", "To be said to the other agent.", agent="a")
    turn.end_model("m")
    turn.end_agent("a")
    assert run.answer_text == ""
    assert of(run, TextDelta)[0].agent_id == of(run, AgentStarted)[0].agent_id


def test_a_sub_agent_that_was_handed_the_conversation_answers_itself(run, ledger):
    turn = ledger.turn("t")
    turn.start_tool("c", "transfer_to_refunds")
    turn.end_tool("c", result="ok")
    turn.start_agent("a", "Refunds", inside="c", speaks=True)
    turn.write("m", "Money ", agent="a")
    turn.end_model("m", text="Money is back.")
    turn.start_tool("d", "refund", agent="a")
    assert run.answer_text == "Money is back."
    assert [(step.tool or step.text, step.parent) for step in run.steps] == [
        ("transfer_to_refunds", None),
        ("Refunds", 0),
        ("refund", 1),
    ]
    assert of(run, ModelStarted)[0].agent_id == of(run, AgentStarted)[0].agent_id


def test_an_agent_that_speaks_inside_a_sub_agent_speaks_to_that_one_alone(run, ledger):
    turn = ledger.turn("t")
    turn.start_agent("inner", "Expert")
    turn.start_agent("a", "Refunds", agent="inner", speaks=True)
    turn.end_model("m")
    turn.write("n", "For the other agent.", agent="a")
    turn.close()
    assert run.answer_text == ""


def test_a_call_that_was_begun_before_anybody_knew_what_it_is_about_is_the_turns_first(run, ledger):
    call = ModelCall(run)
    call.begin()
    turn = ledger.turn("t")
    turn.adopt(call)
    turn.end_model("m", text="Mild.")
    turn.close()
    assert len(of(run, ModelStarted, ModelEnded)) == 3  # told again with what the turn knows of it
    assert len({event.model_call_id for event in of(run, ModelStarted, ModelEnded)}) == 1


def test_a_begun_call_that_comes_too_late_to_be_the_turns_first_is_over(run, ledger):
    call = ModelCall(run)
    call.begin()
    turn = ledger.turn("t")
    turn.start_model("m")
    turn.adopt(call)
    turn.end_model("m", text="Mild.")
    assert [event.outcome for event in of(run, ModelEnded)] == ["done", "done"]
    assert run.answer_text == "Mild."


def test_a_call_knows_the_model_call_that_asked_for_it_also_behind_its_end(run, ledger):
    turn = ledger.turn("t")
    turn.start_model("m", model="gpt")
    turn.end_model("m", tool_calls=1)
    turn.start_tool("c", "weather", model="m")
    assert of(run, ToolStarted)[0].model_call_id == of(run, ModelStarted)[0].model_call_id


def test_the_end_of_the_block_ends_every_turn(run, ledger):
    ledger.turn("1").start_tool("a", "weather")
    ledger.turn("2").start_model("m")
    ledger.close(KeyboardInterrupt())
    assert [event.outcome for event in of(run, ToolEnded, ModelEnded)] == ["cancelled", "cancelled"]
    assert ledger.find("1") is None


def test_a_call_whose_arguments_are_known_only_at_its_end_is_told_more_of_while_it_runs(run, ledger):
    turn = ledger.turn("t")
    turn.start_tool("c", "weather")
    turn.start_tool("c", "weather", {"city": "Oslo"})
    turn.start_tool("c", "weather", {"city": "Rome"})
    turn.end_tool("c", result="7")
    assert [(step.arguments, step.state) for step in run.steps] == [({"city": "Oslo"}, "done")]


def test_the_answers_of_two_turns_in_words_of_their_own_are_two_paragraphs(run, ledger):
    for text in ("One.", "Two."):
        turn = ledger.turn(text)
        turn.answer(text)
        turn.close()
    assert run.answer_text == "One.\n\nTwo."


def test_the_answers_of_two_frameworks_in_words_of_their_own_are_two_paragraphs(run):
    for text in ("One.", "Two."):
        turn = Ledger(run).turn("t")
        turn.answer(text)
        turn.close()
    assert run.answer_text == "One.\n\nTwo."


@pytest.mark.parametrize("agent", ["", "a"])
def test_an_answer_that_was_said_already_is_told_once_also_by_an_agent_that_speaks(run, ledger, agent):
    turn = ledger.turn("t")
    if agent:
        turn.start_agent(agent, "Refunds", speaks=True)
    turn.write("m1", "I look it up.", agent=agent)
    turn.end_model("m1")
    turn.end_model("m2", text="It is done.\n") if not agent else turn.write("m2", "It is done.\n", agent=agent)
    turn.answer("It is done.")
    turn.close()
    assert run.answer_text.count("It is done.") == 1


def test_an_answer_in_the_words_of_a_sub_agent_is_told(run, ledger):
    turn = ledger.turn("t")
    turn.start_agent("a", "Expert")
    turn.write("m1", "Mild.", agent="a")
    turn.end_agent("a")
    turn.answer("Mild.")
    assert run.answer_text == "Mild."


def test_all_that_was_said_so_far_adds_what_no_delta_has_told_while_the_call_goes_on(run, ledger):
    turn = ledger.turn("t")
    turn.write("m", "Oslo ")
    turn.reconcile("m", text="Oslo is")
    turn.reconcile("m", text="Oslo is")
    turn.write("m", " mild.")
    turn.reconcile("m", text="Oslo is")  # comes late
    turn.end_model("m")
    turn.reconcile("m", text="Oslo is mild, and more.")
    assert run.answer_text == "Oslo is mild."


def test_each_stretch_of_reasoning_has_its_own_words_only(run, ledger):
    turn = ledger.turn("t")
    for thought, said in (("First.", "Hm. "), ("Second.", "Yes.")):
        turn.think("m", thought)
        turn.write("m", said)
    turn.end_model("m", text="Hm. Yes.", thinking="First.Second.")
    assert [block.content for event in run.events if isinstance(event, ThinkingEnded) for block in event.blocks] == [
        "First.",
        "Second.",
    ]


def test_the_same_id_in_two_turns_at_once_is_two_calls_and_after_the_first_is_over_one_more(run, ledger):
    first, second = ledger.turn("first"), ledger.turn("second")
    first.start_tool(first.own_key("0"), "weather")
    other = second.own_key("0")
    second.start_tool(other, "weather")
    second.end_tool(other, result="9")
    first.end_tool(first.own_key("0"), result="7")
    assert rows(run) == [("weather", "done", "7"), ("weather", "done", "9")]
    assert ledger.turn("third").own_key("0") != "0", "the first turn may ask under this id again"
    first.close()
    assert ledger.turn("fourth").own_key("0") == "0"


def test_two_turns_that_take_the_same_id_before_either_asks_have_two_calls(run, ledger):
    first, second = ledger.turn("first"), ledger.turn("second")
    keys = [turn.own_key("0") for turn in (first, second)]
    for turn, key in zip((first, second), keys, strict=True):
        turn.ask_tool(key, "weather", {"city": key})
    assert len(set(keys)) == len(rows(run)) == 2


def test_two_agents_of_one_turn_with_the_same_id_have_two_calls_each_the_same_however_often_it_is_asked_for(run, ledger):
    turn = ledger.turn("t")
    keys = [turn.own_key("0", owner) for owner in ("", "a", "", "a")]
    assert keys == ["0", "a:0", "0", "a:0"]


def test_a_call_that_waits_under_a_key_of_its_own_is_found_by_its_providers_id_in_another_turn(run, ledger):
    first, second = ledger.turn("first"), ledger.turn("second")
    first.start_tool(first.own_key("0"), "weather")
    waiting = second.own_key("0")
    second.ask_tool(waiting, "delete")
    second.pause("p", "Delete?", call=waiting)
    second.close()
    assert ledger.turn("third").own_key("0") == waiting != "0"


@pytest.mark.parametrize("over", [False, True])
def test_a_model_of_one_turn_that_is_asked_again_says_nothing_of_what_another_asked_for(run, ledger, over):
    first, second = ledger.turn("first"), ledger.turn("second")
    first.start_model("m1")
    first.ask_tool("c1", "weather", model="m1")
    first.end_model("m1")
    if over:  # then code that nobody watches may have run it
        first.close()
    second.start_model("m2")
    assert len(of(run, ToolEnded)) == over
    if not over:
        first.start_model("m3")
        assert len(of(run, ToolEnded)) == 1


def test_the_id_of_a_call_that_waits_on_the_person_is_the_same_call_in_another_turn(run, ledger):
    first = ledger.turn("first")
    first.start_tool("0", "delete")
    first.pause("p", "Delete?", call="0")
    assert ledger.turn("second").own_key("0") == "0"
