"""smolagents with a scripted model: heard by itself, by its stream and by its step callbacks."""

from __future__ import annotations

import asyncio
import json
import threading

import pytest
from smolagents import CodeAgent, LogLevel, Model, MultiStepAgent, ToolCallingAgent, tool
from smolagents.models import (
    ChatMessage,
    ChatMessageStreamDelta,
    ChatMessageToolCall,
    ChatMessageToolCallFunction,
    ChatMessageToolCallStreamDelta,
    MessageRole,
)
from smolagents.monitoring import TokenUsage
from smolagents.utils import AgentError

import agentcell
from adapters.beside import watch_beside
from agentcell.adapters.smolagents import LOST
from agentcell.adapters.smolagents_code import Words
from agentcell.events import AgentStarted, LimitReached, ModelEnded, ModelStarted, TextDelta, ToolEnded, ToolStarted, Usage

WAYS = ("by itself", "read", "stream", "both", "callback")
EVERY = pytest.mark.parametrize("way", WAYS)


class Scripted(Model):
    """Says what is in its script: text, tool calls as (id, name, arguments), or an exception; word by word if it is to stream."""

    def __init__(self, *script):
        super().__init__(model_id="scripted")
        self.script = list(script)

    def _next(self):
        said = self.script.pop(0)
        if isinstance(said, Exception):
            raise said
        return said

    def generate(self, messages, **_options):
        said = self._next()
        usage = TokenUsage(10, 5)
        if isinstance(said, str):
            return ChatMessage(role=MessageRole.ASSISTANT, content=said, token_usage=usage)
        calls = [
            ChatMessageToolCall(id=key, type="function", function=ChatMessageToolCallFunction(name=name, arguments=arguments))
            for key, name, arguments in said
        ]
        return ChatMessage(role=MessageRole.ASSISTANT, content="I look it up.", tool_calls=calls, token_usage=usage)


class Streaming(Scripted):
    def generate_stream(self, messages, **_options):
        said = self._next()
        text = said if isinstance(said, str) else "I look it up."
        for word in text.split(" "):
            yield ChatMessageStreamDelta(content=word + " ")
        calls = [
            ChatMessageToolCallStreamDelta(
                index=index,
                id=key,
                type="function",
                function=ChatMessageToolCallFunction(name=name, arguments=json.dumps(arguments)),
            )
            for index, (key, name, arguments) in enumerate(said if not isinstance(said, str) else ())
        ]
        yield ChatMessageStreamDelta(content="", tool_calls=calls or None, token_usage=TokenUsage(10, 5))


@tool
def weather(city: str) -> str:
    """The weather of a city.

    Args:
        city: Which one.
    """
    if city == "Atlantis":
        raise ValueError("no such city")
    return f"{city}: 7 degrees"


def ask(number, city):
    return f"c{number}", "weather", {"city": city}


def answering(text):
    return [("c9", "final_answer", {"answer": text})]


def calling(*script, tools=(weather,), model=Scripted, **more):
    return ToolCallingAgent(tools=list(tools), model=model(*script), verbosity_level=LogLevel.OFF, **more)


def coding(*script, tools=(weather,), **more):
    return CodeAgent(tools=list(tools), model=Scripted(*script), verbosity_level=LogLevel.OFF, **more)


def code(text):
    return f"Thought: I compute.\n<code>\n{text}\n</code>"


def go(run, way, agent, **more):
    """One run of an agent, heard in one way; its answer."""
    if way == "callback" and run is not None:
        from smolagents import ActionStep

        agent.step_callbacks.register(ActionStep, run.smolagents())
    if way in ("by itself", "callback"):
        return agent.run("hi", **more)
    events = agent.run("hi", stream=True, **more)
    read = events if run is None or way == "read" else run.stream(events)
    return [getattr(event, "output", None) for event in read][-1]


def auto(way):
    return way in ("by itself", "read", "both")


def hear(way, make, **more):
    async def scenario(run):
        agent = make()
        return go(run, way, agent, **more), len(agent.memory.steps)

    return asyncio.run(watch_beside(scenario, auto=auto(way)))


