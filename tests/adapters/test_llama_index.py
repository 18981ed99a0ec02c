"""What LlamaIndex's agents do is told to the run, by their spans or by their stream, and they do what they do without it."""

import asyncio
import contextlib

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent, ReActAgent
from llama_index.core.base.llms.types import ChatResponse, ThinkingBlock
from llama_index.core.llms.callbacks import llm_chat_callback
from llama_index.core.llms.mock import MockFunctionCallingLLM

import agentcell
from adapters.beside import watch_beside
from adapters.llama_index_agents import (
    WAYS,
    Streaming,
    agent_of,
    awaited,
    call,
    consumed,
    forecast,
    forecaster,
    of,
    results_in,
    rows,
    says,
    text_of,
    traffic,
    watched,
    weather,
)
from agentcell.adapters.llama_index_usage import usage_of
from agentcell.events import (
    AgentEnded,
    AgentStarted,
    ModelEnded,
    ModelStarted,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    Usage,
)

# Its own agents look at their own fields in a way that pydantic is about to drop.
pytestmark = pytest.mark.filterwarnings("ignore::pydantic.PydanticDeprecationWarning")


@pytest.mark.parametrize(("way", "auto"), WAYS)
def test_an_agent_is_told_once_whichever_way_it_is_heard(way, auto):
    run = watched(lambda: forecaster().run("hi"), way=way, auto=auto)
    assert sorted(rows(run)) == [("traffic", "failed", None), ("weather", "done", "7 degrees in Oslo")]
    assert {step.tool: step.arguments for step in run.steps if step.tool} == {"weather": {"city": "Oslo"}, "traffic": {}}
    assert [event.error for event in of(run, ToolEnded) if event.error] == ["no roads"]
    assert run.answer_text == "Oslo is mild."
    assert text_of(run) == "Looking.Oslo is mild."
    assert [step.content for step in run.steps if step.text == "Thinking"] == ["Let me see."]
    first, second = of(run, ModelEnded)
    assert (first.tool_calls, first.outcome, second.outcome) == (2, "done", "done")
    assert {event.model_call_id for event in of(run, ToolStarted)} == {first.model_call_id}
    assert len({event.model_call_id for event in of(run, ModelStarted)}) == 2
    assert run.usage_by_model == {"tiny": Usage(40, 10)}
    assert run.outcome == "answered"


@pytest.mark.parametrize(("way", "auto"), WAYS)
def test_what_a_model_says_comes_piece_by_piece_and_its_whole_message_adds_nothing(way, auto):
    run = watched(lambda: forecaster().run("hi"), way=way, auto=auto)
    assert [event.text for event in of(run, ThinkingDelta)] == ["Let me ", "see."]
    assert [event.text for event in of(run, TextDelta)] == ["Look", "ing.", "Oslo ", "is mild."]


class Whole(Streaming):
    """Gives its reasoning as a whole block, in the place of deltas, as Anthropic's does."""

    @llm_chat_callback()
    async def astream_chat(self, messages, **_):
        async def stream():
            for blocks, delta in ((["think"], ""), (["think", "Oslo "], "Oslo "), (["think", "Oslo is mild."], "is mild.")):
                given = [ThinkingBlock(content="Let me see.") if one == "think" else one for one in blocks]
                yield ChatResponse(message=says(*given), delta=delta)

        return stream()


def test_reasoning_that_comes_as_a_block_comes_before_the_words_behind_it():
    run = watched(lambda: FunctionAgent(tools=[], llm=Whole()).run("hi"))
    assert [event.text for event in of(run, ThinkingDelta, TextDelta)] == ["Let me see.", "Oslo ", "is mild."]


