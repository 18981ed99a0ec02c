from __future__ import annotations

from urllib.parse import quote

import pytest

import agentcell
from agentcell.events import ToolStarted
from agentcell.run import Run
from agentcell.testing.clock import FakeClock
from agentcell.text.markers import ParsedMarker, parse_banners, parse_marker, strip_markers, to_marker

HARD_STEPS = (
    "ends --> here",
    "and --!> here, and --->",
    'a "quoted" step',
    "back\\slash \\u003e",
    "two\nlines\r\n\ttab",
    "👩\u200d🚀 🇨🇭 e\u0301",
    '<!--AGENT_REASONING:complete:3:["inner"]-->',
    "`code` ``` <b>",
    "line\u2028separator, \ud83d half",
    "",
)
AGENT = '<!--AGENT_REASONING:complete:12:["Searching notes","Found 3 relevant notes"]-->'
BLOCK = '<!--REASONING_BLOCK:{"elapsed":12,"steps":["Searching notes","Found 3 relevant notes"]}-->'
STEPS = ("Searching notes", "Found 3 relevant notes")


def banner(call="search-1", *, tool="localSearch", title="Vault search", running="false", content="", result=""):
    return f"<!--TOOL_CALL_START:{call}:{tool}:{title}:🔍::{running}-->{content}<!--TOOL_CALL_END:{call}:{result}-->"


def test_both_forms_are_written_as_other_chats_read_them():
    assert to_marker("complete", elapsed_seconds=12.9, steps=STEPS) == AGENT
    assert to_marker("complete", elapsed_seconds=12.9, steps=STEPS, form="block") == BLOCK
    assert to_marker("reasoning", elapsed_seconds=0, steps=[]) == "<!--AGENT_REASONING:reasoning:0:[]-->"


@pytest.mark.parametrize("form", ["agent", "block"])
def test_idle_is_written_as_nothing(form):
    assert to_marker("idle", elapsed_seconds=3, steps=["a"], form=form) == ""


@pytest.mark.parametrize("status", ["reasoning", "collapsed", "complete"])
def test_a_marker_comes_back_as_it_was_written_with_the_text_around_it(status):
    marker = to_marker(status, elapsed_seconds=75, steps=HARD_STEPS)
    assert marker.index("-->") == len(marker) - 3
    assert marker.encode("utf-8").decode("utf-8").splitlines() == [marker]
    before, after = " Hi\r\n", "\n\n**Answer** --> <!-- c --> tail\n"
    assert parse_marker(before + marker + after) == ParsedMarker(status, 75, HARD_STEPS, before, after)
    assert strip_markers(before + marker + after) == before + after


def test_a_block_marker_keeps_all_but_the_status():
    marker = to_marker("reasoning", elapsed_seconds=75, steps=HARD_STEPS, form="block")
    assert parse_marker(marker) == ParsedMarker("complete", 75, HARD_STEPS, "", "")


