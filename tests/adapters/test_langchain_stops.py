"""How agents of LangChain end early: stopped by the person, interrupted, cancelled with their task, or no longer read."""

import asyncio
import contextlib
import threading

import pytest
from langchain.agents import create_agent
from langchain_core.tools import tool

import agentcell
from adapters.langchain_agents import WAYS, call, of, rows, watched, weather
from adapters.langchain_models import Model, asking, model
from agentcell.events import ModelEnded, ModelStarted

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def test_cancelling_a_task_ends_what_it_left_open():
    async def agent(_run):
        hangs = asyncio.Event()

        @tool
        async def hang() -> str:
            """Hangs."""
            hangs.set()
            await asyncio.Event().wait()
            return ""

        outer = create_agent(model(asking(("hang", {}, "c1"))), [hang])
        task = asyncio.ensure_future(call(outer, "hi", "astream"))
        await hangs.wait()
        task.cancel()
        return await task

    run = watched(agent, raises=asyncio.CancelledError)
    assert rows(run) == [("hang", "cancelled", "")]
    assert run.outcome == "cancelled"


def stopped(agent, way):
    """Calls an agent in a block of its own, which somebody stops meanwhile."""

    async def watch():
        with agentcell.watch("hi", display=False) as run:
            runs.append(run)
            await call(agent(run), "hi", way)

    runs = []
    with contextlib.suppress(agentcell.RunStopped):
        asyncio.run(watch())
    (run,) = runs
    assert run.outcome == "cancelled"
    assert run.faults == {}
    assert all(step.state != "running" for step in run.steps)
    return run


@pytest.mark.parametrize("way", WAYS)
def test_a_tool_that_hangs_is_stopped(way):
    def agent(run):
        @tool
        def hang() -> str:
            """Hangs until it is told that the run stops."""
            person = threading.Thread(target=run.stop)
            person.start()
            person.join()
            run.raise_if_stopping()
            return "on and on"

        return create_agent(model(asking(("hang", {}, "c1")), "Never said."), [hang])

    run = stopped(agent, way)
    assert [(name, state) for name, state, _ in rows(run)] == [("hang", "cancelled")]
    assert run.answer_text == ""


@pytest.mark.parametrize("way", WAYS)
def test_a_run_that_was_stopped_asks_no_model_and_starts_no_tool(way):
    def agent(run):
        @tool
        def press_stop() -> str:
            """Stops the run."""
            run.stop()
            return "pressed"

        return create_agent(
            model(asking(("press_stop", {}, "c1")), asking(("weather", {"city": "Oslo"}, "c2"))), [press_stop, weather]
        )

    run = stopped(agent, way)
    assert rows(run) == [("press_stop", "done", "pressed")]
    assert len(of(run, ModelStarted)) == 1


def test_a_stopped_stream_ends_at_its_next_word():
    seen = []

    async def watch():
        with agentcell.watch("hi", display=False) as run:
            seen.append(run)
            for chunk in model("One two three four.").stream("hi"):
                seen.append(chunk.content)
                run.stop()

    with contextlib.suppress(agentcell.RunStopped):
        asyncio.run(watch())
    assert seen[1:] == ["One"]
    assert seen[0].outcome == "cancelled"


def test_a_person_who_interrupts_a_tool_ends_the_agent():
    @tool
    def hang() -> str:
        """Hangs until the person interrupts."""
        raise KeyboardInterrupt

    async def agent(_run):
        with pytest.raises(KeyboardInterrupt):
            await call(create_agent(model(asking(("hang", {}, "c1")), "Never said."), [hang]), "hi", "invoke")

    run = watched(agent)
    assert [(name, state) for name, state, _ in rows(run)] == [("hang", "cancelled")]
    assert run.answer_text == ""


def test_a_model_that_hangs_ends_with_its_task():
    async def agent(_run):
        hangs = asyncio.Event()

        class Hanging(Model):
            async def _astream(self, *args, **options):
                hangs.set()
                await asyncio.Event().wait()
                yield

        task = asyncio.ensure_future(call(create_agent(Hanging(messages=iter(())), []), "hi", "astream"))
        await hangs.wait()
        task.cancel()
        return await task

    run = watched(agent, raises=asyncio.CancelledError)
    assert [event.outcome for event in of(run, ModelEnded)] == ["cancelled"]
    assert run.outcome == "cancelled"


@pytest.mark.parametrize("way", ["stream", "astream"])
def test_what_a_stream_that_nobody_reads_on_left_open_is_over(way):
    async def agent(_run):
        outer = create_agent(model(asking(("weather", {"city": "Oslo"}, "c1")), "It is mild in Oslo."), [weather])
        seen, given = [], {"messages": [("user", "hi")]}
        if way == "stream":
            for chunk, _ in outer.stream(given, stream_mode="messages"):
                seen.append(chunk.content)
                if chunk.content == "It":
                    break
        else:
            async with contextlib.aclosing(outer.astream(given, stream_mode="messages")) as stream:
                async for chunk, _ in stream:
                    seen.append(chunk.content)
                    if chunk.content == "It":
                        break
        return seen

    run = watched(agent)
    assert run.answer_text.startswith("It")
    assert of(run, ModelEnded)[0].outcome == "done"
    assert len(of(run, ModelEnded)) == len(of(run, ModelStarted)) == 2
