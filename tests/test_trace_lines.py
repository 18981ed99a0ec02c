from __future__ import annotations

import itertools
import json
from dataclasses import asdict

import pytest

from agentcell.errors import AgentcellError
from agentcell.text.trace_arguments import read_arguments
from agentcell.text.trace_lines import Call, CallResult, CallStart, Note, Route, ToolTrace, TraceReader, parse_trace
from agentcell.text.trace_start import begins_trace
from shared import shared_path

TRACE = """\
🔧 Tool trace

🧭 Routed to **observability** (confidence 92%) — foco: "the "p95" of checkout"
💭 Two things to look at:

- the deploy
- the database

🔧 metrics(expr='sum(rate(x[5m])) → y', limit=3)
📦 12 items
🔧 query(q="a)b", token="***") → error: timeout
🔧 metrics()
"""


def read_in_parts(*parts):
    reader = TraceReader()
    news = [new for part in parts for new in reader.feed(part)]
    return reader, [*news, *reader.finish()]


def test_a_trace_is_read_into_routes_calls_notes_and_a_summary():
    assert parse_trace(TRACE) == ToolTrace(
        routes=(Route("observability", 92, 'the "p95" of checkout'),),
        calls=(
            Call("metrics", ("12 items",), "ok"),
            Call("query", ("error: timeout",), "error"),
            Call("metrics", (), "pending"),
        ),
        notes=("Two things to look at:\n\n- the deploy\n- the database",),
        summary="observability (92%) · 2\u00d7 metrics · 1\u00d7 query",
    )


def test_every_recorded_trace_gives_its_recorded_result():
    for case in json.loads(shared_path("vectors", "trace_lines.json").read_text(encoding="utf-8")):
        got = json.loads(json.dumps(asdict(parse_trace(case["text"]))))
        assert got == {key: case[key] for key in ("routes", "calls", "notes", "summary")}, case["id"]


def test_a_recorded_trace_says_the_same_wherever_it_is_cut_in_two():
    for case in json.loads(shared_path("vectors", "trace_lines.json").read_text(encoding="utf-8")):
        text = case["text"]
        whole, whole_news = read_in_parts(text)
        for cut in range(1, len(text)):
            reader, news = read_in_parts(text[:cut], text[cut:])
            assert news == whole_news, (case["id"], cut)
            assert reader.trace == whole.trace, (case["id"], cut)


def test_a_trace_says_the_same_wherever_it_is_cut():
    whole, whole_news = read_in_parts(TRACE)
    for parts in [tuple(TRACE), *((TRACE[:cut], TRACE[cut:]) for cut in range(1, len(TRACE)))]:
        reader, news = read_in_parts(*parts)
        assert (news, reader.trace) == (whole_news, whole.trace)


def test_the_reader_tells_what_is_new_and_never_twice():
    reader = TraceReader()
    assert reader.feed("🧭 Routed to ob") == ()
    assert reader.feed("s (95%)\n🔧 search(q=1)") == (Route("obs", 95),)
    assert reader.feed("\n") == (CallStart("search", "q=1"),)
    assert reader.feed("📦 3 items\n💭 a") == (CallResult("3 items", "ok"),)
    assert reader.feed("\nb\n") == ()
    assert reader.feed("🔧 read(x) → 📦 empty\n") == (Note("a\nb"), CallStart("read", "x"), CallResult("empty", "empty"))
    assert reader.feed("left over") == ()
    assert reader.finish() == (Note("left over"),)
    assert reader.finish() == ()
    assert reader.trace.notes == ("a\nb", "left over")


def test_the_trace_can_be_looked_at_while_it_arrives():
    reader = TraceReader()
    reader.feed("🔧 a()\n")
    assert reader.trace.calls == (Call("a"),)
    reader.feed("📦 ok\n📦 0 items\n")
    assert reader.trace.calls == (Call("a", ("ok", "0 items"), "empty"),)


def test_a_finished_reader_refuses_more_text():
    reader = TraceReader()
    reader.finish()
    with pytest.raises(AgentcellError, match="make a new one"):
        reader.feed("x")