@pytest.mark.parametrize(
    ("marker", "seconds", "steps"),
    [
        ('<!--AGENT_REASONING:complete:12:["Step with --> inside"]-->', 12, ("Step with --> inside",)),
        ('<!--AGENT_REASONING:complete:12:["a -->", "b \\"-->\\" c"]-->', 12, ("a -->", 'b "-->" c')),
        ('<!--AGENT_REASONING:complete:1.9: [ "a" , "\\u00e9" ] -->', 1, ("a", "é")),
        ("<!--AGENT_REASONING:complete:007:[]-->", 7, ()),
        ('<!--REASONING_BLOCK:{"steps": ["a --> b"], "elapsed": 3.7, "more": {"x": [1]}}-->', 3, ("a --> b",)),
        ('<!--REASONING_BLOCK:{"elapsed": 1e2, "steps": []}-->', 100, ()),
    ],
)
def test_what_others_write_is_read(marker, seconds, steps):
    assert parse_marker(f"x{marker}\n\ny") == ParsedMarker("complete", seconds, steps, "x", "\n\ny")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no marker, but <!-- a comment --> and `code`",
        '<!--AGENT_REASONING:bogus:1:["a"]-->',
        '<!--AGENT_REASONING:Complete:1:["a"]-->',
        '<!--AGENT_REASONING:complete:-1:["a"]-->',
        '<!--AGENT_REASONING:complete:1e3:["a"]-->',
        '<!--AGENT_REASONING:complete::["a"]-->',
        f'<!--AGENT_REASONING:complete:{"9" * 5000}:["a"]-->',
        '<!--AGENT_REASONING:complete:1:["a"-->',
        '<!--AGENT_REASONING:complete:1:["a]-->',
        '<!--AGENT_REASONING:complete:1:["a"',
        '<!--AGENT_REASONING:complete:1:["a"]--',
        '<!--AGENT_REASONING:complete:1:["\\x"]-->',
        "<!--AGENT_REASONING:complete:1:-->",
        '<!--AGENT_REASONING:complete:1:{"a": "b"}-->',
        '<!--AGENT_REASONING:complete:1:"a"-->',
        "<!--AGENT_REASONING:complete:1:[1, null]-->",
        f"<!--AGENT_REASONING:complete:1:{'[' * 100_000}-->",
        '<!--REASONING_BLOCK:["a"]-->',
        '<!--REASONING_BLOCK:{"elapsed": 1}-->',
        '<!--REASONING_BLOCK:{"steps": []}-->',
        '<!--REASONING_BLOCK:{"elapsed": -1, "steps": []}-->',
        '<!--REASONING_BLOCK:{"elapsed": true, "steps": []}-->',
        '<!--REASONING_BLOCK:{"elapsed": NaN, "steps": []}-->',
        '<!--REASONING_BLOCK:{"elapsed": 1e999, "steps": []}-->',
        '<!--REASONING_BLOCK:{"elapsed": "1", "steps": []}-->',
    ],
    ids=lambda text: text[:60],
)
def test_what_cannot_be_read_is_no_marker_and_stays(text):
    assert parse_marker(text) is None
    assert strip_markers(text) == text


@pytest.mark.parametrize(
    "text",
    [
        f"see `{AGENT}` there",
        f"see ``a ` {AGENT}`` there",
        f"```html\n{AGENT}\n```",
        f"  ~~~\n{AGENT}\n```\n{BLOCK}\n ~~~~  \nafter",
        f"text\n````\n```\n{AGENT}\n```\n````",
        f"an open fence\n```\n{AGENT}",
    ],
)
def test_a_marker_in_code_is_text(text):
    assert parse_marker(text) is None
    assert strip_markers(text) == text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a lone ` before ", ""),
        ("`code` ", " `code`"),
        ("``` not a fence ``` ", ""),
        ("```\ncode\n```\n", "\n```\nmore\n```"),
        ("    ```\n", ""),
        ("a `\nnext line ", "` b"),
    ],
)
def test_a_marker_beside_code_is_a_marker(before, after):
    marker = to_marker("complete", elapsed_seconds=1, steps=["plain"])
    assert parse_marker(before + marker + after) == ParsedMarker("complete", 1, ("plain",), before, after)
    assert strip_markers(before + marker + after) == before + after


def test_the_first_valid_marker_is_parsed_and_all_valid_ones_are_stripped():
    broken = '<!--AGENT_REASONING:complete:1:["a"-->'
    text = f"{broken} a {BLOCK}\n`{AGENT}` b{AGENT} c {broken}"
    parsed = parse_marker(text)
    assert parsed == ParsedMarker("complete", 12, STEPS, f"{broken} a ", f"\n`{AGENT}` b{AGENT} c {broken}")
    assert strip_markers(text) == f"{broken} a \n`{AGENT}` b c {broken}"


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"status": "done"}, ValueError, "status must be one of 'idle', 'reasoning'"),
        ({"form": "html"}, ValueError, "form must be one of 'agent', 'block'"),
        ({"elapsed_seconds": -1}, ValueError, "0 or more"),
        ({"elapsed_seconds": float("nan")}, ValueError, "0 or more"),
        ({"elapsed_seconds": float("inf")}, ValueError, "below 10"),
        ({"elapsed_seconds": "1"}, TypeError, "must be a number"),
        ({"elapsed_seconds": True}, TypeError, "must be a number"),
        ({"steps": "one"}, TypeError, "several strings"),
        ({"steps": [1]}, TypeError, "each of steps must be a string"),
    ],
)
def test_a_marker_that_nobody_could_read_is_refused(arguments, error, words):
    given = {"status": "complete", "elapsed_seconds": 1, "steps": (), **arguments}
    with pytest.raises(error, match=words):
        to_marker(given.pop("status"), **given)


