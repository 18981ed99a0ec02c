"""What LlamaIndex's agents do is told to the run, by their spans or by their stream, and they do what they do without it."""

import asyncio

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, TextBlock, ThinkingBlock, ToolCallBlock
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.workflow import Context, Event, HumanResponseEvent, InputRequiredEvent, StartEvent, StopEvent, Workflow, step

import agentcell
from adapters.beside import watch_beside
from agentcell.adapters.llama_index_usage import usage_of
from agentcell.events import (
    AgentStarted,
    ModelEnded,
    ModelStarted,
    PauseRequested,
    PauseResumed,
    TextDelta,
    ToolEnded,
    ToolStarted,
    Usage,
)

# Its own agents look at their own fields in a way that pydantic is about to drop.
pytestmark = pytest.mark.filterwarnings("ignore::pydantic.PydanticDeprecationWarning")


def of(run, *kinds):
    return [event for event in run.events if isinstance(event, kinds)]


def rows(run):
    return [(step.tool, step.state, step.result) for step in run.steps if step.tool]


def text_of(run):
    return "".join(event.text for event in of(run, TextDelta))


def results_in(messages):
    return sum(message.role == "tool" for message in messages)


def call(name, call_id, **arguments):
    return ToolCallBlock(tool_call_id=call_id, tool_name=name, tool_kwargs=arguments)


def says(*blocks):
    return ChatMessage(role="assistant", blocks=list(blocks))


def forecast(messages, **_):
    if results_in(messages) % 2 == 0:
        looking = [ThinkingBlock(content="Let me see."), TextBlock(text="Looking.")]
        return says(*looking, call("weather", "w", city="Oslo"), call("traffic", "t"))
    return says(TextBlock(text="Oslo is mild."))


def forecast_after_both(messages, **_):
    return forecast(messages) if results_in(messages) == 0 else says(TextBlock(text="Oslo is mild."))


async def weather(city: str) -> str:
    """Tells the weather."""
    return f"7 degrees in {city}"


async def traffic() -> str:
    """Tells of jams."""
    raise ValueError("no roads")


def agent_of(script, *tools, **options):
    return FunctionAgent(tools=list(tools), llm=MockFunctionCallingLLM(response_generator=script), name="forecaster", **options)


def forecaster():
    return agent_of(forecast_after_both, weather, traffic)


async def awaited(run, handler):
    return str(await handler)


async def consumed(run, handler):
    return str(await (handler if run is None else run.consume(handler)))


async def streamed(run, handler):
    async for _ in handler.stream_events() if run is None else run.stream(handler):
        pass
    return str(await handler)


async def streamed_by_events(run, handler):
    events = handler.stream_events()
    async for _ in events if run is None else run.stream(events):
        pass
    return str(await handler)


WAYS = [
    (way, auto) for way in (awaited, consumed, streamed, streamed_by_events) for auto in (True, False) if auto or way is not awaited
]


def watched(make, *, way=awaited, auto=True):
    return asyncio.run(watch_beside(lambda run: way(run, make()), auto=auto))


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
    assert run.outcome == "answered"


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

        handler = agent_of(forecast_after_both, weather, traffic).run("hi")

        async def cancel():
            await began.wait()
            await handler.cancel_run()

        _, result = await asyncio.gather(cancel(), way(run, handler), return_exceptions=True)
        raise result

    run = asyncio.run(watch_beside(agent, auto=auto))
    assert type(run.raised).__name__ == "WorkflowCancelledByUser"
    assert [(name, state) for name, state, _ in sorted(rows(run))] == [("traffic", "cancelled"), ("weather", "done")]


async def delete(ctx: Context, path: str) -> str:
    """Deletes, if it may."""
    asked = InputRequiredEvent(prefix="Delete it?")
    answer = await ctx.wait_for_event(HumanResponseEvent, waiter_id="delete", waiter_event=asked)
    return f"{path}: {answer.response}"


def deleting(messages, **_):
    return says(call("delete", "d", path="a.txt")) if results_in(messages) == 0 else says(TextBlock(text="Done."))