@pytest.mark.parametrize(
    ("line", "route"),
    [
        ("🧭 Routed to obs", Route("obs")),
        ("🧭 routed TO **obs** (confidence 95%)", Route("obs", 95)),
        ("  3. 🧭\ufe0f Routed to `obs` ( 92.5 % )", Route("obs", 92.5)),
        ("🧭 Routed to obs (confidence = 0.29)", Route("obs", 29)),
        ("🧭 Routed to obs (1)", Route("obs", 1)),
        ("🧭 Routed to obs (1.0)", Route("obs", 100)),
        ("🧭 Routed to obs (0.9%)", Route("obs", 0.9)),
        ("🧭 Routed to obs; confidence: 70", Route("obs", 70)),
        ("🧭 Routed to obs , Confidence 70%", Route("obs", 70)),
        ("🧭 Routed to obs (v2)", Route("obs (v2)")),
        ("🧭 Routed to obs (confidence 12345678901234567890)", Route("obs (confidence 12345678901234567890)")),
        ("🧭 Routed to self-confidence 70%", Route("self-confidence 70%")),
        ("🧭 Routed to a-b (5%) -- Focus: why? ", Route("a-b", 5, "why?")),
        ("🧭 Routed to a \u2013 foco:", Route("a")),
        ('🧭 Routed to a - foco: ""', Route("a")),
        ('🧭 Routed to a - foco: "b" - foco: "c"', Route("a", None, 'b" - foco: "c')),
    ],
)
def test_a_route_line_is_read_in_all_its_variants(line, route):
    assert parse_trace(line) == ToolTrace(routes=(route,), summary=parse_trace(line).summary)
    assert type(parse_trace(line).routes[0].confidence) is type(route.confidence)


@pytest.mark.parametrize(
    ("line", "news"),
    [
        ("🔧 a", [CallStart("a")]),
        ("🔧 a(", [CallStart("a")]),
        ("🔧 a() →", [CallStart("a")]),
        ("🔧 a() 📦", [CallStart("a"), CallResult("", "empty")]),
        ("🔧 **a** -> ok", [CallStart("a"), CallResult("ok", "ok")]),
        ("🔧 `a(x=1)`", [CallStart("a", "x=1")]),
        ("- 🔧 a.b/c:d-e(x): done", [CallStart("a.b/c:d-e", "x"), CallResult("done", "ok")]),
        ("🔧 क्वेरी(x)", [CallStart("क्वेरी", "x")]),
        ("🔧 a(f(x), (y)) -> 3", [CallStart("a", "f(x), (y)"), CallResult("3", "ok")]),
        ("🔧 a(q=')', r=\"it's) → no\") → yes", [CallStart("a", "q=')', r=\"it's) → no\""), CallResult("yes", "ok")]),
        (r"🔧 a(q='\') no') 🚫 no", [CallStart("a", r"q='\') no'"), CallResult("no", "blocked")]),
        ("🔧 a(it's) ❌ gone: not found", [CallStart("a", "it's"), CallResult("gone: not found", "not_found")]),
        ('🔧 a(x={"k": "cut..., y=1) → ok', [CallStart("a", 'x={"k": "cut..., y=1'), CallResult("ok", "ok")]),
        ('🔧 a(x={"k": "cut\\...) → ok', [CallStart("a", 'x={"k": "cut\\...'), CallResult("ok", "ok")]),
        ('🔧 a(x={"k": "cut\\....) → ok', [CallStart("a", 'x={"k": "cut\\....'), CallResult("ok", "ok")]),
        ('🔧 a(x={"k"..., y=1)', [CallStart("a", 'x={"k"..., y=1')]),
        ('🔧 a(x={"k"..., y=1) → ok', [CallStart("a", 'x={"k"..., y=1'), CallResult("ok", "ok")]),
        ("🔧 a(x='open", [CallStart("a", "x='open")]),
        ("🔧 a(x) error: → no", [CallStart("a", "x"), CallResult("error: → no", "error")]),
    ],
)
def test_a_call_line_is_cut_into_name_arguments_and_result(line, news):
    assert read_in_parts(line)[1] == news


@pytest.mark.parametrize(
    "line",
    [
        "🔧",
        "🔧 two words",
        "🔧 two words(x)",
        "🔧 note: see below",
        "🔧 -a(x)",
        "🔧 Tool traces",
        "🔧  Tool trace",
        "- 🔧 Tool trace",
        "🧭 Routed",
        "🧭 Routed to (95%)",
        "🧭 Encaminhado para obs",
        "📦 a result without a call",
        "text with 🔧 a(x) in it",
        "  indented",
        "> 🔧 a()",
    ],
)
def test_a_line_that_fits_no_rule_is_a_note_as_it_stands(line):
    assert parse_trace(line + " \r\n\n") == ToolTrace(notes=(line,), summary="1 note")


