"""Programs of DSPy for tests, with DSPy's own dummy model, and what is to be the same with and without a run."""

from __future__ import annotations

import asyncio
import os
from types import NoneType

import pytest

from adapters.beside import watch_beside

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it looks in the network

import dspy
from dspy.utils import DummyLM

dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=True)  # else it fills the person's home

QUIET = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::pydantic.PydanticDeprecatedSince20")


def of(run, *kinds):
    return [event for event in run.events if isinstance(event, kinds)]


def rows(run):
    return [(step.tool, step.state, step.result or step.detail) for step in run.steps if step.kind == "tool"]


def watched(agent, *, raises=NoneType, **options):
    run = asyncio.run(watch_beside(agent, **options))
    assert isinstance(run.raised, raises), run.raised
    assert all(step.state != "running" for step in run.steps)
    return run


def weather(city: str) -> str:
    """Tells the weather."""
    return f"7 degrees in {city}"


def boom(times: int) -> str:
    """Breaks."""
    raise ValueError(f"boom {times}")


def step(thought, tool, **arguments):
    """What the model of a ReAct agent says at one step."""
    return {"next_thought": thought, "next_tool_name": tool, "next_tool_args": arguments}


def script():
    return DummyLM(
        [
            step("I need the weather.", "weather", city="Oslo"),
            step("Now the other.", "boom", times=1),
            step("I know enough.", "finish"),
            {"reasoning": "It was 7 degrees.", "answer": "It is mild."},
        ]
    )


def react():
    return dspy.ReAct("question -> answer", tools=[weather, boom])


async def call(program, lm, way="sync", **settings):
    """Calls a program; returns what it predicts."""
    with dspy.context(lm=lm, **settings):
        prediction = await program.acall(question="?") if way == "async" else program(question="?")
    return {name: value for name, value in prediction.items() if name not in ("trajectory", "history")}
