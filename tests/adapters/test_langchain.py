"""LangChain and LangGraph, run offline with LangChain's own fake model: heard inside a block, told once, and not changed by it."""

import asyncio
import contextlib
import subprocess
import sys
import textwrap
import threading
from types import NoneType

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import wrap_tool_call
from langchain.agents.structured_output import ToolStrategy
from langchain_core.documents import Document
from langchain_core.messages import ToolMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import tool
from langchain_core.tracers import context as tracers
from pydantic import BaseModel

import agentcell
from adapters.beside import watch_beside
from adapters.langchain_agents import WAYS, boom, call, rows, said, weather, weather_agent
from adapters.langchain_models import asking, model
from agentcell.events import ModelEnded, ModelStarted, Reported, TextDelta, ToolEnded, ToolProgressed, ToolStarted, Usage

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def of(run, *kinds):
    return [event for event in run.events if isinstance(event, kinds)]


def watched(agent, *, raises=NoneType, **options):
    run = asyncio.run(watch_beside(agent, **options))
    assert isinstance(run.raised, raises), run.raised
    return run


@pytest.mark.parametrize("way", WAYS)
def test_two_model_calls_and_two_tools_of_which_one_raises(way):
    async def agent(_run):
        return await call(weather_agent(way), "hi", way)

    run = watched(agent)
    assert rows(run) == [("weather", "done", "7 degrees in Oslo"), ("boom", "failed", "ValueError: boom 1")]
    assert [step.content for step in run.steps if step.kind == "thinking"] == ["I need the weather."]
    assert "Let me look." in [step.text for step in run.steps]
    assert run.answer_text == "It is mild in Oslo."
    assert run.outcome == "answered"
    assert run.usage == Usage(20, 10, cache_read_tokens=8, reasoning_tokens=4)
    assert len(of(run, ModelStarted)) == len(of(run, ModelEnded)) == 2
    assert {offer.name for offer in of(run, ModelStarted)[0].tools} == {"weather", "boom"}
    assert [event.call_id for event in of(run, ToolStarted) if event.requested] == ["c1", "c2"]
    assert [event.payload for event in of(run, ToolProgressed)] == [{"message": "asking Oslo"}]
    streamed = [event.text for event in of(run, TextDelta)][-5:]
    assert streamed == ["It", " is", " mild", " in", " Oslo."] if "stream" in way else streamed[-1] == "It is mild in Oslo."


@pytest.mark.parametrize("way", WAYS)
def test_what_a_tool_raises_ends_the_agent_as_it_does_unwatched(way):
    async def agent(_run):
        return await call(weather_agent(way, forgives=False), "hi", way)

    run = watched(agent, raises=ValueError)
    assert run.outcome == "failed"
    assert rows(run)[1] == ("boom", "failed", "ValueError: boom 1")
    assert all(step.state != "running" for step in run.steps)


@pytest.mark.parametrize("way", ["invoke", "stream", "ainvoke"])
def test_an_error_of_the_model_is_told_and_goes_on(way):
    async def agent(_run):
        return await call(create_agent(model(RuntimeError("no model")), [weather]), "hi", way)

    run = watched(agent, raises=RuntimeError)
    assert [(event.outcome, event.error) for event in of(run, ModelEnded)] == [("failed", "no model")]
    assert run.outcome == "failed"


def expert(*script, name="expert"):
    inner = create_agent(model(*script), [weather], name=name)

    @tool
    def ask_expert(question: str) -> str:
        """Asks the expert."""
        return inner.invoke({"messages": [("user", question)]})["messages"][-1].content

    return ask_expert


@pytest.mark.parametrize("way", WAYS)
def test_an_agent_that_a_tool_calls_stands_under_that_tool_and_does_not_answer(way):
    async def agent(_run):
        ask = expert(asking(("weather", {"city": "Bergen"}, "s1")), "Bergen is wet.")
        outer = create_agent(model(asking(("ask_expert", {"question": "Bergen?"}, "c1")), "Take a coat."), [ask])
        return await call(outer, "hi", way)

    run = watched(agent)
    steps = {step.text: step for step in run.steps}
    inner = steps["expert"]
    assert inner.kind == "agent"
    assert inner.state == "done"
    assert run.steps[inner.parent].tool == "ask_expert"
    assert [step.tool for step in run.steps if step.parent == inner.id] == ["weather"]
    assert run.answer_text == "Take a coat."
    assert run.usage.input_tokens == 40


