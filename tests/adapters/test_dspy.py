"""DSPy, run offline with its own dummy model: modules, tools and models heard inside a block, told once, and not changed by it."""

import asyncio

import pytest

import agentcell
from adapters.dspy_programs import QUIET, DummyLM, call, dspy, of, react, rows, script, step, watched, weather
from agentcell.events import AgentStarted, ModelEnded, ModelStarted, ToolEnded

pytestmark = QUIET


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


class Both(dspy.Module):
    """Runs two tools at the same time."""

    async def aforward(self, question):
        fetched = [asyncio.Event(), asyncio.Event()]

        async def fetch(page: int) -> str:
            """Waits until the other one runs too."""
            fetched[page].set()
            await fetched[1 - page].wait()
            if page:
                raise ValueError("no such page")
            return f"page {page}"

        tool = dspy.Tool(fetch)
        found = await asyncio.gather(tool.acall(page=0), tool.acall(page=1), return_exceptions=True)
        return dspy.Prediction(answer=", ".join(map(str, found)))


def test_tools_that_run_at_the_same_time_of_which_one_raises():
    run = watched(lambda _run: call(Both(), None, "async"))
    assert rows(run) == [("fetch", "done", "page 0"), ("fetch", "failed", "ValueError: no such page")]
    assert run.answer_text == "page 0, no such page"


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


def test_a_program_that_a_tool_of_the_users_own_calls_stands_under_it_and_does_not_answer():
    @agentcell.tool
    async def ask_program():
        return (await call(react(), script()))["answer"]

    async def agent(run):
        found = await ask_program()
        if run is not None:
            run.write(f"Said: {found}")
        return found

    run = watched(agent)
    assert run.answer_text == "Said: It is mild."
    assert [(step.parent, step.kind, step.text) for step in run.steps][1] == (0, "agent", "ReAct")
    assert {step.parent for step in run.steps if step.tool in ("weather", "boom")} == {1}


def test_an_error_of_the_model_is_told_and_goes_on():
    class Broken(dspy.LM):
        def forward(self, *args, **options):
            raise RuntimeError("no model")

    run = watched(lambda _run: call(dspy.Predict("question -> answer"), Broken("openai/broken")), raises=Exception)
    assert of(run, ModelEnded)[0].outcome == "failed"
    assert run.outcome == "failed"


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


def test_modules_of_a_module_that_run_at_the_same_time_have_each_its_own():
    class Ask(dspy.Module):
        def __init__(self, city):
            super().__init__()
            said = [step("Weather.", "weather", city=city), step("Enough.", "finish"), {"reasoning": "r", "answer": city}]
            self.agent = dspy.ReAct("question -> answer", tools=[weather])
            self.agent.set_lm(DummyLM(said))

        async def aforward(self, question):
            return await self.agent.acall(question=question)

    class Team(dspy.Module):
        def __init__(self):
            super().__init__()
            self.oslo, self.bergen = Ask("Oslo"), Ask("Bergen")

        async def aforward(self, question):
            found = await asyncio.gather(self.oslo.acall(question=question), self.bergen.acall(question=question))
            return dspy.Prediction(answer=" and ".join(one.answer for one in found))

    run = watched(lambda _run: call(Team(), None, "async"))
    agents = {one.text: one.id for one in run.steps if one.kind == "agent" and one.parent is None}
    assert list(agents) == ["oslo", "bergen"]
    inner = {one.parent: one.id for one in run.steps if one.text == "agent"}
    for city in ("Oslo", "Bergen"):
        (tool,) = [one for one in run.steps if one.tool and one.parent == inner[agents[city.lower()]]]
        assert tool.result == f"7 degrees in {city}"
    assert run.answer_text == "Oslo and Bergen"
