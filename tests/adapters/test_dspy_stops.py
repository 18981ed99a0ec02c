"""How programs of DSPy end early: stopped by the person, interrupted, or cancelled with their task."""

import asyncio
import contextlib

import pytest

import agentcell
from adapters.dspy_programs import QUIET, DummyLM, call, dspy, of, rows, step, watched, weather
from agentcell.events import ModelStarted

pytestmark = QUIET


def test_a_tool_that_hangs_is_stopped():
    runs = []

    def hang() -> str:
        """Hangs until it is told that the run stops."""
        runs[0].stop()
        runs[0].raise_if_stopping()
        return "on and on"

    async def watch():
        with agentcell.watch(display=False) as run:
            runs.append(run)
            await call(dspy.ReAct("question -> answer", tools=[hang]), DummyLM([step("Hang.", "hang"), step("Again.", "hang")]))

    with contextlib.suppress(agentcell.RunStopped):
        asyncio.run(watch())
    assert [(name, state) for name, state, _ in rows(runs[0])] == [("hang", "cancelled")]
    assert runs[0].outcome == "cancelled"
    assert len(of(runs[0], ModelStarted)) == 1


def test_cancelling_a_task_ends_what_it_left_open():
    async def agent(_run):
        hangs = asyncio.Event()

        async def hang() -> str:
            """Hangs."""
            hangs.set()
            await asyncio.Event().wait()
            return ""

        task = asyncio.ensure_future(
            call(dspy.ReAct("question -> answer", tools=[hang]), DummyLM([step("Hang.", "hang")]), "async")
        )
        await hangs.wait()
        task.cancel()
        return await task

    run = watched(agent, raises=asyncio.CancelledError)
    assert [(name, state) for name, state, _ in rows(run)] == [("hang", "cancelled")]


@pytest.mark.parametrize("way", ["sync", "async"])
def test_a_run_that_was_stopped_asks_no_model_and_starts_no_tool(way):
    def press_stop() -> str:
        """Stops the run."""
        run.stop()
        return "pressed"

    lm = DummyLM([step("Stop.", "press_stop"), step("On.", "weather", city="Oslo")])
    with agentcell.watch(display=False) as run:
        asyncio.run(call(dspy.ReAct("question -> answer", tools=[press_stop, weather]), lm, way))
    assert rows(run) == [("press_stop", "done", "pressed")]
    assert len(of(run, ModelStarted)) == 1
    assert (run.outcome, run.answer_text, run.faults) == ("cancelled", "", {})


def test_a_person_who_interrupts_a_tool_ends_the_program():
    def hang() -> str:
        """Hangs until the person interrupts."""
        raise KeyboardInterrupt

    async def agent(_run):
        with pytest.raises(KeyboardInterrupt):
            await call(dspy.ReAct("question -> answer", tools=[hang]), DummyLM([step("Hang.", "hang")]))

    run = watched(agent)
    assert [(name, state) for name, state, _ in rows(run)] == [("hang", "cancelled")]
