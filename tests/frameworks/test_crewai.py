"""CrewAI, heard by the spans that OpenInference's instrumentations make of it and of the OpenAI client.

Needs `crewai`, which brings a great deal: it runs in an environment of its own.
"""

from __future__ import annotations

import asyncio
import os

import pytest

# Before it is imported: what its maker would like to be told is not ours to send.
os.environ.update(CREWAI_DISABLE_TELEMETRY="true", CREWAI_TRACING_ENABLED="false")

pytest.importorskip("crewai", reason="crewai is not installed here: `make test-frameworks` makes an environment for it")

from crewai import LLM, Agent, Crew, Task
from crewai.tools import tool
from openinference.instrumentation.crewai import CrewAIInstrumentor
from openinference.instrumentation.openai import OpenAIInstrumentor

from agentcell.events import ModelEnded
from frameworks.instrumented import (
    TWO_TOOLS,
    assert_side_by_side,
    assert_two_tools,
    chat,
    failure,
    hear,
    of,
    provider,
)

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")


@pytest.fixture(scope="module", autouse=True)
def instrumented():
    provider()
    makers = (CrewAIInstrumentor(), OpenAIInstrumentor())
    for maker in makers:
        maker.instrument(skip_dep_check=True)
    yield
    for maker in makers:
        maker.uninstrument()


@tool("weather")
def weather(city: str) -> str:
    """The weather of a city."""
    return f"7 degrees in {city}"


@tool("boom")
def boom() -> str:
    """Fails."""
    raise ValueError("no roads")


def crew(url, *roles):
    llm = LLM(model="openai/gpt-4o-mini", base_url=url, api_key="none", max_retries=0)
    agents = [
        Agent(role=role, goal="To help", backstory="Nothing.", llm=llm, tools=[weather, boom], max_retry_limit=0) for role in roles
    ]
    return Crew(agents=agents, tasks=[Task(description="Say hi", expected_output="A text", agent=agent) for agent in agents])


async def kick_off(url):
    return (await crew(url, "main").kickoff_async()).raw


async def kick_off_in_a_thread(url):
    return (await asyncio.to_thread(crew(url, "main").kickoff)).raw


@pytest.mark.parametrize("agent", [kick_off, kick_off_in_a_thread])
def test_two_model_calls_and_two_tools_of_which_one_raises(agent):
    run = hear(TWO_TOOLS, agent)
    assert_two_tools(run)
    assert {step.tool: (step.arguments, step.result) for step in run.steps if step.tool == "weather"} == {
        "weather": ({"city": "Oslo"}, "7 degrees in Oslo")
    }


def test_the_agents_of_a_crew_have_each_their_calls():
    async def agent(url):
        return (await crew(url, "planner", "writer").kickoff_async()).raw

    run = hear([chat("A plan."), chat("A text.")], agent)
    assert len(of(run, ModelEnded)) == 2
    assert run.usage.input_tokens == 40
    assert run.answer_text.endswith("A text.")


def test_a_model_that_fails_is_a_failed_model_call_and_the_error_goes_on():
    run = hear([failure()], kick_off)
    assert run.raised is not None
    assert {event.outcome for event in of(run, ModelEnded)} == {"failed"}


def test_two_runs_side_by_side_hear_each_their_own():
    assert_side_by_side(kick_off)
