"""Responses that are made in the background, through OpenAI's own client: their stream breaks off and is asked for once more."""

from __future__ import annotations

import asyncio
import json

import openai
import pytest

from adapters.beside import watch_beside
from agentcell.events import ModelEnded, TextDelta, Usage
from agentcell.testing import ReplayServer

USAGE = {
    "input_tokens": 5,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": 7,
    "output_tokens_details": {"reasoning_tokens": 2},
    "total_tokens": 12,
}


def response(number, status, **more):
    """What the events say of the whole response."""
    empty = {"object": "response", "created_at": 1, "output": [], "tools": [], "tool_choice": "auto", "parallel_tool_calls": True}
    return {"id": f"resp_{number}", "model": "m", "status": status, "background": True, **empty, **more}


def events(words="Oslo is mild.", number=1):
    """A response that thinks and then says `words`, one a delta."""
    thought, message = f"rs_{number}", f"msg_{number}"
    reasoning = {"type": "reasoning", "id": thought, "summary": []}
    said = {"type": "message", "id": message, "role": "assistant", "status": "in_progress", "content": []}
    place = {"item_id": message, "output_index": 1, "content_index": 0}
    told = [
        {"type": "response.created", "response": response(number, "queued")},
        {"type": "response.queued", "response": response(number, "queued")},
        {"type": "response.in_progress", "response": response(number, "in_progress")},
        {"type": "response.output_item.added", "output_index": 0, "item": reasoning},
        {
            "type": "response.reasoning_summary_text.delta",
            "item_id": thought,
            "output_index": 0,
            "summary_index": 0,
            "delta": "Hm.",
        },
        {
            "type": "response.output_item.done",
            "output_index": 0,
            "item": reasoning | {"summary": [{"type": "summary_text", "text": "Hm."}]},
        },
        {"type": "response.output_item.added", "output_index": 1, "item": said},
        {"type": "response.content_part.added", **place, "part": {"type": "output_text", "text": "", "annotations": []}},
    ]
    for word in words.split(" "):
        text = word if words.startswith(word) else f" {word}"
        told.append({"type": "response.output_text.delta", **place, "delta": text, "logprobs": []})
    told.append({"type": "response.output_text.done", **place, "text": words, "logprobs": []})
    whole = said | {"status": "completed", "content": [{"type": "output_text", "text": words, "annotations": []}]}
    told.append({"type": "response.output_item.done", "output_index": 1, "item": whole})
    told.append({"type": "response.completed", "response": response(number, "completed", usage=USAGE)})
    return [event | {"sequence_number": place} for place, event in enumerate(told)]


def serving(*streams):
    bodies = ["".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in stream) for stream in streams]
    return ReplayServer(
        {"exchanges": [{"response": {"status": 200, "content_type": "text/event-stream", "body": body}} for body in bodies]}
    )


ALL = events()
CUT = ALL[:9]  # up to the first word
AFTER = CUT[-1]["sequence_number"]


def hear(listen, *streams):
    """The run of `listen(watched, client)`, in which `watched` goes around each stream."""

    async def scenario(run):
        with serving(*streams) as server:
            async with openai.AsyncOpenAI(base_url=server.url, api_key="none", max_retries=0) as client:
                return await listen((lambda stream: stream) if run is None else run.stream, client)

    run = asyncio.run(watch_beside(scenario))
    assert run.raised is None
    return run


async def names(stream):
    return [event.type async for event in stream]


def asked(client, **more):
    return client.responses.create(model="m", input="hi", stream=True, background=True, **more)


def told(run):
    return "".join(event.text for event in run.events if isinstance(event, TextDelta))


def ends(run):
    return [(event.response_id, event.outcome, event.usage) for event in run.events if isinstance(event, ModelEnded)]


DONE = ("resp_1", "done", Usage(5, 7, reasoning_tokens=2))
ASKED_AGAIN = (None, "done", None)