@pytest.mark.parametrize("auto", [True, False])
def test_a_model_that_does_not_stream_is_heard_when_it_has_answered(auto):
    def whole(messages, **_):
        return says(call("weather", "w", city="Oslo")) if results_in(messages) == 0 else says("Oslo is mild.")

    def agent():
        llm = MockFunctionCallingLLM(response_generator=whole)
        return FunctionAgent(tools=[weather], llm=llm, streaming=False).run("hi")

    run = watched(agent, way=consumed, auto=auto)
    assert rows(run) == [("weather", "done", "7 degrees in Oslo")]
    assert run.answer_text == text_of(run) == "Oslo is mild."
    assert len(of(run, ModelEnded)) == 2


@pytest.mark.filterwarnings("ignore:is_running called from within a step:DeprecationWarning")  # it calls that itself
@pytest.mark.parametrize("auto", [True, False])
def test_an_agent_that_writes_its_calls_in_words_is_heard_too(auto):
    def script(messages, **_):
        asks = not any((message.content or "").startswith("Observation") for message in messages)
        return [
            'Thought: I look.\nAction: weather\nAction Input: {"city": "Oslo"}' if asks else "Thought: I can answer.\nAnswer: Mild."
        ]

    run = watched(lambda: ReActAgent(tools=[weather], llm=Streaming(response_generator=script)).run("hi"), way=consumed, auto=auto)
    assert rows(run) == [("weather", "done", "7 degrees in Oslo")]
    assert len(of(run, ModelEnded)) == 2


def test_a_tool_that_is_not_async_is_heard_from_its_thread():
    def weather(city: str) -> str:
        """Tells the weather."""
        return f"7 degrees in {agentcell.current_run() is not None and city}"

    async def agent(run):
        with contextlib.nullcontext() if run else agentcell.watch(display=False):
            return str(await agent_of(forecast, weather, traffic).run("hi"))

    run = asyncio.run(watch_beside(agent))
    assert sorted(rows(run)) == [("traffic", "failed", None), ("weather", "done", "7 degrees in Oslo")]


@pytest.mark.parametrize(("way", "auto"), WAYS)
def test_a_model_that_fails_ends_its_call(way, auto):
    def breaks(messages, **_):
        raise RuntimeError("no model")

    run = watched(lambda: agent_of(breaks, weather).run("hi"), way=way, auto=auto)
    assert isinstance(run.raised, RuntimeError)
    assert [(event.outcome, event.error) for event in of(run, ModelEnded)] == [("failed", "no model")]
    assert run.outcome == "failed"


@pytest.mark.parametrize(("way", "auto"), WAYS)
def test_a_workflow_that_is_cancelled_ends_the_tool_that_hangs(way, auto):
    async def agent(run):
        began = asyncio.Event()

        async def traffic() -> str:
            """Hangs."""
            began.set()
            await asyncio.Event().wait()

        handler = agent_of(forecast, weather, traffic).run("hi")

        async def cancel():
            await began.wait()
            await handler.cancel_run()

        _, result = await asyncio.gather(cancel(), way(run, handler), return_exceptions=True)
        raise result

    run = asyncio.run(watch_beside(agent, auto=auto))
    assert type(run.raised).__name__ == "WorkflowCancelledByUser"
    assert [(name, state) for name, state, _ in sorted(rows(run))] == [("traffic", "cancelled"), ("weather", "done")]


@pytest.mark.parametrize("way", [awaited, consumed])
def test_a_task_that_is_cancelled_ends_the_agent_that_it_waits_for(way):
    async def agent(run):
        began = asyncio.Event()

        async def traffic() -> str:
            """Hangs."""
            began.set()
            await asyncio.Event().wait()

        task = asyncio.create_task(way(run, agent_of(forecast, weather, traffic).run("hi")))
        await began.wait()
        task.cancel()
        return await task

    run = asyncio.run(watch_beside(agent))
    assert isinstance(run.raised, asyncio.CancelledError)
    assert [(name, state) for name, state, _ in sorted(rows(run))] == [("traffic", "cancelled"), ("weather", "done")]
    assert run.outcome == "cancelled"


