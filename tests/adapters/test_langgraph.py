"""Graphs of LangGraph: agents in agents, handovers, and the person who is asked before the graph goes on."""

import asyncio
from typing import Annotated

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

import agentcell
from adapters.langchain_agents import call, of, rows, watched, weather
from adapters.langchain_models import asking, model
from agentcell.events import AgentEnded, AgentStarted, PauseRequested, PauseResumed, ToolEnded, ToolStarted

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

SYNC_AND_ASYNC = ("stream", "astream")


def thread():
    return {"configurable": {"thread_id": "1"}}


@tool
def delete(path: str) -> str:
    """Deletes a file."""
    return f"deleted {path}"


@tool
def ask(question: str) -> str:
    """Asks the person."""
    return f"they said {interrupt({'question': question})}"


@pytest.mark.parametrize("way", SYNC_AND_ASYNC)
def test_a_question_of_a_tool_is_a_pause_and_the_tool_goes_on_as_the_same_call(way):
    async def agent(run):
        asks = asking(("ask", {"question": "Which city?"}, "c1"))
        graph = create_agent(model(asks, "Oslo it is."), [ask], checkpointer=InMemorySaver())
        await call(graph, "hi", way, thread())
        if run is not None:
            assert "Which city?" in run.status_line
            assert [step.state for step in run.steps] == ["running", "running"]
        return await call(graph, Command(resume="Oslo"), way, thread())

    run = watched(agent)
    assert rows(run) == [("ask", "done", "they said Oslo")]
    assert [(event.question, event.call_id) for event in of(run, PauseRequested)] == [("Which city?", "c1")]
    assert [event.answer for event in of(run, PauseResumed)] == ["Oslo"]
    assert {event.call_id for event in of(run, ToolStarted)} == {"c1"}
    assert [event.outcome for event in of(run, ToolEnded)] == ["done"]
    assert run.answer_text == "Oslo it is."


@pytest.mark.parametrize("way", SYNC_AND_ASYNC)
def test_calls_that_the_person_has_to_allow_wait_and_are_run_or_refused(way):
    async def agent(_run):
        asks = asking(("delete", {"path": "/a"}, "c1"), ("delete", {"path": "/b"}, "c2"))
        approval = HumanInTheLoopMiddleware(interrupt_on={"delete": True})
        graph = create_agent(model(asks, "Done."), [delete], middleware=[approval], checkpointer=InMemorySaver())
        await call(graph, "hi", way, thread())
        decisions = [{"type": "approve"}, {"type": "reject", "message": "not that one"}]
        return await call(graph, Command(resume={"decisions": decisions}), way, thread())

    run = watched(agent)
    assert [(event.question, event.call_id) for event in of(run, PauseRequested)] == [
        ("May delete run?", "c1"),
        ("May delete run?", "c2"),
    ]
    assert "approve" in of(run, PauseRequested)[0].choices
    assert [event.answer for event in of(run, PauseResumed)] == ["approve", "reject: not that one"]
    assert [(name, state) for name, state, _ in rows(run)] == [("delete", "done"), ("delete", "failed")]
    assert "not that one" in rows(run)[1][2]
    assert run.outcome == "answered"


@pytest.mark.parametrize("way", SYNC_AND_ASYNC)
def test_a_sub_agent_that_asks_the_person_goes_on_in_its_own_row(way):
    async def agent(_run):
        asks = asking(("ask", {"question": "Which city?"}, "s1"))
        inner = create_agent(model(asks, "Oslo."), [ask], name="expert", checkpointer=True)

        @tool
        def ask_expert(question: str) -> str:
            """Asks the expert."""
            return inner.invoke({"messages": [("user", question)]})["messages"][-1].content

        outer = model(asking(("ask_expert", {"question": "?"}, "c1")), "Done.")
        graph = create_agent(outer, [ask_expert], checkpointer=InMemorySaver())
        await call(graph, "hi", way, thread())
        return await call(graph, Command(resume="Oslo"), way, thread())

    run = watched(agent)
    assert rows(run) == [("ask_expert", "done", "Oslo."), ("ask", "done", "they said Oslo")]
    assert [event.name for event in of(run, AgentStarted)] == ["expert"]
    assert [event.outcome for event in of(run, AgentEnded)] == ["done"]
    assert len(of(run, PauseRequested)) == len(of(run, PauseResumed)) == 1
    assert run.answer_text == "Done."


