"""The tool trace: one row for each call, with its time, its tokens and what came of it."""

import json
import re
import time
from html import unescape

import pytest

import agentcell
from agentcell.events import (
    AgentEnded,
    AgentStarted,
    ModelEnded,
    ModelStarted,
    Routed,
    TextDelta,
    ThinkingBlock,
    ThinkingDelta,
    ThinkingEnded,
    ToolEnded,
    ToolOffer,
    ToolStarted,
    Usage,
)
from agentcell.options import RunOptions
from agentcell.run import Run
from agentcell.testing.clock import FakeClock
from test_snapshot import LOST_ATTRIBUTES, LOST_IN_STYLES, LOST_TAGS, Reader

TOOLS = (ToolOffer("metrics", "Reads <metrics>"), ToolOffer("search_notes"))


def sample() -> Run:
    clock = FakeClock()
    run = Run(RunOptions(task="Why?"), clock=clock)
    with run:
        run.record(Routed(route="observability", confidence=0.95))
        run.record(ModelStarted(model_call_id="1", model="gpt", tools=TOOLS))
        run.record(ThinkingDelta(model_call_id="1", text="First the <metrics>."))
        run.record(TextDelta(model_call_id="1", text="Let me look."))
        clock.advance(2)
        run.record(ModelEnded(model_call_id="1", tool_calls=2, usage=Usage(780, 60, cache_read_tokens=512)))
        run.record(ToolStarted(call_id="a", name="metrics", arguments={"route": "/checkout"}, model_call_id="1"))
        run.record(ToolStarted(call_id="b", name="search_notes", arguments={"query": "pool"}, model_call_id="1"))
        clock.advance(2)
        run.record(ToolEnded(call_id="a", result={"points": 24, "p95_ms": 1840}))
        clock.advance(2)
        run.record(ToolEnded(call_id="b", result=["Checkout p95", "Cart cache"]))
        run.record(AgentStarted(agent_id="r", name="researcher"))
        run.record(ModelStarted(model_call_id="2", agent_id="r"))
        clock.advance(1)
        run.record(TextDelta(model_call_id="2", agent_id="r", text="Nothing there."))
        run.record(ModelEnded(model_call_id="2", agent_id="r", usage=Usage(5000, 200), response_id="x"))
        run.record(ModelEnded(model_call_id="3", agent_id="r", usage=Usage(5000, 200), response_id="x"))
        run.record(ToolStarted(call_id="c", agent_id="r", name="metrics", arguments={"route": "/cart"}))
        clock.advance(1)
        run.record(ToolEnded(call_id="c", agent_id="r", outcome="failed", error_type="TimeoutError", error="no answer in 1 s"))
        run.record(AgentEnded(agent_id="r"))
        run.record(ModelStarted(model_call_id="4", tools=TOOLS))
        run.record(TextDelta(model_call_id="4", text="It is the **pool**."))
        clock.advance(2)
        run.record(ModelEnded(model_call_id="4", tool_calls=0, usage=Usage(2000, 260)))
    return run


def panel(run: Run) -> str:
    run.view.refresh()
    return run.view.trace


def lines(html: str) -> list[str]:
    """The panel's rows as text, without what they open to; each nested one set in."""
    html = re.sub(r'<div class="ac-body">.*?</div>', "", html, flags=re.DOTALL)
    html = re.sub(r"<li[^>]*>", "\n<li>", html)
    found, depth = [], 0
    for line in html.split("\n"):
        text = " ".join(unescape(re.sub(r"<[^>]*>", "", line)).split())
        if "<li>" in line and text:
            found.append("  " * (depth - 1) + text)
        depth += line.count("<ul") - line.count("</ul>")
    return found


def test_rows_are_in_order_of_their_start_with_what_came_of_them_when_and_for_how_many_tokens():
    assert lines(panel(sample())) == [
        "model asks for 2 tools at 0.0s 2.0s 840 tokens",
        "metrics → points: 24, p95_ms: 1840 at 2.0s 2.0s",
        "search_notes → 2 relevant notes at 2.0s 4.0s",
        "researcher sub-agent at 6.0s 2.0s 5,200 tokens",
        "  model answers at 6.0s 1.0s 5,200 tokens",
        "  model answers at 7.0s 5,200 tokens",
        "  ✕ metrics → TimeoutError: no answer in 1 s at 7.0s 1.0s",
        "model answers at 8.0s 2.0s 2,260 tokens",
    ]


def test_the_first_line_names_the_route_and_counts_the_tools_in_order_of_their_first_call():
    assert "<summary>Tool trace · observability (95%) · 2× metrics · 1× search_notes</summary>" in panel(sample())


def test_bars_show_when_and_how_long():
    bars = re.findall(r'<i class="ac-(\w+)" style="margin-left:([\d.]+)%;width:([\d.]+)%">', panel(sample()))
    assert bars == [
        ("model", "0.0", "20.0"),
        ("tool", "20.0", "20.0"),
        ("tool", "20.0", "40.0"),
        ("agent", "60.0", "20.0"),
        ("model", "60.0", "10.0"),
        ("model", "70.0", "0.0"),
        ("failed", "70.0", "10.0"),
        ("model", "80.0", "20.0"),
    ]


