"""DSPy, run offline with its own dummy model: modules, tools and models heard inside a block, told once, and not changed by it."""

import asyncio
import contextlib
import json
import subprocess
import sys
import textwrap
from types import NoneType

import pytest

import agentcell
from adapters.beside import watch_beside
from agentcell.events import AgentStarted, ModelEnded, ModelStarted, ToolEnded, Usage
from agentcell.testing import ReplayServer

dspy = pytest.importorskip("dspy")

from dspy.dsp.utils.settings import Settings  # noqa: E402
from dspy.utils import DummyLM  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::pydantic.PydanticDeprecatedSince20")


def of(run, *kinds):
    return [event for event in run.events if isinstance(event, kinds)]


def rows(run):
    return [(step.tool, step.state, step.result or step.detail) for step in run.steps if step.kind == "tool"]


def watched(agent, *, raises=NoneType, **options):
    run = asyncio.run(watch_beside(agent, **options))
    assert isinstance(run.raised, raises), run.raised
    assert all(step.state != "running" for step in run.steps)
    return run


def weather(city: str) -> str:
    """Tells the weather."""
    return f"7 degrees in {city}"


def boom(times: int) -> str:
    """Breaks."""
    raise ValueError(f"boom {times}")


def step(thought, tool, **arguments):
    return {"next_thought": thought, "next_tool_name": tool, "next_tool_args": arguments}


def script():
    return DummyLM(
        [
            step("I need the weather.", "weather", city="Oslo"),
            step("Now the other.", "boom", times=1),
            step("I know enough.", "finish"),
            {"reasoning": "It was 7 degrees.", "answer": "It is mild."},
        ]
    )


def react():
    return dspy.ReAct("question -> answer", tools=[weather, boom])


async def call(program, lm, way="sync", **settings):
    """Calls a program; returns what it predicts."""
    with dspy.context(lm=lm, **settings):
        prediction = await program.acall(question="?") if way == "async" else program(question="?")
    return {name: value for name, value in prediction.items() if name != "trajectory"}


@pytest.mark.parametrize("way", ["sync", "async"])
def test_an_agent_with_two_tools_of_which_one_raises(way):
    run = watched(lambda _run: call(react(), script(), way))
    assert rows(run) == [("weather", "done", "7 degrees in Oslo"), ("boom", "failed", "ValueError: boom 1")]
    thoughts = [step.content for step in run.steps if step.kind == "thinking"]
    assert thoughts == ["I need the weather.", "Now the other.", "I know enough.", "It was 7 degrees."]
    assert run.answer_text == "It is mild."
    assert run.outcome == "answered"
    assert len(of(run, ModelStarted)) == len(of(run, ModelEnded)) == 4
    assert of(run, AgentStarted) == []


class Writer(dspy.Module):
    """Looks something up, then writes."""

    def __init__(self):
        super().__init__()
        self.research = react()
        self.write = dspy.ChainOfThought("question, notes -> answer: str, title: str")

    def forward(self, question):
        notes = self.research(question=question).answer
        return self.write(question=question, notes=notes)


def test_modules_in_a_module_stand_side_by_side_with_what_they_did_and_the_outermost_answers():
    def lm():
        said = [step("Weather.", "weather", city="Oslo"), step("Enough.", "finish"), {"reasoning": "r", "answer": "7"}]
        return DummyLM([*said, {"reasoning": "To be short.", "answer": "Mild.", "title": "Oslo"}])

    run = watched(lambda _run: call(Writer(), lm()))
    assert [step.text for step in run.steps if step.kind == "agent"] == ["research", "write"]
    (tool,) = [step for step in run.steps if step.tool]
    assert run.steps[tool.parent].text == "research"
    assert run.answer_text == "**answer:** Mild.\n\n**title:** Oslo"


