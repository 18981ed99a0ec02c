"""LangChain and LangGraph, run offline with LangChain's own fake model: heard inside a block, told once, and not changed by it."""

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import wrap_tool_call
from langchain.agents.structured_output import ToolStrategy
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, AIMessageChunk, ToolMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import tool
from pydantic import BaseModel

from adapters.langchain_agents import WAYS, boom, call, of, rows, said, watched, weather, weather_agent
from adapters.langchain_models import USAGE, Model, asking, model
from agentcell.events import ModelEnded, ModelStarted, Reported, TextDelta, ToolProgressed, ToolStarted, Usage

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.mark.parametrize("way", WAYS)
def test_two_model_calls_and_two_tools_of_which_one_raises(way):
    async def agent(_run):
        return await call(weather_agent(way), "hi", way)

    run = watched(agent)
    assert rows(run) == [("weather", "done", "7 degrees in Oslo"), ("boom", "failed", "ValueError: boom 1")]
    assert [step.content for step in run.steps if step.kind == "thinking"] == ["I need the weather."]
    assert [step.tool or step.text for step in run.steps] == ["Thinking", "Let me look.", "weather", "boom"]
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


MODEL_KINDS = (ModelStarted, TextDelta, ModelEnded)


@pytest.mark.filterwarnings("ignore:The v3 streaming protocol")
@pytest.mark.parametrize("version", ["v2", "v3"])
def test_a_stream_of_all_events_is_heard_once(version):
    async def agent(_run):
        source = weather_agent("astream").astream_events({"messages": [("user", "hi")]}, version=version)
        source = await source if version == "v3" else source
        kinds = [event.get("event") or event["method"] async for event in source]
        return sorted(set(kinds))

    run, plain = watched(agent), watched(lambda _run: call(weather_agent("astream"), "hi", "astream"))
    assert [event for event in kinds_of(run) if event in MODEL_KINDS] == [
        event for event in kinds_of(plain) if event in MODEL_KINDS
    ]
    assert sorted(rows(run)) == sorted(rows(plain))
    assert (run.answer_text, run.usage) == (plain.answer_text, plain.usage)


def kinds_of(run):
    return [type(event) for event in run.events]


class Halting(Model):
    """Streams half of what it says; its message holds all."""

    def _generate(self, messages, stop=None, run_manager=None, **options):
        result = super()._generate(messages, stop, None, **options)
        half = result.generations[0].message.content.split(" and ")[0]
        if run_manager:
            run_manager.on_llm_new_token(half, chunk=ChatGenerationChunk(message=AIMessageChunk(half)))
        return result


def test_the_whole_message_adds_only_what_no_piece_has_told():
    async def agent(_run):
        said = AIMessage("It is mild and dry.", usage_metadata=USAGE)
        return Halting(messages=iter([said]), disable_streaming=True).invoke("hi").content

    run = watched(agent)
    assert [event.text for event in of(run, TextDelta)] == ["It is mild", " and dry."]


def test_tokens_are_told_by_model():
    async def agent(_run):
        names = ("large", "small", "large")
        return [model("Mild.", named=name).invoke("hi").content for name in names]

    run = watched(agent)
    once = Usage(10, 5, cache_read_tokens=4, reasoning_tokens=2, unsaid=("cache_write_tokens",))
    assert run.usage_by_model == {
        "large": Usage(20, 10, cache_read_tokens=8, reasoning_tokens=4, unsaid=once.unsaid),
        "small": once,
    }
