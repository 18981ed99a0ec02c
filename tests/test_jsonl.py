"""A log as lines of JSON: what is read is what was written, and what cannot be read says why."""

import json
import math
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcell.errors import LoadError
from agentcell.events import (
    EVENT_TYPES,
    ModelEnded,
    Noted,
    RunEnded,
    RunStarted,
    TextDelta,
    ThinkingBlock,
    ThinkingDelta,
    ThinkingEnded,
    ToolEnded,
    ToolStarted,
    Usage,
)
from agentcell.jsonl import read_events, write_events
from agentcell.log import EventLog
from agentcell.run import Run, load
from drawn import any_event, events_of

HEADER = b'{"format":"agentcell.run","version":1}\n'
NOTED = b'{"event":"Noted","text":"hello"}\n'


def again(events):
    """What is read after `events` were written."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "run.jsonl")
        write_events(events, path)
        return read_events(path)


@pytest.mark.parametrize("kind", list(EVENT_TYPES.values()))
def test_every_kind_of_event_comes_back_as_it_was(kind):
    @settings(max_examples=25, deadline=None)
    @given(events_of(kind, seq=st.just(0)))
    def comes_back(event):
        assert again([event]) == (event,)

    comes_back()


@settings(max_examples=50, deadline=None)
@given(st.lists(any_event, min_size=1, max_size=12))
def test_a_log_of_any_events_comes_back_as_it_was(events):
    log = tuple(EventLog(events))
    assert again(log) == log


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain",
        "line\u2028separator\u2029, next\x85line, form\x0cfeed, \x1c\x1d\x1e",
        "NUL \0 and the rest of ASCII \x01\x07\x1b\x7f",
        "\r\n\r",
        "a lone half \ud83d here",
        "the other half \ude00 here",
        "\ude00\ud83d",
        "😀 whole",
        '"quotes" and \\backslashes\\ and \\u2028',
        "</script><!--",
        "\ufeff",
    ],
)
def test_a_text_comes_back_letter_by_letter(text):
    events = tuple(EventLog([TextDelta(text=text), ToolEnded(result={text: [text]}), ThinkingDelta(text=text), Noted(text=text)]))
    assert again(events) == events


def test_a_character_that_was_split_between_two_deltas_comes_back_split():
    events = tuple(EventLog([TextDelta(text=text) for text in ("a", "\ud83d", "", "\ude00", "b")]))
    assert again(events) == events


def test_a_delta_of_a_million_characters_comes_back():
    events = (TextDelta(text="word " * 200_000),)
    assert again(events) == events


def test_consecutive_deltas_of_one_source_take_one_line(tmp_path):
    source = {"model_call_id": "m1", "agent_id": "a"}
    events = tuple(
        EventLog(
            [
                *(TextDelta(text=text, time=time, **source) for time, text in enumerate(["One ", "", "two"], 1)),
                TextDelta(text="other call", model_call_id="m2", agent_id="a"),
                TextDelta(text="other agent", model_call_id="m2"),
                ThinkingDelta(text="other kind", model_call_id="m2"),
                ThinkingDelta(text="other place", model_call_id="m2", source_id="span-1"),
                Noted(text="between"),
                ThinkingDelta(text="again", model_call_id="m2"),
            ]
        )
    )
    write_events(events, tmp_path / "run.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "run.jsonl").read_text().splitlines()]
    texts = ["One two", "other call", "other agent", "other kind", "other place", "between", "again"]
    assert [line.get("text") for line in lines[1:]] == texts
    assert (lines[1]["times"], lines[1]["lengths"]) == ([1, 2, 3], [4, 0, 3])
    assert read_events(tmp_path / "run.jsonl") == events


def test_a_file_is_ascii_with_one_event_a_line_and_leaves_out_what_is_usual(tmp_path):
    path = tmp_path / "run.jsonl"
    write_events([RunStarted(task="Größe?"), ToolStarted(call_id="a", name="b", time=1.5, seq=1), RunEnded(seq=2, time=2.0)], path)
    assert path.read_bytes() == (
        HEADER + b'{"event":"RunStarted","task":"Gr\\u00f6\\u00dfe?"}\n'
        b'{"event":"ToolStarted","time":1.5,"call_id":"a","name":"b","arguments":{}}\n'
        b'{"event":"RunEnded","time":2.0}\n'
    )


def test_a_signature_stays_out_of_the_file(tmp_path):
    event = ThinkingEnded(blocks=(ThinkingBlock(content="hm", signature="c2VjcmV0"),))
    write_events([event], tmp_path / "run.jsonl")
    assert b"c2VjcmV0" not in (tmp_path / "run.jsonl").read_bytes()
    (back,) = read_events(tmp_path / "run.jsonl")
    assert back == event
    assert back.blocks[0].signature is None


@pytest.mark.parametrize(
    ("content", "line", "reason"),
    [
        (b"", None, "holds no events"),
        (HEADER, None, "holds no events"),
        (HEADER + b"\n\n", None, "holds no events"),
        (b"\n" + NOTED, 1, "begins with"),
        (b"Hello, world\n", 1, "not JSON"),
        (b'{"cells": [], "nbformat": 4}\n', 1, "begins with"),
        (b"[1, 2]\n", 1, "begins with"),
        (b'{"format":"agentcell.run","version":2}\n' + NOTED, 1, "a newer agentcell may read it"),
        (b'{"format":"agentcell.run"}\n' + NOTED, 1, "reads format 1, not None"),
        (b'{"format":"agentcell.run","version":"1"}\n' + NOTED, 1, "reads format 1, not '1'"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", 1, "not text"),
        (HEADER + NOTED + b'{"event":"Noted","text":"\xff\xfe"}\n', 3, "not text"),
        (HEADER + NOTED + NOTED[:-8], 3, "not JSON"),
        (HEADER + b'{"event":"Exploded"}\n', 2, "does not know: 'Exploded'"),
        (HEADER + b'{"event":["Noted"]}\n', 2, "does not know: ['Noted']"),
        (HEADER + b'{"text":"hello"}\n', 2, "does not know: None"),
        (HEADER + NOTED + b'"Noted"\n', 3, "must be an object, not 'Noted'"),
        (HEADER + NOTED + b"null\n" + NOTED, 3, "must be an object, not None"),
        (b"null\n" + NOTED, 1, "begins with"),
        (HEADER + b"\xef\xbb\xbf" + NOTED, 2, "not JSON"),
        ("\ufeff".encode("utf-16-le") + HEADER.decode().encode("utf-16-le"), 1, "not text"),
        (HEADER + b'{"event":"Noted","colour":"blue"}\n', 2, "colour"),
        (HEADER + b'{"event":"Noted","text":5}\n', 2, "Noted.text must be a string, not 5"),
        (HEADER + b'{"event":"Noted","time":"now"}\n', 2, "Noted.time must be a finite number, not 'now'"),
        (HEADER + b'{"event":"Noted","time":NaN}\n', 2, "Noted.time must be a finite number, not nan"),
        (HEADER + b'{"event":"Noted","time":1e999}\n', 2, "Noted.time must be a finite number, not inf"),
        (HEADER + b'{"event":"RunEnded","outcome":"exploded"}\n', 2, "RunEnded.outcome must be one of 'answered'"),
        (HEADER + b'{"event":"ModelEnded","usage":{"input_tokens":"many"}}\n', 2, "ModelEnded.usage must be a sound Usage"),
        (HEADER + b'{"event":"ModelEnded","usage":{"input_tocens":1}}\n', 2, "input_tocens"),
        (HEADER + b'{"event":"ModelEnded","usage":7}\n', 2, "ModelEnded.usage must be a sound Usage"),
        (HEADER + b'{"event":"ThinkingEnded","blocks":["hm"]}\n', 2, "ThinkingEnded.blocks must be a tuple"),
        (HEADER + b'{"event":"ToolStarted","arguments":[]}\n', 2, "ToolStarted.arguments must be a mapping"),
        (HEADER + b'{"event":"Noted","times":[1]}\n', 2, "times"),
        (HEADER + b'{"event":"TextDelta","text":"ab","times":[1,2],"lengths":[1,2]}\n', 2, "make 2 together"),
        (HEADER + b'{"event":"TextDelta","text":"ab","times":[1,2],"lengths":[-1,3]}\n', 2, "make 2 together"),
        (HEADER + b'{"event":"TextDelta","text":"ab","times":[1,2],"lengths":[0.5,1.5]}\n', 2, "make 2 together"),
        (HEADER + b'{"event":"TextDelta","text":"ab","times":[1],"lengths":[1,1]}\n', 2, "two lists of the same length"),
        (HEADER + b'{"event":"TextDelta","text":"ab","times":[1,2]}\n', 2, "two lists of the same length"),
        (HEADER + b'{"event":"TextDelta","text":"ab","lengths":[1,1]}\n', 2, "lengths"),
        (
            HEADER + b'{"event":"TextDelta","text":"ab","times":["a",2],"lengths":[1,1]}\n',
            2,
            "TextDelta.time must be a finite number",
        ),
        (HEADER + b'{"event":"TextDelta","text":7,"times":[1],"lengths":[1]}\n', 2, "TextDelta.text must be a string, not 7"),
        pytest.param(HEADER + b'{"event":"Noted","text":' + b"[" * 100_000, 2, "not JSON", id="too deep"),
        pytest.param(HEADER + b'{"event":"ToolEnded","result":' + b"1" * 5_000 + b"}", 2, "not JSON", id="too long a number"),
    ],
)
def test_a_broken_file_is_refused_with_its_name_its_line_and_the_reason(tmp_path, content, line, reason):
    path = tmp_path / "run.jsonl"
    path.write_bytes(content)
    with pytest.raises(LoadError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}, line {line}: " if line else str(path))
    assert reason in str(caught.value)
    assert len(str(caught.value)) < len(str(path)) + 300


def test_blank_lines_between_events_do_no_harm(tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_bytes(HEADER + b"\n" + NOTED + b"  \r\n\n" + NOTED.strip())
    assert read_events(path) == (Noted(text="hello"), Noted(text="hello", seq=1))


def test_a_file_that_an_editor_has_begun_with_a_mark_of_its_encoding_is_read(tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + HEADER.replace(b"\n", b"\r\n") + b"\r\n" + NOTED)
    assert read_events(path) == (Noted(text="hello"),)


def test_a_file_that_is_not_there_is_the_systems_own_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing.jsonl")


def refuses():
    yield RunStarted(task="new")
    raise RuntimeError("no more")


@pytest.mark.parametrize(
    "events",
    [[RunStarted(task="new"), ToolEnded(result=object())], [ToolEnded(result=math.nan)], refuses()],
    ids=["no JSON value", "no JSON number", "events that end in an error"],
)
def test_a_file_is_left_as_it_was_when_writing_the_new_one_fails(tmp_path, events):
    path = tmp_path / "run.jsonl"
    write_events([Noted(text="old")], path)
    with pytest.raises((TypeError, ValueError, RuntimeError)):
        write_events(events, path)
    assert read_events(path) == (Noted(text="old"),)
    assert list(tmp_path.iterdir()) == [path], "nothing half written stays behind"


def test_a_file_of_that_name_is_replaced(tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_text("something else")
    write_events([Noted(text="new")], str(path))
    assert read_events(str(path)) == (Noted(text="new"),)


def test_a_run_comes_back_equal_and_complete(tmp_path):
    with Run() as run:
        run.step("Looking around")
        with run.tool("search", query="p95") as call:
            call.progress({"message": "page 2", "ratio": math.nan})
            call.result({"rows": [1, 2], "raw": b"\0\1"})
        run.record(ModelEnded(model_call_id="m", usage=Usage(10, 2), response_id="r"))
        run.think("hm")
        run.write("The **answer**")
    run.save(tmp_path / "run.jsonl")
    back = load(tmp_path / "run.jsonl")
    assert back == run
    assert (back.status, back.outcome, back.answer_text) == ("complete", "answered", "The **answer**")
    assert (back.steps, back.usage, back.elapsed_seconds) == (run.steps, run.usage, run.elapsed_seconds)


def test_a_run_that_was_saved_before_its_end_comes_back_cancelled(tmp_path):
    with Run() as run, run.tool("search"):
        run.save(tmp_path / "run.jsonl")
    back = load(tmp_path / "run.jsonl")
    assert (back.status, back.outcome) == ("complete", "cancelled")
    assert [step.state for step in back.steps] == ["cancelled"]
    assert isinstance(back.events[-1], RunEnded)
    assert back.events[:-1] == run.events[:2]


def test_where_nothing_can_be_written_the_error_names_the_file_that_was_asked_for(tmp_path):
    target = tmp_path / "nowhere" / "run.jsonl"
    with pytest.raises(FileNotFoundError) as raised:
        Run().save(target)
    assert str(raised.value).endswith(f"No such file or directory: {str(target)!r}")