def test_a_response_in_the_background_that_is_read_at_once_is_one_call():
    async def listen(watched, client):
        return await names(watched(await asked(client)))

    run = hear(listen, ALL)
    assert (run.answer_text, ends(run)) == ("Oslo is mild.", [DONE])
    assert [step.content for step in run.steps] == ["Hm."]


@pytest.mark.parametrize("rest", [ALL[AFTER + 1 :], ALL], ids=["the rest", "all of it once more"])
def test_a_stream_that_broke_off_goes_on_as_the_same_call_and_tells_nothing_twice(rest):
    async def listen(watched, client):
        before = await names(watched(await asked(client)))
        again = await client.responses.retrieve("resp_1", stream=True, starting_after=AFTER)
        return before, await names(watched(again))

    run = hear(listen, CUT, rest)
    assert (run.answer_text, told(run)) == ("Oslo is mild.", "Oslo is mild.")
    assert ends(run) == [ASKED_AGAIN, DONE]
    assert [step.content for step in run.steps] == ["Hm."]


def test_a_stream_that_was_left_early_goes_on_through_the_helper():
    async def listen(watched, client):
        stream, before = watched(await asked(client)), []
        async for event in stream:
            before.append(event.sequence_number)
            if event.sequence_number == AFTER:
                break
        async with watched(client.responses.stream(response_id="resp_1", starting_after=AFTER)) as again:
            return before, await names(again)

    run = hear(listen, ALL, ALL)
    assert (run.answer_text, ends(run)) == ("Oslo is mild.", [ASKED_AGAIN, DONE])


def test_a_response_that_was_told_already_is_told_once():
    async def listen(watched, client):
        before = await names(watched(await asked(client)))
        return before, await names(watched(await client.responses.retrieve("resp_1", stream=True)))

    run = hear(listen, ALL, ALL)
    assert (told(run), ends(run)) == ("Oslo is mild.", [DONE, ASKED_AGAIN])


def test_two_responses_that_broke_off_go_on_each_as_its_own_call():
    other = events("Rome is hot.", number=2)

    async def listen(watched, client):
        heard = [await names(watched(await asked(client))) for _ in range(2)]
        for number in (1, 2):
            again = await client.responses.retrieve(f"resp_{number}", stream=True, starting_after=AFTER)
            heard.append(await names(watched(again)))
        return heard

    run = hear(listen, CUT, other[: AFTER + 1], ALL[AFTER + 1 :], other[AFTER + 1 :])
    by_call = {}
    for event in run.events:
        if isinstance(event, TextDelta):
            by_call[event.model_call_id] = by_call.get(event.model_call_id, "") + event.text
    assert sorted(by_call.values()) == ["Oslo is mild.", "Rome is hot."]


def test_what_nobody_went_on_to_read_is_cancelled_with_the_block():
    async def listen(watched, client):
        return await names(watched(await asked(client)))

    run = hear(listen, CUT)
    assert [(outcome, usage) for _, outcome, usage in ends(run)] == [("cancelled", None)]
    assert told(run) == "Oslo"


def test_the_rest_of_a_response_of_another_run_is_a_call_of_its_own():
    async def listen(watched, client):
        return await names(watched(await client.responses.retrieve("resp_1", stream=True, starting_after=AFTER)))

    run = hear(listen, ALL[AFTER + 1 :])
    assert run.answer_text.strip() == "is mild."
    assert ends(run) == [DONE]


def test_a_plain_client_reads_on_too():
    async def scenario(run):
        watched = (lambda stream: stream) if run is None else run.stream
        with serving(CUT, ALL) as server, openai.OpenAI(base_url=server.url, api_key="none", max_retries=0) as client:
            before = [event.type for event in watched(asked(client))]
            again = client.responses.retrieve("resp_1", stream=True, starting_after=AFTER)
            return before, [event.type for event in watched(again)]

    run = asyncio.run(watch_beside(scenario))
    assert (run.answer_text, ends(run)) == ("Oslo is mild.", [ASKED_AGAIN, DONE])
