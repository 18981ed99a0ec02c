"""Who hears LangChain: the run in whose block it is called, by itself or by the handler, once, and nobody when that is over."""

import asyncio
import subprocess
import sys
import textwrap
import threading

import pytest
from langchain.agents import create_agent
from langchain_core.tracers import context as tracers

import agentcell
from adapters.beside import waiting_block
from adapters.langchain_agents import WAYS, call, of, rows, watched, weather, weather_agent
from adapters.langchain_models import asking, model
from agentcell.events import ToolEnded

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.mark.parametrize("way", WAYS)
def test_a_handler_that_is_given_once_more_or_twice_hears_everything_once(way):
    async def agent(run):
        handlers = [] if run is None else [run.langchain(), run.langchain()]
        return await call(weather_agent(way), "hi", way, {"callbacks": handlers})

    twice = watched(agent)
    once = watched(lambda _run: call(weather_agent(way), "hi", way))
    deaf = watched(agent, auto=False)
    kinds = sorted(type(event).__name__ for event in once.events)
    assert sorted(type(event).__name__ for event in twice.events) == kinds
    assert sorted(type(event).__name__ for event in deaf.events) == kinds


def test_without_auto_and_without_the_handler_nothing_is_heard():
    run = watched(lambda _run: call(weather_agent("ainvoke"), "hi"), auto=False)
    assert [type(event).__name__ for event in run.events] == ["RunStarted", "RunEnded"]


def test_a_block_around_two_calls_hears_both_and_the_same_ids_are_other_calls():
    async def agent(_run):
        return [await call(weather_agent("ainvoke"), "hi") for _ in range(2)]

    run = watched(agent)
    assert [name for name, *_ in rows(run)] == ["weather", "boom"] * 2
    assert run.answer_text == "It is mild in Oslo.\n\nIt is mild in Oslo."


def test_agents_side_by_side_in_one_block_have_each_its_calls_also_under_one_id():
    async def agent(_run):
        both = [create_agent(model(asking(("weather", {"city": city}, "c1")), city), [weather]) for city in ("Oslo", "Bergen")]
        return await asyncio.gather(*(call(one, "hi") for one in both))

    run = watched(agent)
    assert sorted(result for _, _, result in rows(run)) == ["7 degrees in Bergen", "7 degrees in Oslo"]


def test_two_runs_side_by_side_hear_each_its_own():
    async def one(city):
        with agentcell.watch(city, display=False) as run:
            agent = create_agent(model(asking(("weather", {"city": city}, "c1")), f"Mild in {city}."), [weather])
            await call(agent, "hi", "astream")
        return run

    async def both():
        return await asyncio.gather(one("Oslo"), one("Bergen"))

    for city, run in zip(("Oslo", "Bergen"), asyncio.run(both()), strict=True):
        assert rows(run) == [("weather", "done", f"7 degrees in {city}")]
        assert run.answer_text == f"Mild in {city}."


def test_nothing_stays_behind_and_what_is_imported_in_the_block_is_heard():
    hooks = list(tracers._configure_hooks)
    with agentcell.watch(display=False):
        assert len(tracers._configure_hooks) == len(hooks) + 1
        with agentcell.watch(display=False):
            assert len(tracers._configure_hooks) == len(hooks) + 1
    assert tracers._configure_hooks == hooks
    code = """
        import sys, agentcell
        with agentcell.watch(display=False) as run:
            assert "langchain_core" not in sys.modules
            from langchain_core.language_models.fake_chat_models import FakeListChatModel
            FakeListChatModel(responses=["Mild."]).invoke("hi")
        print(run.answer_text)
        from langchain_core.tracers.context import _configure_hooks
        print([hook for hook in _configure_hooks if "agentcell" in type(hook[0]).__module__])
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["Mild.", "[]"]


def test_a_fault_of_ours_is_reported_and_does_not_reach_the_agent(monkeypatch):
    def fail(*_args, **_options):
        raise OSError("broken")

    with agentcell.watch(display=False) as run:
        monkeypatch.setattr(run.langchain().calls.ledger, "turn", fail)
        with pytest.warns(agentcell.AgentcellWarning, match="broken"):
            assert model("Mild.").invoke("hi").content == "Mild."
    assert run.faults["listening to LangChain"] > 0
    assert of(run, ToolEnded) == []


@pytest.mark.parametrize("way", WAYS)
def test_a_cell_that_is_watched_with_all_others_hears(way):
    with waiting_block() as runs:
        assert runs == []
        asyncio.run(call(weather_agent(way), "hi", way))
    assert runs[0].answer_text == "It is mild in Oslo."
    assert len(rows(runs[0])) == 2


@pytest.mark.parametrize("way", ["invoke", "stream"])
def test_two_runs_in_threads_hear_each_its_own(way):
    runs, together = {}, threading.Barrier(2)

    def one(city):
        with agentcell.watch(city, display=False) as run:
            together.wait()
            agent = create_agent(model(asking(("weather", {"city": city}, "c1")), f"Mild in {city}."), [weather])
            asyncio.run(call(agent, "hi", way))
        runs[city] = run

    threads = [threading.Thread(target=one, args=(city,)) for city in ("Oslo", "Bergen")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for city, run in runs.items():
        assert rows(run) == [("weather", "done", f"7 degrees in {city}")]
        assert run.answer_text == f"Mild in {city}."