def rows(run):
    return [(step.tool or step.text, step.state, step.parent) for step in run.steps]


def of(run, *kinds):
    return [event for event in run.events if isinstance(event, kinds)]


def two_tools():
    return calling([ask(1, "Oslo"), ask(2, "Rome")], answering("Both are mild."))


@EVERY
def test_two_model_calls_and_two_parallel_tools(way):
    run = hear(way, two_tools)
    tools = [row for row in rows(run) if row[0] == "weather"]
    assert tools == [("weather", "done", None)] * 2
    assert {step.arguments["city"] for step in run.steps if step.tool} == {"Oslo", "Rome"}
    assert run.answer_text == "Both are mild."
    assert run.usage == Usage(20, 10)
    assert len({event.model_call_id for event in of(run, ModelStarted)}) == len(of(run, ModelEnded)) == 2
    assert len(of(run, ToolEnded)) == 2


@pytest.mark.parametrize("way", ["by itself", "read", "both"])
def test_of_two_parallel_tools_of_which_one_raises_the_other_is_told_too(way):
    run = hear(way, lambda: calling([ask(1, "Oslo"), ask(2, "Atlantis")], answering("Mild.")))
    ends = {step.arguments["city"]: (step.state, step.result, step.detail) for step in run.steps if step.tool}
    assert ends["Oslo"] == ("done", "Oslo: 7 degrees", "")
    assert ends["Atlantis"] == ("failed", None, "ValueError: no such city")
    assert run.answer_text == "Mild."


def test_the_stream_alone_tells_which_tool_raised_and_that_the_other_was_lost():
    with agentcell.watch(display=False, auto=False) as run:
        go(run, "stream", calling([ask(1, "Atlantis"), ask(2, "Oslo")], answering("Mild.")))
    ends = {step.arguments["city"]: step.state for step in run.steps if step.tool}
    assert ends["Atlantis"] == "failed"
    told = {event.call_id: (event.outcome, event.error) for event in of(run, ToolEnded)}
    assert told["c2"] in (("done", None), ("cancelled", LOST))  # it was told if it was quicker than the one that raised


@pytest.mark.parametrize("way", ["read", "stream", "both"])
def test_words_come_as_they_are_written(way):
    run = hear(way, lambda: calling([ask(1, "Oslo")], answering("Mild."), model=Streaming, stream_outputs=True))
    assert [event.text for event in of(run, TextDelta)][:4] == ["I ", "look ", "it ", "up. "]
    assert (run.answer_text, run.usage) == ("Mild.", Usage(20, 10))


@EVERY
def test_code_is_a_call_with_what_it_printed(way):
    run = hear(way, lambda: coding(code("print(6 * 7)"), code("final_answer('42')")))
    steps = [step for step in run.steps if step.tool == "python_interpreter"]
    assert [step.state for step in steps] == ["done", "done"]
    assert steps[0].arguments == {"code": "print(6 * 7)"}
    assert "42" in steps[0].result
    assert run.answer_text == "42"


def streaming_code(*script, **more):
    return CodeAgent(tools=[weather], model=Streaming(*script), verbosity_level=LogLevel.OFF, **more)


@pytest.mark.parametrize("way", ["by itself", "read", "stream"])
@pytest.mark.parametrize("make", [coding, streaming_code], ids=["whole", "streamed"])
def test_what_is_said_before_the_code_is_told_and_the_code_only_as_a_call(way, make):
    more = {"stream_outputs": True} if make is streaming_code else {}
    script = [code("print( 6 * 7 )"), "<code>\nfinal_answer('42')\n</code>"]
    run = hear(way, lambda: make(*script, **more))
    assert "".join(event.text for event in of(run, TextDelta)).split() == ["Thought:", "I", "compute.", "42"]
    assert run.answer_text == "42"


