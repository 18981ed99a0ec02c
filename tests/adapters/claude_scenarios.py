"""What Claude's agents do, as the messages of their command line: played to the SDK's own parser, or to classes of the same names.

A module that imports these tests gives the fixture `play`: `await play(run, script)` reads a script's messages, through `run.stream`
unless the run is None, and returns their classes' names. An event in a script is waited for, an exception is raised.
"""

from __future__ import annotations

import asyncio

import pytest

import agentcell
from adapters.beside import watch_beside
from agentcell.events import AgentStarted, LimitReached, ModelEnded, ModelStarted, TextDelta, ThinkingEnded, ToolEnded, Usage

INIT = {"type": "system", "subtype": "init", "session_id": "s", "model": "claude", "tools": ["Read"], "uuid": "u"}
IDS = {"session_id": "s", "uuid": "u"}


def assistant(message, *blocks, inside=None, output=1, **more):
    usage = {"input_tokens": 20, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 0, "output_tokens": output}
    body = {"id": message, "model": "claude-x", "content": list(blocks), "usage": usage}
    return {"type": "assistant", "message": body, "parent_tool_use_id": inside, **IDS, **more}


def text(words):
    return {"type": "text", "text": words}


def thinking(words):
    return {"type": "thinking", "thinking": words, "signature": "sig"}


def use(number, name, **arguments):
    return {"type": "tool_use", "id": f"t{number}", "name": name, "input": arguments}


def result_of(number, content, *, error=None, inside=None):
    block = {"type": "tool_result", "tool_use_id": f"t{number}", "content": content}
    block |= {} if error is None else {"is_error": error}
    return {"type": "user", "message": {"content": [block]}, "parent_tool_use_id": inside, **IDS}


def piece(event, *, inside=None):
    return {"type": "stream_event", "event": event, "parent_tool_use_id": inside, **IDS}


