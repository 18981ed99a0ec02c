"""AutoGen AgentChat, heard by its own spans and those of the OpenAI client. It runs in an environment of its own.

Its agents and tools make spans by themselves; its model calls do not, and come from OpenInference's instrumentation of the client.
"""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip(
    "autogen_agentchat", reason="autogen-agentchat is not installed here: `make test-frameworks` makes an environment for it"
)

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.conditions import MaxMessageTermination
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_ext.models.openai import OpenAIChatCompletionClient
from openinference.instrumentation.openai import OpenAIInstrumentor

from adapters.beside import watch_beside
from agentcell.events import ModelEnded
from agentcell.testing import ReplayServer
from frameworks.instrumented import (
    TWO_TOOLS,
    assert_side_by_side,
    assert_two_tools,
    chat,
    failure,
    hear,
    of,
    provider,
    rows,
)

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")

ABILITIES = {"vision": False, "function_calling": True, "json_output": False, "family": "unknown", "structured_output": False}


@pytest.fixture(scope="module", autouse=True)
def instrumented():
    provider()
    OpenAIInstrumentor().instrument()
    yield
    OpenAIInstrumentor().uninstrument()


async def weather(city: str) -> str:
    """The weather of a city."""
    return f"7 degrees in {city}"


async def boom() -> str:
    """Fails."""
    raise ValueError("no roads")


def client(url):
    return OpenAIChatCompletionClient(model="gpt-5-mini", base_url=url, api_key="none", max_retries=0, model_info=ABILITIES)


async def agent(url):
    model = client(url)
    try:
        made = AssistantAgent("main", model, tools=[weather, boom], reflect_on_tool_use=True)
        return (await made.run(task="hi")).messages[-1].content
    finally:
        await model.close()


def test_two_model_calls_and_two_tools_of_which_one_raises():
    assert_two_tools(hear(TWO_TOOLS, agent))


def test_the_agents_of_a_team_answer_one_after_the_other():
    async def team(url):
        model = client(url)
        try:
            members = [AssistantAgent(name, model) for name in ("planner", "writer")]
            chatting = RoundRobinGroupChat(members, termination_condition=MaxMessageTermination(3))
            return [message.content for message in (await chatting.run(task="hi")).messages]
        finally:
            await model.close()

    run = hear([chat("A plan."), chat("A text.")], team)
    assert len(of(run, ModelEnded)) == 2
    assert run.usage.input_tokens == 40
    assert run.outcome == "answered"


def test_a_model_that_fails_is_a_failed_model_call_and_the_error_goes_on():
    run = hear([failure()], agent)
    assert type(run.raised).__name__ == "BadRequestError"
    assert [event.outcome for event in of(run, ModelEnded)] == ["failed"]


def test_cancelling_the_task_ends_what_was_open_as_cancelled():
    async def scenario(_run):
        started = asyncio.Event()

        async def hang() -> str:
            """Hangs."""
            started.set()
            await asyncio.Event().wait()

        with ReplayServer({"exchanges": [chat(None, ("hang", "c1", {}))]}) as server:
            model = client(server.url)
            task = asyncio.create_task(AssistantAgent("main", model, tools=[hang]).run(task="hi"))
            await started.wait()
            task.cancel()
            await asyncio.wait([task])
            await model.close()
            return task.cancelled()

    run = asyncio.run(watch_beside(scenario))
    assert rows(run) == [("hang", "cancelled")]


def test_two_runs_side_by_side_hear_each_their_own():
    assert_side_by_side(agent)
