"""How agents of the OpenAI Agents SDK end otherwise: by a guardrail, by Stop, by an error in the middle; and agents in agents in agents."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
import weakref

import agents
import openai
import pytest
from agents import Agent, GuardrailFunctionOutput, OpenAIResponsesModel, Runner, function_tool, input_guardrail, output_guardrail
from agents.run_config import RunConfig
from agents.testing import ModelStep, assistant_message

import agentcell
from adapters.beside import watch_beside
from adapters.openai_agents_scripts import (
    EVERY,
    ask,
    auto,
    call,
    hear,
    make,
    of,
    offline,  # noqa: F401 - for every test
    options_for,
    rows,
    script,
    two_tools,
    weather,
)
from agentcell.events import AgentEnded, ModelEnded, ModelStarted, TextDelta, ToolEnded, ToolProgressed
from agentcell.testing import ReplayServer

HEARD = pytest.mark.parametrize("way", ["by itself", "streamed", "all"])


def guarded(kind, *, blocking=True):
    """An agent whose guardrail lets nothing through."""

    async def no_politics(_context, _agent, _given):
        return GuardrailFunctionOutput(output_info=None, tripwire_triggered=True)

    if kind == "input":
        more = {"input_guardrails": [input_guardrail(no_politics, run_in_parallel=not blocking)]}
    else:
        more = {"output_guardrails": [output_guardrail(no_politics)]}
    return make([assistant_message("Vote for me.")], **more)


@HEARD
@pytest.mark.parametrize("kind", ["input", "output"])
def test_a_guardrail_that_stops_an_agent_is_named_and_no_call_failed(way, kind):
    run = asyncio.run(hear(way, lambda: guarded(kind)))
    assert type(run.raised).__name__.endswith("GuardrailTripwireTriggered")
    assert rows(run) == [("The guardrail `no_politics` stopped it", "done", None)]
    assert len(of(run, ModelStarted)) == len(of(run, ModelEnded)) == (kind == "output")
    assert all(event.outcome == "done" for event in of(run, ModelEnded))


@HEARD
def test_a_model_that_was_asked_beside_its_guardrail_is_cancelled_with_it(way):
    run = asyncio.run(hear(way, lambda: guarded("input", blocking=False)))
    assert type(run.raised).__name__ == "InputGuardrailTripwireTriggered"
    assert all(event.outcome in ("done", "cancelled") for event in of(run, ModelEnded))
    assert len(of(run, ModelStarted)) == len(of(run, ModelEnded))


@pytest.mark.parametrize("kind", ["async", "sync"])
@pytest.mark.parametrize("way", ["by itself", "streamed"])
def test_a_tool_that_hangs_ends_when_the_run_is_stopped(kind, way):
    started = threading.Event()

    def stop():
        started.wait(30)
        run.stop()

    with agentcell.watch(display=False) as run:
        if kind == "async":

            @function_tool
            async def hang(city: str) -> str:
                while True:
                    started.set()
                    run.progress("I wait")
                    await asyncio.sleep(0)

        else:

            @function_tool
            def hang(city: str) -> str:
                started.set()
                while not run.stopping:
                    started.wait(0.001)
                run.raise_if_stopping()
                return city

        threading.Thread(target=stop).start()
        agent = make([call("hang", 1, city="Oslo")], [assistant_message("never")], tools=[hang])
        asyncio.run(ask(run, way, agent))
    assert run.outcome == "cancelled"
    assert rows(run)[0] == ("hang", "cancelled", None)
    assert all(event.outcome in ("done", "cancelled") for event in of(run, ModelEnded, ToolEnded))
    assert run.answer_text == ""


@HEARD
def test_agents_that_are_tools_of_agents_that_are_tools_stand_each_under_its_call(way):
    def team():
        clerk = Agent("Clerk", model=script([call("weather", 7, city="Rome")], [assistant_message("Mild.")]), tools=[weather])
        expert = Agent("Expert", model=script([call("ask_clerk", 5, input="?")], [assistant_message("It is mild.")]))
        expert.tools = [clerk.as_tool("ask_clerk", "asks")]
        return make([call("ask_expert", 1, input="?")], [assistant_message("Done.")], tools=[expert.as_tool("ask_expert", "asks")])

    run = asyncio.run(hear(way, team))
    assert rows(run) == [
        ("ask_expert", "done", None),
        ("Expert", "done", 0),
        ("ask_clerk", "done", 1),
        ("Clerk", "done", 2),
        ("weather", "done", 3),
    ]
    assert run.answer_text == "Done."


@EVERY
def test_a_conversation_that_is_handed_on_and_back_is_answered_by_the_last(way):
    def team():
        desk = make([call("transfer_to_refunds", 1)], [assistant_message("All is settled.")])
        refunds = Agent("Refunds", model=script([call("transfer_to_assistant", 2)]), handoffs=[desk])
        desk.handoffs = [refunds]
        return desk

    run = asyncio.run(hear(way, team))
    assert rows(run) == [
        ("transfer_to_refunds", "done", None),
        ("Refunds", "done", 0),
        ("transfer_to_assistant", "done", 1),
        ("Assistant", "done", 2),
    ]
    assert run.answer_text == "All is settled."
    assert {event.outcome for event in of(run, AgentEnded)} == {"done"}


CUT = [
    {
        "type": "response.created",
        "response": {"id": "r", "object": "response", "model": "m", "status": "in_progress", "output": []},
    },
    {
        "type": "response.output_item.added",
        "output_index": 0,
        "item": {"type": "message", "id": "m", "role": "assistant", "content": []},
    },
    {"type": "response.output_text.delta", "item_id": "m", "output_index": 0, "content_index": 0, "delta": "Oslo ", "logprobs": []},
]
WRONG = {"type": "error", "code": "server_error", "message": "the model is down", "param": None}


@pytest.mark.parametrize("last", [(), (WRONG,)], ids=["cut", "error"])
@HEARD
def test_a_models_stream_that_breaks_off_is_told_as_the_sdk_takes_it(way, last):
    events = [event | {"sequence_number": number} for number, event in enumerate((*CUT, *last))]
    body = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
    if way == "by itself":
        way = "streamed"

    async def scenario(run):
        exchange = {"response": {"status": 200, "content_type": "text/event-stream", "body": body}}
        with ReplayServer({"exchanges": [exchange]}) as server:
            async with openai.AsyncOpenAI(base_url=server.url, api_key="none", max_retries=0) as client:
                return (await ask(run, way, Agent("A", model=OpenAIResponsesModel("m", client)))).final_output

    run = asyncio.run(watch_beside(scenario, auto=auto(way)))
    assert run.raised is not None
    assert [event.outcome for event in of(run, ModelEnded)] == ["failed"]
    assert "".join(event.text for event in of(run, TextDelta)) == "Oslo "


@pytest.mark.parametrize("way", ["streamed", "stream"])
def test_a_stream_that_is_watched_twice_is_told_once(way):
    async def scenario(run):
        result = Runner.run_streamed(two_tools(), "hi", **options_for(run, way))
        stream = result.stream_events() if run is None else run.stream(run.stream(result))
        return [event.type async for event in stream]

    run = asyncio.run(watch_beside(scenario, auto=auto(way)))
    assert run.answer_text == "Oslo is mild."
    assert len(of(run, ModelStarted)) == len(of(run, ModelEnded)) == 2


def test_two_runs_with_agents_in_tools_side_by_side_hear_each_its_own():
    async def one(city):
        with agentcell.watch(display=False) as run:
            expert = Agent("Expert", model=script([call("weather", 7, city=city)], [assistant_message(city)]), tools=[weather])
            agent = make([call("ask", 1, input=city)], [assistant_message(city)], tools=[expert.as_tool("ask", "asks")])
            await Runner.run(agent, city)
        return run

    async def both():
        return await asyncio.gather(one("Oslo"), one("Rome"))

    for city, run in zip(("Oslo", "Rome"), asyncio.run(both()), strict=True):
        assert rows(run) == [("ask", "done", None), ("Expert", "done", 0), ("weather", "done", 1)]
        assert (run.answer_text, run.steps[2].arguments) == (city, {"city": city})
    assert agents.run.get_default_agent_runner().__class__ is agents.run.AgentRunner


@HEARD
def test_an_error_of_a_model_inside_a_tool_is_that_tools_end(way):
    def team():
        expert = Agent("Expert", model=script(ModelStep.raise_error(RuntimeError("the model is down"))))
        return make([call("ask", 1, input="?")], [assistant_message("I do not know.")], tools=[expert.as_tool("ask", "asks")])

    run = asyncio.run(hear(way, team))
    assert [row for row in rows(run) if row[0] in ("ask", "Expert")] == [("ask", "failed", None), ("Expert", "failed", 0)]
    assert run.answer_text == "I do not know."


@pytest.mark.parametrize("kind", ["async", "sync"])
def test_progress_of_tools_side_by_side_stands_in_the_row_of_each(kind):
    meeting = threading.Barrier(2, timeout=30)

    async def meet(city):
        await asyncio.to_thread(meeting.wait)
        agentcell.current_run().progress(f"{city} is near")
        await asyncio.to_thread(meeting.wait)
        return city

    def meet_in_threads(city):
        meeting.wait()
        agentcell.current_run().progress(f"{city} is near")
        meeting.wait()
        return city

    with agentcell.watch(display=False) as run:
        if kind == "async":

            @function_tool
            async def go(city: str) -> str:
                return await meet(city)

        else:

            @function_tool
            def go(city: str) -> str:
                return meet_in_threads(city)

        asked = [call("go", 1, city="Oslo"), call("go", 2, city="Rome")]
        asyncio.run(ask(run, "by itself", make(asked, [assistant_message("Done.")], tools=[go])))
    told = {event.call_id: event.payload for event in of(run, ToolProgressed)}
    assert told == {"c1": {"message": "Oslo is near"}, "c2": {"message": "Rome is near"}}


def test_progress_of_a_tool_of_an_agent_in_a_tool_stands_in_its_row():
    @function_tool
    async def look(city: str) -> str:
        agentcell.current_run().progress("I look")
        return city

    with agentcell.watch(display=False) as run:
        expert = Agent("Expert", model=script([call("look", 7, city="Rome")], [assistant_message("Mild.")]), tools=[look])
        team = make([call("ask", 1, input="?")], [assistant_message("Done.")], tools=[expert.as_tool("ask", "asks")])
        asyncio.run(ask(run, "by itself", team, run_config=RunConfig(tracing_disabled=True)))
    assert [event.call_id for event in of(run, ToolProgressed)] == ["c7"]


def test_a_result_that_is_kept_keeps_no_run():
    async def scenario():
        with agentcell.watch(display=False) as run:
            result = Runner.run_streamed(make([assistant_message("Hi.")]), "hi")
            async for _ in result.stream_events():
                pass
        assert run.answer_text == "Hi."
        return weakref.ref(run), result

    run, result = asyncio.run(scenario())
    gc.collect()
    assert run() is None
    assert result.final_output == "Hi."
