"""Agents of LangChain for tests, made anew for each call, and what is to be the same with and without a run."""

from __future__ import annotations

import asyncio
from types import NoneType

from langchain.agents import create_agent
from langchain.agents.middleware import wrap_tool_call
from langchain_core.callbacks import dispatch_custom_event
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool

from adapters.beside import watch_beside
from adapters.langchain_models import asking, model

WAYS = ("invoke", "stream", "ainvoke", "astream")
MODES = ["messages", "values"]


@tool
def weather(city: str) -> str:
    """Tells the weather."""
    dispatch_custom_event("progress", {"message": f"asking {city}"})
    return f"7 degrees in {city}"


@tool
def boom(times: int) -> str:
    """Breaks."""
    raise ValueError(f"boom {times}")


@wrap_tool_call
def forgiving(request, handler):
    """Turns what a tool raises into words for the model."""
    try:
        return handler(request)
    except ValueError as error:
        return ToolMessage(f"failed: {error}", tool_call_id=request.tool_call["id"], status="error")


@wrap_tool_call
async def forgiving_async(request, handler):
    """The same, for async calls."""
    try:
        return await handler(request)
    except ValueError as error:
        return ToolMessage(f"failed: {error}", tool_call_id=request.tool_call["id"], status="error")


def weather_agent(way, *, forgives=True):
    asks = asking(
        ("weather", {"city": "Oslo"}, "c1"), ("boom", {"times": 1}, "c2"), text="Let me look.", thinking="I need the weather."
    )
    middleware = [forgiving_async if way.startswith("a") else forgiving] if forgives else []
    return create_agent(model(asks, "It is mild in Oslo."), [weather, boom], middleware=middleware)


async def call(agent, given, way="ainvoke", config=None):
    """Calls an agent in one of four ways; returns what it said, without ids."""
    given = {"messages": [("user", given)]} if isinstance(given, str) else given
    if way == "invoke":
        state = agent.invoke(given, config)
    elif way == "ainvoke":
        state = await agent.ainvoke(given, config)
    elif way == "stream":
        state = [one for mode, one in agent.stream(given, config, stream_mode=MODES) if mode == "values"][-1]
    else:
        state = [one async for mode, one in agent.astream(given, config, stream_mode=MODES) if mode == "values"][-1]
    return [said(message) for message in state["messages"]]


def said(message):
    return (
        type(message).__name__,
        message.content,
        getattr(message, "tool_calls", None),
        getattr(message, "status", None),
        getattr(message, "usage_metadata", None),
    )


def rows(run):
    """The rows of tools: name, state, result or what is said of the failure."""
    return [(step.tool, step.state, step.result or step.detail) for step in run.steps if step.kind == "tool"]


def of(run, *kinds):
    return [event for event in run.events if isinstance(event, kinds)]


def watched(agent, *, raises=NoneType, **options):
    run = asyncio.run(watch_beside(agent, **options))
    assert isinstance(run.raised, raises), run.raised
    assert all(step.state != "running" for step in run.steps)
    return run