def pieces(message, *blocks, output):
    """A message as it streams in: every block in two deltas."""
    usage = {"input_tokens": 20, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 0, "output_tokens": 1}
    yield piece({"type": "message_start", "message": {"id": message, "model": "claude-x", "usage": usage}})
    for index, (kind, words) in enumerate(blocks):
        yield piece({"type": "content_block_start", "index": index, "content_block": {"type": kind, kind: ""}})
        half = len(words) // 2
        for part in (words[:half], words[half:]):
            delta = {"type": f"{kind}_delta", kind: part}
            yield piece({"type": "content_block_delta", "index": index, "delta": delta})
        yield assistant(message, {"type": kind, kind: words} | ({"signature": "sig"} if kind == "thinking" else {}))
        yield piece({"type": "content_block_stop", "index": index})
    yield piece({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": output}})
    yield piece({"type": "message_stop"})


def end(words="", *, subtype="success", cost=0.5, output=18, **more):
    usage = {"input_tokens": 40, "cache_read_input_tokens": 8, "cache_creation_input_tokens": 0, "output_tokens": output}
    return {
        "type": "result",
        "subtype": subtype,
        "duration_ms": 9,
        "duration_api_ms": 8,
        "is_error": subtype != "success",
        "num_turns": 2,
        "result": words,
        "total_cost_usd": cost,
        "usage": usage,
        **IDS,
        **more,
    }


TWO_TOOLS = [
    INIT,
    assistant("m1", thinking("Two files.")),
    assistant("m1", text("I read both.")),
    assistant("m1", use(1, "Read", file_path="/a")),
    assistant("m1", use(2, "Read", file_path="/b")),
    result_of(2, "no such file", error=True),
    result_of(1, [text("a's words")]),
    assistant("m2", text("It is done.")),
    end("It is done."),
]


def hear(play, script, **more):
    return asyncio.run(watch_beside(lambda run: play(run, script, **more), auto=False))


def watch(run, source, times):
    """A stream that the run was asked to watch so often."""
    for _ in range(times):
        source = run.stream(source)
    return source


def rows(run):
    return [(step.tool or step.text, step.state, step.parent) for step in run.steps]


def of(run, *kinds):
    return [event for event in run.events if isinstance(event, kinds)]


def test_two_model_calls_and_two_parallel_tools_of_which_one_fails(play):
    run = hear(play, TWO_TOOLS)
    assert rows(run) == [
        ("Thinking", "done", None),
        ("I read both.", "done", None),
        ("Read", "done", None),
        ("Read", "failed", None),
    ]
    assert [step.result for step in run.steps[2:]] == ["a's words", "no such file"]
    assert run.answer_text == "It is done."
    assert len({event.model_call_id for event in of(run, ModelStarted)}) == len(of(run, ModelEnded)) == 2
    assert [block.signature for event in of(run, ThinkingEnded) for block in event.blocks] == ["sig"]


def test_tokens_count_once_a_message_and_come_to_what_the_result_says(play):
    run = hear(play, TWO_TOOLS)
    assert run.usage == Usage(48, 18, 8)
    assert run.cost is not None
    assert float(run.cost) == 0.5


def test_what_comes_in_pieces_and_then_whole_is_told_once(play):
    script = [INIT, *pieces("m1", ("thinking", "Let me see."), ("text", "Oslo is mild."), output=9), end("Oslo is mild.", output=9)]
    run = hear(play, script)
    assert [event.text for event in of(run, TextDelta)] == ["Oslo i", "s mild."]
    assert [step.content for step in run.steps] == ["Let me see."]
    assert (run.answer_text, run.usage) == ("Oslo is mild.", Usage(24, 9, 4))
    assert [event.outcome for event in of(run, ModelEnded)] == ["done"]


def test_a_sub_agent_stands_under_the_call_that_started_it_and_its_words_are_no_answer(play):
    script = [
        INIT,
        assistant("m1", use(1, "Agent", subagent_type="researcher", description="Looks it up")),
        assistant("m2", use(2, "Read", file_path="/a"), inside="t1"),
        result_of(2, "a", inside="t1"),
        assistant("m3", text("For the other agent."), inside="t1"),
        result_of(1, "For the other agent."),
        assistant("m4", text("Done.")),
        end("Done."),
    ]
    run = hear(play, script)
    assert rows(run) == [("Agent", "done", None), ("researcher", "done", 0), ("Read", "done", 1)]
    assert run.answer_text == "Done."
    assert len(of(run, AgentStarted)) == 1


def test_a_sub_agent_in_the_background_goes_on_behind_the_end_of_its_call(play):
    task = {"type": "system", "task_id": "k", "tool_use_id": "t1", "session_id": "s", "uuid": "u"}
    script = [
        INIT,
        assistant("m1", use(1, "Agent", description="Looks it up")),
        task | {"subtype": "task_started", "description": "Looks it up"},
        result_of(1, "started"),
        task | {"subtype": "task_progress", "description": "half way", "usage": {}},
        assistant("m2", use(2, "Read", file_path="/a"), inside="t1"),
        result_of(2, "a", inside="t1"),
        task | {"subtype": "task_notification", "status": "completed", "output_file": "", "summary": ""},
        assistant("m3", text("Done.")),
        end("Done."),
    ]
    run = hear(play, script)
    assert rows(run) == [("Agent", "done", None), ("Looks it up", "done", 0), ("Read", "done", 1)]
    assert len(of(run, AgentStarted)) == 1


def test_two_turns_of_one_session_count_their_cost_once(play):
    one = [assistant("m1", text("One.")), end("One.", cost=0.5)]
    two = [assistant("m2", text("Two.")), end("Two.", cost=0.75)]
    run = hear(play, [INIT, *one, *two])
    assert run.answer_text == "One.\n\nTwo."
    assert float(run.cost) == 0.75


def test_a_result_that_is_an_error_is_a_failed_model_call(play):
    script = [INIT, assistant("m1", text("I")), end(subtype="error_during_execution", errors=["the model is down"])]
    run = hear(play, script)
    assert rows(run)[-1] == ("Model call failed", "failed", None)
    assert run.steps[-1].detail == "the model is down"


def test_a_message_that_is_an_error_is_a_failed_model_call(play):
    script = [INIT, assistant("m1", text("You are out of credit."), error="billing_error"), end("You are out of credit.")]
    run = hear(play, script)
    assert [(event.outcome, event.error) for event in of(run, ModelEnded)] == [("failed", "billing_error")]


@pytest.mark.parametrize(("subtype", "kind"), [("error_max_turns", "turns"), ("error_max_budget_usd", "cost")])
def test_a_limit_that_was_reached_ends_the_run_as_limited(play, subtype, kind):
    run = hear(play, [INIT, assistant("m1", use(1, "Read", file_path="/a")), end(subtype=subtype)])
    assert [event.kind for event in of(run, LimitReached)] == [kind]
    assert (run.outcome, rows(run)[0]) == ("limited", ("Read", "cancelled", None))


def test_an_interrupt_cancels_what_was_open(play):
    script = [
        INIT,
        assistant("m1", use(1, "Bash", command="sleep 9")),
        end(subtype="error_during_execution", terminal_reason="aborted_tools"),
    ]
    run = hear(play, script)
    assert rows(run) == [("Bash", "cancelled", None)]


def test_a_stream_without_a_result_cancels_what_was_open_and_keeps_its_tokens(play):
    run = hear(play, [INIT, assistant("m1", use(1, "Bash", command="sleep 9"), output=3)])
    assert rows(run)[0] == ("Bash", "cancelled", None)
    assert all(event.outcome == "cancelled" for event in of(run, ToolEnded, ModelEnded))


def test_a_call_that_is_not_permitted_is_over(play):
    denied = {"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": "rm"}}
    run = hear(play, [INIT, assistant("m1", use(1, "Bash", command="rm")), end("I may not.", permission_denials=[denied])])
    assert rows(run) == [("Bash", "cancelled", None)]
    assert run.answer_text == "I may not."


def test_a_call_that_is_put_off_is_a_pause_and_goes_on_as_the_same_call(play):
    deferred = {"id": "t1", "name": "Bash", "input": {"command": "rm"}}
    first = [INIT, assistant("m1", use(1, "Bash", command="rm")), end("", deferred_tool_use=deferred)]

    async def scenario(run):
        before = await play(run, first)
        return before, await play(run, [assistant("m2", use(1, "Bash", command="rm")), result_of(1, "gone"), end("Done.")])

    run = asyncio.run(watch_beside(scenario, auto=False))
    assert rows(run) == [("Bash", "done", None), ("Waiting on you: May `Bash` run?", "done", 0)]


def test_messages_without_a_name_for_them_pass(play):
    limit = {"type": "rate_limit_event", "rate_limit_info": {"status": "allowed"}, **IDS}
    reset = {"type": "conversation_reset", "new_conversation_id": "n", **IDS}
    hook = {"type": "system", "subtype": "hook_started", "hook_event": "PreToolUse"}
    run = hear(play, [INIT, limit, hook, assistant("m1", text("Hi.")), end("Hi."), reset])
    assert run.answer_text == "Hi."
    assert run.unknown_events == {}


def test_a_stream_that_is_watched_twice_is_told_once(play):
    run = hear(play, TWO_TOOLS, times=2)
    assert (run.answer_text, run.usage, len(run.steps)) == ("It is done.", Usage(48, 18, 8), 4)


def test_a_stream_that_breaks_off_by_an_error_fails_what_was_open_and_reaches_the_user(play):
    run = hear(play, [INIT, assistant("m1", use(1, "Bash", command="ls")), ConnectionError("the program is gone")])
    assert "the program is gone" in str(run.raised)
    assert rows(run)[0] == ("Bash", "cancelled", None)
    assert [event.outcome for event in of(run, ModelEnded)] == ["failed"]


def test_two_queries_in_a_row_are_two_turns_of_one_run(play):
    async def scenario(run):
        return [await play(run, TWO_TOOLS) for _ in range(2)]

    run = asyncio.run(watch_beside(scenario, auto=False))
    assert run.answer_text == "It is done.\n\nIt is done."
    assert [row[:2] for row in rows(run)].count(("Read", "done")) == 2


def test_two_runs_side_by_side_hear_each_its_own(play):
    async def one(words, *, after, told):
        with agentcell.watch(display=False) as run:
            script = [
                INIT,
                assistant("m1", use(1, "Read", file_path=words)),
                after,
                result_of(1, words),
                assistant("m2", text(words)),
            ]
            told.set()
            await play(run, [*script, end(words)])
        return run

    async def both():
        first, second = asyncio.Event(), asyncio.Event()
        return await asyncio.gather(one("One.", after=second, told=first), one("Two.", after=first, told=second))

    for words, run in zip(("One.", "Two."), asyncio.run(both()), strict=True):
        assert (run.answer_text, [step.arguments for step in run.steps]) == (words, [{"file_path": words}])


HANGING = [INIT, assistant("m1", use(1, "Bash", command="sleep 9"))]


def test_a_tool_that_hangs_is_cancelled_with_its_task(play):
    async def scenario(run):
        task = asyncio.ensure_future(play(run, [*HANGING, asyncio.Event()]))
        while run is not None and not run.steps:  # noqa: ASYNC110 - the SDK hands messages on in its own time
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run = asyncio.run(watch_beside(scenario, auto=False))
    assert rows(run)[0] == ("Bash", "cancelled", None)
    assert all(event.outcome == "cancelled" for event in of(run, ToolEnded))


def test_a_run_that_is_stopped_ends_at_the_next_message(play):
    async def scenario():
        goes_on = asyncio.Event()
        with agentcell.watch(display=False, auto=False) as run:
            task = asyncio.ensure_future(
                play(run, [*HANGING, goes_on, result_of(1, "x"), assistant("m2", text("never")), end("never")])
            )
            while not run.steps:  # noqa: ASYNC110
                await asyncio.sleep(0)
            run.stop()
            goes_on.set()
            await task
        return run

    run = asyncio.run(scenario())
    assert (run.outcome, run.answer_text) == ("cancelled", "")
    assert rows(run)[0][0] == "Bash"
    assert all(state != "running" for _, state, _ in rows(run))
