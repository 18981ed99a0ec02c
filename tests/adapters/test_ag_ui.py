"""A remote agent's AG-UI events become a run, and a run becomes AG-UI events."""

import asyncio
import http.server
import json
import threading
import urllib.request

import pytest
from ag_ui.core import Event, RunAgentInput, UserMessage
from pydantic import TypeAdapter
from pydantic_ai.ui.ag_ui import AGUIAdapter

import agentcell
from adapters.test_pydantic_ai import asker, deleter, forecaster
from agentcell.events import AgentStarted, ModelEnded, ModelStarted, PauseRequested, PauseResumed, ToolEnded, Usage

EVENT = TypeAdapter(Event)

START = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
FINISH = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": {"type": "success"}}


def of(run, *kinds):
    return [event for event in run.events if isinstance(event, kinds)]


def rows(run):
    return [(step.tool, step.state, step.result) for step in run.steps if step.tool]


def checked(events):
    """The events as the protocol's own package reads them; it raises for what is none."""
    return [EVENT.validate_python(event) for event in events]


def import_run(events):
    with agentcell.watch("hi", display=False) as run:
        for _ in run.stream(iter(events)):
            pass
    assert run.faults == {}
    assert run.unknown_events == {}
    return run


def text(message, *deltas, **by):
    yield {"type": "TEXT_MESSAGE_START", "messageId": message, "role": "assistant", **by}
    for delta in deltas:
        yield {"type": "TEXT_MESSAGE_CONTENT", "messageId": message, "delta": delta, **by}
    yield {"type": "TEXT_MESSAGE_END", "messageId": message, **by}


def call(name, call_id, arguments, **by):
    yield {"type": "TOOL_CALL_START", "toolCallId": call_id, "toolCallName": name, **by}
    yield {"type": "TOOL_CALL_ARGS", "toolCallId": call_id, "delta": arguments[:3], **by}
    yield {"type": "TOOL_CALL_ARGS", "toolCallId": call_id, "delta": arguments[3:], **by}
    yield {"type": "TOOL_CALL_END", "toolCallId": call_id, **by}


def result(call_id, content, **more):
    return {"type": "TOOL_CALL_RESULT", "messageId": f"{call_id}r", "toolCallId": call_id, "content": content, **more}


def reasoning(*deltas, **by):
    yield {"type": "REASONING_START", "messageId": "r", **by}
    yield {"type": "REASONING_MESSAGE_START", "messageId": "r", "role": "reasoning", **by}
    for delta in deltas:
        yield {"type": "REASONING_MESSAGE_CONTENT", "messageId": "r", "delta": delta, **by}
    yield {"type": "REASONING_MESSAGE_END", "messageId": "r", **by}
    yield {"type": "REASONING_END", "messageId": "r", **by}


def forecast():
    return [
        START,
        *reasoning("Let me ", "see."),
        *text("m1"),
        *call("weather", "w", '{"city":"Oslo"}'),
        *call("traffic", "t", "{}"),
        result("w", "7 degrees"),
        result("t", '{"jam": true}'),
        *text("m2", "Oslo is ", "mild."),
        {
            **FINISH,
            "usage": [{"model": "gpt", "inputTokens": 20, "outputTokens": 10, "reasoningTokens": 4, "cachedInputTokens": 5}],
        },
    ]


def as_objects(events):
    return checked(events)


def as_lines(events):
    return [line for event in events for line in (f"data: {json.dumps(event)}", "")]


def as_bytes(events):
    return [line.encode() for line in as_lines(events)]


@pytest.mark.parametrize("form", [list, as_objects, as_lines, as_bytes])
def test_a_remote_agents_events_become_a_run_in_whatever_form_they_come(form):
    run = import_run(form(forecast()))
    assert rows(run) == [("weather", "done", "7 degrees"), ("traffic", "done", {"jam": True})]
    assert [step.arguments for step in run.steps if step.tool] == [{"city": "Oslo"}, {}]
    assert [step.content for step in run.steps if not step.tool] == ["Let me see."]
    assert run.answer_text == "Oslo is mild."
    assert run.usage == Usage(20, 10, 5, 0, 4)
    assert [(event.tool_calls, event.outcome) for event in of(run, ModelEnded)] == [(2, "done"), (0, "done")]
    assert len({event.model_call_id for event in of(run, ModelStarted)}) == 2


