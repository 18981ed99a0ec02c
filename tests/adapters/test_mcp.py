"""MCP's progress, from a real server in this process: it stands in the row of the call that asked."""

from __future__ import annotations

import asyncio

import pytest
from mcp.client import Client
from mcp.server.mcpserver import Context, MCPServer

import agentcell
from adapters.beside import watch_beside
from agentcell.adapters.ledger import Ledger
from agentcell.events import ToolProgressed, ToolStarted

server = MCPServer("pages")


@server.tool()
async def read_pages(topic: str, ctx: Context) -> str:
    """Reads some pages."""
    for page in (1, 2):
        await ctx.report_progress(page, 2, f"Reading about {topic}")
        await asyncio.sleep(0)
    await ctx.report_progress(3)
    return f"all of {topic}"


async def read(client, topic, callback=None):
    result = await client.call_tool("read_pages", {"topic": topic}, progress_callback=callback)
    return result.content[0].text


def progress(run, call_id):
    return [event.payload["message"] for event in run.events if isinstance(event, ToolProgressed) and event.call_id == call_id]


def told(topic):
    return [f"Reading about {topic} (1 of 2)", f"Reading about {topic} (2 of 2)", "3"]


def calls(run):
    return {event.arguments["topic"]: event.call_id for event in run.events if isinstance(event, ToolStarted)}


def test_the_progress_stands_in_the_row_of_the_call_that_asked_also_of_two_side_by_side():
    async def scenario(run):
        async def ask(client, topic):
            if run is None:
                return await read(client, topic)
            with run.tool("read_pages", topic=topic) as call:
                text = await read(client, topic, run.mcp_progress())
                call.result(text)
                return text

        async with Client(server) as client:
            return await asyncio.gather(ask(client, "pools"), ask(client, "carts"))

    run = asyncio.run(watch_beside(scenario))
    for topic, call_id in calls(run).items():
        assert progress(run, call_id) == told(topic)
    assert [step.state for step in run.steps] == ["done", "done"]


def test_a_call_that_a_framework_has_started_is_found_by_its_task():
    async def scenario():
        with agentcell.watch(display=False) as run:
            turn = Ledger(run).turn("t")

            async def ask(client, topic):
                turn.start_tool(topic, "read_pages", {"topic": topic})  # as a framework's hook tells it, in the call's own task
                turn.end_tool(topic, result=await read(client, topic, run.mcp_progress()))

            async with Client(server) as client:
                await asyncio.gather(ask(client, "pools"), ask(client, "carts"))
        return run

    run = asyncio.run(scenario())
    for topic in ("pools", "carts"):
        assert progress(run, topic) == told(topic)


@pytest.mark.parametrize("others", [0, 1])
def test_a_callback_for_a_whole_client_brings_it_to_the_only_call_that_runs_and_to_none_of_several(others):
    async def scenario():
        with agentcell.watch(display=False) as run:
            callback = run.mcp_progress()
            turn = Ledger(run).turn("t")

            async def tell(key):
                turn.start_tool(key, "read_pages", {"topic": key})

            async with Client(server) as client:
                for key in ["pools", "carts"][: 1 + others]:
                    await asyncio.create_task(tell(key))
                await read(client, "pools", callback)
        return run

    run = asyncio.run(scenario())
    assert progress(run, "pools") == ([] if others else told("pools"))
    assert progress(run, "carts") == []


def test_outside_of_any_call_and_behind_the_block_nothing_happens():
    async def scenario():
        async with Client(server) as client:
            with agentcell.watch(display=False) as run:
                callback = run.mcp_progress()
                assert await read(client, "pools", callback) == "all of pools"
            assert await read(client, "pools", callback) == "all of pools"
        return run

    run = asyncio.run(scenario())
    assert run.steps == ()
    assert run.faults == {}


def by_pydantic_ai(ask):
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    def says(messages, _info):
        calls = [ToolCallPart("read_pages", {"topic": topic}, tool_call_id=topic) for topic in ("pools", "carts")]
        return ModelResponse(parts=calls if len(messages) == 1 else [TextPart("Read.")])

    agent = Agent(FunctionModel(says))

    @agent.tool_plain(name="read_pages")
    async def read_pages(topic: str) -> str:
        return await ask(topic)

    return agent.run("hi")


def by_langchain(ask):
    from langchain.agents import create_agent
    from langchain_core.tools import tool

    from adapters.langchain_models import asking, model

    @tool
    async def read_pages(topic: str) -> str:
        """Reads some pages."""
        return await ask(topic)

    calls = [("read_pages", {"topic": topic}, topic) for topic in ("pools", "carts")]
    return create_agent(model(asking(*calls), "Read."), [read_pages]).ainvoke({"messages": [("user", "hi")]})


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("framework", [by_pydantic_ai, by_langchain])
def test_the_progress_of_two_tools_of_a_real_agent_stands_in_each_one_s_row(framework):
    async def scenario(run):
        async with Client(server) as client:
            await framework(lambda topic: read(client, topic, run.mcp_progress() if run is not None else None))
        return "read"

    run = asyncio.run(watch_beside(scenario))
    assert set(calls(run)) == {"pools", "carts"}
    for topic, call_id in calls(run).items():
        assert progress(run, call_id) == told(topic)
