"""Workflows of LlamaIndex that are no agents, pauses in both, and Stop: what they do is told to the run, and they do what they do."""

import asyncio
import contextlib

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.llms.mock import MockFunctionCallingLLM, MockLLM
from llama_index.core.workflow import (
    Context,
    Event,
    HumanResponseEvent,
    InputRequiredEvent,
    JsonPickleSerializer,
    StartEvent,
    StopEvent,
    Workflow,
    step,
)

import agentcell
from adapters.beside import watch_beside
from adapters.llama_index_agents import (
    WAYS,
    agent_of,
    awaited,
    call,
    consumed,
    forecast,
    of,
    results_in,
    rows,
    says,
    streamed,
    watched,
    weather,
)
from agentcell.adapters.llama_index_spans import EARS
from agentcell.events import ModelEnded, PauseRequested, PauseResumed, ToolEnded

# Its own agents look at their own fields in a way that pydantic is about to drop.
pytestmark = pytest.mark.filterwarnings("ignore::pydantic.PydanticDeprecationWarning")


def pauses(run):
    return [event.question for event in of(run, PauseRequested)], len(of(run, PauseResumed))


# The person


async def delete(ctx: Context, path: str) -> str:
    """Deletes, if it may."""
    asked = InputRequiredEvent(prefix=f"Delete {path}?")
    answer = await ctx.wait_for_event(HumanResponseEvent, waiter_id=path, waiter_event=asked, requirements={"path": path})
    return f"{path}: {answer.response}"


def deleting(messages, **_):
    return [call("delete", "d", path="a.txt")] if results_in(messages) == 0 else ["Done."]


async def answering(run, handler, seen, **fields):
    """Reads the stream of a workflow, and answers what it asks."""
    async for event in handler.stream_events() if run is None else run.stream(handler):
        if isinstance(event, InputRequiredEvent):
            if run is not None:
                seen.append((rows(run), *pauses(run)))
            handler.ctx.send_event(HumanResponseEvent(response="yes", **fields))
    return str(await handler)


@pytest.mark.parametrize("auto", [True, False])
def test_a_tool_that_asks_the_person_is_a_pause_and_goes_on_as_the_same_call(auto):
    seen = []
    run = asyncio.run(watch_beside(lambda run: answering(run, agent_of(deleting, delete).run("hi"), seen, path="a.txt"), auto=auto))
    assert seen == [([("delete", "running", None)], ["Delete a.txt?"], 0)]
    assert rows(run) == [("delete", "done", "a.txt: yes")]
    assert pauses(run) == (["Delete a.txt?"], 1)
    assert run.answer_text == "Done."
    assert all(step.state == "done" for step in run.steps)


@pytest.mark.parametrize("auto", [True, False])
def test_of_two_tools_at_once_the_one_that_asks_waits(auto):
    def script(messages, **_):
        return [call("delete", "d", path="a.txt"), call("slow", "s")] if results_in(messages) == 0 else ["Done."]

    async def agent(run):
        answered = asyncio.Event()

        async def slow() -> str:
            """Takes its time."""
            await answered.wait()
            return "there"

        handler = agent_of(script, delete, slow).run("hi")
        async for event in handler.stream_events() if run is None else run.stream(handler):
            if isinstance(event, InputRequiredEvent):
                handler.ctx.send_event(HumanResponseEvent(response="yes", path="a.txt"))
                answered.set()
        return str(await handler)

    run = asyncio.run(watch_beside(agent, auto=auto))
    assert sorted(rows(run)) == [("delete", "done", "a.txt: yes"), ("slow", "done", "there")]
    assert pauses(run) == (["Delete a.txt?"], 1)


def test_a_run_that_is_saved_while_it_waits_goes_on_as_the_same_call():
    async def agent(run):
        bot = agent_of(deleting, delete)
        handler = bot.run("hi")
        async for event in handler.stream_events():
            if isinstance(event, InputRequiredEvent):
                break
        saved = handler.ctx.to_dict(JsonPickleSerializer())
        await handler.cancel_run()
        with contextlib.suppress(Exception):
            await handler
        if run is not None:
            assert rows(run) == [("delete", "running", None)]
        later = bot.run(ctx=Context.from_dict(bot, saved, JsonPickleSerializer()))
        later.ctx.send_event(HumanResponseEvent(response="yes", path="a.txt"))
        return str(await later)

    run = asyncio.run(watch_beside(agent))
    assert rows(run) == [("delete", "done", "a.txt: yes")]
    questions, resumed = pauses(run)
    assert resumed == len(questions) >= 1
    assert run.answer_text == "Done."


class Asking(Workflow):
    """Its step returns the question, and another takes the answer."""

    @step
    async def ask(self, event: StartEvent) -> InputRequiredEvent:
        return InputRequiredEvent(prefix="Which city?")

    @step
    async def take(self, event: HumanResponseEvent) -> StopEvent:
        return StopEvent(result=f"{event.response} is mild.")


