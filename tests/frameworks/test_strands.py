"""strands-agents, heard by the spans that it makes by itself. Needs `strands-agents`: it runs in an environment of its own."""

from __future__ import annotations

import asyncio
import json

import pytest

pytest.importorskip("strands", reason="strands-agents is not installed here: `make test-frameworks` makes an environment for it")

from strands import Agent, tool
from strands.models import Model

import agentcell
from adapters.beside import watch_beside
from agentcell.events import AgentStarted, ModelEnded, ModelStarted, Usage
from frameworks.instrumented import of, provider, rows

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture(scope="module", autouse=True)
def spans():
    provider()


class Scripted(Model):
    """Says one answer after the other: texts, and (name, id, arguments) of tools; an exception is raised."""

    def __init__(self, *script):
        self.script = list(script)

    def update_config(self, **_options):
        pass

    def get_config(self):
        return {"model_id": "scripted"}

    async def structured_output(self, *_args, **_options):
        yield {}

    async def stream(self, messages, tool_specs=None, system_prompt=None, **_options):
        answer = self.script.pop(0)
        if isinstance(answer, Exception):
            raise answer
        yield {"messageStart": {"role": "assistant"}}
        for block in answer:
            told = {} if isinstance(block, str) else {"toolUse": {"name": block[0], "toolUseId": block[1]}}
            yield {"contentBlockStart": {"start": told}}
            delta = {"text": block} if isinstance(block, str) else {"toolUse": {"input": json.dumps(block[2])}}
            yield {"contentBlockDelta": {"delta": delta}}
            yield {"contentBlockStop": {}}
        asks = any(not isinstance(block, str) for block in answer)
        yield {"messageStop": {"stopReason": "tool_use" if asks else "end_turn"}}
        yield {"metadata": {"usage": {"inputTokens": 20, "outputTokens": 5, "totalTokens": 25}, "metrics": {"latencyMs": 1}}}


@tool
def weather(city: str) -> str:
    """The weather of a city."""
    return f"7 degrees in {city}"


@tool
def boom() -> str:
    """Fails."""
    raise ValueError("no roads")


def make(*script, name="main", tools=(weather, boom)):
    return Agent(model=Scripted(*script), tools=list(tools), callback_handler=None, name=name)


async def call(agent, way):
    return str(agent("hi") if way == "sync" else await agent.invoke_async("hi")).strip()


def hear(make_agent, way="async"):
    return asyncio.run(watch_beside(lambda _run: call(make_agent(), way)))


@pytest.mark.parametrize("way", ["sync", "async"])
def test_two_model_calls_and_two_tools_of_which_one_raises(way):
    calls = [("weather", "c1", {"city": "Oslo"}), ("boom", "c2", {})]
    run = hear(lambda: make(["Let me look.", *calls], ["It is mild."]), way)
    assert rows(run)[0] == ("Let me look.", "done")
    assert sorted(rows(run)[1:]) == [("boom", "failed"), ("weather", "done")]
    assert {step.tool: step.arguments for step in run.steps if step.tool} == {"weather": {"city": "Oslo"}, "boom": {}}
    assert "no roads" in next(step.detail for step in run.steps if step.tool == "boom")
    assert (run.answer_text.strip(), run.outcome, run.usage) == ("It is mild.", "answered", Usage(40, 10))
    assert len({event.model_call_id for event in of(run, ModelStarted)}) == len(of(run, ModelEnded)) == 2


def test_an_agent_inside_a_tool_stands_under_its_call():
    def team():
        expert = make([("weather", "c1", {"city": "Oslo"})], ["Mild, says the expert."], name="expert")

        @tool
        async def ask_expert(question: str) -> str:
            """Asks the expert."""
            return str(await expert.invoke_async(question))

        return make([("ask_expert", "c2", {"question": "Oslo?"})], ["It is mild."], tools=[ask_expert])

    run = hear(team)
    asked, expert, inner = run.steps
    assert [(step.tool or step.text, step.parent) for step in run.steps] == [
        ("ask_expert", None),
        ("expert", asked.id),
        ("weather", expert.id),
    ]
    assert inner.state == "done"
    assert [event.name for event in of(run, AgentStarted)] == ["expert"]
    assert run.answer_text.strip() == "It is mild."
    assert run.usage == Usage(80, 20)


def test_a_model_that_fails_is_a_failed_model_call_and_the_error_goes_on():
    run = hear(lambda: make(RuntimeError("the model is down")))
    assert isinstance(run.raised, RuntimeError)
    assert [event.outcome for event in of(run, ModelEnded)] == ["failed"]
    assert run.outcome == "failed"


def test_cancelling_ends_what_was_open_as_cancelled():
    async def scenario(_run):
        started = asyncio.Event()

        @tool
        async def hang() -> str:
            """Hangs."""
            started.set()
            await asyncio.Event().wait()

        task = asyncio.create_task(make([("hang", "c1", {})], tools=[hang]).invoke_async("hi"))
        await started.wait()
        task.cancel()
        await asyncio.wait([task])
        return task.cancelled()

    run = asyncio.run(watch_beside(scenario))
    assert rows(run) == [("hang", "cancelled")]


def test_two_runs_side_by_side_hear_each_their_own():
    async def watched(words):
        with agentcell.watch(display=False) as run:
            await make([words]).invoke_async("hi")
        return run

    async def both():
        return await asyncio.gather(watched("One."), watched("Two."))

    before = provider()._active_span_processor._span_processors
    assert [run.answer_text.strip() for run in asyncio.run(both())] == ["One.", "Two."]
    assert provider()._active_span_processor._span_processors == before
