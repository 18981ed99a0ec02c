"""The tool runner of Anthropic's SDK, streamed and whole, sync and async: its turns and what its tools gave."""

from __future__ import annotations

import asyncio
import json
import logging

import anthropic
import pytest
from anthropic import beta_async_tool, beta_tool

import agentcell
from adapters.beside import watch_beside
from agentcell.events import ModelEnded, ModelStarted, TextDelta
from agentcell.testing import ReplayServer

ASKING = [
    {"type": "text", "text": "I look it up."},
    {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Oslo"}},
    {"type": "tool_use", "id": "c2", "name": "weather", "input": {"city": "Atlantis"}},
]
TURNS = (("m1", ASKING, "tool_use"), ("m2", [{"type": "text", "text": "Oslo is mild."}], "end_turn"))


@pytest.fixture(autouse=True)
def quiet():
    """The SDK logs what a tool raises, with all of its trace."""
    logging.getLogger("anthropic").setLevel(logging.CRITICAL)
    yield
    logging.getLogger("anthropic").setLevel(logging.NOTSET)


def whole(key, blocks, stop):
    usage = {"input_tokens": 5, "output_tokens": 7}
    return {"id": key, "type": "message", "role": "assistant", "model": "m", "content": blocks, "stop_reason": stop, "usage": usage}


def events(key, blocks, stop):
    usage = {"input_tokens": 5, "output_tokens": 1}
    yield {"type": "message_start", "message": whole(key, [], None) | {"usage": usage}}
    for index, block in enumerate(blocks):
        empty = {"text": ""} if block["type"] == "text" else {"input": {}}
        yield {"type": "content_block_start", "index": index, "content_block": block | empty}
        if block["type"] == "text":
            delta = {"type": "text_delta", "text": block["text"]}
        else:
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    yield {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 7}}
    yield {"type": "message_stop"}


def recording(*, stream, turns=TURNS):
    def response(turn):
        if stream:
            body = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events(*turn))
            return {"status": 200, "content_type": "text/event-stream", "body": body}
        return {"status": 200, "content_type": "application/json", "body": json.dumps(whole(*turn))}

    return {"exchanges": [{"response": response(turn)} for turn in turns]}


def look_up(city: str) -> str:
    """The weather of a city.

    Args:
        city: Which one.
    """
    if city == "Atlantis":
        raise ValueError("no such city")
    return f"{city}: 7 degrees"


async def look_up_later(city: str) -> str:
    return look_up(city)


look_up_later.__doc__ = look_up.__doc__


def asked(client, tool, **more):
    messages = [{"role": "user", "content": "hi"}]
    return client.beta.messages.tool_runner(model="m", max_tokens=99, messages=messages, tools=[tool], **more)


def of(run, *kinds):
    return [event for event in run.events if isinstance(event, kinds)]


def hear(read, *, stream, asynchronous=False, turns=TURNS, **more):
    """The run of a tool runner that `read` reads, of the SDK's runner alone where the run is None."""

    async def scenario(run):
        kind = anthropic.AsyncAnthropic if asynchronous else anthropic.Anthropic
        with ReplayServer(recording(stream=stream, turns=turns)) as server:
            client = kind(base_url=server.url, api_key="none", max_retries=0)
            tool = (beta_async_tool if asynchronous else beta_tool)(look_up_later if asynchronous else look_up, name="weather")
            runner = asked(client, tool, **({"stream": True} if stream else {}), **more)
            result = read(run, runner)
            result = await result if asynchronous else result
            await client.close() if asynchronous else client.close()
            return result, "generate_tool_call_response" in vars(runner), server.requests[-1].body["messages"]

    return asyncio.run(watch_beside(scenario))


def check(run):
    assert [(step.tool or step.text, step.state) for step in run.steps] == [
        ("I look it up.", "done"),
        ("weather", "done"),
        ("weather", "failed"),
    ]
    assert run.steps[1].result == "Oslo: 7 degrees"
    assert "no such city" in run.steps[2].detail
    assert (run.answer_text, run.usage.total_tokens) == ("Oslo is mild.", 24)
    assert len(of(run, ModelStarted)) == len(of(run, ModelEnded)) == 2


def over(run, runner):
    return runner if run is None else run.stream(runner)


def read_all(run, runner):
    return [[event.type for event in turn] for turn in over(run, runner)]


def read_first_events(run, runner):
    return [next(event.type for event in turn) for turn in over(run, runner)]