def test_old_banners_are_read_into_steps_and_leave_the_text():
    found = quote('{"type":"local_search","documents":[{"title":"A --> B"},{"path":"x/C.md"}]}')
    text = f"Hm.\n{banner(result='ENC:' + found)}\n{banner('web-2', tool='webSearch', title='Web search')} Answer."
    assert parse_banners(text) == (
        ("Vault search", "Found 2 relevant notes: A --> B, C", "Web search"),
        "Hm.\n\n Answer.",
    )


@pytest.mark.parametrize(
    ("text", "steps", "rest"),
    [
        ("plain", (), "plain"),
        (banner(running="true"), ("Vault search",), ""),
        (banner(result="three notes"), ("Vault search",), ""),
        (banner(result="ENC:%zz%E2%28"), ("Vault search",), ""),
        (banner(result='[{"title": "A"}]'), ("Vault search", "Found 1 relevant note: A"), ""),
        (banner(content="kept"), ("Vault search",), "kept"),
        (banner("a") + banner("a", title="Again"), ("Vault search", "Again"), ""),
        (f"`{banner()}`", (), f"`{banner()}`"),
        (f"```\n{banner()}\n```", (), f"```\n{banner()}\n```"),
        (banner().split("<!--TOOL_CALL_END")[0] + "cut off", (), banner().split("<!--TOOL_CALL_END")[0] + "cut off"),
        (banner().replace("END:search-1", "END:other"), (), banner().replace("END:search-1", "END:other")),
        (banner(running="maybe"), (), banner(running="maybe")),
        (AGENT + banner(), ("Vault search",), AGENT),
    ],
)
def test_a_banner_is_read_as_well_as_it_can_be(text, steps, rest):
    assert parse_banners(text) == (steps, rest)


def test_markers_and_banners_leave_each_other_alone():
    assert parse_marker(banner() + AGENT) == ParsedMarker("complete", 12, STEPS, banner(), "")
    assert strip_markers(banner() + AGENT) == banner()


@pytest.mark.parametrize(
    "text",
    [
        "<!--AGENT_REASONING:complete:1:" * 30_000,
        '<!--AGENT_REASONING:complete:1:["' * 30_000,
        '<!--AGENT_REASONING:complete:1:["a",' * 30_000,
        '<!--AGENT_REASONING:complete:1:["","' * 30_000,
        '<!--AGENT_REASONING:complete:1:[\\"' * 30_000,
        '<!--AGENT_REASONING:complete:1:["' + "\\" * 500_001,
        '<!--AGENT_REASONING:complete:1:["a"]-->' * 20_000,
        "<!--REASONING_BLOCK:{" * 30_000 + "-->",
        "`" * 1_000_000,
        " ".join("`" * length for length in range(1, 1_200)) + AGENT,
        "```\n~~~\n" * 100_000,
        "``` `\n" * 100_000,
        "` " * 300_000,
        "<!--TOOL_CALL_START:a:b:c:d::true-->" * 20_000,
        "<!--TOOL_CALL_START:a:b:c:d::true-->" * 20_000 + "<!--TOOL_CALL_END:a:" + "x" * 300_000,
        "<!--TOOL_CALL_END:a:" * 30_000,
        "<!--TOOL_CALL_END:a:" * 30_000 + "-->",
        banner() * 5_000,
    ],
    ids=lambda text: f"{text[:40]} {len(text)}",
)
def test_a_hostile_message_costs_no_more_than_its_length(text):
    parse_marker(text)  # what takes more than linear time takes minutes here
    strip_markers(text)
    parse_banners(text)


@pytest.mark.parametrize("form", ["agent", "block"])
def test_a_run_is_written_with_its_status_its_seconds_and_the_words_of_its_top_rows(form):
    clock = FakeClock()
    run = Run(clock=clock)
    assert agentcell.to_marker(run, form=form) == ""
    with run:
        with run.tool("search_notes", query="p95"):
            run.record(ToolStarted(call_id="inner", name="other", parent_id=run.steps[0].call_id))
        clock.advance(2.9)
        now = agentcell.parse_marker(agentcell.to_marker(run, form=form))
        assert (now.status, now.elapsed_seconds) == ("reasoning" if form == "agent" else "complete", 2)
        run.write("b --> c")
        run.step("a --> b")
    said = agentcell.parse_marker(f"x {agentcell.to_marker(run, form=form)} y")
    assert (said.status, said.elapsed_seconds, said.steps) == ("complete", 2, ("Searching notes for “p95”", "a --> b"))
    assert (said.before, said.after) == ("x ", " y")


def test_only_a_run_can_be_written():
    with pytest.raises(TypeError, match="run must be a Run"):
        agentcell.to_marker("complete")
