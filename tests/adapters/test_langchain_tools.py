"""Tools that LangChain runs and that tell of themselves too: one row, with what the tool says of it."""

import pytest
from langchain.agents import create_agent
from langchain_core.tools import tool

import agentcell
from adapters.langchain_agents import WAYS, call, of, rows, watched
from adapters.langchain_models import asking, model
from agentcell.events import ToolEnded, ToolProgressed, ToolStarted

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@tool
@agentcell.tool
def search(query: str) -> list[str]:
    """Searches."""
    run = agentcell.current_run()
    if run is not None:
        run.progress(f"reading about {query}")
    return [f"all of {query}"]


@tool
@agentcell.tool
async def fetch(page: str) -> str:
    """Fetches a page."""
    run = agentcell.current_run()
    if run is not None:
        run.progress({"message": "half", "page": page})
    return f"<{page}>"


@pytest.mark.parametrize("way", WAYS)
def test_a_tool_that_tells_of_itself_is_one_row(way):
    asks = [("search", {"query": "pools"}, "c1"), ("search", {"query": "deploys"}, "c2")]

    async def agent(_run):
        return await call(create_agent(model(asking(*asks), "Found."), [search]), "hi", way)

    run = watched(agent)
    assert rows(run) == [("search", "done", ["all of pools"]), ("search", "done", ["all of deploys"])]
    assert {event.call_id for event in of(run, ToolStarted)} == {"c1", "c2"}
    assert sorted(event.call_id for event in of(run, ToolEnded)) == ["c1", "c2"]
    told = {event.call_id: event.payload["message"] for event in of(run, ToolProgressed)}
    assert told == {"c1": "reading about pools", "c2": "reading about deploys"}


@pytest.mark.parametrize("way", ["ainvoke", "astream"])
def test_an_async_tool_that_tells_of_itself_is_one_row(way):
    async def agent(_run):
        asks = asking(("fetch", {"page": "a"}, "c1"), ("fetch", {"page": "b"}, "c2"))
        return await call(create_agent(model(asks, "Fetched."), [fetch]), "hi", way)

    run = watched(agent)
    assert rows(run) == [("fetch", "done", "<a>"), ("fetch", "done", "<b>")]
    assert {event.call_id: event.payload["page"] for event in of(run, ToolProgressed)} == {"c1": "a", "c2": "b"}


@pytest.mark.parametrize("way", WAYS)
def test_what_a_tool_does_stands_under_it(way):
    @agentcell.tool
    def look_up(key):
        if key == "bad":
            raise KeyError(key)
        return key.upper()

    @tool
    def report(key: str) -> str:
        """Reports."""
        return look_up(key)

    async def agent(_run):
        asks = asking(("report", {"key": "a"}, "c1"), ("report", {"key": "b"}, "c2"))
        return await call(create_agent(model(asks, "Done."), [report]), "hi", way)

    run = watched(agent)
    outer = {step.id: step.arguments["key"] for step in run.steps if step.tool == "report"}
    inner = {outer[step.parent]: step.result for step in run.steps if step.tool == "look_up"}
    assert inner == {"a": "A", "b": "B"}


def test_a_tool_that_tells_of_itself_and_raises_is_one_row_that_failed():
    @tool
    @agentcell.tool
    def broken(part: str) -> str:
        """Breaks."""
        raise ValueError(f"no {part}")

    async def agent(_run):
        return await call(create_agent(model(asking(("broken", {"part": "x"}, "c1"))), [broken]), "hi", "invoke")

    run = watched(agent, raises=ValueError)
    assert rows(run) == [("broken", "failed", "ValueError: no x")]
    assert len(of(run, ToolEnded)) == 1


def test_nothing_of_a_tool_stays_in_the_context_behind_it():
    with agentcell.watch(display=False) as run:
        search.invoke({"query": "pools"})
        with run.tool("other"):
            pass
    assert [step.parent for step in run.steps] == [None, None]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("asked", ["agent", "model"])
def test_an_agent_or_a_model_that_a_tool_of_the_users_own_asks_stands_under_it_and_does_not_answer(asked, way):
    @agentcell.tool
    async def ask_expert(question):
        if asked == "model":
            return (await model("Bergen is wet.").ainvoke(question)).content
        asks = asking(("search", {"query": "Bergen"}, "c1"))
        expert = create_agent(model(asks, "Bergen is wet."), [search], name="expert")
        return (await call(expert, question, way))[-1][1]

    async def agent(run):
        found = await ask_expert("Bergen?")
        if run is not None:
            run.write(f"Take a coat: {found}")
        return found

    run = watched(agent)
    assert run.answer_text == "Take a coat: Bergen is wet."
    assert [(step.parent, step.kind) for step in run.steps][:2] == [(None, "tool"), (0, "agent")]
    assert [step.parent for step in run.steps if step.tool == "search"] == ([1] if asked == "agent" else [])
