"""Anthropic Messages streams: blocks, tools on either side, counts that are totals."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from adapters.clients import helper, sync_client
from adapters.collector import Collector
from adapters.hearing import WAYS, exchange, hear
from agentcell.adapters.streams import watch_stream
from agentcell.events import ModelEnded, ToolEnded, ToolStarted, Usage
from agentcell.testing import ReplayServer

ways = pytest.mark.parametrize("way", WAYS)


@ways
def test_thinking_that_is_kept_back_is_a_block_without_words(way):
    run = hear("messages_blocks", way=way)
    assert run.thinking == "One. Two."
    assert [(block.type, block.content, block.signature) for block in run.blocks] == [
        ("thinking", "One. Two.", "c2ln"),
        ("redacted_thinking", "", "aGlkZGVu"),
    ]
    assert run.text == "I look it up."


@ways
def test_empty_pieces_of_arguments_change_nothing(way):
    run = hear("messages_blocks", way=way)
    assert run.asked == [("toolu_1", "weather", {"city": "Oslo"}), ("toolu_2", "now", {})]


@ways
@pytest.mark.parametrize(
    ("number", "usage"),
    [
        # 20 that were read, and 3 written to and 4 read from the cache, which their input leaves out
        (0, Usage(27, 40, cache_read_tokens=4, cache_write_tokens=3, reasoning_tokens=15)),
        # totals are taken over, not added; one that falls back to zero was only left out
        (1, Usage(963, 40, cache_read_tokens=60, cache_write_tokens=3)),
    ],
)
def test_counts_are_totals_and_the_input_includes_the_cache(number, usage, way):
    run = hear("messages_blocks", number, way=way)
    assert run.end.usage == usage
    assert (run.end.outcome, run.end.finish_reason) == ("done", ("tool_use", "end_turn")[number])


@ways
def test_tools_of_the_provider_end_with_a_result_or_an_error(way):
    run = hear("messages_blocks", 1, way=way)
    page = {"type": "web_search_result", "title": "T", "url": "https://example.org", "page_age": None}
    assert run.hosted == {
        "srvtoolu_1": ("web_search", {"query": "x"}, "done", [page]),  # without what only the provider can read
        "srvtoolu_2": (
            "web_fetch",
            {"url": "u"},
            "failed",
            {"type": "web_fetch_tool_result_error", "error_code": "url_not_accessible"},
        ),
        "mcptoolu_1": ("echo", {"p": 1}, "failed", "no such\npage"),
    }
    assert [event.error for event in run.of(ToolEnded)] == [None, "url_not_accessible", "no such"]
    assert run.text == "Found."
    assert run.faults == run.unknown == []


def test_an_error_event_fails_the_call_and_is_raised_by_the_sdk():
    run = hear("messages_ends")
    assert run.raised is not None
    assert (run.text, run.end.outcome) == ("Half", "failed")
    assert "Overloaded" in run.end.error


def test_an_error_event_of_dicts_fails_the_call():
    run = hear("messages_ends", way="dicts")
    assert (run.end.outcome, run.end.error) == ("failed", "Overloaded")


@ways
def test_a_cut_stream_ends_its_thinking_its_tools_and_its_call(way):
    run = hear("messages_ends", 1, way=way)
    assert [block.content for block in run.blocks] == ["Half a thought"]
    assert run.hosted["srvtoolu_1"][2] == "cancelled"
    assert (run.end.outcome, run.end.error) == ("cancelled", "the stream ended without its last event")
    assert run.end.usage == Usage(27, 1, cache_read_tokens=4, cache_write_tokens=3)


@ways
def test_a_paused_turn_leaves_its_tool_running(way):
    run = hear("messages_ends", 2, way=way)
    assert run.end.finish_reason == "pause_turn"
    assert run.hosted["srvtoolu_1"][2] is None


def test_several_messages_in_one_stream_are_calls_of_their_own():
    def message(response_id, *, complete):
        return [
            {"type": "message_start", "message": {"id": response_id, "model": "tiny", "usage": {"input_tokens": 5}}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": response_id}},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
            *([{"type": "message_stop"}] if complete else []),
        ]

    run = Collector()
    for _ in watch_stream(run, message("a", complete=True) + message("b", complete=False) + message("c", complete=True)):
        pass
    ends = run.of(ModelEnded)
    assert [(end.response_id, end.outcome, end.usage) for end in ends] == [
        ("a", "done", Usage(5, 2)),
        ("b", "cancelled", Usage(5, 2)),
        ("c", "done", Usage(5, 2)),
    ]
    assert len({end.model_call_id for end in ends}) == 3


def test_a_call_made_by_the_providers_code_has_that_code_as_its_parent():
    run = Collector()
    caller = {"type": "code_execution_20250825", "tool_id": "srvtoolu_1"}
    block = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"x": 1}, "caller": caller}
    for _ in watch_stream(
        run,
        [{"type": "content_block_start", "index": 0, "content_block": block}, {"type": "content_block_stop", "index": 0}],
    ):
        pass
    (start,) = run.of(ToolStarted)
    assert (start.parent_id, start.arguments, start.requested) == ("srvtoolu_1", {"x": 1}, True)


def test_an_answer_that_another_model_takes_over_is_that_models():
    run = Collector()
    events = [
        {"type": "message_start", "message": {"id": "m", "model": "big"}},
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "fallback", "from": {"model": "big"}, "to": {"model": "small"}},
        },
        {"type": "content_block_stop", "index": 0},
        {"type": "message_stop"},
    ]
    for _ in watch_stream(run, events):
        pass
    assert run.end.model == "small"
    assert run.unknown == []


@pytest.mark.parametrize(
    ("event", "unknown"),
    [
        ({"type": "message_start"}, []),
        ({"type": "message_start", "message": {"usage": {"input_tokens": None}}}, []),
        ({"type": "content_block_start", "index": None, "content_block": None}, ["content block "]),
        ({"type": "content_block_start", "index": 0, "content_block": {"type": "hologram"}}, ["content block hologram"]),
        ({"type": "content_block_delta", "index": 9, "delta": {"type": "smell_delta"}}, ["content delta smell_delta"]),
        ({"type": "content_block_delta", "index": 9, "delta": {"type": "input_json_delta"}}, []),
        ({"type": "content_block_stop", "index": 9}, []),
        ({"type": "message_delta"}, []),
        ({"type": "content_block_start", "index": 0, "content_block": {"type": "mcp_tool_result", "content": None}}, []),
    ],
)
def test_missing_and_unknown_fields_do_no_harm(event, unknown):
    run = Collector()
    assert list(watch_stream(run, [event])) == [event]
    assert run.faults == []
    assert run.unknown == unknown


@contextmanager
def helped(run):
    with (
        ReplayServer(exchange("messages_blocks", 0)) as server,
        sync_client("messages", server) as client,
        watch_stream(run, helper("messages", client)) as stream,
    ):
        yield stream


def test_the_helpers_text_stream_and_final_message_are_heard_too():
    run = Collector()
    with helped(run) as stream:
        assert list(stream.text_stream) == ["I look it up."]
        message = stream.get_final_message()
    assert [block.type for block in message.content].count("tool_use") == 2
    assert run.text == "I look it up."
    assert len(run.asked) == 2
    assert run.end.outcome == "done"


def test_a_final_message_alone_reads_the_stream_to_its_end():
    run = Collector()
    with helped(run) as stream:
        message = stream.get_final_message()
    assert message.usage.output_tokens == 40
    assert run.end.outcome == "done"