def test_a_question_of_a_plain_node_is_a_pause():
    async def agent(_run):
        graph = StateGraph(MessagesState)
        graph.add_node("check", lambda _state: {"messages": [("ai", f"Going on: {interrupt('Go on?')}")]})
        graph.add_edge(START, "check")
        graph = graph.compile(checkpointer=InMemorySaver())
        await call(graph, "hi", "ainvoke", thread())
        return await call(graph, Command(resume="yes"), "ainvoke", thread())

    run = watched(agent)
    assert [(event.question, event.call_id) for event in of(run, PauseRequested)] == [("Go on?", None)]
    assert [event.answer for event in of(run, PauseResumed)] == ["yes"]


def team():
    @tool
    def transfer_to_bob(tool_call_id: Annotated[str, InjectedToolCallId]):
        """Hands over to Bob."""
        done = ToolMessage("Transferred to Bob", tool_call_id=tool_call_id)
        return Command(goto="bob", graph=Command.PARENT, update={"messages": [done]})

    alice = create_agent(model(asking(("transfer_to_bob", {}, "h1"))), [transfer_to_bob], name="alice")
    graph = StateGraph(MessagesState)
    graph.add_node("alice", alice, destinations=("bob",))
    graph.add_node("bob", create_agent(model("I am Bob."), [], name="bob"))
    graph.add_edge(START, "alice")
    return graph.compile(name="team")


@pytest.mark.parametrize("way", SYNC_AND_ASYNC)
def test_agents_that_hand_over_stand_side_by_side_and_the_last_one_answers(way):
    async def agent(_run):
        return await call(team(), "hi", way)

    run = watched(agent)
    assert [(step.text, step.state) for step in run.steps if step.kind == "agent"] == [("alice", "done"), ("bob", "done")]
    assert rows(run) == [("transfer_to_bob", "done", "Transferred to Bob")]
    assert run.steps[1].parent == 0
    assert run.answer_text == "I am Bob."
    assert run.outcome == "answered"


def test_agents_of_one_name_that_work_at_once_are_rows_of_their_own():
    async def agent(_run):
        graph = StateGraph(MessagesState)
        for name in ("one", "two"):
            graph.add_node(name, create_agent(model(f"I am {name}."), [], name="worker"))
            graph.add_edge(START, name)
        said = await call(graph.compile(), "hi", "ainvoke")
        return sorted(str(one) for one in said)

    run = watched(agent)
    assert [step.text for step in run.steps] == ["worker", "worker"]
    assert len({event.agent_id for event in of(run, AgentStarted)}) == 2


def test_a_graph_in_a_graph_without_a_name_is_called_by_its_node():
    async def agent(_run):
        speaks = model("From within.")
        inner, outer = StateGraph(MessagesState), StateGraph(MessagesState)
        inner.add_node("speak", lambda state: {"messages": [speaks.invoke(state["messages"])]})
        inner.add_edge(START, "speak")
        outer.add_node("research", inner.compile())
        outer.add_edge(START, "research")
        return await call(outer.compile(), "hi", "invoke")

    run = watched(agent)
    assert [(step.kind, step.text) for step in run.steps] == [("agent", "research")]
    assert run.answer_text == "From within."


def test_nodes_side_by_side_say_nothing_of_what_another_asked_for():
    def node(number):
        async def ask(state):
            says = model(asking(("weather", {"city": f"City {number}"}, f"c{number}"), text="."), f"Mild {number}.")
            asked = await says.ainvoke("hi")
            asking_still.remove(number)
            if not asking_still:
                all_have_asked.set()
            await all_have_asked.wait()
            for one in asked.tool_calls:
                await weather.ainvoke({**one, "type": "tool_call"})
            return {"messages": [await says.ainvoke("hi")]}

        return ask

    asking_still, all_have_asked = [0, 1, 2], asyncio.Event()
    graph = StateGraph(MessagesState)
    for number in range(3):
        graph.add_node(f"node {number}", node(number))
        graph.add_edge(START, f"node {number}")

    async def scenario():
        with agentcell.watch(display=False) as run:
            await graph.compile().ainvoke({"messages": []})
        return run

    run = asyncio.run(scenario())
    ends = [(event.call_id, event.result) for event in run.events if isinstance(event, ToolEnded)]
    assert sorted(ends) == [(f"c{number}", f"7 degrees in City {number}") for number in range(3)]