class Waiting(Workflow):
    """Its step asks and waits by itself."""

    @step
    async def ask(self, ctx: Context, event: StartEvent) -> StopEvent:
        answer = await ctx.wait_for_event(HumanResponseEvent, waiter_event=InputRequiredEvent(prefix="Which city?"))
        return StopEvent(result=f"{answer.response} is mild.")


@pytest.mark.parametrize("auto", [True, False])
@pytest.mark.parametrize("kind", [Asking, Waiting])
def test_a_workflow_that_asks_the_person_is_a_pause(kind, auto):
    seen = []
    run = asyncio.run(watch_beside(lambda run: answering(run, kind().run(), seen), auto=auto))
    assert seen == [([], ["Which city?"], 0)]
    assert pauses(run) == (["Which city?"], 1)
    assert run.result == "yes is mild."
    if auto:
        assert [event.answer for event in of(run, PauseResumed)] == ["yes"]


class Ready(Event):
    pass


class Impatient(Workflow):
    """Waits for what is not the person's, and then for the person, who does not come."""

    @step
    async def wait(self, ctx: Context, event: StartEvent) -> StopEvent:
        await ctx.wait_for_event(Ready)
        try:
            await ctx.wait_for_event(HumanResponseEvent, timeout=0)
        except TimeoutError:
            return StopEvent(result="Nobody.")


def test_what_is_waited_for_without_the_person_is_no_pause_and_one_that_waited_too_long_is_over():
    async def agent(run):
        handler = Impatient().run()
        handler.ctx.send_event(Ready())
        return await handler

    run = asyncio.run(watch_beside(agent))
    assert run.result == "Nobody."
    assert pauses(run) == (["The agent waits for an answer."], 1)


# Workflows of the user's own


class Found(Event):
    msg: str


class Token(Event):
    delta: str


class Search(Workflow):
    @step
    async def search(self, ctx: Context, event: StartEvent) -> StopEvent:
        ctx.write_event_to_stream(Found(msg="Three papers"))
        ctx.write_event_to_stream(Token(delta="x"))
        answer = await MockFunctionCallingLLM(response_generator=three).achat([])
        return StopEvent(result=answer.message.content)


def three(messages, **_):
    return says("Three.")


@pytest.mark.parametrize("way", [awaited, consumed])
def test_a_workflow_of_the_users_own_is_heard_with_the_models_that_it_asks_and_what_it_says(way):
    run = watched(lambda: Search().run(), way=way)
    assert run.answer_text == "Three."
    assert [event.outcome for event in of(run, ModelEnded)] == ["done"]
    assert [step.text for step in run.steps] == ["Three papers"]


def test_where_only_its_stream_is_heard_it_is_what_it_says():
    run = watched(lambda: Search().run(), way=consumed, auto=False)
    assert [step.text for step in run.steps] == ["Three papers"]


class Wide(Workflow):
    """Asks three models at once, the last of which answers first."""

    @step
    async def ask(self, event: StartEvent) -> StopEvent:
        turns = [asyncio.Event() for _ in range(4)]
        turns[3].set()

        async def one(number):
            async def script(messages):
                yield says(f"{number} ")
                await turns[number + 1].wait()
                yield says(f"{number}.")
                turns[number].set()

            llm = MockFunctionCallingLLM(response_generator=lambda messages, **_: script(messages))
            return [piece.delta async for piece in await llm.astream_chat([])]

        return StopEvent(result=str(await asyncio.gather(*map(one, range(3)))))


def test_models_that_are_asked_at_once_are_kept_apart():
    run = watched(lambda: Wide().run())
    said = {}
    for event in run.events:
        if type(event).__name__ == "TextDelta":
            said[event.model_call_id] = said.get(event.model_call_id, "") + event.text
    assert sorted(said.values()) == ["0 0.", "1 1.", "2 2."]
    assert [event.outcome for event in of(run, ModelEnded)] == ["done"] * 3


class Late(Workflow):
    @step
    async def wait(self, event: StartEvent) -> StopEvent:
        await asyncio.Event().wait()


@pytest.mark.parametrize("auto", [True, False])
def test_a_workflow_that_takes_too_long_fails(auto):
    run = watched(lambda: Late(timeout=0.01).run(), way=consumed, auto=auto)
    assert type(run.raised).__name__ == "WorkflowTimeoutError"
    assert run.outcome == "failed"


# Models outside of all workflows


async def whole(llm):
    return (await llm.achat([])).message.content


async def in_a_thread(llm):
    return await asyncio.to_thread(lambda: llm.chat([]).message.content)


async def in_pieces(llm):
    return "".join([piece.delta async for piece in await llm.astream_chat([])])


@pytest.mark.parametrize("ask", [whole, in_a_thread, in_pieces])
def test_a_model_that_is_asked_outside_of_all_workflows_is_heard(ask):
    run = asyncio.run(watch_beside(lambda run: ask(MockFunctionCallingLLM(response_generator=three))))
    assert run.answer_text == "Three."
    assert [event.outcome for event in of(run, ModelEnded)] == ["done"]


