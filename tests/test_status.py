"""The status line: which of several things in flight is shown, and how it reads."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import agentcell
from agentcell.adapters.agentfootprint import read_events
from agentcell.events import (
    Event,
    ModelEnded,
    ModelStarted,
    Noted,
    PauseRequested,
    PauseResumed,
    RunEnded,
    TextDelta,
    ToolEnded,
    ToolProgressed,
    ToolStarted,
)
from agentcell.projections.status import (
    DEFAULT_TEMPLATES,
    LIVE_PARTIAL,
    StatusProjection,
    StatusState,
    compose_templates,
    progress_message,
    render_status_line,
    select_status,
    validate_templates,
)
from shared import shared_path

MODEL = ModelStarted(model_call_id="m1")
SEARCH = ToolStarted(call_id="a", name="search")
FETCH = ToolStarted(call_id="b", name="fetch")


def says(text: str, model_call_id: str = "m1") -> TextDelta:
    return TextDelta(text=text, model_call_id=model_call_id)


def reports(call_id: str, message: str | None = None) -> ToolProgressed:
    return ToolProgressed(call_id=call_id, payload={} if message is None else {"message": message})


def line(events: list[Event], **templates: str) -> str | None:
    return render_status_line(select_status(events), app_name="Atlas", templates=compose_templates(templates))


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([], None),
        ([Noted(text="hello")], None),
        ([MODEL], "Thinking…"),
        ([MODEL, says("")], "Thinking…"),
        ([MODEL, says("Let me "), says("look.")], "Let me look."),
        ([says("early"), MODEL, says("late")], "late"),
        ([MODEL, says("other", "m2")], "Thinking…"),
        ([TextDelta(text="by hand")], None),
        ([MODEL, TextDelta(text="by hand")], "Thinking…"),
        ([ModelStarted(), TextDelta(text="by hand")], "Thinking…"),
        ([MODEL, says("x"), ModelEnded(model_call_id="m1")], None),
        ([MODEL, says("x"), ModelStarted(model_call_id="m2")], "Thinking…"),
        ([MODEL, says("x"), ModelStarted(model_call_id="m2"), ModelEnded(model_call_id="m2")], "x"),
        ([MODEL, says("x"), MODEL], "Thinking…"),
        ([SEARCH], "Working on `search`…"),
        ([ToolStarted(call_id="a", name="search", requested=True)], "Working on `search`…"),
        ([SEARCH, ToolEnded(call_id="a")], None),
        ([MODEL, says("x"), SEARCH], "Working on `search`…"),
        ([MODEL, says("x"), SEARCH, ToolEnded(call_id="a")], "x"),
        ([SEARCH, FETCH], "Working on `fetch`…"),
        ([SEARCH, FETCH, ToolEnded(call_id="b")], "Working on `search`…"),
        ([SEARCH, FETCH, reports("a", "page 3")], "page 3"),
        ([SEARCH, FETCH, reports("a", "page 3"), reports("b")], "`fetch` reported progress (1 so far)…"),
        ([SEARCH, FETCH, reports("a", "3"), reports("b", "4"), ToolEnded(call_id="b")], "3"),
        ([SEARCH, FETCH, reports("a", "3"), ToolEnded(call_id="a")], "Working on `fetch`…"),
        ([SEARCH, reports("a", "3"), reports("a")], "`search` reported progress (2 so far)…"),
        ([SEARCH, ToolEnded(call_id="a"), reports("a", "late")], None),
        ([reports("a", "early"), SEARCH], "Working on `search`…"),
        ([SEARCH, reports("a", "3"), SEARCH], "Working on `search`…"),
        ([SEARCH, FETCH, SEARCH], "Working on `search`…"),
        ([SEARCH, reports("", "3")], "3"),
        ([SEARCH, FETCH, reports("", "3")], "Working on `fetch`…"),
        ([SEARCH, reports("z", "3")], "Working on `search`…"),
        ([SEARCH, ToolEnded(call_id="z")], "Working on `search`…"),
        ([ToolStarted(name="x"), ToolStarted(name="y"), reports("", "3")], "Working on `y`…"),
        ([ToolStarted(name="x"), reports("", "3")], "3"),
        ([ToolStarted(name="x"), SEARCH, ToolEnded(call_id="a")], "Working on `x`…"),
        ([ToolStarted(name="x"), SEARCH, FETCH, ToolEnded()], None),
        ([SEARCH, PauseRequested(question="Sure?")], "Waiting on you: Sure?"),
        ([SEARCH, PauseRequested(question="Sure?"), PauseResumed()], "Working on `search`…"),
        ([PauseRequested(pause_id="1", question="A?"), PauseRequested(pause_id="2", question="B?")], "Waiting on you: B?"),
        (
            [
                PauseRequested(pause_id="1", question="A?"),
                PauseRequested(pause_id="2", question="B?"),
                PauseResumed(pause_id="2"),
            ],
            "Waiting on you: A?",
        ),
        ([MODEL, SEARCH, PauseRequested(question="Sure?"), RunEnded()], None),
        ([MODEL, RunEnded(), ModelStarted(model_call_id="m2")], "Thinking…"),
    ],
)
def test_the_line_shows_a_question_then_a_tool_then_a_model(events: list[Event], expected: str | None) -> None:
    assert line(events) == expected


def test_a_state_carries_what_templates_can_say() -> None:
    assert select_status([SEARCH, reports("a", "page 3")]) == StatusState(
        "tool",
        {"toolName": "search", "toolCallId": "a", "progressCount": "1", "progressMessage": "page 3"},
        "search",
    )
    assert select_status([ToolStarted(name="x")]) == StatusState("tool", {"toolName": "x"}, "x")
    assert select_status([PauseRequested(question="Sure?", call_id="a")]) == StatusState(
        "paused", {"question": "Sure?", "toolCallId": "a"}
    )
    assert select_status([MODEL]) == StatusState("idle")


def test_feeding_one_by_one_gives_the_state_of_each_prefix() -> None:
    events: list[Event] = [MODEL, says("a"), says("b"), SEARCH, FETCH, reports("a", "1"), ToolEnded(call_id="a"), RunEnded()]
    projection = StatusProjection()
    for n, event in enumerate(events, start=1):
        projection.feed(event)
        assert projection.state == select_status(events[:n])


def test_a_live_line_keeps_only_the_beginning_of_a_long_text_and_a_selected_one_all() -> None:
    events: list[Event] = [MODEL, *(says("word ") for _ in range(1_000))]
    live = StatusProjection()
    for event in events:
        live.feed(event)
    assert live.state is not None
    assert live.state.vars["partial"] == ("word " * 1_000)[:LIVE_PARTIAL]
    selected = select_status(events)
    assert selected is not None
    assert selected.vars["partial"] == "word " * 1_000


def test_ten_thousand_parallel_calls_fall_back_one_by_one() -> None:
    projection = StatusProjection()
    calls = [str(n) for n in range(10_000)]
    for call_id in calls:
        projection.feed(ToolStarted(call_id=call_id, name=call_id))
        projection.feed(reports(call_id, call_id))
    for call_id in reversed(calls):
        assert projection.state is not None
        assert projection.state.tool_name == call_id
        projection.feed(ToolEnded(call_id=call_id))
    assert projection.state is None


def lines_run(work: Callable[[], object]) -> int:
    """How many lines of code `work` runs."""
    count = 0

    def trace(frame: FrameType, event: str, arg: object) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize(
    "event",
    [
        ToolStarted(call_id="new", name="new"),
        ToolStarted(call_id="5", name="again"),
        reports("0", "page 3"),
        reports("5"),
        reports("", "whose?"),
        ToolEnded(call_id="0"),
        ToolEnded(call_id="1"),
        ToolEnded(call_id="5"),
        ToolEnded(call_id="unknown"),
        MODEL,
        says("x"),
        PauseRequested(pause_id="p", question="Sure?"),
        PauseResumed(pause_id="p"),
        ToolEnded(),
        RunEnded(),
    ],
    ids=repr,
)
def test_an_event_costs_the_same_among_ten_parallel_calls_and_among_ten_thousand(event: Event) -> None:
    def work(calls: int) -> int:
        projection = StatusProjection()
        for n in range(calls):
            projection.feed(ToolStarted(call_id=str(n), name=f"tool {n}"))
            if n % 2:
                projection.feed(reports(str(n), "half"))
        return lines_run(lambda: (projection.feed(event), projection.state))

    assert work(10_000) == work(10)


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        (None, None),
        ("bare text", None),
        (["list"], None),
        ({}, None),
        ({"done": 3, "total": 9}, None),
        ({"message": 3}, None),
        ({"message": " \ufeff\u00a0\u2028"}, None),
        ({"message": "  page 3\n"}, "page 3"),
        ({"message": "\u0085page 3\u0085"}, "\u0085page 3\u0085"),
        ({"message": "m" * 120}, "m" * 120),
        ({"message": "m" * 121}, "m" * 120 + "… (+1 more)"),
        ({"message": "🙂" * 60}, "🙂" * 60),
        ({"message": "🙂" * 61}, "🙂" * 60 + "… (+2 more)"),
        ({"message": "m" + "🙂" * 60}, "m" + "🙂" * 59 + "… (+2 more)"),
    ],
)
def test_a_message_is_a_trimmed_line_that_says_how_much_was_cut(payload: object, expected: str | None) -> None:
    assert progress_message(payload) == expected


@pytest.mark.parametrize(
    ("events", "templates", "expected"),
    [
        ([SEARCH], {"tool.search": "Looking up…"}, "Looking up…"),
        ([SEARCH, reports("a", "3")], {"tool.search": "Looking up…"}, "3"),
        ([SEARCH, reports("a", "3")], {"tool.search.progress": "Page {{progressMessage}}"}, "Page 3"),
        ([SEARCH, reports("a")], {"tool.search.progress": "no"}, "`search` reported progress (1 so far)…"),
        ([SEARCH, reports("a")], {"tool.search.progress.generic": "{{progressCount}} pages"}, "1 pages"),
        ([SEARCH], {"tool.search": ""}, ""),
        ([MODEL], {"idle": "{{appName}} thinks{{nothing}}."}, "Atlas thinks."),
        ([MODEL], {"idle": "{{ appName }} {{app-name}}"}, "{{ appName }} {{app-name}}"),
        ([MODEL, says("{{appName}}")], {}, "{{appName}}"),
        ([ToolStarted(call_id="a", name="progress")], {}, "Working on `progress`…"),
        ([ToolStarted(call_id="a", name="progress"), reports("a", "3")], {}, "3"),
        ([ToolStarted(call_id="a", name="progress.generic")], {}, "Working on `progress.generic`…"),
    ],
)
def test_the_most_special_template_that_is_there_wins(events: list[Event], templates: dict[str, str], expected: str) -> None:
    assert line(events, **templates) == expected


def test_without_a_fitting_template_there_is_no_line() -> None:
    state = select_status([SEARCH])
    assert render_status_line(state, app_name="Atlas", templates={"idle": "…"}) is None
    assert render_status_line(state, app_name="Atlas", templates={"tool": "…"}) == "…"
    assert render_status_line(None, app_name="Atlas") is None


def test_complete_templates_are_valid() -> None:
    validate_templates(DEFAULT_TEMPLATES)
    validate_templates(compose_templates({"tool.search": "", "idle": "Hm…"}))


@pytest.mark.parametrize(
    ("templates", "error", "message"),
    [
        ({"idle": "Hm…"}, ValueError, "'streaming' must be a non-empty string, but it is missing"),
        (compose_templates({"paused": ""}), ValueError, "'paused' must be a non-empty string, but it is empty"),
        ({**DEFAULT_TEMPLATES, "tool.search": 3}, TypeError, r"'tool.search' must be a string, not 3 \(int\)"),
        ({**DEFAULT_TEMPLATES, 3: "x"}, TypeError, r"the key of a status template must be a string, not 3 \(int\)"),
        ({**DEFAULT_TEMPLATES, "search": "x"}, ValueError, "must be for 'idle', .* or 'tool.<name>', not for 'search'"),
    ],
)
def test_incomplete_templates_are_refused_by_key(templates: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        validate_templates(templates)


def test_whoever_watches_may_set_the_lines() -> None:
    templates = {"tool.search": "{{appName}} is looking it up…", "idle": "Hm…", "tool.search.progress": "Page {{progressMessage}}"}
    with agentcell.watch("x", agent="Atlas", templates=templates, display=False) as run:
        templates.clear()
        run.record(MODEL)
        assert (run.status_line, run.cell.status_line) == ("Hm…", "Hm…")
        with run.tool("search") as call:
            assert (run.status_line, run.cell.status_line) == ("Atlas is looking it up…", "Atlas is looking it up…")
            call.progress("3")
            assert run.status_line == "Page 3"
        with run.tool("fetch"):
            assert run.status_line == "Working on `fetch`…"


def test_the_lines_that_were_set_are_not_saved(tmp_path: Path) -> None:
    with agentcell.watch("x", templates={"tool": "MY OWN"}, display=False) as run, run.tool("search"):
        assert run.status_line == "MY OWN"
    run.save(tmp_path / "run.jsonl")
    assert "MY OWN" not in (tmp_path / "run.jsonl").read_text() + run.to_html() + run.to_text() + str(run.trace())
    assert agentcell.load(tmp_path / "run.jsonl").options.templates is None


@pytest.mark.parametrize(
    ("templates", "error", "message"),
    [
        (["idle"], TypeError, r"templates must be a mapping of status lines by their keys, not \['idle'\]"),
        ({"tool.search": None}, TypeError, "the status template 'tool.search' must be a string, not None"),
        ({"idle": ""}, ValueError, "the status template 'idle' must be a non-empty string, but it is empty"),
        ({"tools": "x"}, ValueError, "not for 'tools'"),
    ],
)
def test_watch_refuses_lines_that_do_not_fit_by_their_key(templates: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        agentcell.watch("x", templates=templates, display=False)


def recorded(name: str) -> list[Any]:
    records: list[Any] = json.loads(shared_path("vectors", f"agentfootprint_{name}.json").read_text(encoding="utf-8"))
    return records


def whole(value: Any) -> Any:
    """The expected text without half a surrogate pair: the cut backs off by one, so one more unit is missing."""
    if isinstance(value, dict):
        return {key: whole(inner) for key, inner in value.items()}
    if not isinstance(value, str):
        return value
    for n, char in enumerate(value):
        if "\ud800" <= char <= "\udbff" and value[n + 1 : n + 5] == "… (+":
            count, rest = value[n + 5 :].split(" ", 1)
            return f"{value[:n]}… (+{int(count) + 1} {rest}"
    return value


def test_every_recorded_log_gives_the_recorded_line() -> None:
    differing = []
    for record in recorded("status"):
        state = select_status(read_events(record["events"]))
        templates = record["templates"] or {}
        if not record.get("templates_replace"):
            templates = compose_templates(templates)
        shown = render_status_line(state, app_name=record["app_name"], templates=templates)
        if "quirk" in record:
            continue
        expected_state, expected_line = whole(record["state"]), whole(record["line"])
        if record["id"].startswith(("real-pause", "real-ask-human")) and expected_state and expected_state["state"] == "paused":
            # The person's own question instead of the framework's sentence, and the call that asks.
            expected_state = {"state": "paused", "vars": {"question": "May I send it?", "toolCallId": "a1"}}
            expected_line = "Waiting on you: May I send it?"
        got = None if state is None else {"state": state.kind, "vars": state.vars}
        if state is not None and state.tool_name is not None:
            got = {**(got or {}), "toolName": state.tool_name}
        if (got, shown) != (expected_state, expected_line):
            differing.append(record["id"])
    assert differing == []


def test_every_recorded_payload_gives_the_recorded_message() -> None:
    records = recorded("progress_message")
    differing = [record["id"] for record in records if progress_message(record.get("payload")) != whole(record["message"])]
    assert differing == []
