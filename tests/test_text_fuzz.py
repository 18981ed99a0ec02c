"""What must hold for every text there is; AGENTCELL_FUZZ_SECONDS=600 tries that long instead of a moment."""

from __future__ import annotations

import os
import time
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentcell.text.graphemes import cut
from agentcell.text.markers import parse_banners, parse_marker, strip_markers, to_marker
from agentcell.text.summaries import first_line, summarize_call, summarize_result
from agentcell.text.trace_lines import Call, CallResult, CallStart, Note, Route, TraceReader, parse_trace

SECONDS = float(os.environ.get("AGENTCELL_FUZZ_SECONDS", "0"))
short = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])

ANY_TEXT = st.text(st.characters(), max_size=30)  # half surrogate pairs too


def text_of(*pieces, size=40):
    """Texts that are put together from telling pieces and from anything."""
    return st.lists(st.sampled_from(pieces) | ANY_TEXT, max_size=size).map("".join)


TRACE_TEXT = text_of(
    *"🧭🔧📦💭🚫❌→()[]{}\"'`*\\:,=- \n",
    *(
        "\n",
        "\r\n",
        "\ufe0f",
        "->",
        "...",
        "\n🔧 Tool trace\n",
        "\n🧭 Routed to obs",
        " (confidence 95%)",
        ' — foco: "x"',
        "0.5",
    ),
    *("\n🔧 query(", "a='b'", ', k="cut..., x=1', ")", "\n📦 3 items", "\n💭 note", "error: x", "0 items", "- ", "\n- 🔧 "),
)
MESSAGE = text_of(
    *'`~"\\[]{}<>-\n ',
    *(
        "\n",
        "```",
        "\n```\n",
        "~~~",
        "-->",
        "<!--",
        "<!--AGENT_REASONING:complete:1:",
        "<!--REASONING_BLOCK:",
        '["a"]',
        "\\u003e",
    ),
    *('<!--AGENT_REASONING:complete:12:["a","b --> c"]-->', '<!--REASONING_BLOCK:{"elapsed":1,"steps":["a"]}-->'),
    *("<!--TOOL_CALL_START:1:localSearch:Search:x::false-->", "<!--TOOL_CALL_END:1:ENC:%5B1%5D-->", "<!--TOOL_CALL_END:1:"),
)
PLAIN = text_of("a", "é", "👩\u200d🚀", "\n", "-->", "<!-- c -->", '"', "\\", ":", "]").map(
    lambda text: text.replace("`", "").replace("~", "").replace("<!--AGENT", "").replace("<!--REASON", "")
)
STEPS = st.lists(text_of(*'"\\`->!<\n', "-->", "--", "\\u003e", '<!--AGENT_REASONING:complete:1:["a"]-->', size=8), max_size=5)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | text_of("[object Object]", '{"results": [1]}', "`", "\n", size=4),
    lambda inner: (
        st.lists(inner, max_size=8)
        | st.dictionaries(
            st.sampled_from(["results", "count", "title", "path", "id", "status", "data"]) | ANY_TEXT, inner, max_size=4
        )
    ),
    max_leaves=12,
)
ARGUMENTS = st.dictionaries(st.sampled_from(["query", "path", "command", "url", "vault", "terms"]) | ANY_TEXT, JSON, max_size=4)
TOOLS = st.sampled_from(["search_notes", "webSearch", "read_file", "bash", "edit", "ls", "metrics", "grep", "WebFetch"]) | ANY_TEXT
GRAPHEMES = st.lists(
    st.sampled_from(
        ["a", "é", "e\u0301", "👩\u200d👩\u200d👧", "👍🏽", "🇨🇭", "🇧🇷", "❤\ufe0f", "नि", "क्ष", "\u1112\u1161\u11ab", "東"]
    ),
    min_size=1,
    max_size=40,
)
PROPERTIES = []


def holds(test):
    """Marks a property: it is tried for a moment by itself, and again and again when somebody asks for more."""
    PROPERTIES.append(test)
    return test


def cut_up(text, edges):
    marks = [0, *sorted(edge % (len(text) + 1) for edge in edges), len(text)]
    return [text[start:end] for start, end in pairwise(marks)]


@holds
@short
@given(text=TRACE_TEXT, edges=st.lists(st.integers(0, 10_000), max_size=6))
def test_a_trace_never_depends_on_its_chunks(text, edges):
    whole = TraceReader()
    whole_news = [*whole.feed(text), *whole.finish()]
    reader = TraceReader()
    news = [new for part in cut_up(text, edges) for new in reader.feed(part)] + [*reader.finish()]
    assert news == whole_news
    assert reader.trace == parse_trace(text)


