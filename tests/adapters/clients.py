"""The providers' own SDKs, pointed at a replay server: one way each to ask for a stream."""

from __future__ import annotations

from contextlib import asynccontextmanager, contextmanager

import anthropic
import openai
from google import genai

CHAT = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
RESPONSES = {"model": "m", "input": "hi"}
MESSAGES = {"model": "m", "max_tokens": 99, "messages": [{"role": "user", "content": "hi"}]}
GEMINI = {"model": "m", "contents": "hi"}

OPTIONS = {"api_key": "none", "max_retries": 0}


@contextmanager
def sync_client(shape, server):
    if shape == "gemini":
        with genai.Client(api_key="none", http_options={"base_url": server.url}) as client:
            yield client
    else:
        kind = anthropic.Anthropic if shape == "messages" else openai.OpenAI
        with kind(base_url=server.url, **OPTIONS) as client:
            yield client


@asynccontextmanager
async def async_client(shape, server):
    if shape == "gemini":
        async with genai.Client(api_key="none", http_options={"base_url": server.url}).aio as client:
            yield client
    else:
        kind = anthropic.AsyncAnthropic if shape == "messages" else openai.AsyncOpenAI
        async with kind(base_url=server.url, **OPTIONS) as client:
            yield client


def ask(shape, client):
    """The raw stream of one model call; of an async client its awaitable."""
    if shape == "chat":
        return client.chat.completions.create(stream=True, **CHAT)
    if shape == "responses":
        return client.responses.create(stream=True, **RESPONSES)
    if shape == "messages":
        return client.beta.messages.create(stream=True, **MESSAGES)
    return client.models.generate_content_stream(**GEMINI)


def helper(shape, client):
    """The manager of the SDK's own helper stream."""
    if shape == "chat":
        return client.chat.completions.stream(**CHAT)
    if shape == "responses":
        return client.responses.stream(**RESPONSES)
    return client.beta.messages.stream(**MESSAGES)
