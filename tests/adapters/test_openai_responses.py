"""Responses streams: ends of every kind, tools on either side, reasoning."""

from __future__ import annotations

import pytest

from adapters.collector import Collector
from adapters.hearing import WAYS, hear
from agentcell.adapters.streams import watch_stream
from agentcell.events import ThinkingEnded, ToolEnded, ToolProgressed, ToolStarted, Usage

ways = pytest.mark.parametrize("way", WAYS)

USAGE = Usage(50, 12, cache_read_tokens=40, cache_write_tokens=5, reasoning_tokens=8)


@ways
@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (0, ("failed", "The model broke down", "failed", None)),
        (1, ("done", None, "max_output_tokens", USAGE)),
        (2, ("failed", "Slow down", None, None)),
        (3, ("cancelled", "the stream ended without its last event", None, None)),
        (4, ("done", None, "completed", USAGE)),
    ],
)
def test_every_end_is_told_by_its_name(number, expected, way):
    run = hear("responses_ends", number, way=way)
    end = run.end
    assert (end.outcome, end.error, end.finish_reason, end.usage) == expected
    assert (end.model, end.response_id) == ("tiny", "resp_1")
    assert run.text == ("I can't." if number == 4 else "Half")
    assert run.faults == run.unknown == []


@ways
def test_a_tool_that_was_running_when_the_stream_was_cut_is_cancelled(way):
    run = hear("responses_ends", 3, way=way)
    assert run.hosted == {"ws_1": ("web_search", {}, "cancelled", None)}


@ways
def test_whole_texts_add_only_what_no_delta_brought(way):
    assert hear("responses_ends", 5, way=way).text == "The capital. Oslo."


@ways
def test_tools_of_the_provider_start_progress_and_end(way):
    run = hear("responses_tools", 0, way=way)
    assert run.hosted == {
        "ci_1": ("code_interpreter", {"code": "1+1"}, "done", [{"type": "logs", "logs": "2"}]),
        "fs_1": ("file_search", {"queries": ["cats"]}, "done", [{"filename": "cats.md", "score": 0.9}]),
        "ig_1": ("image_generation", {"revised_prompt": "a cat"}, "done", {"output_format": "png", "size": "1024x1024"}),
        "mcp_1": ("lookup", {"q": "x"}, "failed", None),
    }
    assert [(event.call_id, event.payload["status"]) for event in run.of(ToolProgressed)] == [
        ("ci_1", "interpreting"),
        ("fs_1", "searching"),
        ("ig_1", "generating"),
    ]
    assert run.of(ToolEnded)[-1].error == "Bad gateway"
    assert run.asked == run.unknown == run.faults == []


@ways
def test_tools_for_the_client_are_asked_for_once_each(way):
    run = hear("responses_tools", 1, way=way)
    assert sorted(run.asked) == [
        ("call_1", "weather", {"city": "Oslo"}),  # its output_item.done never came
        ("call_2", "sql", {"input": "select 1"}),
        ("mcpr_1", "delete", {"id": 7}),
    ]
    assert run.of(ToolEnded) == []
    assert run.end.outcome == "done"


@ways
def test_reasoning_closes_with_its_parts(way):
    run = hear("responses_tools", 1, way=way)
    assert run.thinking == "Let me see.Only\n\nat the end"
    first, second = run.of(ThinkingEnded)
    assert [(block.content, block.summary) for block in first.blocks] == [("Let me see.", False)]
    assert [(block.content, block.summary) for block in second.blocks] == [("Only", True), ("at the end", True)]


@ways
def test_an_approved_call_goes_on_under_the_id_of_its_question(way):
    run = hear("responses_tools", 2, way=way)
    assert run.hosted == {"mcpr_1": ("delete", {"id": 7}, "done", "gone")}


def test_an_event_that_nobody_knows_is_counted_and_not_raised():
    run = Collector()
    events = [
        {"type": "response.created", "response": {"id": "r", "model": "tiny"}},
        {"type": "response.telepathy.received", "item_id": "t_1"},
        {"type": "response.output_item.done", "item": {"type": "dream", "id": "d_1"}},
        {"type": "response.completed", "response": {"id": "r", "status": "completed"}},
    ]
    assert list(watch_stream(run, events)) == events
    assert run.unknown == ["response.telepathy.received", "response item dream"]
    assert run.end.outcome == "done"


def test_an_error_behind_the_end_begins_no_call():
    run = Collector()
    end = {"type": "response.completed", "response": {"id": "r", "status": "completed"}}
    list(watch_stream(run, [end, {"type": "error", "message": "late"}]))
    assert run.end.outcome == "done"


def test_a_program_of_the_provider_is_the_parent_of_the_calls_it_makes():
    run = Collector()
    events = [
        {"type": "response.output_item.done", "item": {"type": "program", "id": "p_1", "call_id": "call_p", "code": "f()"}},
        {
            "type": "response.output_item.done",
            "item": {
                "type": "function_call",
                "id": "fc_1",
                "call_id": "call_f",
                "name": "f",
                "arguments": "{}",
                "caller": {"type": "program", "caller_id": "call_p"},
            },
        },
        {
            "type": "response.output_item.done",
            "item": {"type": "program_output", "id": "po_1", "call_id": "call_p", "result": "7", "status": "completed"},
        },
        {"type": "response.completed", "response": {"id": "r", "status": "completed"}},
    ]
    for _ in watch_stream(run, events):
        pass
    assert [(event.call_id, event.parent_id) for event in run.of(ToolStarted)] == [("call_p", None), ("call_f", "call_p")]
    assert [(event.call_id, event.result) for event in run.of(ToolEnded)] == [("call_p", "7")]


@pytest.mark.parametrize(
    "event",
    [
        {"type": "response.created"},
        {"type": "response.completed", "response": None},
        {"type": "response.output_item.added"},
        {"type": "response.output_item.done", "item": {"type": "mcp_call"}},
        {"type": "response.output_item.done", "item": {"type": "reasoning", "summary": None}},
        {"type": "response.output_text.delta", "delta": None},
        {"type": "response.output_text.done", "text": None},
        {"type": "error", "message": None},
        {"type": "response.failed", "response": {"status": "failed"}},
    ],
)
def test_missing_fields_do_no_harm(event):
    run = Collector()
    assert list(watch_stream(run, [event])) == [event]
    assert run.faults == []