@holds
@short
@given(text=TRACE_TEXT)
def test_the_news_of_a_trace_make_up_the_trace(text):
    reader = TraceReader()
    news = [*reader.feed(text), *reader.finish()]
    trace = reader.trace
    assert trace.routes == tuple(new for new in news if isinstance(new, Route))
    assert trace.notes == tuple(new.text for new in news if isinstance(new, Note))
    calls = []
    for new in news:
        if isinstance(new, CallStart):
            calls.append(Call(new.tool))
        elif isinstance(new, CallResult):
            calls[-1] = Call(calls[-1].tool, (*calls[-1].results, new.text), new.status)
    assert trace.calls == tuple(calls)
    assert (trace.summary == "") == (not news)


@holds
@short
@given(text=TRACE_TEXT)
def test_a_trace_loses_nothing_but_signs_marks_and_the_header(text):
    reader = TraceReader()
    news = [*reader.feed(text), *reader.finish()]
    told = "".join(str(getattr(new, field)) for new in news for field in new.__slots__)
    lines = [line for line in text.split("\n") if line.strip() != "🔧 Tool trace"]
    words = {word for line in lines for word in "".join(each if each.isalpha() else " " for each in line).split()}
    said_by_a_rule = ("Routed", "to", "confidence", "foco", "x")
    assert {word for word in words if not any(said in word for said in said_by_a_rule)} <= {word for word in words if word in told}


@holds
@short
@given(steps=STEPS, before=PLAIN, after=PLAIN, seconds=st.integers(0, 10**14), form=st.sampled_from(["agent", "block"]))
def test_a_marker_comes_back_as_it_was_written(steps, before, after, seconds, form):
    marker = to_marker("complete", elapsed_seconds=seconds, steps=steps, form=form)
    assert marker.index("-->") == len(marker) - 3
    marker.encode("utf-8")
    parsed = parse_marker(before + marker + after)
    joined = tuple(step.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass") for step in steps)
    assert tuple(step.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass") for step in parsed.steps) == joined
    assert (parsed.before, parsed.after, parsed.elapsed_seconds) == (before, after, seconds)
    assert strip_markers(before + marker + after) == before + after


@holds
@short
@given(text=MESSAGE)
def test_a_message_loses_nothing_but_its_markers(text):
    parsed = parse_marker(text)
    if parsed is None:
        assert strip_markers(text) == text
    else:
        marker = text.removeprefix(parsed.before)
        marker = marker[: len(marker) - len(parsed.after)]
        assert parsed.before + marker + parsed.after == text
        assert marker.startswith(("<!--AGENT_REASONING:", "<!--REASONING_BLOCK:"))
        assert marker.endswith("-->")
        assert strip_markers(text).startswith(parsed.before)
    steps, rest = parse_banners(text)
    assert (rest == text) == (steps == ())
    assert len(rest) <= len(text)


@holds
@short
@given(tool=TOOLS, arguments=ARGUMENTS, result=JSON, failed=st.booleans())
def test_every_call_and_result_has_one_short_line_of_words(tool, arguments, result, failed):
    for words in (summarize_call(tool, arguments), summarize_result(tool, arguments, result, failed=failed) or "-"):
        assert words == " ".join(words.split())
        assert 0 < len(words) < 600
        assert "[object Object]" not in words


@holds
@short
@given(graphemes=GRAPHEMES, limit=st.integers(12, 60))
def test_a_cut_ends_between_graphemes(graphemes, limit):
    beginnings = {"".join(graphemes[:count]) for count in range(len(graphemes) + 1)}
    assert cut("".join(graphemes), limit) in beginnings
    assert first_line("".join(graphemes), limit=limit).removesuffix("…") in beginnings


@holds
@short
@given(text=ANY_TEXT, limit=st.integers(1, 40))
def test_a_first_line_is_the_beginning_of_the_text(text, limit):
    line = first_line(text, limit=limit)
    assert len(line) <= limit
    assert text.strip().startswith(line.removesuffix("…"))


@pytest.mark.skipif(SECONDS == 0, reason="a long search for faults is made on request: AGENTCELL_FUZZ_SECONDS=600")
def test_everything_holds_for_as_long_as_somebody_asked():
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        for test in PROPERTIES:
            test()