@pytest.mark.parametrize("form", [list, as_objects, as_lines, as_bytes])
def test_an_async_stream_of_them_is_read_the_same_way(form):
    async def arriving():
        for event in form(forecast()):
            yield event

    async def reading():
        with agentcell.watch("hi", display=False) as run:
            await run.consume(arriving())
        return run

    run = asyncio.run(reading())
    assert shape(run) == shape(import_run(forecast()))
    assert run.faults == run.unknown_events == {}


def test_that_the_arguments_are_complete_is_not_the_end_of_the_call():
    states = {}
    with agentcell.watch("hi", display=False) as run:
        for event in run.stream(iter([START, *call("weather", "w", "{}"), result("w", "7"), FINISH])):
            states[event["type"]] = [state for _, state, _ in rows(run)]
    assert states["TOOL_CALL_END"] == ["running"]
    assert states["TOOL_CALL_RESULT"] == ["done"]


def test_chunks_are_read_as_what_they_are_short_for():
    run = import_run(
        [
            START,
            {"type": "TOOL_CALL_CHUNK", "toolCallId": "w", "toolCallName": "weather", "delta": '{"city":'},
            {"type": "TOOL_CALL_CHUNK", "delta": '"Oslo"}'},
            result("w", "7"),
            {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "role": "assistant", "delta": "Oslo is "},
            {"type": "TEXT_MESSAGE_CHUNK", "delta": "mild."},
            FINISH,
        ]
    )
    assert rows(run) == [("weather", "done", "7")]
    assert run.steps[0].arguments == {"city": "Oslo"}
    assert run.answer_text == "Oslo is mild."


def test_the_person_s_own_messages_are_no_answer():
    run = import_run([START, {"type": "TEXT_MESSAGE_START", "messageId": "u", "role": "user"},
                      {"type": "TEXT_MESSAGE_CONTENT", "messageId": "u", "delta": "hi"}, *text("m", "Hello."), FINISH])  # fmt: skip
    assert run.answer_text == "Hello."


def test_an_interrupt_is_a_pause_and_the_next_run_goes_on_with_the_same_call():
    interrupt = {"id": "i", "reason": "tool_call", "message": "Delete it?", "toolCallId": "d"}
    asked = [START, *call("delete", "d", "{}"), {**FINISH, "outcome": {"type": "interrupt", "interrupts": [interrupt]}}]
    resumed = [{**START, "runId": "r2"}, result("d", "gone"), *text("m", "Done."), {**FINISH, "runId": "r2"}]
    checked(asked + resumed)
    with agentcell.watch("hi", display=False) as run:
        for _ in run.stream(iter(asked)):
            pass
        assert rows(run) == [("delete", "running", None)]
        assert [event.question for event in of(run, PauseRequested)] == ["Delete it?"]
        assert of(run, PauseResumed) == []
        for _ in run.stream(iter(resumed)):
            pass
    assert rows(run) == [("delete", "done", "gone")]
    assert len(of(run, PauseResumed)) == 1
    assert run.answer_text == "Done."