def test_a_row_opens_to_what_went_in_and_what_came_out():
    html = panel(sample())
    assert (
        '<div class="ac-body"><dl><dt>tokens</dt><dd><pre>780 in · 60 out · 512 cached</pre></dd>'
        "<dt>model</dt><dd><pre>gpt</pre></dd><dt>out</dt><dd><pre>Let me look.</pre></dd></dl>"
        "<details><summary>thinking</summary><pre>First the &lt;metrics&gt;.</pre></details>"
        "<details><summary>saw 2 tools</summary><pre>metrics — Reads &lt;metrics&gt;\nsearch_notes</pre></details></div>"
    ) in html
    assert "<dt>out</dt><dd><pre>Nothing there.</pre></dd>" in html  # what a sub-agent says stands nowhere else
    assert "It is the" not in html  # the answer stands above
    assert "saw the same 2 tools" in html


def test_failed_rows_are_open_and_marked_and_no_other_is():
    html = panel(sample())
    assert html.count(" open>") == 1
    assert '<li class="ac-failed"><details open>' in html
    assert "<dt>error</dt><dd><pre>TimeoutError: no answer in 1 s</pre></dd>" in html


def test_a_run_without_calls_has_no_panel():
    run = Run(clock=FakeClock())
    with run:
        run.step("Reading")
        run.write("done")
        assert panel(run) == ""
    assert panel(run) == ""
    assert "Tool trace" not in run.to_html()


def test_before_the_end_there_is_no_panel():
    run = Run(clock=FakeClock())
    with run, run.tool("read") as call:
        call.result("x")
        assert panel(run) == ""
        assert "Tool trace" not in run.to_html()
    assert panel(run) != ""


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (None, "nothing"),
        ("two\nlines", "two lines"),
        ("", "an empty text"),
        (3.5, "3.5"),
        (True, "yes"),
        ([1, 2], "2 results"),
        ({}, "{}"),
        ({"a": 1, "b": [1], "c": {"d": 1}, "e": 2}, "a: 1, b: 1 item, c: {…}, …"),
    ],
)
def test_a_result_in_a_few_words(result: object, words: str):
    run = Run(clock=FakeClock())
    with run, run.tool("look") as call:
        call.result(result)
    assert lines(panel(run)) == [f"look → {words} at 0.0s"]


def test_one_call_is_one_row_however_often_it_is_told_of():
    clock = FakeClock()
    run = Run(clock=clock)
    with run:
        run.record(ModelStarted(model_call_id="m"))
        run.record(ToolStarted(call_id="a", name="read", model_call_id="m", requested=True))
        run.record(ModelEnded(model_call_id="m", finish_reason="tool_use"))
        clock.advance(1)
        run.record(ToolStarted(call_id="a", name="read", arguments={"path": "a"}, model_call_id="m"))
        clock.advance(1)
        run.record(ToolEnded(call_id="a", result="text"))
        run.step("Looking it up", tool="search")
    assert lines(panel(run)) == [
        "model asks for 1 tool at 0.0s",
        "read → text at 1.0s 1.0s",
        "search Looking it up at 2.0s",
    ]


@pytest.mark.parametrize(
    ("end", "words"),
    [
        (ModelEnded(model_call_id="m", outcome="failed", error="429\nslow down"), "✕ model → 429 slow down at 0.0s 1.0s"),
        (ModelEnded(model_call_id="m", outcome="cancelled", error="gone"), "model broke off at 0.0s 1.0s"),
        (None, "model stopped at 0.0s 1.0s"),
        (ModelEnded(model_call_id="m", duration=0.5), "model answers at 0.0s 1.0s"),
    ],
)
def test_how_a_model_call_can_end(end: ModelEnded | None, words: str):
    clock = FakeClock()
    run = Run(clock=clock)
    with run:
        run.record(ModelStarted(model_call_id="m"))
        clock.advance(1)
        if end is not None:
            run.record(end)
    assert lines(panel(run)) == [words]


def test_thinking_inside_the_text_is_thinking_here_too_and_what_is_private_or_hidden_stays_so():
    run = Run(clock=FakeClock())
    with run:
        run.record(ModelStarted(model_call_id="m"))
        run.record(TextDelta(model_call_id="m", text="<think>So it is.</think>Let me look."))
        run.record(ModelEnded(model_call_id="m", tool_calls=1))
        run.record(ModelStarted(model_call_id="n"))
        run.record(ThinkingEnded(model_call_id="n", blocks=(ThinkingBlock(type="redacted_thinking"),)))
        run.record(ModelEnded(model_call_id="n"))
    html = panel(run)
    assert (
        "<dt>out</dt><dd><pre>Let me look.</pre></dd></dl><details><summary>thinking</summary><pre>So it is.</pre></details>"
        in html
    )
    assert "its thinking is kept private by the provider" in html
    hidden = Run(RunOptions(thinking="hide"), clock=FakeClock())
    with hidden:
        hidden.record(ModelStarted(model_call_id="m"))
        hidden.record(TextDelta(model_call_id="m", text="<think>So it is.</think>Let me look."))
        hidden.record(ThinkingDelta(model_call_id="m", text="So it is."))
        hidden.record(ModelEnded(model_call_id="m", tool_calls=1, text="<think>So it is.</think>Let me look."))
    assert "So it is" not in panel(hidden)


