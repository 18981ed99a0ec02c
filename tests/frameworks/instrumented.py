"""What every framework that is heard by its spans has to show: an agent with two model calls and two tools, of which one raises.

The model is a real client's, and its answers are recordings; so the tokens are the framework's own count.
"""

from __future__ import annotations

import asyncio
import json

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider

import agentcell
from adapters.beside import watch_beside
from agentcell.events import ModelEnded, ModelStarted, Usage
from agentcell.testing import ReplayServer


def provider():
    """The process's provider of spans; a framework may have set one already."""
    if not isinstance(trace.get_tracer_provider(), TracerProvider):
        trace.set_tracer_provider(TracerProvider())
    return trace.get_tracer_provider()


def chat(words=None, *calls):
    """A whole answer of a Chat Completions model; `calls` are (name, id, arguments)."""
    asked = [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for name, call_id, arguments in calls
    ]
    message = {"role": "assistant", "content": words, **({"tool_calls": asked} if asked else {})}
    body = {
        "id": f"answer to {words}",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-5-mini",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if asked else "stop"}],
        "usage": {
            "prompt_tokens": 20,
            "completion_tokens": 5,
            "total_tokens": 25,
            "prompt_tokens_details": {"cached_tokens": 4},
            "completion_tokens_details": {"reasoning_tokens": 2},
        },
    }
    return {"response": {"status": 200, "content_type": "application/json", "body": json.dumps(body)}}


def failure():
    body = json.dumps({"error": {"message": "the model is down", "type": "invalid_request_error", "code": None}})
    return {"response": {"status": 400, "content_type": "application/json", "body": body}}


TWO_TOOLS = [chat("Let me look.", ("weather", "c1", {"city": "Oslo"}), ("boom", "c2", {})), chat("It is mild.")]


def hear(answers, agent, **options):
    """The run of `await agent(url)`, which is called once without and once inside a block."""

    async def scenario(_run):
        with ReplayServer({"exchanges": answers}) as server:
            return await agent(server.url)

    return asyncio.run(watch_beside(scenario, **options))


def rows(run):
    return [(step.tool or step.text, step.state) for step in run.steps]


def of(run, *kinds):
    return [event for event in run.events if isinstance(event, kinds)]


def assert_two_tools(run, *, reasoning=4):
    """What the scenario of `TWO_TOOLS` looks like."""
    assert sorted(rows(run)) == [("Let me look.", "done"), ("boom", "failed"), ("weather", "done")]
    assert "no roads" in next(step.detail for step in run.steps if step.tool == "boom")
    assert (run.answer_text, run.outcome) == ("It is mild.", "answered")
    assert len({event.model_call_id for event in of(run, ModelStarted)}) == len(of(run, ModelEnded)) == 2
    assert run.usage == Usage(40, 10, 8, 0, reasoning)


def assert_side_by_side(agent):
    """Two runs at the same time hear each their own; nothing stays behind, and nobody hears what comes behind."""

    async def watched(words):
        with ReplayServer({"exchanges": [chat(words)]}) as server, agentcell.watch(display=False) as run:
            await agent(server.url)
        return run

    async def both():
        return await asyncio.gather(watched("One."), watched("Two."))

    before = provider()._active_span_processor._span_processors
    runs = asyncio.run(both())
    assert [run.answer_text for run in runs] == ["One.", "Two."]
    assert [run.usage.input_tokens for run in runs] == [20, 20]
    assert provider()._active_span_processor._span_processors == before
