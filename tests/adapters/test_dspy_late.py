"""DSPy beside another framework, and what only late releases have: several tools asked for at once, own reasoning, async models."""

import asyncio
import json

import pytest
from dspy.primitives.local_interpreter import LocalInterpreter

from adapters.dspy_programs import QUIET, DummyLM, boom, call, dspy, of, rows, step, watched, weather
from adapters.langchain_models import model as chat_model
from agentcell.events import ModelEnded, ThinkingEnded

pytestmark = QUIET


def both_at_once():
    """What the model of a ReActV2 agent says."""
    calls = [{"name": "weather", "args": {"city": "Oslo"}}, {"name": "boom", "args": {"times": 1}}]
    done = [{"name": "submit", "args": {"answer": "It is mild."}}]
    said = [("I need both.", calls), ("I know enough.", done)]
    return DummyLM([{"next_thought": thought, "tool_calls": json.dumps({"tool_calls": asked})} for thought, asked in said])


@pytest.mark.parametrize("way", ["sync", "async"])
def test_an_agent_that_asks_for_two_tools_at_once(way):
    run = watched(lambda _run: call(dspy.ReActV2("question -> answer", tools=[weather, boom]), both_at_once(), way))
    assert rows(run) == [("weather", "done", "7 degrees in Oslo"), ("boom", "failed", "ValueError: boom 1")]
    assert [step.content for step in run.steps if step.kind == "thinking"] == ["I need both.", "I know enough."]
    assert run.answer_text == "It is mild."


def test_what_the_model_thinks_by_itself_is_told_and_once():
    def lm(said):
        return DummyLM([said], reasoning=True)

    run = watched(lambda _run: call(dspy.Predict("question -> answer"), lm({"answer": "Mild."})))
    assert [event.blocks[0].content for event in of(run, ThinkingEnded)] == ["Some reasoning"]
    again = {"reasoning": "Some reasoning", "answer": "Mild."}
    run = watched(lambda _run: call(dspy.ChainOfThought("question -> answer"), lm(again)))
    assert [event.blocks[0].content for event in of(run, ThinkingEnded)] == ["Some reasoning"]
    assert run.answer_text == "Mild."


def test_code_that_a_program_runs_is_a_row():
    async def agent(_run):
        with LocalInterpreter() as interpreter:
            said = interpreter.execute("print(6 * 7)")
            with pytest.raises(dspy.CodeExecutionError):
                interpreter.execute("1 / 0")
        return said

    run = watched(agent)
    assert [(name, state) for name, state, _ in rows(run)] == [("python", "done"), ("python", "failed")]
    assert [step.arguments["code"] for step in run.steps] == ["print(6 * 7)", "1 / 0"]
    assert "42" in str(run.steps[0].result)


def test_an_agent_of_another_framework_that_a_tool_calls_speaks_to_that_tool():
    def ask_expert(question: str) -> str:
        """Asks."""
        return chat_model("By the expert.").invoke(question).content

    def lm():
        said = [step("Ask.", "ask_expert", question="?"), step("Done.", "finish"), {"reasoning": "r", "answer": "So be it."}]
        return DummyLM(said)

    run = watched(lambda _run: call(dspy.ReAct("question -> answer", tools=[ask_expert]), lm()))
    assert rows(run) == [("ask_expert", "done", "By the expert.")]
    assert run.answer_text == "So be it."


def test_a_model_that_hangs_ends_with_its_task():
    async def agent(_run):
        hangs = asyncio.Event()

        class Hanging(DummyLM):
            async def aforward(self, *args, **options):
                hangs.set()
                await asyncio.Event().wait()

        task = asyncio.ensure_future(call(dspy.Predict("question -> answer"), Hanging([]), "async"))
        await hangs.wait()
        task.cancel()
        return await task

    run = watched(agent, raises=asyncio.CancelledError)
    assert [event.outcome for event in of(run, ModelEnded)] == ["cancelled"]
    assert run.outcome == "cancelled"
