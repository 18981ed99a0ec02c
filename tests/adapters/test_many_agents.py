"""Agents side by side and one inside the other, of one framework or of two, whose models give their calls the same ids."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import re
import weakref
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

import agentcell
from adapters.beside import watch_beside
from adapters.dspy_programs import QUIET
from adapters.many_agents import EVERY
from adapters.openai_agents_scripts import offline
from agentcell.adapters.ambient import AMBIENCE
from agentcell.events import AgentEnded, AgentStarted, ModelEnded, ModelStarted, ToolEnded, ToolStarted

pytestmark = [QUIET, pytest.mark.filterwarnings("ignore:Function 'search' has decorators:UserWarning")]
NAMES = pytest.mark.parametrize("name", EVERY)
MANY = 10

__all__ = ["offline"]  # a fixture


async def look(city):
    for _ in range(len(city) % 3):
        await asyncio.sleep(0)
    return f"mild in {city}"


def agents_of(name, asks=1):
    return [EVERY[name](look, [f"{'A' * number}-{ask}" for ask in range(asks)], f"Answer {number}.") for number in range(MANY)]


def must_be_told_apart(run, *, tools, answers):
    """Each call has one start and one end, and is of one agent alone."""
    assert run.faults == run.unknown_events == {}
    for start, end, key in (
        (ToolStarted, ToolEnded, "call_id"),
        (ModelStarted, ModelEnded, "model_call_id"),
        (AgentStarted, AgentEnded, "agent_id"),
    ):
        ends = Counter(getattr(event, key) for event in run.events if isinstance(event, end))
        assert set(ends) == {getattr(event, key) for event in run.events if isinstance(event, start)}
        assert set(ends.values()) <= {1}
    cities = {event.call_id: event.arguments["city"] for event in run.events if isinstance(event, ToolStarted) and event.arguments}
    results = {event.call_id: event.result for event in run.events if isinstance(event, ToolEnded)}
    assert len(cities) == tools
    assert results == {call_id: f"mild in {city}" for call_id, city in cities.items()}
    assert sorted(re.split(r"\n{2,}", run.answer_text)) == sorted(answers)  # in markdown, more empty lines are one


@NAMES
@pytest.mark.parametrize("asks", [1, 3])
def test_ten_agents_at_once_in_one_block_are_told_apart(name, asks):
    async def scenario(run):
        return await asyncio.gather(*(agent() for agent in agents_of(name, asks)))

    run = asyncio.run(watch_beside(scenario))
    must_be_told_apart(run, tools=MANY * asks, answers=run.result)


@NAMES
def test_ten_agents_in_threads_that_know_their_context_are_told_apart(name):
    with agentcell.watch(display=False) as run, ThreadPoolExecutor(MANY) as pool:
        calls = [pool.submit(contextvars.copy_context().run, asyncio.run, agent()) for agent in agents_of(name)]
        answers = [call.result() for call in calls]
    must_be_told_apart(run, tools=MANY, answers=answers)


@NAMES
def test_ten_agents_in_ten_blocks_at_once_are_heard_each_in_its_own(name):
    async def watched(agent):
        with agentcell.watch(display=False) as run:
            answer = await agent()
        return run, answer

    async def scenario():
        return await asyncio.gather(*map(watched, agents_of(name)))

    for run, answer in asyncio.run(scenario()):
        must_be_told_apart(run, tools=1, answers=[answer])


@pytest.mark.parametrize("at_once", [False, True])
def test_agents_of_all_frameworks_in_one_block_are_told_apart_by_their_frameworks(at_once):
    async def scenario(run):
        agents = [make(look, [name], f"Answer of {name}.") for name, make in EVERY.items()]
        return await asyncio.gather(*(agent() for agent in agents)) if at_once else [await agent() for agent in agents]

    run = asyncio.run(watch_beside(scenario))
    must_be_told_apart(run, tools=len(EVERY), answers=run.result)


@NAMES
def test_a_run_that_is_over_can_be_let_go_although_its_agent_is_kept(name):
    agent = EVERY[name](look, ["Oslo"], "Mild.")

    async def scenario():
        with agentcell.watch(display=False) as run:
            await agent()
        return weakref.ref(run)

    run = asyncio.run(scenario())
    for _ in range(3):  # what has a finalizer takes more than one time
        gc.collect()
    assert run() is None
    assert AMBIENCE.hears("LangChain") is False


@agentcell.tool
def deep(city):
    return f"deep in {city}"


async def ask_deep(city):
    return deep(city)


@NAMES
@pytest.mark.parametrize("inner", EVERY)
def test_an_agent_inside_the_tool_of_another_speaks_to_that_tool(name, inner):
    async def scenario(run):
        async def expert(city):
            return await EVERY[inner](ask_deep, [city], "Inner says.")()

        return await EVERY[name](expert, ["Oslo"], "Outer says.")()

    run = asyncio.run(watch_beside(scenario))
    assert run.answer_text == "Outer says."
    assert all(step.state == "done" for step in run.steps)
    outer, nested, deepest = (index for index, step in enumerate(run.steps) if step.tool)
    assert [run.steps[index].tool for index in (outer, nested, deepest)] == ["search", "search", "deep"]
    assert run.steps[deepest].parent == nested
    agent = run.steps[nested].parent
    assert run.steps[agent].kind == "agent"
    assert run.steps[agent].parent == outer
    assert run.steps[outer].parent is None


def test_three_frameworks_one_inside_the_other():
    async def innermost(city):
        return await EVERY["smolagents"](ask_deep, [city], "Third.")()

    async def inner(city):
        return await EVERY["pydantic-ai"](innermost, [city], "Second.")()

    async def scenario(run):
        return await EVERY["LangChain"](inner, ["Oslo"], "First.")()

    run = asyncio.run(watch_beside(scenario))
    assert run.answer_text == "First."
    depth = [0] * len(run.steps)
    for index, step in enumerate(run.steps):
        depth[index] = 0 if step.parent is None else depth[step.parent] + 1
    assert [(step.tool, depth[index]) for index, step in enumerate(run.steps) if step.tool] == [
        ("search", 0),
        ("search", 2),
        ("search", 4),
        ("deep", 5),
    ]
