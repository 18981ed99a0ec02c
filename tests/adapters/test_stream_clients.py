"""Watched streams of the real SDKs where they end badly, are left early, or were no streams at all."""

from __future__ import annotations

import asyncio
import json
import time

import anthropic
import openai
import pytest

from adapters.clients import CHAT, MESSAGES, RESPONSES, ask, async_client, helper, sync_client
from adapters.collector import Collector
from adapters.hearing import exchange
from agentcell.adapters.streams import watch_stream
from agentcell.testing import ReplayServer

SHAPES = {
    "chat": exchange("chat_usage", 0),
    "responses": exchange("responses_answer", 0),
    "messages": exchange("messages_blocks", 0),
    "gemini": exchange("gemini_parts", 0),
}
HELPED = ("chat", "responses", "messages")
CUT = ("cancelled", "the stream ended without its last event")
CLOSED = ("cancelled", "the stream was closed before its last event")
EVERY = pytest.mark.parametrize("shape", SHAPES)

WHOLE = {
    "chat": {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": []},
    "responses": {"id": "r", "object": "response", "created_at": 1, "model": "m", "output": []},
    "messages": {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": {}},
    "gemini": {"candidates": []},
}


def ended(run):
    return run.end.outcome, run.end.error


@EVERY
def test_a_connection_that_drops_is_a_cut_stream(shape):
    run = Collector()
    with ReplayServer(SHAPES[shape], cut_after=1) as server, sync_client(shape, server) as client:
        for _ in watch_stream(run, ask(shape, client)):
            pass
    assert ended(run) == CUT


@EVERY
def test_a_stream_that_is_left_early_does_not_wait_for_the_rest(shape):
    run = Collector()
    started = time.monotonic()
    with ReplayServer(SHAPES[shape], pace=60) as server, sync_client(shape, server) as client:
        for _ in watch_stream(run, ask(shape, client)):
            break
    assert ended(run) == CLOSED
    assert time.monotonic() - started < 30


@EVERY
def test_an_async_stream_that_is_left_early_does_not_wait_for_the_rest(shape):
    async def listen():
        async with async_client(shape, server) as client:
            async for _ in watch_stream(run, ask(shape, client)):
                break

    run = Collector()
    started = time.monotonic()
    with ReplayServer(SHAPES[shape], pace=60) as server:
        asyncio.run(listen())
    assert ended(run) == CLOSED
    assert time.monotonic() - started < 30


@pytest.mark.parametrize("shape", HELPED)
def test_a_helper_that_is_left_early_is_cancelled(shape):
    run = Collector()
    with (
        ReplayServer(SHAPES[shape], pace=60) as server,
        sync_client(shape, server) as client,
        watch_stream(run, helper(shape, client)) as stream,
    ):
        next(stream)
    assert ended(run) == CLOSED


@pytest.mark.parametrize("shape", HELPED)
def test_a_helper_may_be_iterated_without_a_block(shape):
    run = Collector()
    with ReplayServer(SHAPES[shape]) as server, sync_client(shape, server) as client:
        for _ in watch_stream(run, helper(shape, client)):
            pass
    assert ended(run) == ("done", None)


@pytest.mark.parametrize(
    ("shape", "method"),
    [
        ("chat", "get_final_completion"),
        ("responses", "until_done"),
        ("messages", "get_final_message"),
        ("messages", "until_done"),
    ],
)
def test_what_reads_a_helper_to_its_end_is_heard(shape, method):
    async def listen():
        async with async_client(shape, server) as client, watch_stream(run, helper(shape, client)) as stream:
            await getattr(stream, method)()

    run = Collector()
    with ReplayServer(SHAPES[shape]) as server:
        asyncio.run(listen())
    assert ended(run) == ("done", None)
    assert run.text


def test_an_async_text_stream_is_heard():
    async def listen():
        async with async_client("messages", server) as client, watch_stream(run, helper("messages", client)) as stream:
            return [text async for text in stream.text_stream]

    run = Collector()
    with ReplayServer(SHAPES["messages"]) as server:
        assert asyncio.run(listen()) == ["I look it up."]
    assert run.text == "I look it up."
    assert ended(run) == ("done", None)


@pytest.mark.parametrize(("shape", "error"), [("chat", openai.AuthenticationError), ("messages", anthropic.AuthenticationError)])
def test_a_request_that_is_refused_fails_the_call(shape, error):
    refusal = {"status": 401, "content_type": "application/json", "body": '{"error": {"message": "no such key"}}'}
    run = Collector()
    with (
        ReplayServer({"exchanges": [{"response": refusal}]}) as server,
        sync_client(shape, server) as client,
        pytest.raises(error),
        watch_stream(run, helper(shape, client)),
    ):
        pass
    assert run.end.outcome == "failed"
    assert "AuthenticationError" in run.end.error
    assert "no such key" in run.end.error


@EVERY
def test_a_whole_response_is_refused_in_words(shape):
    whole = {"status": 200, "content_type": "application/json", "body": json.dumps(WHOLE[shape])}
    with ReplayServer({"exchanges": [{"response": whole}]}) as server, sync_client(shape, server) as client:
        response = {
            "chat": lambda: client.chat.completions.create(**CHAT),
            "responses": lambda: client.responses.create(**RESPONSES),
            "messages": lambda: client.messages.create(**MESSAGES),
            "gemini": lambda: client.models.generate_content(model="m", contents="hi"),
        }[shape]()
    with pytest.raises(TypeError, match="Is stream=True missing"):
        watch_stream(Collector(), response)


def test_an_async_client_without_stream_is_refused_in_words():
    async def listen():
        async with async_client("chat", server) as client:
            async for _ in watch_stream(run, client.chat.completions.create(**CHAT)):
                pass

    run = Collector()
    whole = {"status": 200, "content_type": "application/json", "body": json.dumps(WHOLE["chat"])}
    with ReplayServer({"exchanges": [{"response": whole}]}) as server, pytest.raises(TypeError, match="Is stream=True missing"):
        asyncio.run(listen())
    assert run.end.outcome == "failed"


def test_the_response_of_a_stream_can_still_be_asked_for():
    with ReplayServer(SHAPES["chat"]) as server, sync_client("chat", server) as client:
        stream = watch_stream(Collector(), ask("chat", client))
        assert stream.response.status_code == 200
        for _ in stream:
            pass