def test_sub_agents_stand_under_the_calls_that_started_them():
    by = {"subagentRunId": "s"}
    events = [
        START,
        *call("expert", "x", "{}"),
        {"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "Expert", "parentToolCallId": "x"},
        *call("weather", "w", "{}", **by),
        result("w", "7", **by),
        *text("m", "Seven.", **by),
        {"type": "SUBAGENT_STARTED", "subagentRunId": "s2", "name": "Inner", "parentSubagentRunId": "s"},
        {"type": "SUBAGENT_ERROR", "subagentRunId": "s2", "message": "lost"},
        {"type": "SUBAGENT_FINISHED", **by},
        result("x", "Seven."),
        *text("m2", "It is seven."),
        FINISH,
    ]
    checked(events)
    run = import_run(events)
    outer, inner = of(run, AgentStarted)
    assert (outer.name, outer.parent_id, inner.parent_id) == ("Expert", "x", outer.agent_id)
    assert [(step.text, step.state) for step in run.steps if step.text in ("Expert", "Inner")] == [
        ("Expert", "done"),
        ("Inner", "failed"),
    ]
    assert rows(run) == [("expert", "done", "Seven."), ("weather", "done", "7")]
    assert run.answer_text == "It is seven."


def test_a_remote_agent_that_fails_shows_why():
    run = import_run([START, *text("m", "Oslo "), {"type": "RUN_ERROR", "message": "no model"}])
    assert [(event.outcome, event.error) for event in of(run, ModelEnded)] == [("failed", "no model")]


def test_a_remote_agent_that_is_stopped_leaves_nothing_running():
    run = import_run([START, *call("weather", "w", "{}"), {**FINISH, "outcome": {"type": "cancelled"}}])
    assert rows(run) == [("weather", "cancelled", None)]


def test_a_stream_that_breaks_off_is_no_good_end():
    run = import_run([START, *list(text("m", "Oslo "))[:2]])
    assert [event.outcome for event in of(run, ModelEnded)] == ["cancelled"]


def test_a_run_that_is_stopped_reads_no_further_and_closes_the_stream():
    closed = []

    def events():
        try:
            yield from [START, *call("weather", "w", "{}")]
            run.stop()
            yield result("w", "7")
            pytest.fail("it read on")
        finally:
            closed.append(True)

    with agentcell.watch("hi", display=False) as run:
        for _ in run.stream(events()):
            pass
    assert closed == [True]
    assert run.outcome == "cancelled"
    assert run.faults == {}
    assert all(step.state != "running" for step in run.steps)


def test_a_sub_agent_that_was_suspended_goes_on_as_the_same():
    by = {"subagentRunId": "s"}
    start = {"type": "SUBAGENT_STARTED", "name": "Expert", **by}
    asked = {"type": "interrupt", "interrupts": [{"id": "i", "reason": "input_required", "message": "Which one?"}]}
    first = [START, start, *text("m", "Wait.", **by), {"type": "SUBAGENT_FINISHED", "outcome": {"type": "suspended"}, **by},
             {**FINISH, "outcome": asked}]  # fmt: skip
    second = [{**START, "runId": "r2"}, start, {"type": "SUBAGENT_FINISHED", **by}, {**FINISH, "runId": "r2"}]
    with agentcell.watch("hi", display=False) as run:
        for events in (first, second):
            for _ in run.stream(iter(events)):
                pass
    assert [event.name for event in of(run, AgentStarted)] == ["Expert"]
    assert (len(of(run, PauseRequested)), len(of(run, PauseResumed))) == (1, 1)
    assert [step.state for step in run.steps if step.kind == "agent"] == ["done"]


def test_the_events_of_the_version_before_are_read_too():
    run = import_run(
        [
            {"type": "RUN_STARTED", "threadId": "t", "runId": "r"},
            {"type": "THINKING_START"},
            {"type": "THINKING_TEXT_MESSAGE_START"},
            {"type": "THINKING_TEXT_MESSAGE_CONTENT", "delta": "Let me see."},
            {"type": "THINKING_TEXT_MESSAGE_END"},
            {"type": "THINKING_END"},
            *text("m", "Mild."),
            {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"},
        ]
    )
    assert [step.content for step in run.steps] == ["Let me see."]
    assert run.answer_text == "Mild."


def test_two_remote_agents_at_once_are_told_to_the_run_that_reads_each():
    def one(name):
        start, finish = {**START, "runId": name, "threadId": name}, {**FINISH, "runId": name, "threadId": name}
        return [start, *call("weather", f"{name}w", "{}"), result(f"{name}w", name), *text(f"{name}m", f"{name}."), finish]

    with agentcell.watch("a", display=False) as a, agentcell.watch("b", display=False) as b:
        for _ in zip(a.stream(iter(one("a"))), b.stream(iter(one("b"))), strict=True):
            pass
    for run, name in ((a, "a"), (b, "b")):
        assert rows(run) == [("weather", "done", name)]
        assert run.answer_text == f"{name}."


def test_two_remote_agents_in_one_block_at_once_that_use_the_same_ids_are_told_apart():
    def events(city):
        yield {"type": "RUN_STARTED", "threadId": city, "runId": city}
        yield from call("weather", "c1", json.dumps({"city": city}))
        yield result("c1", f"mild in {city}")
        yield from text(f"m-{city}", f"{city} is mild.")
        yield {"type": "RUN_FINISHED", "threadId": city, "runId": city, "outcome": {"type": "success"}}

    with agentcell.watch(display=False) as run:
        streams = [iter(run.stream(events(city))) for city in ("Oslo", "Bergen")]
        while streams:  # one event of each in turn
            streams = [stream for stream in streams if next(stream, None) is not None]
    assert run.faults == {}
    assert rows(run) == [("weather", "done", "mild in Oslo"), ("weather", "done", "mild in Bergen")]
    ends = of(run, ToolEnded)
    assert len(ends) == len({event.call_id for event in ends}) == 2
    assert run.answer_text == "Oslo is mild.\n\nBergen is mild."


def test_a_stream_that_is_given_to_the_run_twice_is_told_once():
    with agentcell.watch("hi", display=False) as run:
        for _ in run.stream(run.stream(iter(forecast()))):
            pass
    assert run.answer_text == "Oslo is mild."
    assert run.usage == Usage(20, 10, 5, 0, 4)


SNAPSHOT = {
    "type": "MESSAGES_SNAPSHOT",
    "messages": [
        {"id": "u0", "role": "user", "content": "before"},
        {"id": "a0", "role": "assistant", "content": "An old answer."},
        {"id": "u", "role": "user", "content": "hi"},
        {
            "id": "m1",
            "role": "assistant",
            "toolCalls": [{"id": "w", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}],
        },
        {"id": "wr", "role": "tool", "toolCallId": "w", "content": "", "error": "no such city"},
        {"id": "m2", "role": "assistant", "content": "Oslo is mild."},
    ],
}


@pytest.mark.parametrize(
    "streamed",
    [
        [],
        [*call("weather", "w", '{"city": "Oslo"}')],
        [
            *call("weather", "w", '{"city": "Oslo"}'),
            {**result("w", "no such city"), "metadata": {"agentcell": {"outcome": "failed"}}},
        ],
        [*call("weather", "w", '{"city": "Oslo"}'), result("w", "", error="no such city"), *text("m2", "Oslo is ")],
        [*call("weather", "w", '{"city": "Oslo"}'), result("w", "", error="no such city"), *text("other", "Oslo is mild.")],
    ],
)
def test_a_snapshot_adds_only_what_was_not_told(streamed):
    run = import_run([START, *streamed, *checked([SNAPSHOT]), FINISH])
    assert rows(run) == [("weather", "failed", None)]
    assert run.steps[0].arguments == {"city": "Oslo"}
    assert [event.error for event in of(run, ToolEnded)] == ["no such city"]
    assert run.answer_text == "Oslo is mild."


def test_state_and_other_front_ends_own_events_pass_quietly():
    run = import_run(
        [
            START,
            {"type": "STATE_SNAPSHOT", "snapshot": {"a": 1}},
            {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/b", "value": 1}]},
            {"type": "CUSTOM", "name": "theirs", "value": 1},
            {"type": "RAW", "event": {}},
            {"type": "STEP_STARTED", "stepName": "Plan"},
            {"type": "STEP_FINISHED", "stepName": "Plan"},
            FINISH,
        ]
    )
    assert [step.text for step in run.steps] == ["Plan"]


def shape(run):
    """What a reader sees of a run."""
    return (
        [(step.text, step.tool, step.state, step.arguments, step.result, step.content, step.parent) for step in run.steps],
        run.answer_text,
        run.usage,
        run.outcome,
    )


async def real_run(agent):
    with agentcell.watch("hi", display=False) as run:
        await agent.run("hi")
    return run


def watched(agent):
    return asyncio.run(real_run(agent))


def own_run():
    with agentcell.watch("hi", display=False) as run:
        run.think("Where do I look?")
        run.step("Looked around")
        with run.tool("index", path="notes") as index:
            index.progress("half")
            index.result({"files": 2})
        with run.tool("ask") as ask:
            run.pause("Go on?", choices=("yes", "no"), ask=lambda question, choices: "yes")
            ask.fail("nobody there")
        run.write("All ")
        run.write("done.")
    return run


def broken_run(error):
    def work(run):
        with run:
            run.write("Half an ans")
            with run.tool("index"):
                raise error

    run = agentcell.watch("hi", display=False)
    with pytest.raises(type(error)):
        work(run)
    return run


RUNS = {
    "forecast": lambda: watched(forecaster()),
    "sub-agents": lambda: watched(asker(forecaster())),
    "approval": lambda: watched(deleter()),
    "own code": own_run,
    "imported": lambda: import_run(forecast()),
    "cancelled": lambda: broken_run(KeyboardInterrupt()),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_run_goes_out_as_valid_events_and_comes_back_the_same(name):
    run = RUNS[name]()
    events = list(run.to_ag_ui())
    assert json.loads(json.dumps(events)) == events
    assert [one.model_dump(by_alias=True, mode="json", exclude_unset=True) for one in checked(events)] == events
    assert [event["timestamp"] for event in events] == sorted(event["timestamp"] for event in events)
    assert events[0]["timestamp"] == int((run.events[0].started_at + run.events[0].time) * 1000)
    again = import_run(events)
    assert shape(again)[:3] == shape(run)[:3]
    assert list(again.to_ag_ui())[1:-1]


def test_a_run_that_ends_while_it_waits_goes_out_as_an_interrupt_and_comes_back_as_a_pause():
    run = watched(deleter())
    *_, last = run.to_ag_ui()
    (interrupt,) = last["outcome"]["interrupts"]
    assert (interrupt["reason"], interrupt["message"], interrupt["toolCallId"]) == ("tool_call", "Run delete?", "d")
    again = import_run(list(run.to_ag_ui()))
    assert rows(again) == rows(run)
    assert [(event.question, event.call_id) for event in of(again, PauseRequested)] == [("Run delete?", "d")]
    assert of(again, PauseResumed) == []


def test_a_failed_run_goes_out_as_an_error():
    run = broken_run(ValueError("no way"))
    *_, last = run.to_ag_ui()
    assert (last["type"], last["message"], last["code"]) == ("RUN_ERROR", "no way", "ValueError")
    checked(run.to_ag_ui())


def test_every_message_and_call_that_begins_ends_before_its_run_does():
    for name, make in RUNS.items():
        open_ones = set()
        for event in make().to_ag_ui():
            kind, _, moment = event["type"].rpartition("_")
            key = (kind, event.get("messageId") or event.get("toolCallId"))
            if kind in ("TEXT_MESSAGE", "TOOL_CALL", "REASONING", "REASONING_MESSAGE"):
                if moment == "START":
                    assert key not in open_ones
                    open_ones.add(key)
                elif moment == "END":
                    open_ones.remove(key)
                elif moment in ("CONTENT", "ARGS"):
                    assert key in open_ones
        assert open_ones == set(), name


def remote(agent):
    given = RunAgentInput(
        thread_id="t",
        run_id="r",
        state=None,
        messages=[UserMessage(id="u", content="hi")],
        tools=[],
        context=[],
        forwarded_props=None,
    )
    return AGUIAdapter(agent=agent, run_input=given)


def test_pydantic_ais_own_bridge_is_read_in_process():
    async def agent():
        with agentcell.watch("hi", display=False, auto=False) as run:
            await run.consume(remote(forecaster()).run_stream())
        return run

    run = asyncio.run(agent())
    assert [(name, state) for name, state, _ in rows(run)] == [("weather", "done"), ("traffic", "done")]
    assert run.answer_text == "Oslo is mild."
    assert [step.content for step in run.steps if not step.tool] == ["Let me see."]


@pytest.mark.parametrize("encoded", [False, True])
def test_an_agent_of_this_process_that_is_heard_anyway_is_told_once(encoded):
    async def agent():
        with agentcell.watch("hi", display=False) as run:
            bridge = remote(forecaster())
            events = bridge.run_stream()
            await run.consume(bridge.encode_stream(events) if encoded else events)
        return run

    run = asyncio.run(agent())
    assert [(name, state) for name, state, _ in rows(run)] == [("weather", "done"), ("traffic", "failed")]
    assert run.answer_text == "Oslo is mild."
    assert len(of(run, ModelEnded)) == 2


class Answering(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for line in self.server.lines:
            self.wfile.write(line)

    def log_message(self, *_args):
        pass


def test_a_stream_over_the_network_is_read_line_by_line():
    async def encoded():
        adapter = remote(forecaster())
        return [piece.encode() async for piece in adapter.encode_stream(adapter.run_stream())]

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        server.lines = asyncio.run(encoded())
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        try:
            with (
                agentcell.watch("hi", display=False) as run,
                urllib.request.urlopen(f"http://127.0.0.1:{server.server_address[1]}") as response,
            ):
                for _ in run.stream(response):
                    pass
        finally:
            server.shutdown()
            serving.join()
    assert run.answer_text == "Oslo is mild."
    assert [(name, state) for name, state, _ in rows(run)] == [("weather", "done"), ("traffic", "done")]
    assert run.unknown_events == run.faults == {}
