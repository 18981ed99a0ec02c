"""What each framework's adapter costs: the same agent with the framework's own fake model, watched and not, in turns.

A fake model answers at once, so that nothing is left of a run but the framework's own work and ours; beside a real model, which takes
seconds, both are nothing. What counts is the ratio between them. What one event costs stands beside it, with what a framework
does more when it is heard, as to stream.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import statistics
import sys
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import agentcell

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from figures import Report

ROUNDS = 15
RATIO = 2.0  # a watched run beside an unwatched one: the framework's own work is a few milliseconds

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))  # the agents that the tests run
os.environ |= {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "OPENAI_API_KEY": "none", "OPENAI_AGENTS_DISABLE_TRACING": "1"}


def langchain() -> Callable[[], Awaitable[Any]]:
    from adapters.langchain_agents import call, weather_agent

    return lambda: call(weather_agent("astream"), "hi", "astream")


def pydantic_ai() -> Callable[[], Awaitable[Any]]:
    from pydantic_ai import Agent
    from pydantic_ai.models.function import DeltaToolCall

    from adapters.scripted import scripted

    async def script(messages: Any, _info: Any) -> Any:
        if len(messages) == 1:
            yield {0: DeltaToolCall(name="weather", json_args='{"city": "Oslo"}', tool_call_id="w")}
        else:
            for word in ("It ", "is ", "mild."):
                yield word

    agent = Agent(scripted(script))

    @agent.tool_plain
    def weather(city: str) -> str:
        return city

    return lambda: agent.run("hi")


def openai_agents() -> Callable[[], Awaitable[Any]]:
    from agents import Runner

    from adapters import openai_agents_scripts as scripts

    def make() -> Any:
        return scripts.make([scripts.call("weather", 1, city="Oslo")], [scripts.assistant_message("It is mild.")])

    return lambda: Runner.run(make(), "hi")


def smolagents() -> Callable[[], Awaitable[Any]]:
    from adapters.test_smolagents import two_tools

    async def run() -> Any:
        return two_tools().run("hi")

    return run


def dspy() -> Callable[[], Awaitable[Any]]:
    from adapters.dspy_programs import call, react, script

    return lambda: call(react(), script())


def llama_index() -> Callable[[], Awaitable[Any]]:
    from adapters import llama_index_agents as agents

    async def run() -> Any:
        return await agents.forecaster().run("hi")

    return run


FRAMEWORKS = {
    "LangChain and LangGraph": langchain,
    "pydantic-ai": pydantic_ai,
    "OpenAI Agents": openai_agents,
    "smolagents": smolagents,
    "DSPy": dspy,
    "LlamaIndex": llama_index,
}


def plain_call() -> float:
    """Microseconds of a call that does nothing."""

    def nothing() -> None:
        return None

    began = time.process_time()
    for _ in range(1_000_000):
        nothing()
    return time.process_time() - began


async def seconds(run: Callable[[], Awaitable[Any]], *, watched: bool) -> tuple[float, int]:
    """The processor's time that one run of the agent takes, in all threads together, and how many events it made."""
    if not watched:
        began = time.process_time()
        await run()
        return time.process_time() - began, 0
    with agentcell.watch("hi", display=False) as block:
        began = time.process_time()
        await run()
        taken = time.process_time() - began
    if block.faults:
        raise RuntimeError(f"a fault of ours: {block.faults}")
    return taken, len(block.events)


def measure_adapters(report: Report) -> None:
    """Measures each of them."""
    report.heading("adapters: one agent with a fake model, watched beside unwatched")
    empty = plain_call()
    report.line("a call of Python that does nothing", empty, "µs")
    logging.disable(logging.CRITICAL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, make in FRAMEWORKS.items():
            run, alone, beside, events = make(), [], [], 0
            for _ in range(3):
                asyncio.run(seconds(run, watched=True))
            for _ in range(ROUNDS):  # in turns, so that what else the machine does falls on both
                gc.collect()
                alone.append(asyncio.run(seconds(run, watched=False))[0])
                taken, events = asyncio.run(seconds(run, watched=True))
                beside.append(taken)
            without, within = statistics.median(alone), statistics.median(beside)
            cost = max(0.0, within - without) / events * 1e6
            report.line(f"{name}: unwatched", without * 1e3, "ms")
            report.line(f"{name}: watched, {events} events", within / without, "×", at_most=RATIO)
            report.line(f"{name}: an event", cost, "µs")
            report.line(f"{name}: an event beside an empty call", cost / empty, "×")
    logging.disable(logging.NOTSET)
