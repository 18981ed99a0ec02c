"""How agents of smolagents end otherwise: by Stop, by an error in the middle, left early; and agents in agents side by side."""

from __future__ import annotations

import asyncio
import threading

import pytest
from smolagents import tool
from smolagents.models import ChatMessageStreamDelta
from smolagents.utils import AgentError

import agentcell
from adapters.beside import watch_beside
from adapters.test_smolagents import (
    Streaming,
    answering,
    ask,
    calling,
    code,
    coding,
    go,
    hear,
    of,
    rows,
    two_tools,
    weather,
)
from agentcell.adapters.smolagents import SmolagentsAdapter
from agentcell.events import ModelEnded, ModelStarted, TextDelta, ToolEnded, ToolProgressed, ToolStarted, Usage


@pytest.mark.parametrize("kind", ["calls", "code"])
def test_a_tool_that_hangs_ends_when_the_run_is_stopped(kind):
    started = threading.Event()

    def stop():
        started.wait(30)
        run.stop()

    with agentcell.watch(display=False) as run:

        @tool
        def hang() -> str:
            """Hangs until it is told that the run stops."""
            started.set()
            while not run.stopping:
                threading.Event().wait(0.001)
            run.raise_if_stopping()
            return "never"

        threading.Thread(target=stop).start()
        if kind == "calls":
            agent = calling([("c1", "hang", {})], answering("never"), tools=[hang])
        else:
            agent = coding(code("hang()"), code("final_answer('never')"), tools=[hang])
        agent.run("hi")
    assert run.outcome == "cancelled"
    assert [state for name, state, _ in rows(run) if name == "hang"] == ["cancelled"]
    assert all(step.state in ("done", "cancelled") for step in run.steps)
    assert run.answer_text == ""


def expert(name, city, number=1):
    return calling([ask(number, city)], answering(f"{city} is mild."), name=name, description="Knows.")


def test_managed_agents_that_are_asked_side_by_side_stand_each_under_its_call():
    def team():
        asked = [("c7", "north", {"task": "Oslo?"}), ("c8", "south", {"task": "Rome?"})]
        return calling(asked, answering("Both are mild."), managed_agents=[expert("north", "Oslo"), expert("south", "Rome", 2)])

    run = hear("by itself", team)
    steps = {step.id: step for step in run.steps}
    for name, city in (("north", "Oslo"), ("south", "Rome")):
        agent = next(step for step in run.steps if step.kind == "agent" and step.text == name)
        assert steps[agent.parent].tool == name
        assert [step.arguments for step in run.steps if step.parent == agent.id and step.tool] == [{"city": city}]
    assert (run.answer_text, run.usage) == ("Both are mild.", Usage(60, 30))


def test_an_agent_that_is_managed_by_one_that_is_managed_stands_under_it():
    def team():
        clerk = expert("clerk", "Rome")
        boss = calling(
            [("c5", "clerk", {"task": "?"})], answering("Mild."), name="boss", description="Asks.", managed_agents=[clerk]
        )
        return calling([("c6", "boss", {"task": "?"})], answering("Done."), managed_agents=[boss])

    run = hear("by itself", team)
    around = {step.id: f"{step.kind} {step.tool or step.text}" for step in run.steps}
    shown = [(around[step.id], around.get(step.parent)) for step in run.steps if step.tool or step.kind == "agent"]
    assert shown == [
        ("tool boss", None),
        ("agent boss", "tool boss"),
        ("tool clerk", "agent boss"),
        ("agent clerk", "tool clerk"),
        ("tool weather", "agent clerk"),
    ]
    assert run.answer_text == "Done."


class Breaking(Streaming):
    """Its second answer breaks off after a word."""

    def generate_stream(self, messages, **options):
        if len(self.script) > 1:
            yield from super().generate_stream(messages, **options)
            return
        yield ChatMessageStreamDelta(content="Oslo ")
        raise ConnectionError("the socket is gone")


@pytest.mark.parametrize("way", ["by itself", "read", "stream"])
def test_a_models_stream_that_breaks_off_is_a_failed_call(way):
    run = hear(way, lambda: calling([ask(1, "Oslo")], "never", model=Breaking, stream_outputs=True))
    assert isinstance(run.raised, AgentError)
    assert [event.outcome for event in of(run, ModelEnded)] == ["done", "failed"]
    assert "".join(event.text for event in of(run, TextDelta)).endswith("Oslo ")


