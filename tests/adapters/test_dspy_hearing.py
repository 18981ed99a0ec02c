"""Who hears DSPy: the run in whose block it is called, by itself or by the callback, once, and nobody when that is over."""

import asyncio
import subprocess
import sys
import textwrap
import threading

import pytest
from dspy.dsp.utils.settings import Settings
from dspy.streaming.streaming_listener import StreamListener

import agentcell
from adapters.beside import waiting_block
from adapters.dspy_programs import QUIET, DummyLM, call, dspy, of, react, rows, script, step, watched
from agentcell.events import ModelEnded, ToolEnded

pytestmark = QUIET

HOOKS = ((Settings, "get"), (StreamListener, "receive"), (StreamListener, "finalize"))  # the last not in early releases


def test_a_callback_that_is_given_once_more_hears_everything_once():
    async def agent(run):
        ours = [] if run is None else [run.dspy()]
        lm = script()
        lm.callbacks = list(ours)
        return await call(react(), lm, callbacks=ours)

    once = watched(lambda _run: call(react(), script()))
    kinds = [type(event).__name__ for event in once.events]
    assert [type(event).__name__ for event in watched(agent).events] == kinds
    assert [type(event).__name__ for event in watched(agent, auto=False).events] == kinds


def test_without_auto_and_without_the_callback_nothing_is_heard():
    run = watched(lambda _run: call(react(), script()), auto=False)
    assert [type(event).__name__ for event in run.events] == ["RunStarted", "RunEnded"]


def test_callbacks_of_the_users_own_are_called_beside_ours_also_in_a_context_from_before():
    from dspy.utils.callback import BaseCallback

    class Counting(BaseCallback):
        def __init__(self):
            self.modules = 0

        def on_module_start(self, call_id, instance, inputs):
            self.modules += 1

    counts = []
    with dspy.context(lm=script(), callbacks=[Counting()]):
        mine = dspy.settings.callbacks[0]
        with agentcell.watch(display=False) as run:
            react()(question="?")
        counts.append(mine.modules)
        assert dspy.settings.get("callbacks") == [mine]
    assert counts == [6]
    assert run.answer_text == "It is mild."


def test_a_block_around_two_calls_hears_both():
    async def agent(_run):
        return [await call(react(), script()) for _ in range(2)]

    run = watched(agent)
    assert [name for name, *_ in rows(run)] == ["weather", "boom"] * 2
    assert run.answer_text == "It is mild.\n\nIt is mild."


def test_two_runs_side_by_side_hear_each_its_own():
    async def one(city):
        with agentcell.watch(city, display=False) as run:
            said = [
                step("Weather.", "weather", city=city),
                step("Enough.", "finish"),
                {"reasoning": "r", "answer": f"Mild in {city}."},
            ]
            await call(react(), DummyLM(said), "async")
        return run

    async def both():
        return await asyncio.gather(one("Oslo"), one("Bergen"))

    for city, run in zip(("Oslo", "Bergen"), asyncio.run(both()), strict=True):
        assert rows(run) == [("weather", "done", f"7 degrees in {city}")]
        assert run.answer_text == f"Mild in {city}."


def test_programs_that_run_in_threads_are_heard():
    async def agent(_run):
        lm = DummyLM([{"answer": "one"}, {"answer": "one"}, {"answer": "one"}])
        with dspy.context(lm=lm):
            predict = dspy.Predict("question -> answer")
            parallel = dspy.Parallel(num_threads=2, disable_progress_bar=True)
            return [found.answer for found in parallel([(predict, {"question": str(number)}) for number in range(3)])]

    run = watched(agent)
    assert len(of(run, ModelEnded)) == 3
    assert run.answer_text == "one\n\none\n\none"


def test_nothing_stays_behind_and_what_is_imported_in_the_block_is_heard():
    def hooks():
        return [getattr(of, name) for of, name in HOOKS if hasattr(of, name)]

    before = hooks()
    with agentcell.watch(display=False):
        assert all(ours is not theirs for ours, theirs in zip(hooks(), before, strict=True))
        with agentcell.watch(display=False):
            pass
        assert hooks() != before
    assert hooks() == before
    code = """
        import os, sys, agentcell
        with agentcell.watch(display=False) as run:
            assert "dspy" not in sys.modules
            os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
            import dspy
            from dspy.utils import DummyLM
            dspy.configure(lm=DummyLM([{"answer": "Mild."}]))
            dspy.Predict("question -> answer")(question="?")
        print(run.answer_text)
        print(dspy.settings.get("callbacks"))
    """
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["Mild.", "[]"]


def test_a_cell_that_is_watched_with_all_others_hears():
    with waiting_block() as runs:
        assert runs == []
        with dspy.context(lm=script()):
            react()(question="?")
    assert runs[0].answer_text == "It is mild."
    assert len(rows(runs[0])) == 2


def test_two_runs_in_threads_hear_each_its_own():
    runs, together = {}, threading.Barrier(2)

    def one(city):
        with agentcell.watch(city, display=False) as run:
            together.wait()
            said = [step("Weather.", "weather", city=city), step("Enough.", "finish"), {"reasoning": "r", "answer": city}]
            with dspy.context(lm=DummyLM(said)):
                react()(question="?")
        runs[city] = run

    threads = [threading.Thread(target=one, args=(city,)) for city in ("Oslo", "Bergen")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for city, run in runs.items():
        assert rows(run) == [("weather", "done", f"7 degrees in {city}")]
        assert run.answer_text == city


def test_a_fault_of_ours_is_reported_and_does_not_reach_the_program(monkeypatch):
    def fail(*_args, **_options):
        raise OSError("broken")

    with agentcell.watch(display=False) as run:
        monkeypatch.setattr(run.dspy().calls, "begin", fail)
        with pytest.warns(agentcell.AgentcellWarning, match="broken"), dspy.context(lm=script()):
            assert react()(question="?").answer == "It is mild."
    assert run.faults["listening to DSPy"] > 0
    assert of(run, ToolEnded) == []