def test_a_model_that_a_tool_asks_speaks_to_the_tool():
    async def agent(_run):
        summarizer = model("Short.")

        @tool
        def summarize(text: str) -> str:
            """Sums up."""
            return summarizer.invoke(text).content

        outer = create_agent(model(asking(("summarize", {"text": "long"}, "c1")), "Done."), [summarize])
        return await call(outer, "hi", "stream")

    run = watched(agent)
    assert run.answer_text == "Done."
    assert rows(run) == [("summarize", "done", "Short.")]
    assert [step.state for step in run.steps] == ["done", "done"]


def test_a_call_that_middleware_answers_itself_is_over_with_its_answer():
    @wrap_tool_call
    def refuse(request, handler):
        return ToolMessage("not today", tool_call_id=request.tool_call["id"], status="error")

    async def agent(_run):
        asks = asking(("weather", {"city": "Oslo"}, "c1"))
        return await call(create_agent(model(asks, "Sorry."), [weather], middleware=[refuse]), "hi", "invoke")

    assert rows(watched(agent)) == [("weather", "failed", "not today")]


class City(BaseModel):
    """A city."""

    name: str


def test_an_object_that_is_asked_for_by_way_of_a_tool_is_no_open_call():
    async def agent(_run):
        made = create_agent(model(asking(("City", {"name": "Oslo"}, "c1"))), [], response_format=ToolStrategy(City))
        plain = model(asking(("City", {"name": "Oslo"}, "c2"))).with_structured_output(City)
        return await call(made, "hi", "invoke"), await plain.ainvoke("hi")

    run = watched(agent)
    assert [(name, state) for name, state, _ in rows(run)] == [("City", "done"), ("City", "done")]


def test_a_chain_a_model_and_a_batch_are_heard_too():
    prompt = ChatPromptTemplate.from_messages([("user", "{question}")])

    async def agent(_run):
        chain = prompt | model("By a chain.") | StrOutputParser()
        streamed = list(chain.stream({"question": "?"}))
        alone = [chunk.content for chunk in model("By a model.").stream("?")]
        batched = [message.content for message in model("One.", "Two.").batch(["?", "?"], {"max_concurrency": 1})]
        return streamed, alone, batched

    run = watched(agent)
    assert run.answer_text == "By a chain.\n\nBy a model.\n\nOne.\n\nTwo."
    assert len(of(run, ModelEnded)) == 4
    assert run.usage.input_tokens == 40


def test_tools_that_the_users_own_loop_runs_are_the_calls_that_the_model_asked_for():
    async def agent(_run):
        first = model(asking(("weather", {"city": "Oslo"}, "c1"), ("boom", {"times": 2}, "c2"))).bind_tools([weather, boom])
        answer = first.invoke("hi")
        found = weather.invoke(answer.tool_calls[0])
        with pytest.raises(ValueError, match="boom 2"):
            boom.invoke(answer.tool_calls[1])
        return said(found), said(model("Mild.").invoke("and now?"))

    run = watched(agent)
    assert rows(run) == [("weather", "done", "7 degrees in Oslo"), ("boom", "failed", "ValueError: boom 2")]
    assert run.answer_text == "Mild."


class Notes(BaseRetriever):
    """Finds one note."""

    def _get_relevant_documents(self, query, *, run_manager):
        return [Document("The pool was halved.", metadata={"title": "Deploy 4121"})]


def test_a_retriever_is_a_row_with_what_it_found():
    async def agent(_run):
        return [document.page_content for document in Notes().invoke("pool")]

    run = watched(agent)
    assert rows(run) == [("Notes", "done", [{"title": "Deploy 4121", "text": "The pool was halved."}])]
    assert [step.arguments for step in run.steps] == [{"query": "pool"}]


def test_an_event_of_the_users_own_that_belongs_to_no_tool_is_reported():
    from langchain_core.callbacks import dispatch_custom_event
    from langchain_core.runnables import RunnableLambda

    async def agent(_run):
        return RunnableLambda(lambda text: dispatch_custom_event("loaded", {"rows": 3}) or text).invoke("x")

    assert [(event.name, event.evidence) for event in of(watched(agent), Reported)] == [("loaded", {"rows": 3})]


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