def test_text_that_is_withheld_is_withheld_here_too():
    run = Run(clock=FakeClock())
    with run:
        run.record(AgentStarted(agent_id="r", name="r"))
        run.record(ModelStarted(model_call_id="m", agent_id="r"))
        run.record(TextDelta(model_call_id="m", agent_id="r", text="A secret."))
        run.record(ModelEnded(model_call_id="m", agent_id="r", withheld=True))
    assert "secret" not in panel(run)


def test_five_thousand_calls_are_cut_with_the_cut_stated_and_quickly_drawn():
    clock = FakeClock()
    run = Run(clock=clock)
    with run:
        for number in range(5_000):
            with run.tool(f"tool{number % 20}", number=number) as call:
                clock.advance(0.01)
                call.result("x" * 10_000)
    steps = run.view
    steps.refresh()
    html = steps.trace
    assert "… 4,500 earlier rows are left out · 481 rows stand without their input and output" in html
    assert html.count("<li") == 500
    assert "4,000 more characters" in html
    assert "250× tool0 · " in html
    assert "· 8 more tools</summary>" in html
    assert len(html) < 400_000
    from agentcell.panel import render_panel

    began = time.perf_counter()
    render_panel(run.catch_up(), steps.steps)
    assert time.perf_counter() - began < 0.5  # takes 0.02 s where nothing else runs


def test_calls_inside_calls_are_set_in_up_to_a_limit():
    run = Run(clock=FakeClock())
    with run:
        for number in range(600):
            run.record(ToolStarted(call_id=f"{number}", name=f"t{number}", parent_id=f"{number - 1}"))
    html = panel(run)
    Reader(html)
    depths = [len(line) - len(line.lstrip()) for line in lines(html)]
    assert depths[:10] == [0, 2, 4, 6, 8, 10, 12, 14, 16, 16]
    assert len(depths) == 500


HOSTILE = (
    '"><img src=x onerror=alert(1)>',
    "</summary></details><script>alert(1)</script>",
    "a\0b\ud800",
    'class="ac-bar" <ul>',
    "`x`",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names_and_values_are_text(text: str):
    run = Run(clock=FakeClock())
    with run:
        run.record(Routed(route=text))
        run.record(ModelStarted(model_call_id="m", model=text, tools=(ToolOffer(text, text),)))
        run.record(ThinkingDelta(model_call_id="m", text=text))
        run.record(TextDelta(model_call_id="m", text=text))
        run.record(ModelEnded(model_call_id="m", tool_calls=1, outcome="failed", error=text))
        run.record(AgentStarted(agent_id="r", name=text))
        run.record(ToolStarted(call_id="c", agent_id="r", name=text, arguments={text: text}))
        run.record(ToolEnded(call_id="c", agent_id="r", outcome="failed", error=text))
        with run.tool(text) as call:
            call.result({text: text})
    plain = panel(sample())
    for html in (panel(run), run.to_html()):
        reader = Reader(html)
        assert {tag for tag, _ in reader.tags} <= {*(tag for tag, _ in Reader(plain).tags), "code", "div", "b"}
        for _, attributes in reader.tags:
            assert set(attributes) <= {"class", "style", "title", "open"}
        assert text.replace("\0", "\ufffd").replace("\ud800", "\ufffd") in reader.text
        html.encode()
    assert 'style="flex:0 0 112px' not in Reader(run.to_html()).text


def test_the_saved_panel_survives_the_sanitizer_and_says_in_words_what_it_shows():
    html = sample().to_html()
    saved = html[html.index("Tool trace") - 200 :]
    assert 'class="ac-' not in saved
    for tag, attributes in Reader(html).tags:
        assert tag not in LOST_TAGS
        assert not LOST_ATTRIBUTES & set(attributes)
        assert not any(word in (attributes.get("style") or "") for word in LOST_IN_STYLES)
    text = " ".join(Reader(html).text.split())
    for words in (
        "metrics → points: 24, p95_ms: 1840 at 2.0s 2.0s",
        "researcher sub-agent at 6.0s 2.0s 5,200 tokens",
        "saw 2 tools",
    ):
        assert words in text


def test_the_panel_is_open_from_the_beginning_where_that_was_asked_for():
    with agentcell.watch(expand_trace=True, display=False) as run, run.tool("read") as call:
        call.result("x")
    assert panel(run).startswith('<details class="ac-trace" open><summary>Tool trace · 1× read</summary>')
    with pytest.raises(TypeError, match="expand_trace must be True or False"):
        agentcell.watch(expand_trace="yes")  # type: ignore[arg-type]


def test_a_loaded_run_has_the_panel_that_the_saved_one_had(tmp_path):
    run = sample()
    run.save(tmp_path / "run.jsonl")
    assert panel(agentcell.load(tmp_path / "run.jsonl")) == panel(run)
    json.dumps(panel(run))