def test_words_beside_code_are_told_whatever_the_code_begins_with():
    fenced = coding("I look.\n```python\nfinal_answer('42')\n```", code_block_tags="markdown")
    whole = json.dumps({"thought": "I look.", "code": "final_answer('42')"})
    for agent in (fenced, coding(whole, use_structured_outputs_internally=True)):
        with agentcell.watch(display=False) as run:
            agent.run("hi")
        assert [step.text for step in run.steps if not step.tool] == ["I look."]
        assert run.answer_text == "42"


def test_pieces_are_words_until_the_code_begins():
    words = Words(coding("never"))
    pieces = ["a <co", "n> b <", "code>print", "(1)</code> more"]
    assert [words.read(piece) for piece in pieces] == ["a ", "<con> b ", "", ""]


@pytest.mark.parametrize("way", ["by itself", "read", "both"])
def test_tools_that_code_calls_stand_under_it(way):
    run = hear(way, lambda: coding(code("print(weather('Oslo'))\nweather(city='Atlantis')"), code("final_answer('Mild.')")))
    called = [(step.tool, step.state, step.arguments) for step in run.steps if step.parent is not None]
    assert called == [("weather", "done", {"city": "Oslo"}), ("weather", "failed", {"city": "Atlantis"})]
    outer = next(step for step in run.steps if step.tool == "python_interpreter")
    assert outer.state == "failed"
    assert "no such city" in outer.detail
    assert all(step.parent == outer.id for step in run.steps if step.tool == "weather")


def test_what_cannot_be_read_as_code_is_said():
    run = hear("by itself", lambda: coding("I have no idea.", code("final_answer('42')")))
    assert any(step.text.startswith("Error in code parsing") for step in run.steps)
    assert run.answer_text == "42"


@pytest.mark.parametrize("kind", ["calls", "code"])
def test_a_managed_agent_stands_under_the_call_that_it_was_asked_by(kind):
    def team():
        expert = calling([ask(1, "Rome")], answering("For the other agent."), name="expert", description="Knows.")
        if kind == "code":
            return coding(code("print(expert('Rome?'))"), code("final_answer('Done.')"), managed_agents=[expert])
        asked = [("c8", "expert", {"task": "Rome?"}), ask(7, "Oslo")]
        return calling(asked, answering("Done."), managed_agents=[expert])

    run = hear("by itself", team)
    agent = next(step for step in run.steps if step.kind == "agent")
    outer = run.steps[agent.parent]
    assert (agent.text, agent.state, outer.tool) == ("expert", "done", "expert" if kind == "calls" else "python_interpreter")
    assert [step.arguments for step in run.steps if step.parent == agent.id and step.tool] == [{"city": "Rome"}]
    assert run.answer_text == "Done."
    assert (len(of(run, AgentStarted)), run.usage) == (1, Usage(40, 20))
    assert len([step for step in run.steps if step.tool == "weather"]) == (2 if kind == "calls" else 1)


@pytest.mark.parametrize("way", ["by itself", "read", "stream"])
def test_a_plan_is_a_model_call_of_its_own_and_no_answer(way):
    run = hear(way, lambda: calling("First I look.", answering("Mild."), planning_interval=5))
    assert run.steps[0].text == "First I look."
    assert (run.answer_text, run.usage) == ("Mild.", Usage(20, 10))
    assert len(of(run, ModelEnded)) == 2


@pytest.mark.parametrize("way", ["by itself", "read", "stream", "callback"])
def test_the_limit_of_steps_is_told_and_what_was_answered_there(way):
    run = hear(way, lambda: calling([ask(1, "Oslo")], "Mild, I think.", max_steps=1))
    assert [(event.kind, event.limit) for event in of(run, LimitReached)] == [("steps", 1)]
    assert (run.answer_text, run.outcome, run.usage) == ("Mild, I think.", "limited", Usage(20, 10))


@pytest.mark.parametrize("way", ["by itself", "read", "stream"])
def test_an_error_of_the_model_ends_the_call_and_reaches_the_user(way):
    run = hear(way, lambda: calling([ask(1, "Oslo")], RuntimeError("the model is down")))
    assert isinstance(run.raised, AgentError)
    assert [event.outcome for event in of(run, ModelEnded)] == ["done", "failed"]
    assert "the model is down" in run.steps[-1].detail or "Error while generating" in run.steps[-1].detail


