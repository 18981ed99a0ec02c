"""Agents of the OpenAI Agents SDK with its own scripted model, and the ways in which they are heard."""

from __future__ import annotations

import asyncio
import os

import pytest

os.environ.setdefault("OPENAI_API_KEY", "none")

import agents
from agents import Agent, Runner, function_tool
from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call
from agents.usage import Usage as TheirUsage
from openai.types.responses import ResponseReasoningItem
from openai.types.responses.response_reasoning_item import Summary
from openai.types.responses.response_usage import InputTokensDetails, OutputTokensDetails

from adapters.beside import watch_beside

WAYS = ("by itself", "streamed", "hooks", "stream", "all")
EVERY = pytest.mark.parametrize("way", WAYS)


@pytest.fixture(autouse=True)
def offline():
    """The SDK sends its traces away unless it is told not to."""
    agents.set_trace_processors([])


@function_tool
async def weather(city: str) -> str:
    """The weather of a city."""
    await asyncio.sleep(0)
    return f"{city}: 7 degrees"


@function_tool
def broken(city: str) -> str:
    raise ValueError("no such city")


def call(name, number, **arguments):
    return function_call(name, arguments, call_id=f"c{number}")


def thought(text):
    return ResponseReasoningItem(id="rs_1", type="reasoning", summary=[Summary(type="summary_text", text=text)])


def step(*output, **usage):
    counted = TheirUsage(
        requests=1,
        input_tokens=20,
        output_tokens=9,
        total_tokens=29,
        input_tokens_details=InputTokensDetails(cached_tokens=4, cache_write_tokens=0),
        output_tokens_details=OutputTokensDetails(reasoning_tokens=3),
    )
    return ModelStep(output=list(output), usage=counted, **usage)


def script(*steps):
    return ScriptedModel(list(steps))


def make(*steps, tools=(weather, broken), **more):
    return Agent("Assistant", model=script(*steps), tools=list(tools), **more)


def options_for(run, way):
    """Of `watch`, and of the runner, for one way of hearing."""
    return {"hooks": run.openai_agents()} if run is not None and way in ("hooks", "all") else {}


async def ask(run, way, agent, given="hi", **more):
    """One call of the runner, heard in one way."""
    more |= options_for(run, way)
    if way in ("by itself", "hooks"):
        return await Runner.run(agent, given, **more)
    result = Runner.run_streamed(agent, given, **more)
    if run is None or way == "streamed":
        async for _ in result.stream_events():
            pass
    else:
        assert await run.consume(result) is result
    return result


def auto(way):
    return way in ("by itself", "streamed", "all")


async def hear(way, make_agent, given="hi", **more):
    async def scenario(run):
        result = await ask(run, way, make_agent(), given, **more)
        return result.final_output, [type(item).__name__ for item in result.new_items]

    return await watch_beside(scenario, auto=auto(way))


def rows(run):
    return [(step.tool or step.text, step.state, step.parent) for step in run.steps]


def of(run, *kinds):
    return [event for event in run.events if isinstance(event, kinds)]


def two_tools():
    return make(
        step(thought("Two cities."), call("weather", 1, city="Oslo"), call("broken", 2, city="Atlantis")),
        step(assistant_message("Oslo is mild.")),
    )


def hanging(started):
    @function_tool
    async def hang(city: str) -> str:
        started.set()
        await asyncio.Event().wait()
        return "never"

    return make([call("hang", 1, city="Oslo")], [assistant_message("never")], tools=[hang])
