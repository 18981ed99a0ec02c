"""agno, heard by the spans that OpenInference's instrumentation makes of it. Needs `agno`: it runs in an environment of its own."""

from __future__ import annotations

import pytest

pytest.importorskip("agno", reason="agno is not installed here: `make test-frameworks` makes an environment for it")

from agno.agent import Agent
from agno.models.openai import OpenAIChat
from agno.team import Team
from openinference.instrumentation.agno import AgnoInstrumentor

from agentcell.events import AgentStarted, ModelEnded
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

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::pydantic.PydanticDeprecatedSince20")


@pytest.fixture(scope="module", autouse=True)
def instrumented():
    provider()
    AgnoInstrumentor().instrument()
    yield
    AgnoInstrumentor().uninstrument()


def weather(city: str) -> str:
    """The weather of a city."""
    return f"7 degrees in {city}"


def boom() -> str:
    """Fails."""
    raise ValueError("no roads")


def make(url, **options):
    model = OpenAIChat(id="gpt-5-mini", base_url=url, api_key="none", retries=0)
    return Agent(name="main", model=model, tools=[weather, boom], telemetry=False, **options)


async def run_async(url):
    return (await make(url).arun("hi")).content


async def run_sync(url):
    return make(url).run("hi").content


@pytest.mark.parametrize("agent", [run_async, run_sync])
def test_two_model_calls_and_two_tools_of_which_one_raises(agent):
    run = hear(TWO_TOOLS, agent)
    assert_two_tools(run, reasoning=0)  # OpenInference does not tell them of agno
    assert {step.tool: (step.arguments, step.result) for step in run.steps if step.tool == "weather"} == {
        "weather": ({"city": "Oslo"}, "7 degrees in Oslo")
    }


def test_a_member_of_a_team_stands_under_the_team():
    async def agent(url):
        model = OpenAIChat(id="gpt-5-mini", base_url=url, api_key="none", retries=0)
        team = Team(name="team", model=model, members=[make(url, id="expert")], telemetry=False)
        return (await team.arun("hi")).content

    asked = ("delegate_task_to_member", "c1", {"member_id": "expert", "task": "Oslo?"})
    run = hear([chat(None, asked), chat("Mild, says the expert."), chat("It is mild.")], agent)
    assert [event.name for event in of(run, AgentStarted)] == ["main"]
    assert run.answer_text == "It is mild."
    assert run.usage.input_tokens == 60


def test_a_model_that_fails_is_a_failed_model_call():
    async def agent(url):
        return type(await make(url).arun("hi")).__name__

    run = hear([failure()], agent)
    assert [event.outcome for event in of(run, ModelEnded)] == ["failed"]
    assert rows(run) == [("Model call failed", "failed")]
    assert "the model is down" in run.steps[0].detail


def test_two_runs_side_by_side_hear_each_their_own():
    assert_side_by_side(run_async)
