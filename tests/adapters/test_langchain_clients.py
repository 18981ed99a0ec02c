"""LangChain's real clients on what providers really streamed: the same as the provider's own SDK says, by another road."""

import json

import pytest
from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

import agentcell
from adapters.clients import ask, sync_client
from adapters.langchain_agents import call, rows, said, watched
from agentcell.events import ModelEnded, TextDelta, ThinkingEnded
from agentcell.testing import ReplayServer
from shared import shared_path

pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning",
    "ignore:Pydantic serializer warnings:UserWarning",
    "ignore:Received unexpected tool content block:UserWarning",
)

RECORDINGS = (
    "anthropic_mcp",
    "anthropic_thinking",
    "anthropic_thinking_redacted",
    "anthropic_web_search",
    "openai_responses_mcp",
    "openai_responses_reasoning_summary",
    "openai_responses_web_search",
)


def chat_model(name, server):
    options = {"base_url": server.url, "api_key": "none", "max_retries": 0}
    if name.startswith("anthropic"):
        return ChatAnthropic(model="claude-sonnet-4-0", **options)
    return ChatOpenAI(model="gpt-4o", use_responses_api="responses" in name, stream_usage=True, **options)


def by_langchain(name):
    recording = shared_path("recordings", f"{name}.json")

    async def agent(_run):
        with ReplayServer(recording) as server:
            whole = None
            async for chunk in chat_model(name, server).astream("hi"):
                whole = chunk if whole is None else whole + chunk
        return said(whole)

    return watched(agent)


def by_sdk(name):
    shape = "messages" if name.startswith("anthropic") else "responses"
    recording = shared_path("recordings", f"{name}.json")
    with agentcell.watch(display=False) as run, ReplayServer(recording) as server, sync_client(shape, server) as client:
        for _ in run.stream(ask(shape, client)):
            pass
    return run


def thoughts(run):
    """What the model thought; LangChain tells two stretches of it, with a search between them, as one."""
    return "".join(step.content for step in run.steps if step.kind == "thinking").split()


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_stream_says_by_langchain_what_it_says_by_the_sdk(name):
    ours, sdk = by_langchain(name), by_sdk(name)
    assert ours.answer_text.split() == sdk.answer_text.split()
    assert (ours.usage.input_tokens, ours.usage.output_tokens) == (sdk.usage.input_tokens, sdk.usage.output_tokens)
    assert ours.usage.cache_read_tokens == sdk.usage.cache_read_tokens
    told, known = ([step.arguments for step in run.steps if step.tool] for run in (ours, sdk))
    for mine, theirs in zip(told, known, strict=True):
        assert mine in (theirs, {})  # LangChain leaves out what it lists the tools of a server with
    assert thoughts(ours) == thoughts(sdk)
    ended = [[event for event in run.events if isinstance(event, ModelEnded)][-1] for run in (ours, sdk)]
    assert ended[0].model == ended[1].model
    assert ended[0].outcome == ended[1].outcome == "done"


def test_reasoning_that_the_provider_keeps_to_itself_is_told_so():
    run = by_langchain("anthropic_thinking_redacted")
    assert [block.type for event in run.events if isinstance(event, ThinkingEnded) for block in event.blocks] == [
        "redacted_thinking",
        "redacted_thinking",
    ]


@tool
def get_capital(country: str) -> str:
    """Tells the capital of a country."""
    return "Paris"


@pytest.mark.parametrize("way", ["stream", "astream"])
def test_an_agent_on_a_recorded_provider_calls_its_tool_and_answers(way):
    recording = shared_path("recordings", "openai_responses_tool_two_turns.json")

    async def agent(_run):
        with ReplayServer(recording) as server:
            said_by_it = await call(create_agent(chat_model("openai_responses", server), [get_capital]), "hi", way)
        return json.dumps(said_by_it)

    run = watched(agent)
    assert rows(run) == [("get_capital", "done", "Paris")]
    assert run.answer_text == "The capital of France is Paris."
    assert run.usage.total_tokens == 558


@pytest.mark.filterwarnings("ignore:The v3 streaming protocol")
def test_a_stream_of_all_events_streams_the_answer_once():
    recording = shared_path("recordings", "openai_responses_tool_two_turns.json")

    async def agent(_run):
        with ReplayServer(recording) as server:
            made = create_agent(chat_model("openai_responses", server), [get_capital])
            async for _ in await made.astream_events({"messages": [("user", "hi")]}, version="v3"):
                pass

    run = watched(agent)
    told = [event.text for event in run.events if isinstance(event, TextDelta)]
    assert "".join(told) == run.answer_text == "The capital of France is Paris."
    assert len(told) > 3
    assert run.usage.total_tokens == 558
