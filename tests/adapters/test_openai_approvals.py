"""Calls of a remote MCP server that must be approved, through OpenAI's own client: a pause, and then the same call goes on."""

from __future__ import annotations

import asyncio
import json

import openai
import pytest

from adapters.beside import watch_beside
from agentcell.events import ModelEnded, PauseRequested, PauseResumed
from agentcell.testing import ReplayServer

ASKED = {
    "type": "mcp_approval_request",
    "id": "mcpr_1",
    "name": "delete",
    "server_label": "files",
    "arguments": '{"path": "/tmp/x"}',
}
MADE = {
    "type": "mcp_call",
    "id": "mcp_1",
    "approval_request_id": "mcpr_1",
    "name": "delete",
    "server_label": "files",
    "arguments": '{"path": "/tmp/x"}',
    "output": "gone",
    "status": "completed",
}


def said(text):
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}


def events(key, *items):
    empty = {"object": "response", "created_at": 1, "tools": [], "tool_choice": "auto", "parallel_tool_calls": True, "model": "m"}
    told = [{"type": "response.created", "response": empty | {"id": key, "status": "in_progress", "output": []}}]
    for index, item in enumerate(items):
        place = {"output_index": index, "item_id": item["id"], "content_index": 0}
        empty_item = item | ({"content": []} if item["type"] == "message" else {})
        told.append({"type": "response.output_item.added", "output_index": index, "item": empty_item})
        if item["type"] == "message":
            part = item["content"][0]
            told.append({"type": "response.content_part.added", **place, "part": part | {"text": ""}})
            told.append({"type": "response.output_text.delta", **place, "delta": part["text"], "logprobs": []})
            told.append({"type": "response.output_text.done", **place, "text": part["text"], "logprobs": []})
        told.append({"type": "response.output_item.done", "output_index": index, "item": item})
    told.append({"type": "response.completed", "response": empty | {"id": key, "status": "completed", "output": list(items)}})
    return [event | {"sequence_number": number} for number, event in enumerate(told)]


def hear(*streams, helper):
    async def scenario(run):
        bodies = ["".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in stream) for stream in streams]
        exchanges = [{"response": {"status": 200, "content_type": "text/event-stream", "body": body}} for body in bodies]
        names = []
        with ReplayServer({"exchanges": exchanges}) as server:
            async with openai.AsyncOpenAI(base_url=server.url, api_key="none", max_retries=0) as client:
                for _ in streams:
                    asked = {"model": "m", "input": "hi"}
                    stream = client.responses.stream(**asked) if helper else await client.responses.create(stream=True, **asked)
                    async with stream if run is None else run.stream(stream) as watched:
                        names.append([event.type async for event in watched])
                    if run is not None and len(names) == 1:
                        assert [(step.tool, step.state) for step in run.steps] == [("delete", "running"), (None, "running")]
        return names

    run = asyncio.run(watch_beside(scenario))
    assert run.raised is None
    return run


def rows(run):
    return [(step.tool or step.text, step.state, step.parent) for step in run.steps]


HELPER = pytest.mark.parametrize("helper", [False, True], ids=["create", "helper"])


@HELPER
def test_an_approval_is_a_pause_and_then_the_same_call_goes_on(helper):
    run = hear(events("r1", ASKED), events("r2", MADE, said("It is gone.")), helper=helper)
    assert rows(run) == [("delete", "done", None), ("Waiting on you: May `delete` run?", "done", 0)]
    assert (run.steps[0].result, run.answer_text) == ("gone", "It is gone.")
    assert [event.outcome for event in run.events if isinstance(event, ModelEnded)] == ["done", "done"]


@HELPER
def test_a_call_that_is_not_approved_is_over_and_no_failure(helper):
    run = hear(events("r1", ASKED), events("r2", said("Then I leave it.")), helper=helper)
    assert rows(run) == [("delete", "cancelled", None), ("Waiting on you: May `delete` run?", "done", 0)]
    assert (run.answer_text, run.outcome) == ("Then I leave it.", "answered")


def test_two_calls_that_wait_are_asked_and_answered_each():
    other = ASKED | {"id": "mcpr_2", "name": "move"}
    run = hear_two(events("r1", ASKED, other), events("r2", MADE, said("One is gone.")))
    states = {step.tool: step.state for step in run.steps if step.tool}
    assert states == {"delete": "done", "move": "cancelled"}
    assert len([event for event in run.events if isinstance(event, PauseRequested)]) == 2
    assert len([event for event in run.events if isinstance(event, PauseResumed)]) == 2


def hear_two(*streams):
    async def scenario(run):
        for stream in streams:
            for _ in stream if run is None else run.stream(stream):
                pass

    return asyncio.run(watch_beside(scenario))
