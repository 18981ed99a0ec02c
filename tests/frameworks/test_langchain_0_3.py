"""LangChain 0.3 and LangGraph 0.6, the major versions before: the same adapter, with the agents that they had.

Runs in an environment of its own; where LangChain 1 is installed, its tests are those in `tests/adapters`.
"""

from __future__ import annotations

import asyncio
import threading
from importlib.metadata import PackageNotFoundError, version

import pytest


def major():
    try:
        return version("langchain").partition(".")[0]
    except PackageNotFoundError:
        return "none"


if major() != "0":
    pytest.skip("needs langchain 0.3: `make test-frameworks` makes an environment for it", allow_module_level=True)

from langchain.agents import AgentExecutor, create_tool_calling_agent  # noqa: E402
from langchain_core.prompts import ChatPromptTemplate  # noqa: E402
from langchain_core.tools import tool  # noqa: E402
from langchain_core.tracers import context as tracers  # noqa: E402
from langgraph.checkpoint.memory import InMemorySaver  # noqa: E402
from langgraph.prebuilt import ToolNode, create_react_agent  # noqa: E402
from langgraph.types import Command, interrupt  # noqa: E402

import agentcell  # noqa: E402
from adapters.beside import watch_beside  # noqa: E402
from adapters.langchain_models import asking, model  # noqa: E402
from agentcell.events import (  # noqa: E402
    AgentStarted,
    ModelEnded,
    ModelStarted,
    PauseRequested,
    PauseResumed,
    TextDelta,
    ToolEnded,
    ToolStarted,
    Usage,
)

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

WAYS = ("invoke", "stream", "ainvoke", "astream")


def of(run, *kinds):
    return [event for event in run.events if isinstance(event, kinds)]


def rows(run):
    return [(step.tool, step.state, step.result or step.detail) for step in run.steps if step.kind == "tool"]


def watched(agent, **options):
    return asyncio.run(watch_beside(agent, **options))


@tool
def weather(city: str) -> str:
    """Tells the weather."""
    return f"7 degrees in {city}"


@tool
def boom(times: int) -> str:
    """Breaks."""
    raise ValueError(f"boom {times}")


def weather_agent(*, forgives=True):
    calls = [("weather", {"city": "Oslo"}, "c1"), ("boom", {"times": 1}, "c2")]
    asks = asking(*calls, text="Let me look.", thinking="I need the weather.")
    tools = ToolNode([weather, boom], handle_tool_errors=forgives)
    return create_react_agent(model(asks, "It is mild in Oslo."), tools)


async def call(agent, given, way="ainvoke", config=None):
    given = {"messages": [("user", given)]} if isinstance(given, str) else given
    if way == "invoke":
        state = agent.invoke(given, config)
    elif way == "ainvoke":
        state = await agent.ainvoke(given, config)
    elif way == "stream":
        told = agent.stream(given, config, stream_mode=["messages", "values"])
        state = [one for mode, one in told if mode == "values" and "messages" in one][-1]
    else:
        told = agent.astream(given, config, stream_mode=["messages", "values"])
        state = [one async for mode, one in told if mode == "values" and "messages" in one][-1]
    return [(type(message).__name__, message.content, getattr(message, "status", None)) for message in state["messages"]]


@pytest.mark.parametrize("way", WAYS)
def test_two_model_calls_and_two_tools_of_which_one_raises(way):
    run = watched(lambda _run: call(weather_agent(), "hi", way))
    assert rows(run) == [("weather", "done", "7 degrees in Oslo"), ("boom", "failed", "ValueError: boom 1")]
    assert [step.content for step in run.steps if step.kind == "thinking"] == ["I need the weather."]
    assert (run.answer_text, run.outcome) == ("It is mild in Oslo.", "answered")
    assert run.usage == Usage(20, 10, cache_read_tokens=8, reasoning_tokens=4)
    assert len(of(run, ModelStarted)) == len(of(run, ModelEnded)) == 2
    streamed = [event.text for event in of(run, TextDelta)][-5:]
    assert streamed == ["It", " is", " mild", " in", " Oslo."] if "stream" in way else streamed[-1] == "It is mild in Oslo."


@pytest.mark.parametrize("way", WAYS)
def test_what_a_tool_raises_ends_the_agent_as_it_does_unwatched(way):
    run = watched(lambda _run: call(weather_agent(forgives=False), "hi", way))
    assert isinstance(run.raised, ValueError)
    assert run.outcome == "failed"
    assert rows(run)[1] == ("boom", "failed", "ValueError: boom 1")
    assert all(step.state != "running" for step in run.steps)


def test_an_error_of_the_model_is_told_and_goes_on():
    run = watched(lambda _run: call(create_react_agent(model(RuntimeError("no model")), [weather]), "hi"))
    assert isinstance(run.raised, RuntimeError)
    assert [event.outcome for event in of(run, ModelEnded)] == ["failed"]