@pytest.mark.parametrize("way", ["by itself", "read", "stream"])
def test_an_agent_that_is_interrupted_is_cancelled(way):
    def interrupting():
        @tool
        def halt() -> str:
            """Interrupts."""
            agent.interrupt()
            return "ok"

        agent = calling([("c1", "halt", {})], answering("never"), tools=[halt])
        return agent

    run = hear(way, interrupting)
    assert isinstance(run.raised, AgentError)
    assert [event.outcome for event in of(run, ModelEnded)] == ["done", "cancelled"]
    assert rows(run)[-1][:2] != ("Model call failed", "failed")


@tool
def hang() -> str:
    """Never comes back, so the person interrupts it."""
    raise KeyboardInterrupt


@pytest.mark.parametrize("way", ["by itself", "read", "stream"])
def test_a_tool_that_hangs_is_cancelled_by_an_interrupt(way):
    run = hear(way, lambda: calling([("c1", "hang", {})], answering("never"), tools=[hang]))
    assert isinstance(run.raised, KeyboardInterrupt)
    assert [state for name, state, _ in rows(run) if name == "hang"] == ["cancelled"]


@pytest.mark.parametrize("kind", ["calls", "code"])
def test_a_run_that_is_stopped_ends_the_agent_after_its_step(kind):
    with agentcell.watch(display=False) as run:

        @tool
        def halt() -> str:
            """Stops the run."""
            run.stop()
            return "ok"

        if kind == "calls":
            agent = calling([("c1", "halt", {})], answering("never"), tools=[halt])
        else:
            agent = coding(code("halt()"), code("final_answer('never')"), tools=[halt])
        with pytest.raises(agentcell.RunStopped):
            agent.run("hi")
    assert run.answer_text == ""
    assert all(step.state != "running" for step in run.steps)


def test_two_calls_in_a_row_are_two_answers_and_the_agent_remembers():
    async def scenario(run):
        agent = calling([ask(1, "Oslo")], answering("One."), [ask(1, "Oslo")], answering("Two."))
        return agent.run("hi"), agent.run("again", reset=False), len(agent.memory.steps)

    run = asyncio.run(watch_beside(scenario))
    assert run.answer_text == "One.\n\nTwo."
    assert [row for row in rows(run) if row[0] == "weather"] == [("weather", "done", None)] * 2


def test_two_runs_side_by_side_hear_each_its_own_and_leave_nothing_behind():
    methods = [(MultiStepAgent, "_run_stream"), (ToolCallingAgent, "execute_tool_call")]
    before = [vars(owner)[name] for owner, name in methods]
    together = threading.Barrier(2, timeout=30)
    runs = {}

    def one(city):
        with agentcell.watch(display=False) as run:
            together.wait()
            calling([ask(1, city)], answering(city)).run("hi")
            together.wait()
        runs[city] = run

    threads = [threading.Thread(target=one, args=(city,)) for city in ("Oslo", "Rome")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for city, run in runs.items():
        assert run.answer_text == city
        assert [step.arguments for step in run.steps if step.tool] == [{"city": city}]
    assert [vars(owner)[name] for owner, name in methods] == before


def test_a_callback_beside_the_ambient_ear_tells_nothing_twice():
    async def scenario(run):
        callbacks = [] if run is None else [run.smolagents()]
        return calling([ask(1, "Oslo")], answering("Mild."), step_callbacks=callbacks).run("hi")

    run = asyncio.run(watch_beside(scenario))
    assert run.usage == Usage(20, 10)
    assert len(of(run, ToolEnded)) == 1


def test_without_auto_nothing_is_heard():
    run = asyncio.run(watch_beside(lambda run: answer_of(two_tools()), auto=False))
    assert run.steps == ()


async def answer_of(agent):
    return agent.run("hi")


def test_a_tool_outside_of_every_agent_is_called_as_usual():
    with agentcell.watch(display=False) as run:
        assert weather("Oslo") == "Oslo: 7 degrees"
    assert run.steps == ()
    assert of(run, ToolStarted) == []
