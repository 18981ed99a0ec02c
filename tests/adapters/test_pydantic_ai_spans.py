"""pydantic-ai's own spans: enough to follow it where its adapter does not listen, and nothing beside that where it does."""

from __future__ import annotations

import asyncio
import contextlib

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from pydantic_ai import Agent, ModelRetry
from pydantic_ai.capabilities import Instrumentation
from pydantic_ai.messages import ModelResponse, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.instrumented import InstrumentationSettings

import agentcell
from adapters.beside import watch_beside


@pytest.fixture
def provider(monkeypatch):
    provider = TracerProvider()
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    yield provider
    provider.shutdown()


def script(*replies):
    left = list(replies)
    return FunctionModel(lambda _messages, _info: ModelResponse(parts=left.pop(0)))


def team(provider, *, last=None):
    spans = [Instrumentation(settings=InstrumentationSettings(tracer_provider=provider))]
    expert = Agent(script([TextPart("7 degrees")]), name="expert", capabilities=spans)
    asked = [ThinkingPart("Two calls."), ToolCallPart("weather", {"city": "Oslo"}, "c1"), ToolCallPart("boom", {}, "c2")]
    agent = Agent(script(asked, last or [TextPart("It is mild.")]), name="main", capabilities=spans)

    @agent.tool_plain
    async def weather(city: str) -> str:
        return (await expert.run(city)).output

    @agent.tool_plain
    def boom() -> str:
        raise ModelRetry("no such city")

    return agent


def rows(run):
    return sorted((step.kind, step.tool or step.text, step.state) for step in run.steps if step.kind != "thinking")


TOLD = [("agent", "expert", "done"), ("tool", "boom", "failed"), ("tool", "weather", "done")]


@pytest.mark.parametrize("auto", [True, False], ids=["beside its adapter", "alone"])
def test_a_team_is_told_once(provider, auto):
    async def scenario(run):
        if run is not None:
            provider.add_span_processor(run.opentelemetry())
        return (await team(provider).run("Weather?")).output

    run = asyncio.run(watch_beside(scenario, auto=auto))
    assert rows(run) == TOLD
    assert run.answer_text == "It is mild."
    assert len(run.catch_up().calls.models) == 3
    [expert] = [step for step in run.steps if step.kind == "agent"]
    assert expert.parent is None or run.steps[expert.parent].tool == "weather"
    assert any(step.content == "Two calls." for step in run.steps)


def test_a_run_that_was_asked_to_stop_ends_before_the_next_model_call(provider):
    async def work(run):
        spans = Instrumentation(settings=InstrumentationSettings(tracer_provider=provider))
        agent = Agent(script([ToolCallPart("stop_here", {}, "c1")], [TextPart("never")]), capabilities=[spans])

        @agent.tool_plain
        async def stop_here() -> str:
            run.stop()
            return "stopped"

        with run:
            provider.add_span_processor(run.opentelemetry())
            await agent.run("hi")

    run = agentcell.watch(display=False, auto=False)
    with contextlib.suppress(agentcell.RunStopped):
        asyncio.run(work(run))
    assert run.outcome == "cancelled"
    assert rows(run) == [("tool", "stop_here", "done")]
    assert run.answer_text == ""
