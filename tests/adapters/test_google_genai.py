"""Gemini streams: parts, code, counts, ends, and the SDK's automatic function calling."""

from __future__ import annotations

import pytest
from google import genai

from adapters.clients import GEMINI
from adapters.collector import Collector
from adapters.hearing import WAYS, hear
from agentcell.adapters.streams import watch_stream
from agentcell.events import ModelEnded, ModelStarted, Noted, ToolEnded, ToolStarted, Usage
from agentcell.testing import ReplayServer
from shared import shared_path

ways = pytest.mark.parametrize("way", WAYS)


@ways
def test_thoughts_are_thinking_and_keep_their_signature_as_it_was_sent(way):
    run = hear("gemini_parts", way=way)
    assert run.thinking == "Think. More."
    assert [(block.content, block.signature) for block in run.blocks] == [("Think. More.", "c2lnbmF0dXJl")]
    assert run.faults == run.unknown == []


@ways
def test_the_first_candidate_is_the_answer(way):
    assert hear("gemini_parts", way=way).text == "It is 1."


@ways
def test_code_that_the_provider_runs_is_a_tool(way):
    run = hear("gemini_parts", way=way)
    assert list(run.hosted.values()) == [
        ("code_execution", {"language": "PYTHON", "code": "print(1)"}, "done", "1\n"),
        ("code_execution", {"language": "PYTHON", "code": "1/0"}, "failed", "ZeroDivisionError"),
    ]


@ways
def test_a_picture_is_noted(way):
    assert [note.text for note in hear("gemini_parts", way=way).of(Noted)] == ["Received image/png"]


@ways
def test_the_newest_counts_hold_and_thoughts_are_output(way):
    run = hear("gemini_parts", way=way)
    assert run.end.usage == Usage(40, 12, cache_read_tokens=4, reasoning_tokens=7)
    assert (run.end.finish_reason, run.end.model, run.end.response_id) == ("STOP", "tiny", "r1")


@ways
def test_a_call_without_an_id_gets_one(way):
    run = hear("gemini_parts", 1, way=way)
    assert run.asked == [("id-2", "weather", {"city": "Oslo"}), ("f1", "now", {})]


@ways
@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (0, ("failed", "the prompt was blocked: PROHIBITED_CONTENT", None)),
        (1, ("done", None, "SAFETY")),
        (2, ("cancelled", "the stream ended without its last event", None)),
    ],
)
def test_every_end_is_told_by_its_name(number, expected, way):
    end = hear("gemini_ends", number, way=way).end
    assert (end.outcome, end.error, end.finish_reason) == expected


def test_an_error_in_a_stream_of_dicts_fails_the_call():
    run = Collector()
    events = [
        {"candidates": [{"content": {"parts": [{"text": "Half"}]}}]},
        {"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}},
    ]
    assert list(watch_stream(run, events)) == events
    assert (run.text, run.end.outcome, run.end.error) == ("Half", "failed", "overloaded")


def test_functions_that_the_sdk_calls_itself_make_several_calls_in_one_stream():
    def get_country() -> str:
        """The user's country."""
        return "Mexico"

    run = Collector()
    recording = shared_path("recordings", "google_tool_thought_signature.json")
    with ReplayServer(recording) as server, genai.Client(api_key="none", http_options={"base_url": server.url}) as client:
        stream = client.models.generate_content_stream(**GEMINI, config={"tools": [get_country]})
        for _ in watch_stream(run, stream):
            pass
    assert run.text == "The capital of Mexico is Mexico City."
    assert [end.outcome for end in run.of(ModelEnded)] == ["done", "done"]
    kinds = [type(event) for event in run.of(ModelStarted, ModelEnded, ToolStarted, ToolEnded)]
    assert kinds == [ModelStarted, ToolStarted, ModelEnded, ToolEnded, ModelStarted, ModelEnded]
    (end,) = run.of(ToolEnded)
    assert (end.call_id, end.result) == (run.asked[0][0], "Mexico")


def test_answers_find_their_calls_by_id_or_by_name():
    def chunk(*parts):
        return {"candidates": [{"content": {"parts": list(parts)}}]}

    run = Collector()
    events = [
        chunk({"functionCall": {"name": "f", "args": {}}}, {"functionCall": {"id": "g1", "name": "g", "args": {}}}),
        chunk({"functionResponse": {"id": "g1", "name": "g", "response": {"error": "no"}}}),
        chunk({"functionResponse": {"name": "f", "response": {"output": 7}}}),
        chunk({"functionResponse": {"name": "h", "response": {}}}),
    ]
    for _ in watch_stream(run, events):
        pass
    ends = [(end.call_id, end.outcome, end.result, end.error) for end in run.of(ToolEnded)]
    assert ends == [("g1", "failed", None, "no"), ("id-2", "done", 7, None)]


def test_a_call_that_comes_in_pieces_is_asked_for_once_and_whole():
    def chunk(**call):
        return {"candidates": [{"content": {"parts": [{"functionCall": call}]}}]}

    run = Collector()
    events = [
        chunk(name="weather", willContinue=True),
        chunk(partialArgs=[{"jsonPath": "$.city", "stringValue": "Os", "willContinue": True}], willContinue=True),
        chunk(partialArgs=[{"jsonPath": "$.city", "stringValue": "lo"}], willContinue=True),
        chunk(partialArgs=[{"jsonPath": "$.days", "numberValue": 3}], willContinue=True),
        chunk(),
        chunk(),  # no call at all
    ]
    for _ in watch_stream(run, events):
        pass
    assert run.asked == [("id-2", "weather", {"city": "Oslo", "days": 3})]


def test_a_hosted_tool_is_a_tool_of_the_provider():
    run = Collector()
    parts = [
        {"toolCall": {"id": "t1", "toolType": "GOOGLE_SEARCH_WEB", "args": {"queries": ["x"]}}},
        {"toolResponse": {"id": "t1", "toolType": "GOOGLE_SEARCH_WEB", "response": {"pages": 3}}},
    ]
    for _ in watch_stream(run, [{"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]}]):
        pass
    assert run.hosted == {"t1": ("google_search_web", {"queries": ["x"]}, "done", {"pages": 3})}


@pytest.mark.parametrize(
    "event",
    [
        {"candidates": None},
        {"candidates": [None]},
        {"candidates": [{"content": None, "finishReason": None}]},
        {"candidates": [{"content": {"parts": [None, {}, {"text": None}, {"functionCall": {"name": None}}]}}]},
        {"usageMetadata": {}},
        {"promptFeedback": None},
    ],
)
def test_missing_fields_do_no_harm(event):
    run = Collector()
    assert list(watch_stream(run, [event])) == [event]
    assert run.faults == []