@pytest.mark.parametrize("way", ["read", "stream"])
def test_an_agent_whose_stream_is_left_early_is_cancelled(way):
    async def scenario(run):
        events, names = two_tools().run("hi", stream=True), []
        for event in events if run is None or way == "read" else run.stream(events):
            names.append(type(event).__name__)
            if names[-1] == "ToolCall":
                break
        if run is None or way == "read":
            with pytest.raises(RuntimeError, match="ignored GeneratorExit"):  # so it is with smolagents
                events.close()
        return names

    run = asyncio.run(watch_beside(scenario, auto=way == "read"))
    assert {event.outcome for event in of(run, ToolEnded, ModelEnded)} <= {"done", "cancelled"}
    assert len({event.model_call_id for event in of(run, ModelStarted)}) == len(of(run, ModelEnded))


def test_a_stream_that_is_watched_twice_is_told_once():
    async def scenario(run):
        events = two_tools().run("hi", stream=True)
        return [type(event).__name__ for event in (events if run is None else run.stream(run.stream(events)))]

    for heard in (True, False):
        run = asyncio.run(watch_beside(scenario, auto=heard))
        assert (run.answer_text, run.usage) == ("Both are mild.", Usage(20, 10))


def test_the_same_callback_twice_tells_once():
    async def scenario(run):
        callbacks = [] if run is None else [run.smolagents(), run.smolagents()]
        return calling([ask(1, "Oslo")], answering("Mild."), step_callbacks=callbacks).run("hi")

    run = asyncio.run(watch_beside(scenario, auto=False))
    assert (run.answer_text, run.usage) == ("Mild.", Usage(20, 10))
    assert len(of(run, ToolEnded)) == 1


def test_code_of_two_runs_side_by_side_calls_each_its_own_tools():
    async def one(city):
        with agentcell.watch(display=False) as run:
            agent = coding(code(f"print(weather('{city}'))"), code(f"final_answer('{city}')"))
            await asyncio.to_thread(agent.run, "hi")
        return run

    async def both():
        return await asyncio.gather(one("Oslo"), one("Rome"))

    for city, run in zip(("Oslo", "Rome"), asyncio.run(both()), strict=True):
        assert run.answer_text == city
        assert [step.arguments for step in run.steps if step.tool == "weather"] == [{"city": city}]


def test_one_tool_that_agents_of_two_runs_share_is_told_to_the_run_of_the_caller():
    runs = {}
    together = threading.Barrier(2, timeout=30)

    @tool
    def meet(city: str) -> str:
        """Waits for the other run's code.

        Args:
            city: Which one.
        """
        together.wait()
        return weather(city)

    def one(city):
        with agentcell.watch(display=False) as run:
            go(run, "by itself", coding(code(f"print(meet('{city}'))"), code(f"final_answer('{city}')"), tools=[meet]))
        runs[city] = run

    threads = [threading.Thread(target=one, args=(city,)) for city in ("Oslo", "Rome")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    told = {city: [step.arguments for step in run.steps if step.tool == "meet"] for city, run in runs.items()}
    assert told == {"Oslo": [{"city": "Oslo"}], "Rome": [{"city": "Rome"}]}


@pytest.mark.parametrize("kind", ["calls", "code"])
def test_progress_of_a_tool_stands_in_its_row_beside_another_run(kind):
    @tool
    def look(city: str) -> str:
        """Looks.

        Args:
            city: Which one.
        """
        agentcell.current_run().progress(f"I look at {city}")
        return city

    async def one(city):
        with agentcell.watch(display=False) as run:
            if kind == "calls":
                agent = calling(
                    [("c1", "look", {"city": city}), ("c2", "weather", {"city": city})], answering(city), tools=[look, weather]
                )
            else:
                agent = coding(code(f"print(look('{city}'))"), code(f"final_answer('{city}')"), tools=[look])
            await asyncio.to_thread(agent.run, "hi")
        return run

    async def both():
        return await asyncio.gather(one("Oslo"), one("Rome"))

    for city, run in zip(("Oslo", "Rome"), asyncio.run(both()), strict=True):
        (told,) = of(run, ToolProgressed)
        (call_id,) = {event.call_id for event in of(run, ToolStarted) if event.name == "look"}
        assert (told.call_id, told.payload) == (call_id, {"message": f"I look at {city}"})


def test_an_agent_that_we_cannot_listen_to_runs_as_without_us(monkeypatch):
    def broken(self, *args, **options):
        raise ValueError("a fault of ours")

    monkeypatch.setattr(SmolagentsAdapter, "begin", broken)
    with pytest.warns(agentcell.AgentcellWarning), agentcell.watch(display=False) as run:
        assert two_tools().run("hi") == "Both are mild."
    assert run.faults
