"""One and the same response of a provider, heard by the stream itself, by a framework's adapter and by spans: the same tokens."""

from __future__ import annotations

import asyncio
import json
import os

import pytest

os.environ.setdefault("OPENAI_API_KEY", "none")

import agents
from agents import Agent as OpenAIAgent
from agents import ModelSettings, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner
from langchain_anthropic import ChatAnthropic
from langchain_openai import ChatOpenAI
from opentelemetry.sdk.trace import TracerProvider
from pydantic_ai import Agent
from pydantic_ai.capabilities import Instrumentation
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.instrumented import InstrumentationSettings
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.models.openai import OpenAIResponsesModel as PydanticResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

import agentcell
from adapters.clients import ask, async_client
from adapters.dspy_programs import dspy
from adapters.hearing import exchange
from agentcell.events import Usage
from agentcell.testing import ReplayServer

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

MESSAGE = [
    {
        "type": "message_start",
        "message": {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude-sonnet-4-5",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 20, "cache_creation_input_tokens": 3, "cache_read_input_tokens": 4, "output_tokens": 1},
        },
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Mild."}},
    {"type": "content_block_stop", "index": 0},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn", "stop_sequence": None},
        "usage": {
            "input_tokens": 20,
            "cache_creation_input_tokens": 3,
            "cache_read_input_tokens": 4,  # once more, as the real one does
            "output_tokens": 40,
            "output_tokens_details": {"thinking_tokens": 15},
        },
    },
    {"type": "message_stop"},
]
MESSAGES = {
    "exchanges": [
        {
            "response": {
                "status": 200,
                "content_type": "text/event-stream",
                "body": "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in MESSAGE),
            }
        }
    ]
}
SHAPES = {
    "chat": (exchange("chat_usage", 0), Usage(120, 30, 100, 7, 20)),
    "responses": (exchange("responses_answer", 0), Usage(50, 12, 40, 5, 8)),
    "messages": (MESSAGES, Usage(27, 40, 4, 3, 15)),
}


async def by_stream(shape, client, server, run):
    async for _ in run.stream(ask(shape, client)):
        pass


def pydantic_agent(shape, client, **options):
    if shape == "messages":
        return Agent(AnthropicModel("claude-sonnet-4-5", provider=AnthropicProvider(anthropic_client=client)), **options)
    kind = OpenAIChatModel if shape == "chat" else PydanticResponsesModel
    return Agent(kind("tiny", provider=OpenAIProvider(openai_client=client)), **options)


async def by_pydantic_ai(shape, client, server, run):
    async with pydantic_agent(shape, client).run_stream("hi") as result:
        await result.get_output()


async def by_spans(shape, client, server, run):
    provider = TracerProvider()
    provider.add_span_processor(run.opentelemetry())
    spans = Instrumentation(settings=InstrumentationSettings(tracer_provider=provider))
    agent = pydantic_agent(shape, client, capabilities=[spans])
    async with agent.run_stream("hi") as result:
        await result.get_output()


async def by_langchain(shape, client, server, run):
    if shape == "messages":
        model = ChatAnthropic(model="claude-sonnet-4-5", base_url=server.url, api_key="none", max_retries=0)
    else:
        options = {"use_responses_api": shape == "responses", "stream_usage": True, "max_retries": 0}
        model = ChatOpenAI(model="tiny", base_url=server.url, api_key="none", **options)
    async for _ in model.astream("hi"):
        pass


async def by_openai_agents(shape, client, server, run):
    agents.set_trace_processors([])
    kind = OpenAIChatCompletionsModel if shape == "chat" else OpenAIResponsesModel
    agent = OpenAIAgent("main", model=kind("tiny", client), model_settings=ModelSettings(include_usage=True))
    await run.consume(Runner.run_streamed(agent, "hi"))


class Whole(dspy.ChatAdapter):
    """Takes whatever a model writes for the answer."""

    def parse(self, signature, completion):
        return {"answer": completion}


async def by_dspy(shape, client, server, run):
    kind = {"model_type": "responses"} if shape == "responses" else {}
    name = "anthropic/claude-sonnet-4-5" if shape == "messages" else "openai/tiny"
    lm = dspy.LM(name, api_base=server.url, api_key="none", cache=False, num_retries=0, **kind)
    with dspy.context(lm=lm, adapter=Whole()):
        async for _ in dspy.streamify(dspy.Predict("question -> answer"), is_async_program=True)(question="hi"):
            pass


ROADS = {
    "stream": by_stream,
    "pydantic-ai": by_pydantic_ai,
    "spans": by_spans,
    "LangChain": by_langchain,
    "OpenAI Agents": by_openai_agents,
    "DSPy": by_dspy,
}


async def heard(road, shape):
    recording, _ = SHAPES[shape]
    with ReplayServer(recording) as server:
        async with async_client(shape, server) as client:
            with agentcell.watch(display=False, auto=road != "spans") as run:
                await ROADS[road](shape, client, server, run)
    assert run.faults == {}
    return run


@pytest.mark.parametrize(
    ("road", "shape"),
    [(road, shape) for road in ROADS for shape in SHAPES if (road, shape) != ("OpenAI Agents", "messages")],
)
def test_the_same_response_has_the_same_tokens(road, shape):
    run = asyncio.run(heard(road, shape))
    _, usage = SHAPES[shape]
    assert run.usage == usage
    assert len(run.catch_up().calls.models) == 1