@pytest.mark.parametrize(("way", "auto"), [(way, auto) for way, auto in WAYS if way in (streamed, streamed_by_events)])
def test_a_tool_that_asks_the_person_is_a_pause_and_goes_on_as_the_same_call(way, auto):
    seen = []

    async def agent(run):
        handler = agent_of(deleting, delete).run("hi")
        async for event in handler.stream_events() if run is None else run.stream(handler):
            if isinstance(event, InputRequiredEvent):
                if run is not None:
                    seen.append((rows(run), [pause.question for pause in of(run, PauseRequested)], len(of(run, PauseResumed))))
                handler.ctx.send_event(HumanResponseEvent(response="yes"))
        return str(await handler)

    run = asyncio.run(watch_beside(agent, auto=auto))
    assert seen == [([("delete", "running", None)], ["Delete it?"], 0)]
    assert rows(run) == [("delete", "done", "a.txt: yes")]
    assert (len(of(run, PauseRequested)), len(of(run, PauseResumed))) == (1, 1)
    assert run.answer_text == "Done."
    assert all(step.state == "done" for step in run.steps)


def three(messages, **_):
    return says(TextBlock(text="Three."))


def handing(messages, **_):
    handoff = call("handoff", "h", to_agent="second", reason="knows more")
    return says(handoff) if results_in(messages) == 0 else says(TextBlock(text="Mild."))


@pytest.mark.parametrize(("way", "auto"), WAYS)
def test_an_agent_that_was_handed_the_conversation_stands_under_the_first_and_answers(way, auto):
    def two():
        first = FunctionAgent(
            name="first",
            description="First",
            tools=[],
            llm=MockFunctionCallingLLM(response_generator=handing),
            can_handoff_to=["second"],
        )
        second = FunctionAgent(
            name="second", description="Second", tools=[], llm=MockFunctionCallingLLM(response_generator=handing)
        )
        return AgentWorkflow(agents=[first, second], root_agent="first").run("hi")

    run = watched(two, way=way, auto=auto)
    assert [event.name for event in of(run, AgentStarted)] == ["second"]
    assert run.answer_text == "Mild."
    assert all(step.state == "done" for step in run.steps)


def test_an_agent_in_the_tool_of_another_stands_under_its_call():
    def asking(messages, **_):
        return says(call("expert", "x"), call("expert", "y")) if results_in(messages) == 0 else says(TextBlock(text="As they say."))

    async def expert() -> str:
        """Asks another agent."""
        return str(await forecaster().run("hi"))

    run = watched(lambda: agent_of(asking, expert).run("hi"))
    inner = of(run, AgentStarted)
    assert {event.parent_id for event in inner} == {"x", "y"}
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


def test_two_calls_in_a_row_in_one_block_are_told_both():
    async def agent(run):
        return [str(await forecaster().run("hi")), str(await forecaster().run("hi"))]

    run = asyncio.run(watch_beside(agent))
    assert run.answer_text == "Oslo is mild.\n\nOslo is mild."
    assert len(rows(run)) == 4


class Found(Event):
    count: int


class Search(Workflow):
    @step
    async def search(self, ctx: Context, event: StartEvent) -> StopEvent:
        ctx.write_event_to_stream(Found(count=3))
        answer = await MockFunctionCallingLLM(response_generator=three).achat([])
        return StopEvent(result=answer.message.content)


@pytest.mark.parametrize("way", [awaited, consumed])
def test_a_workflow_of_the_users_own_is_heard_with_the_models_that_it_asks(way):
    run = watched(lambda: Search().run(), way=way)
    assert run.answer_text == "Three."
    assert [event.outcome for event in of(run, ModelEnded)] == ["done"]


def test_a_workflows_own_events_pass_quietly_where_only_its_stream_is_heard():
    run = watched(lambda: Search().run(), way=consumed, auto=False)
    assert run.unknown_events == {}


def test_a_model_that_is_asked_outside_of_all_workflows_is_heard():
    async def agent(run):
        return (await MockFunctionCallingLLM(response_generator=three).achat([])).message.content

    run = asyncio.run(watch_beside(agent))
    assert run.answer_text == "Three."
    assert len(of(run, ModelEnded)) == 1


def test_behind_the_block_no_handler_is_left():
    dispatcher = get_dispatcher()
    before = list(dispatcher.span_handlers), list(dispatcher.event_handlers)
    with agentcell.watch(display=False):
        assert len(dispatcher.span_handlers) == len(before[0]) + 1
    assert (dispatcher.span_handlers, dispatcher.event_handlers) == before
    with agentcell.watch(display=False, auto=False):
        assert (dispatcher.span_handlers, dispatcher.event_handlers) == before


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