def read_nothing(run, runner):
    return [turn.get_final_message().id for turn in over(run, runner)]


def read_none(run, runner):
    return len(list(over(run, runner)))


def read_until_done(run, runner):
    return over(run, runner).until_done().id


@pytest.mark.parametrize("read", [read_all, read_first_events, read_nothing, read_none, read_until_done])
def test_the_turns_of_a_streaming_runner_and_its_tools_are_heard(read):
    check(hear(read, stream=True))


@pytest.mark.parametrize("read", [lambda run, runner: [turn.id for turn in over(run, runner)], read_until_done])
def test_whole_messages_of_a_runner_are_heard(read):
    check(hear(read, stream=False))


def test_an_async_runner_is_heard():
    async def read(run, runner):
        return [[event.type async for event in turn] async for turn in over(run, runner)]

    async def leave_early(run, runner):
        names = []
        async for turn in over(run, runner):
            async for event in turn:
                names.append(event.type)
                break
        return names

    check(hear(read, stream=True, asynchronous=True))
    check(hear(leave_early, stream=True, asynchronous=True))


def test_consume_gives_the_last_message_of_a_runner():
    async def read(run, runner):
        return (await (runner.until_done() if run is None else run.consume(runner))).id

    check(hear(read, stream=True, asynchronous=True))
    check(hear(read, stream=False, asynchronous=True))


def test_results_that_the_user_asks_for_are_told_once():
    def read(run, runner):
        results = []
        for turn in over(run, runner):
            turn.get_final_message()
            response = runner.generate_tool_call_response()
            results.append(response and [part["tool_use_id"] for part in response["content"]])
        return results

    run = hear(read, stream=True)
    assert [step.state for step in run.steps if step.tool] == ["done", "failed"]


def test_a_runner_that_may_not_ask_again_ends_there():
    run = hear(read_all, stream=True, max_iterations=1)
    assert [step.state for step in run.steps if step.tool] == ["done", "failed"]
    assert [event.outcome for event in of(run, ModelEnded)] == ["done", "done"]


def test_an_error_between_two_turns_fails_the_call_that_was_being_made():
    run = hear(read_all, stream=True, turns=TURNS[:1])
    assert isinstance(run.raised, anthropic.APIStatusError)
    assert [event.outcome for event in of(run, ModelEnded)] == ["done", "failed"]


def test_a_tool_of_the_runner_that_is_recorded_is_one_row():
    def weather(city: str) -> str:
        return look_up(city)

    with ReplayServer(recording(stream=True)) as server, anthropic.Anthropic(base_url=server.url, api_key="none") as client:
        tool = beta_tool(agentcell.tool(weather), description="The weather.")
        with agentcell.watch(display=False) as run:
            for turn in run.stream(asked(client, tool, stream=True)):
                turn.get_final_message()
    assert [(step.tool, step.state) for step in run.steps if step.tool] == [("weather", "done"), ("weather", "failed")]


def test_words_of_a_runner_come_as_they_are_written():
    run = hear(read_all, stream=True)
    assert [event.text for event in of(run, TextDelta)] == ["I look it up.", "Oslo is mild."]


@pytest.mark.parametrize("stream", [True, False])
def test_a_run_that_is_stopped_asks_no_model_again(stream):
    def weather(city: str) -> str:
        """The weather."""
        run.stop()
        return city

    with ReplayServer(recording(stream=stream)) as server, anthropic.Anthropic(base_url=server.url, api_key="none") as client:
        with agentcell.watch(display=False) as run:
            runner = run.stream(asked(client, beta_tool(weather), **({"stream": True} if stream else {})))
            for _ in runner:
                pass
        assert len(server.requests) == 1
    assert run.outcome == "cancelled"
    assert [event.outcome for event in of(run, ModelEnded)] == ["done", "cancelled"]
    assert "generate_tool_call_response" not in vars(runner)


def test_two_runs_hear_each_its_own_runner():
    def read(run, runner):
        return [turn.get_final_message().id for turn in over(run, runner)]

    async def both():
        return await asyncio.gather(*(asyncio.to_thread(hear, read, stream=True) for _ in range(2)))

    for run in asyncio.run(both()):
        check(run)


def test_a_runner_that_is_watched_twice_is_told_once():
    def read(run, runner):
        return [turn.get_final_message().id for turn in (runner if run is None else run.stream(run.stream(runner)))]

    check(hear(read, stream=True))