@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
def test_the_executor_of_langchain_itself_is_heard(way):
    async def agent(_run):
        asks = asking(("weather", {"city": "Oslo"}, "c1"), text="Let me look.")
        prompt = ChatPromptTemplate.from_messages([("user", "{input}"), ("placeholder", "{agent_scratchpad}")])
        made = create_tool_calling_agent(model(asks, "It is mild."), [weather], prompt)
        executor = AgentExecutor(agent=made, tools=[weather])
        result = executor.invoke({"input": "hi"}) if way == "invoke" else await executor.ainvoke({"input": "hi"})
        return result["output"]

    run = watched(agent)
    assert rows(run) == [("weather", "done", "7 degrees in Oslo")]
    assert run.answer_text == "It is mild."


@pytest.mark.parametrize("way", ["stream", "astream"])
def test_a_question_of_a_tool_is_a_pause_and_the_tool_goes_on_as_the_same_call(way):
    @tool
    def ask(question: str) -> str:
        """Asks the person."""
        return f"they said {interrupt({'question': question})}"

    async def agent(_run):
        asks = asking(("ask", {"question": "Which city?"}, "c1"))
        graph = create_react_agent(model(asks, "Oslo it is."), [ask], checkpointer=InMemorySaver())
        thread = {"configurable": {"thread_id": "1"}}
        await call(graph, "hi", way, thread)
        return await call(graph, Command(resume="Oslo"), way, thread)

    run = watched(agent)
    assert rows(run) == [("ask", "done", "they said Oslo")]
    assert [(event.question, event.call_id) for event in of(run, PauseRequested)] == [("Which city?", "c1")]
    assert [event.answer for event in of(run, PauseResumed)] == ["Oslo"]
    assert {event.call_id for event in of(run, ToolStarted)} == {"c1"}
    assert [event.outcome for event in of(run, ToolEnded)] == ["done"]


def test_an_agent_inside_a_tool_stands_under_its_call():
    async def agent(_run):
        inner = create_react_agent(model(asking(("weather", {"city": "Oslo"}, "s1")), "Mild."), [weather], name="expert")

        @tool
        def ask_expert(question: str) -> str:
            """Asks the expert."""
            return inner.invoke({"messages": [("user", question)]})["messages"][-1].content

        return await call(create_react_agent(model(asking(("ask_expert", {"question": "?"}, "c1")), "Done."), [ask_expert]), "hi")

    run = watched(agent)
    asked, expert, _ = run.steps
    assert [step.parent for step in run.steps] == [None, asked.id, expert.id]
    assert [event.name for event in of(run, AgentStarted)] == ["expert"]
    assert run.answer_text == "Done."


def test_a_handler_that_is_given_once_more_hears_everything_once():
    async def agent(run):
        config = None if run is None else {"callbacks": [run.langchain()]}
        return await call(weather_agent(), "hi", "ainvoke", config)

    kinds = [type(event) for event in watched(lambda _run: call(weather_agent(), "hi")).events]
    assert [type(event) for event in watched(agent).events] == kinds
    assert [type(event) for event in watched(agent, auto=False).events] == kinds


def test_a_tool_that_hangs_is_stopped():
    with agentcell.watch(display=False) as run:

        @tool
        def hang() -> str:
            """Hangs until it is told that the run stops."""
            threading.Thread(target=run.stop).start()
            while True:
                run.raise_if_stopping()

        asyncio.run(call(create_react_agent(model(asking(("hang", {}, "c1")), "Never."), [hang]), "hi", "invoke"))
    assert [(name, state) for name, state, _ in rows(run)] == [("hang", "cancelled")]
    assert run.outcome == "cancelled"


def test_cancelling_the_task_ends_what_was_open_as_cancelled():
    async def agent(_run):
        started = asyncio.Event()

        @tool
        async def hang() -> str:
            """Hangs."""
            started.set()
            await asyncio.Event().wait()

        task = asyncio.create_task(call(create_react_agent(model(asking(("hang", {}, "c1"))), [hang]), "hi"))
        await started.wait()
        task.cancel()
        await asyncio.wait([task])
        return task.cancelled()

    run = watched(agent)
    assert [(name, state) for name, state, _ in rows(run)] == [("hang", "cancelled")]


def test_two_runs_side_by_side_hear_each_their_own_and_no_hook_stays():
    async def watch(city):
        with agentcell.watch(display=False) as run:
            await call(create_react_agent(model(asking(("weather", {"city": city}, "c1")), f"Mild in {city}."), [weather]), "hi")
        return run

    async def both():
        return await asyncio.gather(watch("Oslo"), watch("Bergen"))

    before = list(tracers._configure_hooks)
    assert [rows(run) for run in asyncio.run(both())] == [
        [("weather", "done", "7 degrees in Oslo")],
        [("weather", "done", "7 degrees in Bergen")],
    ]
    assert list(tracers._configure_hooks) == before
