"""What providers really streamed, through their own SDKs, against a reading of the raw bytes."""

from __future__ import annotations

import asyncio
import json
from contextlib import nullcontext

import openai
import pytest

from adapters import raw
from adapters.clients import ask, async_client, helper, sync_client
from adapters.collector import Collector
from agentcell.adapters.streams import watch_stream
from agentcell.events import ModelEnded, ModelStarted, Usage
from agentcell.run import Run
from agentcell.testing import ReplayServer
from shared import shared_path

READ = {"chat": raw.chat, "responses": raw.responses, "messages": raw.messages, "gemini": raw.gemini}

FILES = {
    "anthropic_mcp": "messages",
    "anthropic_thinking": "messages",
    "anthropic_thinking_redacted": "messages",
    "anthropic_tool_two_turns": "messages",
    "anthropic_web_search": "messages",
    "deepseek_reasoning_content": "chat",
    "google_tool_thought_signature": "gemini",
    "groq_tool_use_failed": "chat",
    "mistral_thinking": "chat",
    "openai_chat_tools_three_turns": "chat",
    "openai_responses_mcp": "responses",
    "openai_responses_reasoning_summary": "responses",
    "openai_responses_tool_two_turns": "responses",
    "openai_responses_web_search": "responses",
    "openrouter_reasoning": "chat",
    "openrouter_stream_error": "chat",
}
ERRORS = {
    "groq_tool_use_failed": "APIError: Tool call validation failed: ",
    "openrouter_stream_error": "APIError: Token limit reached",
}

# The SDK's helper copies each response, and its own types do not know this recording's weather source.
ODD = pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning")
HELPED = [
    pytest.param(name, marks=ODD) if name == "openai_responses_web_search" else name
    for name in FILES
    if name.startswith(("anthropic_", "openai_"))
]


def exchanges(name):
    """The streams of a recording, each as a recording of its own."""
    recording = json.loads(shared_path("recordings", f"{name}.json").read_text(encoding="utf-8"))
    streams = [each for each in recording["exchanges"] if each["response"]["content_type"].startswith("text/event-stream")]
    return [({"exchanges": [each]}, each["response"]["body"]) for each in streams]


def assert_heard(run, expected, *, error=None):
    assert run.faults == []
    assert run.unknown == []
    assert run.text == expected.text
    assert run.thinking == expected.thinking
    assert [call[1:] for call in run.asked] == [call[1:] for call in expected.asked]
    assert all(given[0] == wanted[0] or wanted[0] is None for given, wanted in zip(run.asked, expected.asked, strict=True))
    assert len({call[0] for call in run.asked}) == len(run.asked)
    assert [(call_id, *told[:2]) for call_id, told in run.hosted.items()] == expected.hosted
    assert all(told[2] == "done" and told[3] for told in run.hosted.values())
    assert [block.signature for block in run.blocks if block.signature] == expected.signatures
    end = run.end
    usage = end.usage
    told = usage and (*(getattr(usage, name) for name in ("input_tokens", "output_tokens")), usage.cache_read_tokens)
    assert told == (expected.usage and expected.usage[:3])
    assert (usage and (usage.cache_write_tokens, usage.reasoning_tokens)) == (expected.usage and expected.usage[3:])
    assert (end.finish_reason, end.model, end.response_id) == (expected.finish, expected.model, expected.response_id)
    if error is None:
        assert (end.outcome, end.error) == ("done", None)
    else:
        assert end.outcome == "failed"
        assert end.error.startswith(error)


def fails(name, number):
    return ERRORS.get(name) if number == 0 else None


@pytest.mark.parametrize("name", FILES)
def test_a_sync_stream_says_what_the_raw_bytes_say(name):
    shape = FILES[name]
    for number, (recording, body) in enumerate(exchanges(name)):
        run, passed = Collector(), []
        with ReplayServer(recording) as server, sync_client(shape, server) as client:
            stream = watch_stream(run, ask(shape, client))
            if fails(name, number):
                with pytest.raises(Exception, match=r"Token limit|validation failed"):
                    passed.extend(stream)
            else:
                passed.extend(stream)
        assert len(passed) == sum("error" not in event for event in raw.payloads(body) if event.get("type") != "ping")
        assert_heard(run, READ[shape](body), error=fails(name, number))


@pytest.mark.parametrize("name", FILES)
def test_an_async_stream_says_what_the_raw_bytes_say(name):
    shape = FILES[name]

    async def listen(run, recording):
        with ReplayServer(recording) as server:
            async with async_client(shape, server) as client:
                async for _ in watch_stream(run, ask(shape, client)):  # not awaited before
                    pass

    for number, (recording, body) in enumerate(exchanges(name)):
        run = Collector()
        if fails(name, number):
            with pytest.raises(Exception, match=r"Token limit|validation failed"):
                asyncio.run(listen(run, recording))
        else:
            asyncio.run(listen(run, recording))
        assert_heard(run, READ[shape](body), error=fails(name, number))


@pytest.mark.parametrize("name", HELPED)
def test_a_helper_stream_says_nothing_twice(name):
    shape = FILES[name]
    for recording, body in exchanges(name):
        run = Collector()
        with (
            ReplayServer(recording) as server,
            sync_client(shape, server) as client,
            watch_stream(run, helper(shape, client)) as stream,
        ):
            for _ in stream:
                pass
        assert_heard(run, READ[shape](body))


@pytest.mark.parametrize("name", HELPED)
def test_an_async_helper_stream_says_nothing_twice(name):
    shape = FILES[name]

    async def listen(run, recording):
        with ReplayServer(recording) as server:
            async with async_client(shape, server) as client, watch_stream(run, helper(shape, client)) as stream:
                async for _ in stream:
                    pass

    for recording, body in exchanges(name):
        run = Collector()
        asyncio.run(listen(run, recording))
        assert_heard(run, READ[shape](body))


@pytest.mark.parametrize("name", FILES)
def test_a_whole_conversation_is_one_run(name):
    shape, used = FILES[name], Usage()
    with Run() as run:
        for number, (recording, body) in enumerate(exchanges(name)):
            with (
                ReplayServer(recording) as server,
                sync_client(shape, server) as client,
                pytest.raises(openai.APIError) if fails(name, number) else nullcontext(),
            ):
                for _ in run.stream(ask(shape, client)):
                    pass
            expected = READ[shape](body)
            used += Usage(*expected.usage) if expected.usage else Usage()
    assert run.faults == run.unknown_events == {}
    assert run.usage == used
    started = [event.model_call_id for event in run.events if isinstance(event, ModelStarted)]
    assert started == [event.model_call_id for event in run.events if isinstance(event, ModelEnded)]
    assert expected.text.strip().endswith(run.answer_text.strip())
    assert bool(run.answer_text) == bool(expected.text and not expected.asked)


def test_every_recording_is_tested():
    assert {path.stem for path in shared_path("recordings").glob("*.json")} == set(FILES)