@pytest.mark.parametrize("text", ["", "\n \r\n\t", "🔧 Tool trace", " 🔧\ufe0f Tool trace\n🔧 Tool trace\r\n", "💭", "💭\n \n"])
def test_the_header_and_blank_text_leave_nothing(text):
    assert parse_trace(text) == ToolTrace()


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("📦 3 items", "ok"),
        ("📦", "empty"),
        ("📦 EMPTY", "empty"),
        ("📦 ~0 items (0 chars)", "empty"),
        ("📦 10 items", "ok"),
        ("📦 0 itemset", "ok"),
        ("📦 Error: x", "error"),
        ("📦 errors: none", "ok"),
        ("📦 blocked by guardrail", "blocked"),
        ("🚫 whatever", "blocked"),
        ("📦 Tool not found", "not_found"),
        ("❌ file not found", "not_found"),
        ("❌ boom", "error"),
    ],
)
def test_a_result_says_how_its_call_went(line, status):
    assert parse_trace(f"🔧 a()\n{line}").calls[0].status == status


def test_the_last_of_several_results_decides():
    assert parse_trace("🔧 a()\n📦 error: x\n💭 again\n📦 ok").calls == (Call("a", ("error: x", "ok"), "ok"),)


def test_a_note_goes_on_until_the_next_sign_and_loses_only_blank_edges():
    text = "💭  \n\n  a  \n\n- b\n\n🔧 Tool trace\nafter\n💭 c\n🔧 ?\nd"
    assert parse_trace(text).notes == ("  a\n\n- b", "after", "c", "🔧 ?", "d")


def test_the_summary_counts_notes_only_where_there_is_nothing_else():
    assert parse_trace("a\nb").summary == "2 notes"
    assert parse_trace("a\n🧭 Routed to x (99.999%)\n🧭 Routed to x (3%)").summary == "x (100%)"


@pytest.mark.parametrize(
    "text",
    [
        "-" * 300_000,
        "🧭 Routed to " + "-" * 300_000,
        "🧭 Routed to " + " foco" * 100_000,
        "🧭 Routed to a" + "(" * 300_000,
        "🧭 Routed to a(5" + " " * 300_000 + "x",
        "🧭 Routed to a" + " *" * 150_000 + "x",
        "🔧 a(" + "('" * 150_000,
        '🔧 a(["' + "..., x" * 80_000,
        "🔧 a(" + ") " * 150_000 + "x",
        "🔧 a(" + '"' * 300_000,
        "🔧 a(='" + "\\" * 300_000,
        "🔧 " + "a." * 150_000,
        " " * 300_000 + "x",
        "💭" + "\n" * 300_000,
        "🔧 a()" + "\n📦 ok" * 50_000,
    ],
    ids=lambda text: text[:16].strip() or "blank",
)
def test_a_hostile_line_costs_no_more_than_its_length(text):
    parse_trace(text)  # what takes more than linear time takes minutes here


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("", {}),
        ("  ", {}),
        ("q=1, b='it\\'s', c=\"***\", d=[1, 2]", {"q": 1, "b": "it's", "c": "***", "d": [1, 2]}),
        ("labels='a b', limit=\"x\\n\"", {"labels": "a b", "limit": "x\n"}),
        ('{"a": {"b": null}}', {"a": {"b": None}}),
        ("a=true, b=1.5,", {"a": True, "b": 1.5}),
        ("q='cut...", None),
        ("a=[1, 2...", None),
        ("a=1 b=2", None),
        ("[1]", None),
        ("free words", None),
        ("a=" + "[" * 100_000, None),
    ],
)
def test_arguments_are_read_as_values_or_not_at_all(text, values):
    assert read_arguments(text) == values


@pytest.mark.parametrize(
    ("text", "so_far", "whole"),
    [
        ("", None, False),
        (" \n- ", None, False),
        ("12", None, False),
        ("Hm", False, False),
        ("💭 x\n🔧 a()", False, False),
        ("🔧", None, False),
        ("🔧 Tool trace", None, True),
        ("\n🔧 Tool trace\n", True, True),
        ("🔧 Tool traces\n", False, False),
        ("🔧 Let me", False, False),
        ("🔧 query", None, False),
        ("🔧 query\nso it", False, False),
        ("🔧 query\n\n📦", True, True),
        ("🔧 query ->", True, True),
        ("- 🔧 a(", True, True),
        ("🔧 " + "x" * 500, False, False),
        ("🧭 Rou", None, False),
        ("🧭 Routed to **o", True, True),
        ("🧭 So what", False, False),
    ],
)
def test_the_beginning_of_a_trace_is_told_as_soon_as_it_is_certain(text, so_far, whole):
    assert (begins_trace(text), begins_trace(text, finished=True)) == (so_far, whole)


def test_what_is_certain_of_a_beginning_stays_so():
    for case in json.loads(shared_path("vectors", "trace_lines.json").read_text(encoding="utf-8")):
        told = [begins_trace(case["text"][:end]) for end in range(min(len(case["text"]), 300))]
        assert len([one for one, other in itertools.pairwise(told) if one != other]) <= 1, case["id"]
