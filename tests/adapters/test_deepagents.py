"""deepagents: sub-agents by its `task` tool, each under its own call, also while the person is asked or something breaks."""

import pytest
from deepagents import create_deep_agent
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from adapters.langchain_agents import WAYS, call, of, rows, watched, weather
from adapters.langchain_models import asking, model
from agentcell.events import AgentEnded, AgentStarted, PauseRequested, PauseResumed, ToolEnded, ToolStarted

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def sub_agent(name, *script, **options):
    return {"name": name, "description": "Looks.", "system_prompt": "Look.", "tools": [weather], "model": model(*script), **options}


def tasks(*names):
    return asking(*(("task", {"description": "look", "subagent_type": name}, f"t{place}") for place, name in enumerate(names)))


def tree(run):
    """Each row with the text of the one that it stands under."""
    names = {step.id: step.tool or step.text for step in run.steps}
    return [(names.get(step.parent, ""), step.kind, step.tool or step.text) for step in run.steps]


async def ask(deep, way, given="hi", config=None):
    """What each message says, whichever of the sub-agents was quicker."""
    return [one[:2] for one in await call(deep, given, way, config)]


@pytest.mark.parametrize("way", WAYS)
def test_a_sub_agent_stands_under_the_task_that_called_it(way):
    async def agent(_run):
        research = sub_agent("research", asking(("weather", {"city": "Oslo"}, "w1")), "Found: 7 degrees.")
        return await ask(create_deep_agent(model=model(tasks("research"), "It is mild."), tools=[], subagents=[research]), way)

    run = watched(agent)
    assert tree(run) == [("", "tool", "task"), ("task", "agent", "research"), ("research", "tool", "weather")]
    assert rows(run) == [("task", "done", "Found: 7 degrees."), ("weather", "done", "7 degrees in Oslo")]
    assert run.answer_text == "It is mild."


@pytest.mark.parametrize("way", WAYS)
def test_sub_agents_side_by_side_have_each_its_own_also_when_their_calls_have_one_id(way):
    async def agent(_run):
        agents = [sub_agent(city, asking(("weather", {"city": city}, "w1")), f"{city}: 7.") for city in ("Oslo", "Bergen")]
        return await ask(create_deep_agent(model=model(tasks("Oslo", "Bergen"), "Mild."), tools=[], subagents=agents), way)

    run = watched(agent)
    of_one = [[("", "tool", "task"), ("task", "agent", city), (city, "tool", "weather")] for city in ("Oslo", "Bergen")]
    assert sorted(tree(run)) == sorted(of_one[0] + of_one[1])
    for step in run.steps:
        if step.tool == "weather":
            assert step.result == f"7 degrees in {run.steps[step.parent].text}"
    assert run.answer_text == "Mild."
    assert run.usage.input_tokens == 60


@pytest.mark.parametrize("way", WAYS)
def test_a_sub_agent_that_asks_for_leave_waits_and_goes_on_as_the_same_call(way):
    async def agent(run):
        careful = sub_agent(
            "careful", asking(("weather", {"city": "Oslo"}, "w1")), "Found: 7 degrees.", interrupt_on={"weather": True}
        )
        deep = create_deep_agent(
            model=model(tasks("careful"), "It is mild."), tools=[], subagents=[careful], checkpointer=InMemorySaver()
        )
        thread = {"configurable": {"thread_id": "1"}}
        await ask(deep, way, config=thread)
        if run is not None:
            assert "weather" in run.status_line
            assert {step.state for step in run.steps} == {"running"}
        return await ask(deep, way, Command(resume={"decisions": [{"type": "approve"}]}), thread)

    run = watched(agent)
    assert tree(run)[:3] == [("", "tool", "task"), ("task", "agent", "careful"), ("careful", "tool", "weather")]
    assert [(event.question, event.call_id) for event in of(run, PauseRequested)] == [("May weather run?", "w1")]
    assert [event.answer for event in of(run, PauseResumed)] == ["approve"]
    assert {event.call_id for event in of(run, ToolStarted)} == {"t0", "w1"}
    assert [event.outcome for event in of(run, ToolEnded)] == ["done", "done"]
    assert len(of(run, AgentStarted)) == len(of(run, AgentEnded)) == 1
    assert run.answer_text == "It is mild."


@pytest.mark.parametrize("way", WAYS)
def test_a_sub_agent_that_breaks_is_told_and_ends_the_agent_as_it_does_unwatched(way):
    async def agent(_run):
        broken = sub_agent("broken", RuntimeError("no model"))
        return await ask(create_deep_agent(model=model(tasks("broken"), "Never."), tools=[], subagents=[broken]), way)

    run = watched(agent, raises=RuntimeError)
    assert [(event.outcome, event.error) for event in of(run, AgentEnded)] == [("failed", "no model")]
    assert rows(run) == [("task", "failed", "RuntimeError: no model")]
    assert run.outcome == "failed"
