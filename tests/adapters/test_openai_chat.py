"""Chat Completions, as OpenAI and the hosts that speak its shape stream them."""

from __future__ import annotations

import pytest

from adapters.collector import Collector
from adapters.hearing import WAYS, hear
from agentcell.adapters.streams import watch_stream
from agentcell.events import ModelEnded, ModelStarted, ToolStarted, Usage

ways = pytest.mark.parametrize("way", WAYS)


@ways
@pytest.mark.parametrize("number", range(5))
def test_tool_calls_are_told_apart_however_a_host_numbers_them(number, way):
    run = hear("chat_tool_indexes", number, way=way)
    told = [(name, arguments) for _, name, arguments in run.asked]
    if number == 3:  # two calls of one tool, then another tool, all without ids
        assert told == [("weather", {"city": "Oslo"}), ("weather", {"city": "Rome"}), ("time", {})]
    else:
        assert told == [("weather", {"city": "Oslo"}), ("time", {})]
        assert [call_id for call_id, _, _ in run.asked] == ["call_a", "call_b"]
    assert len({call_id for call_id, _, _ in run.asked}) == len(told)
    assert all(event.model_call_id == run.end.model_call_id for event in run.of(ToolStarted))
    assert run.faults == run.unknown == []


@ways
def test_arguments_that_are_no_object_are_kept_as_they_came(way):
    run = hear("chat_tool_arguments", way=way)
    assert [arguments for _, _, arguments in run.asked] == [
        {"arguments": '{"city": "Os'},
        {"arguments": "[1,2]"},
        {"n": 1},
        {},
    ]


@ways
def test_the_old_function_call_is_a_tool_call_with_an_id_of_ours(way):
    run = hear("chat_tool_arguments", 1, way=way)
    assert run.asked == [("id-2", "weather", {"city": "Oslo"})]
    assert run.end.finish_reason == "function_call"


@ways
@pytest.mark.parametrize(
    ("number", "usage"),
    [
        (0, Usage(120, 30, cache_read_tokens=100, cache_write_tokens=7, reasoning_tokens=20)),
        (1, Usage(32, 103, reasoning_tokens=94)),  # its completion left the reasoning out
        (2, Usage(5, 2)),
    ],
)
def test_usage_is_counted_in_one_way(number, usage, way):
    run = hear("chat_usage", number, way=way)
    assert run.end.usage == usage
    assert run.end.outcome == "done"


@ways
def test_a_refusal_is_text(way):
    assert hear("chat_answers", 0, way=way).text == "I can't do that."


@ways
def test_only_the_first_choice_is_the_answer(way):
    run = hear("chat_answers", 1, way=way)
    assert run.text == "first"
    assert run.end.finish_reason == "stop"


@ways
def test_several_last_chunks_end_the_call_once(way):
    run = hear("chat_answers", 2, way=way)
    assert (run.end.finish_reason, run.end.usage) == ("length", Usage(1, 1))


@ways
def test_reasoning_that_comes_only_in_details_is_read_from_them(way):
    run = hear("chat_answers", 3, way=way)
    assert run.thinking == "Weighing it."
    assert run.text == "Yes."
    assert [(block.type, block.content, block.signature) for block in run.blocks] == [
        ("thinking", "Weighing it.", "c2VjcmV0"),
        ("redacted_thinking", "", "bW9yZQ=="),
    ]


@ways
def test_content_as_a_list_of_parts_is_thinking_and_text(way):
    run = hear("chat_answers", 4, way=way)
    assert (run.thinking, run.text) == ("Hm, so.", "Yes.")
    assert run.unknown == ["content part reference"]


@ways
def test_a_stream_that_ends_without_a_finish_reason_was_cut(way):
    run = hear("chat_answers", 5, way=way)
    assert run.text == "The answer is"
    assert run.asked == []  # nobody knows whether the call was complete
    assert (run.end.outcome, run.end.error) == ("cancelled", "the stream ended without its last event")
    assert run.end.finish_reason is None


def test_an_error_in_the_stream_fails_the_call_and_is_raised_by_the_sdk():
    run = hear("chat_error")
    assert "upstream went away" in str(run.raised)
    assert run.text == "Half an "
    assert (run.end.outcome, run.end.error) == ("failed", "APIError: upstream went away")


def test_an_error_in_a_stream_of_dicts_fails_the_call():
    run = hear("chat_error", way="dicts")
    assert (run.end.outcome, run.end.error) == ("failed", "upstream went away")
    assert run.end.usage == Usage(3, 2)


@pytest.mark.parametrize(
    "more",
    [
        {"x_groq": {"error": "stopped early"}},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "error", "error": {"code": 502, "message": "stopped early"}}]},
    ],
)
def test_hosts_tell_an_error_in_other_places_too(more):
    run = Collector()
    for _ in watch_stream(run, [{"choices": [{"index": 0, "delta": {"content": "Half"}, "finish_reason": None}], **more}]):
        pass
    assert (run.end.outcome, run.end.error) == ("failed", "stopped early")


def test_streams_that_are_chained_are_calls_of_their_own():
    def chunk(response_id, delta, finish=None):
        return {"id": response_id, "model": "tiny", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    run = Collector()
    first = [chunk("a", {"content": "one"}), chunk("a", {}, "stop"), {"id": "a", "choices": [], "usage": {"prompt_tokens": 1}}]
    second = [chunk("b", {"role": "assistant", "content": ""}), chunk("b", {"content": "two"}), chunk("b", {}, "stop")]
    assert list(watch_stream(run, iter(first + second))) == first + second
    assert [event.response_id for event in run.of(ModelEnded)] == ["a", "b"]
    assert [event.model_call_id for event in run.of(ModelEnded)] == [event.model_call_id for event in run.of(ModelStarted)]
    assert run.of(ModelEnded)[0].usage == Usage(1, 0)


@pytest.mark.parametrize(
    "event",
    [
        {"choices": None, "object": "chat.completion.chunk"},
        {"choices": []},
        {"choices": [None]},
        {"choices": [{"index": 0}]},
        {"choices": [{"index": 0, "delta": None, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {"content": 7, "tool_calls": [None], "reasoning_details": "no"}}]},
        {"choices": "no", "usage": {"prompt_tokens": None, "completion_tokens": "many"}, "model": 3, "id": []},
    ],
)
def test_missing_and_odd_fields_do_no_harm(event):
    run = Collector()
    assert list(watch_stream(run, [event])) == [event]
    assert run.faults == []
    assert run.text == ""