def handing(messages, **_):
    return [call("handoff", "h", to_agent="second", reason="knows more")] if results_in(messages) == 0 else ["Mild."]


@pytest.mark.parametrize(("way", "auto"), WAYS)
def test_an_agent_that_was_handed_the_conversation_stands_under_the_first_and_answers(way, auto):
    def two():
        first = agent_of(handing, name="first", description="First", can_handoff_to=["second"])
        second = agent_of(handing, name="second", description="Second")
        return AgentWorkflow(agents=[first, second], root_agent="first").run("hi")

    run = watched(two, way=way, auto=auto)
    assert [event.name for event in of(run, AgentStarted)] == ["second"]
    assert run.answer_text == "Mild."
    assert all(step.state == "done" for step in run.steps)


def test_an_agent_in_the_tool_of_another_stands_under_its_call():
    def asking(messages, **_):
        return [call("expert", "x"), call("expert", "y")] if results_in(messages) == 0 else ["As they say."]

    async def expert() -> str:
        """Asks another agent."""
        return str(await forecaster().run("hi"))

    run = watched(lambda: agent_of(asking, expert).run("hi"))
    inner = of(run, AgentStarted)
    assert {event.parent_id for event in inner} == {"x", "y"}
    assert [event.outcome for event in of(run, AgentEnded)] == ["done", "done"]
    for agent in inner:
        assert {event.name for event in of(run, ToolStarted) if event.agent_id == agent.agent_id} == {"weather", "traffic"}
    assert run.answer_text == "As they say."


def test_two_runs_side_by_side_hear_each_its_own():
    async def one(name):
        with agentcell.watch(name, display=False) as run:
            await forecaster().run("hi")
        return run

    async def both():
        return await asyncio.gather(one("a"), one("b"))

    for run in asyncio.run(both()):
        assert sorted(rows(run)) == [("traffic", "failed", None), ("weather", "done", "7 degrees in Oslo")]
        assert run.answer_text == "Oslo is mild."


def test_two_agents_at_once_in_one_block_are_kept_apart():
    async def agent(run):
        both = asyncio.Barrier(2)

        async def traffic() -> str:
            """Waits for the other agent's, which is called under the same id."""
            async with both:
                raise ValueError("no roads")

        bot = agent_of(forecast, weather, traffic)
        return [str(one) for one in await asyncio.gather(bot.run("hi"), bot.run("hi"))]

    run = asyncio.run(watch_beside(agent))
    assert sorted(rows(run)) == [("traffic", "failed", None)] * 2 + [("weather", "done", "7 degrees in Oslo")] * 2
    assert [event.outcome for event in of(run, ModelEnded)] == ["done"] * 4


def test_two_calls_in_a_row_in_one_block_are_told_both():
    async def agent(run):
        return [str(await forecaster().run("hi")), str(await forecaster().run("hi"))]

    run = asyncio.run(watch_beside(agent))
    assert run.answer_text == "Oslo is mild.\n\nOslo is mild."
    assert len(rows(run)) == 4


@pytest.mark.parametrize(
    ("raw", "usage"),
    [
        ({"usage": {"prompt_tokens": 20, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 4}}}, Usage(20, 5, 4)),
        ({"usage": {"input_tokens": 20, "output_tokens": 5, "cache_read_input_tokens": 4}}, Usage(24, 5, 4)),
        ({"usage": {"input_tokens": 20, "output_tokens": 5, "input_tokens_details": {"cached_tokens": 4}}}, Usage(20, 5, 4)),
        (
            {"usage_metadata": {"prompt_token_count": 20, "candidates_token_count": 3, "thoughts_token_count": 2}},
            Usage(20, 5, 0, 0, 2),
        ),
        ({"usage": None}, None),
        (None, None),
    ],
)
def test_tokens_are_read_in_the_shape_of_each_provider(raw, usage):
    assert usage_of(raw) == usage