def test_a_module_that_a_tool_calls_stands_under_that_tool():
    inner = dspy.Predict("question -> answer")

    def ask_expert(question: str) -> str:
        """Asks."""
        return inner(question=question).answer

    def lm():
        said = [step("Ask.", "ask_expert", question="?"), {"answer": "By the expert."}, step("Done.", "finish")]
        return DummyLM([*said, {"reasoning": "r", "answer": "Said by the expert."}])

    run = watched(lambda _run: call(dspy.ReAct("question -> answer", tools=[ask_expert]), lm()))
    assert rows(run) == [("ask_expert", "done", "By the expert.")]
    assert run.answer_text == "Said by the expert."
    assert all(event.agent_id == "" or event.name for event in of(run, AgentStarted))


def test_an_error_of_the_model_is_told_and_goes_on():
    class Broken(dspy.LM):
        def forward(self, *args, **options):
            raise RuntimeError("no model")

    run = watched(lambda _run: call(dspy.Predict("question -> answer"), Broken("openai/broken")), raises=Exception)
    assert of(run, ModelEnded)[0].outcome == "failed"
    assert run.outcome == "failed"


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


def test_of_an_evaluation_only_its_tokens_are_told():
    def correct(example, prediction, trace=None):
        return example.answer == prediction.answer

    async def agent(_run):
        examples = [dspy.Example(question=str(number), answer="one").with_inputs("question") for number in range(3)]
        with dspy.context(lm=DummyLM([{"answer": "one"}] * 3)):
            evaluate = dspy.Evaluate(devset=examples, metric=correct, num_threads=2, display_progress=False)
            result = evaluate(dspy.Predict("question -> answer"))
            return getattr(result, "score", result)  # before DSPy 3 it is the score itself

    run = watched(agent)
    assert [(step.kind, step.text) for step in run.steps] == [("agent", "Evaluate")]
    assert len(of(run, ModelEnded)) == 3
    assert run.answer_text == ""


def test_a_tool_that_tells_of_itself_is_one_row():
    @agentcell.tool
    def search(query: str) -> list[str]:
        """Searches."""
        run = agentcell.current_run()
        if run is not None:
            run.progress(f"reading about {query}")
        return [query]

    def lm():
        return DummyLM([step("Search.", "search", query="pools"), step("Done.", "finish"), {"reasoning": "r", "answer": "Found."}])

    run = watched(lambda _run: call(dspy.ReAct("question -> answer", tools=[search]), lm()))
    assert rows(run) == [("search", "done", ["pools"])]
    assert [step.progress for step in run.steps if step.tool] == [{"message": "reading about pools"}]
    assert len(of(run, ToolEnded)) == 1


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


def exchange(text, usage):
    answer = {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-4o",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
        "usage": usage,
    }
    return {"request": {}, "response": {"status": 200, "content_type": "application/json", "body": json.dumps(answer)}}


def test_the_tokens_of_a_real_client_are_told():
    usage = {
        "prompt_tokens": 20,
        "completion_tokens": 7,
        "total_tokens": 27,
        "prompt_tokens_details": {"cached_tokens": 4},
        "completion_tokens_details": {"reasoning_tokens": 2},
    }

    async def agent(_run):
        with ReplayServer({"exchanges": [exchange("[[ ## answer ## ]]\nMild.\n\n[[ ## completed ## ]]", usage)]}) as server:
            lm = dspy.LM("openai/gpt-4o", api_base=server.url, api_key="none", cache=False, num_retries=0)
            return await call(dspy.Predict("question -> answer"), lm)

    run = watched(agent)
    assert run.answer_text == "Mild."
    assert run.usage == Usage(20, 7, cache_read_tokens=4, reasoning_tokens=2)
    assert of(run, ModelStarted)[0].model == "openai/gpt-4o"


def test_nothing_stays_behind_and_what_is_imported_in_the_block_is_heard():
    asked = Settings.get
    with agentcell.watch(display=False):
        assert Settings.get is not asked
    assert Settings.get is asked
    code = """
        import sys, agentcell
        with agentcell.watch(display=False) as run:
            assert "dspy" not in sys.modules
            import dspy
            from dspy.utils import DummyLM
            dspy.configure(lm=DummyLM([{"answer": "Mild."}]))
            dspy.Predict("question -> answer")(question="?")
        print(run.answer_text)
        print(dspy.settings.get("callbacks"))
    """
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["Mild.", "[]"]