@pytest.mark.parametrize("ask", [whole, in_a_thread, in_pieces])
def test_one_that_fails_there_ends_its_call(ask):
    async def pieces():
        raise RuntimeError("no model")
        yield

    def breaks(messages, **_):
        if ask is in_pieces:
            return pieces()
        raise RuntimeError("no model")

    run = asyncio.run(watch_beside(lambda run: ask(MockFunctionCallingLLM(response_generator=breaks))))
    assert [(event.outcome, event.error) for event in of(run, ModelEnded)] == [("failed", "no model")]


def test_a_model_that_completes_text_is_heard_as_one_call():
    async def agent(run):
        llm = MockLLM(max_tokens=2)
        return llm.complete("hi").text, [piece.delta for piece in llm.stream_complete("hi")], llm.chat([says("hi")]).message.content

    run = asyncio.run(watch_beside(agent))
    assert run.answer_text.split("\n\n") == ["text text"] * 3
    assert [event.outcome for event in of(run, ModelEnded)] == ["done"] * 3


# Stop


def stopped(agent, way, *, auto=True):
    """Runs an agent in a block of its own, which somebody stops meanwhile."""
    run = agentcell.watch("hi", display=False, auto=auto)

    async def block():
        with run:
            await way(run, agent(run))
            pytest.fail("it went on")
        await asyncio.gather(*(task for task in asyncio.all_tasks() if task is not asyncio.current_task()), return_exceptions=True)

    asyncio.run(block())
    assert run.outcome == "cancelled"
    assert run.faults == {}
    assert EARS.spans == {}
    assert all(step.state != "running" for step in run.steps)
    return run


@pytest.mark.parametrize(("way", "auto"), WAYS)
def test_a_tool_that_hangs_is_stopped(way, auto):
    def agent(run):
        async def traffic() -> str:
            """Hangs until it is told that the run stops."""
            pressed = asyncio.Event()
            asyncio.get_running_loop().call_soon(lambda: (run.stop(), pressed.set()))
            await pressed.wait()
            if not auto:
                await asyncio.Event().wait()  # only who reads the stream can stop it
            run.raise_if_stopping()

        return agent_of(forecast, traffic).run("hi")

    run = stopped(agent, way, auto=auto)
    assert ("traffic", "cancelled", None) in rows(run)


@pytest.mark.parametrize("way", [awaited, consumed, streamed])
@pytest.mark.parametrize("place", ["tool", "model", "token"])
def test_a_run_that_is_asked_to_stop_stops_the_agent_at_its_next_step(place, way):
    ran = []

    def agent(run):
        async def weather(city: str) -> str:
            """Tells the weather."""
            ran.append("weather")
            if place == "tool":
                run.stop()
            return "7"

        def script(messages, **_):
            ran.append("model")
            if place == "model":
                run.stop()
            return [call("weather", "w", city="Oslo")] if results_in(messages) == 0 else words()

        class words(list):  # noqa: N801 - pieces that are there when they are asked for
            def __len__(self):
                return 100

            def __iter__(self):
                for number in range(100):
                    if number == 2:
                        run.stop()
                    yield f"{number} "

        return agent_of(script, weather).run("hi")

    run = stopped(agent, way)
    assert ran == {"tool": ["model", "weather"], "model": ["model"], "token": ["model", "weather", "model"]}[place]
    assert rows(run) == ([("weather", "done", "7")] if "weather" in ran else [])
    assert run.answer_text == ("0 1 2 " if place == "token" else "")


def test_stop_in_an_agent_that_a_tool_asks_ends_both():
    def agent(run):
        async def deep() -> str:
            """Stops."""
            run.stop()
            run.raise_if_stopping()

        async def expert() -> str:
            """Asks another agent."""
            return str(await agent_of(lambda messages: [call("deep", "y")], deep, name="expert").run("hi"))

        return agent_of(lambda messages: [call("expert", "x")], expert).run("hi")

    run = stopped(agent, streamed)
    assert rows(run) == [("expert", "cancelled", None), ("deep", "cancelled", None)]


# Hooks


def test_behind_the_block_no_hook_is_left():
    dispatcher = get_dispatcher()

    def hooks():
        methods = Context.write_event_to_stream, Context.wait_for_event
        return [list(dispatcher.span_handlers), list(dispatcher.event_handlers), methods]

    before = hooks()
    with agentcell.watch(display=False):
        assert [len(hooks()[0]), len(hooks()[1])] == [len(before[0]) + 1, len(before[1]) + 1]
        assert hooks()[2] != before[2]
    assert hooks() == before
    with agentcell.watch(display=False, auto=False):
        assert hooks() == before


def test_what_a_workflow_does_behind_the_block_is_not_heard():
    async def agent():
        with agentcell.watch("hi", display=False) as run:
            handler = FunctionAgent(tools=[weather], llm=MockFunctionCallingLLM(response_generator=three)).run("hi")
        told = run.events
        await handler
        return run, told

    run, told = asyncio.run(agent())
    assert run.events == told
    assert of(run, ToolEnded) == []
