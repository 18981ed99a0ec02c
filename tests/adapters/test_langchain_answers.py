"""What the answer is where more than one model speaks: what the outermost call returns, and nothing that was said on the way."""

from itertools import pairwise

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, ModelFallbackMiddleware, SummarizationMiddleware
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint, task
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command

from adapters.langchain_agents import WAYS, call, of, rows, watched, weather
from adapters.langchain_models import asking, model
from agentcell.events import ModelEnded

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def chain_of(*nodes):
    """A graph of these nodes, one after the other."""
    graph = StateGraph(MessagesState)
    for name, node in nodes:
        graph.add_node(name, node)
    names = [START, *(name for name, _ in nodes)]
    for before, after in pairwise(names):
        graph.add_edge(before, after)
    return graph.compile()


def saying(speaker):
    return lambda state: {"messages": [speaker.invoke(state["messages"])]}


@pytest.mark.parametrize("way", WAYS)
def test_a_summary_that_middleware_lets_a_model_write_is_no_answer(way):
    async def agent(_run):
        sums_up = SummarizationMiddleware(model=model("A summary."), trigger=("messages", 2), keep=("messages", 1))
        given = {"messages": [("user", "hi"), ("ai", "hello"), ("user", "and now?")]}
        return await call(create_agent(model("It is mild."), [weather], middleware=[sums_up]), given, way)

    run = watched(agent)
    assert run.answer_text == "It is mild."
    assert [(step.kind, step.text, step.state) for step in run.steps] == [("agent", "summarization", "done")]
    assert len(of(run, ModelEnded)) == 2


def test_a_model_that_is_tagged_not_to_stream_does_not_answer():
    async def agent(_run):
        quiet = model("secret").with_config(tags=["nostream"])
        graph = chain_of(("check", saying(quiet)), ("speak", saying(model("It is mild."))))
        return await call(graph, "hi", "invoke")

    run = watched(agent)
    assert run.answer_text == "It is mild."
    assert [(step.kind, step.text) for step in run.steps] == [("agent", "check")]


@pytest.mark.parametrize("way", WAYS)
def test_what_a_router_said_is_not_in_the_answer(way):
    async def agent(_run):
        router = model("weather")
        graph = chain_of(
            ("route", lambda state: {"messages": []} if router.invoke("?").content else {}), ("speak", saying(model("It is mild.")))
        )
        before = await call(chain_of(("speak", saying(model("Before.")))), "hi", way)
        return before, await call(graph, "hi", way)

    assert watched(agent).answer_text == "Before.\n\nIt is mild."


@pytest.mark.parametrize("way", WAYS)
def test_what_an_agent_in_a_graph_says_last_comes_behind_what_the_graph_said(way):
    async def agent(_run):
        inner = create_agent(model("From within."), [], name="inner")
        return await call(chain_of(("speak", saying(model("From without."))), ("inner", inner)), "hi", way)

    assert watched(agent).answer_text == "From without.\n\nFrom within."


@pytest.mark.parametrize("way", WAYS)
def test_an_answer_that_is_changed_afterwards_is_the_changed_one(way):
    async def agent(_run):
        def mask(state):
            last = state["messages"][-1]
            return {"messages": [AIMessage(last.content.replace("Oslo", "***"), id=last.id)]}

        return await call(chain_of(("speak", saying(model("It is mild in Oslo."))), ("mask", mask)), "hi", way)

    assert watched(agent).answer_text == "It is mild in ***."


def test_the_words_of_tasks_are_put_together_as_their_flow_does():
    @task
    def look(city):
        return model(f"7 in {city}").invoke("?").content

    @entrypoint()
    def flow(cities):
        return "Today: " + ", ".join(one.result() for one in [look(city) for city in cities])

    async def agent(_run):
        return flow.invoke(["Oslo", "Bergen"])

    assert watched(agent).answer_text == "Today: 7 in Oslo, 7 in Bergen"


@pytest.mark.parametrize("by", ["middleware", "chain"])
def test_a_model_that_fails_is_told_and_another_answers(by):
    async def agent(_run):
        broken, other = model(RuntimeError("no model")), model("It is mild.")
        if by == "chain":
            return broken.with_fallbacks([other]).invoke("hi").content
        return await call(create_agent(broken, [], middleware=[ModelFallbackMiddleware(other)]), "hi", "invoke")

    run = watched(agent)
    assert [(event.outcome, event.error) for event in of(run, ModelEnded)] == [("failed", "no model"), ("done", None)]
    assert (run.answer_text, run.outcome) == ("It is mild.", "answered")


@pytest.mark.parametrize("way", WAYS)
def test_what_is_said_before_the_person_is_asked_is_no_answer(way):
    async def agent(run):
        asks = asking(("weather", {"city": "Oslo"}, "c1"), text="Let me look.")
        approval = HumanInTheLoopMiddleware(interrupt_on={"weather": True})
        graph = create_agent(model(asks, "It is mild."), [weather], middleware=[approval], checkpointer=InMemorySaver())
        thread = {"configurable": {"thread_id": "1"}}
        await call(graph, "hi", way, thread)
        if run is not None:
            assert run.answer_text == ""
        return await call(graph, Command(resume={"decisions": [{"type": "approve"}]}), way, thread)

    run = watched(agent)
    assert run.answer_text == "It is mild."
    assert rows(run) == [("weather", "done", "7 degrees in Oslo")]
