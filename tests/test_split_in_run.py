"""Reasoning inside text, in a run: what is shown of it, whatever way the text comes in."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import agentcell.events
import agentcell.markup
from agentcell.events import (
    AgentStarted,
    ModelEnded,
    ModelStarted,
    TextDelta,
    ThinkingDelta,
    ThinkingEnded,
    ToolStarted,
    TurnEnded,
)
from agentcell.intake import INBOX_LIMIT
from agentcell.options import RunOptions
from agentcell.pacer import INTERVAL, Pacer
from agentcell.projections.run import RunProjection
from agentcell.projections.splitting import SourceSplitting
from agentcell.run import Run, load
from agentcell.testing.clock import FakeClock
from agentcell.testing.comms import patches, recorded_comms
from agentcell.text.control_tokens import TOKENS
from agentcell.text.think import may_divide
from agentcell.widget import AgentCell

TAGGED = "<think>a</think>b"


def ran(*pieces: str, **options) -> Run:
    """A run whose own code wrote these pieces."""
    with Run(RunOptions(**options), clock=FakeClock()) as run:
        for piece in pieces:
            run.write(piece)
    return run


def thoughts(run: Run) -> list[str]:
    return [step.content for step in run.steps if step.kind == "thinking"]


def shown(run: Run) -> tuple:
    projection = run.projection
    return projection.life.status, run.answer_text, run.steps, projection.life.elapsed_seconds(99.0), projection.steps.tools


def agrees(run: Run, tmp_path) -> None:
    """The log alone gives what was shown live, also when it was saved in between."""
    again = RunProjection(run.events)
    assert (again.life.status, str(again.life.answer), again.steps.rows) == shown(run)[:3]
    assert again.life.elapsed_seconds(99.0) == shown(run)[3]
    run.save(tmp_path / "run.jsonl")
    back = load(tmp_path / "run.jsonl")
    assert back == run
    assert shown(back) == shown(run)


# The ways in


@pytest.mark.parametrize("cut", range(len(TAGGED) + 1))
def test_text_of_the_users_own_code_is_divided_wherever_it_is_cut(cut: int):
    run = ran(TAGGED[:cut], TAGGED[cut:])
    assert (run.answer_text, thoughts(run)) == ("b", ["a"])


@pytest.mark.parametrize("cut", range(len(TAGGED) + 1))
def test_text_of_a_model_is_divided_wherever_it_is_cut(cut: int):
    with Run(clock=FakeClock()) as run:
        run.record(ModelStarted(model_call_id="m"))
        for piece in (TAGGED[:cut], TAGGED[cut:]):
            run.record(TextDelta(text=piece, model_call_id="m"))
        run.record(ModelEnded(model_call_id="m"))
        assert (run.status, run.answer_text, thoughts(run)) == ("collapsed", "b", ["a"])


def test_a_state_is_the_same_however_the_text_is_cut():
    text = "Hello there.\n<think>hm</think>\nAnd on.\n<think>more"
    for size in (1, 3, 100):
        with Run(clock=FakeClock()) as run:
            for start in range(0, len(text), size):
                run.write(text[start : start + size])
            assert run.status == "reasoning"
            run.write("</think>The end.")
            assert run.status == "collapsed"


def test_an_orphan_closer_in_one_piece_with_its_answer_leaves_the_run_answering():
    with Run(clock=FakeClock()) as run:
        run.write("a</think>b")
        assert (run.status, run.answer_text, thoughts(run)) == ("collapsed", "b", ["a"])


def test_text_in_two_model_calls_at_once_has_tags_of_its_own_in_each():
    with Run(clock=FakeClock()) as run:
        for one, other in zip("<think>red</think>fish", "<think>sky</think>blue", strict=True):
            run.record(TextDelta(text=one, model_call_id="m1"))
            run.record(TextDelta(text=other, model_call_id="m2"))
        run.record(ModelEnded(model_call_id="m1"))
        run.record(ModelEnded(model_call_id="m2"))
    assert (run.answer_text, thoughts(run)) == ("fish\n\nblue", ["red", "sky"])


def test_text_of_a_sub_agent_is_divided_under_its_row():
    with Run(clock=FakeClock()) as run:
        run.record(AgentStarted(agent_id="s", name="Researcher"))
        for piece in "<think>inside</think>said":
            run.record(TextDelta(text=piece, model_call_id="m", agent_id="s"))
    agent, thought = run.steps
    assert (thought.parent, thought.content, run.answer_text) == (agent.id, "inside", "")


def test_the_question_is_never_divided():
    run = ran("b", task=TAGGED)
    assert run.options.task == TAGGED
    assert thoughts(run) == []
    assert run.trace().task == TAGGED


def test_text_is_literal_where_splitting_is_off():
    run = ran(*TAGGED, "<|im_end|>", split="off")
    assert (run.answer_text, run.steps) == (TAGGED + "<|im_end|>", ())
    assert run.trace().steps[-1].text == run.answer_text


def test_hidden_thinking_leaves_only_the_answer():
    run = ran(*TAGGED, thinking="hide")
    assert (run.answer_text, run.steps) == ("b", ())


def test_a_source_with_a_channel_for_reasoning_is_taken_literally():
    with Run(clock=FakeClock()) as run:
        run.record(ThinkingDelta(text="hm", model_call_id="m1"))
        run.record(TextDelta(text=TAGGED, model_call_id="m1"))
        run.record(ModelEnded(model_call_id="m1"))
        run.record(TextDelta(text=TAGGED, model_call_id="m2"))
        run.record(ModelEnded(model_call_id="m2"))
    assert (run.answer_text, thoughts(run)) == (f"{TAGGED}\n\nb", ["hm", "a"])


def test_what_a_turn_ends_with_is_divided_and_takes_the_place_of_what_was_streamed():
    with Run(clock=FakeClock()) as run:
        run.write("<think>a</think>b")
        run.answer("<think>a</think>b, and more")
        run.write("c</think>d")
    assert run.answer_text == "b, and more\n\nd"
    assert thoughts(run) == ["a", "c"]


def test_own_text_behind_a_models_answer_is_a_message_of_its_own():
    with Run(clock=FakeClock()) as run:
        run.write("Before.")
        run.record(TextDelta(text="The model's.", model_call_id="m"))
        run.record(ModelEnded(model_call_id="m"))
        run.write("hm</think>After.")
    assert (run.answer_text, thoughts(run)) == ("Before.\n\nThe model's.\n\nAfter.", ["hm"])


# What comes back


def test_a_block_that_nothing_ends_stays_thinking_when_there_is_no_answer():
    run = ran("<think>never", " ended")
    assert (run.answer_text, thoughts(run), run.steps[0].state) == ("", ["never ended"], "done")


def test_a_block_that_nothing_ends_is_text_behind_an_answer(tmp_path):
    run = ran("Use this:\n", "<think>", "a tag")
    assert run.answer_text == "Use this:\n<think>a tag"
    assert [(step.text, step.content) for step in run.steps] == [("Thinking that was part of the answer", "")]
    agrees(run, tmp_path)


def test_a_block_in_a_block_takes_back_what_was_shown_as_answer(tmp_path):
    with Run(clock=FakeClock()) as run:
        run.write("<think>a\n<think>b</think> c")
        assert (run.answer_text, thoughts(run)) == ("c", ["a\n<think>b"])
        run.write("</think>d")
        assert (run.status, run.answer_text, thoughts(run)) == ("collapsed", "d", ["a\n<think>b</think> c"])
    agrees(run, tmp_path)


def test_reasoning_that_looked_like_an_answer_is_gone_from_bullet_and_status_line():
    with Run(clock=FakeClock()) as run:
        run.record(ModelStarted(model_call_id="m"))
        run.record(TextDelta(text="I think.", model_call_id="m"))
        run.record(TextDelta(text="</think>Let me look.", model_call_id="m"))
        assert run.status_line == "Let me look."
        run.record(ToolStarted(call_id="t", name="search", model_call_id="m"))
    assert [step.text for step in run.steps][:2] == ["Thinking", "Let me look."]


def test_an_orphan_closer_moves_the_answer_into_a_row_in_one_message():
    with recorded_comms() as messages:
        clock = FakeClock()
        pacer = Pacer(clock=clock, start=False)
        run = Run(clock=clock)
        cell = AgentCell(run, pacer=pacer)

        def flush() -> list[dict]:
            before = len(messages)
            clock.advance(INTERVAL)
            pacer.run_due()
            return [content for content in patches(messages[before:]) if content["type"] == "patch"]

        with run:
            run.write("Let me see what it is.")
            (first,) = flush()
            assert "Let me see" in "".join(first["patch"]["blocks_added"])
            run.write("</think>Forty-two.")
            (moved,) = flush()
            patch = moved["patch"]
            assert [(step["text"], step["body"]) for step in patch["steps"]] == [("Thinking", "Let me see what it is.")]
            assert "Forty-two." in json.dumps([patch.get("blocks"), patch.get("blocks_added")])
            assert "Let me see" not in "".join(cell.blocks)


# The clock


def test_the_clock_counts_the_time_of_the_reasoning_also_in_the_middle_of_an_answer(tmp_path):
    clock = FakeClock()
    with Run(clock=clock) as run:
        for piece, seconds in (("<think>", 4), ("hm", 3), ("</think>", 2), ("Answer.\n", 10), ("<think>x", 5), ("</think>y", 20)):
            run.write(piece)
            clock.advance(seconds)
        assert run.elapsed_seconds == 4 + 3 + 2 + 5
    agrees(run, tmp_path)


# Control tokens


@pytest.mark.parametrize("token", sorted(TOKENS))
def test_a_leaked_control_token_is_shown_nowhere_wherever_it_is_cut(token: str):
    for cut in range(len(token) + 1):
        run = ran("Fine ", token[:cut], token[cut:], " so.\n\n```\n", token, "\n```\n")
        assert run.answer_text == f"Fine  so.\n\n```\n{token}\n```\n"
        assert run.to_markdown().count(token) == 1
        assert "".join(event.text for event in run.events if isinstance(event, TextDelta)).count(token) == 2
    assert "".join(run.view.blocks).count(agentcell.markup.html_text(token)) == 1


# Tool traces

TRACE = """🔧 Tool trace

🧭 Routed to **observability** (confidence 92%) — foco: "the p95"
💭 Two things to look at:
- the deploy
🔧 metrics(expr='sum(x)', limit=3)
📦 12 items
🔧 query(q="a)b", token="***")
📦 error: timeout
🔧 k8s_get(name=...)
"""
ROWS = [
    ("note", "Routed to observability (92%)", "done"),
    ("note", "Two things to look at: - the deploy", "done"),
    ("tool", "Calling `metrics`", "done"),
    ("tool", "Calling `query`", "failed"),
    ("tool", "Calling `k8s_get`", "done"),
]
WRAPPED = [
    f"<think>\n{TRACE}\n</think>\n\nThe answer.",
    f"<details>\n<summary>🔧 Tool trace</summary>\n\n{TRACE[14:]}\n</details>\n\nThe answer.",
    f"{TRACE}</think>The answer.",
]


def rows(run: Run) -> list[tuple[str, str, str]]:
    return [(step.kind, step.text, step.state) for step in run.steps]


@pytest.mark.parametrize("size", [1, 7, 10_000])
@pytest.mark.parametrize("text", WRAPPED, ids=["think", "details", "orphan"])
def test_a_trace_in_text_becomes_events_and_rows_and_no_thinking(text: str, size: int, tmp_path):
    with Run(clock=FakeClock()) as run:
        for start in range(0, len(text), size):
            run.write(text[start : start + size])
        assert run.status == "collapsed"
    assert (rows(run), run.answer_text, run.projection.steps.tools) == (ROWS, "The answer.", 3)
    tools = [step for step in run.steps if step.kind == "tool"]
    assert [tool.arguments for tool in tools] == [
        {"expr": "sum(x)", "limit": 3},
        {"q": "a)b", "token": "***"},
        {"arguments": "name=..."},
    ]
    assert [(tool.result, tool.detail) for tool in tools] == [("12 items", ""), (None, "error: timeout"), (None, "")]
    kinds = [type(event).__name__ for event in run.events if not isinstance(event, TextDelta)]
    assert kinds == ["RunStarted", "Routed", "Noted", *["ToolStarted", "ToolEnded"] * 3, "RunEnded"]
    assert [type(step).__name__ for step in run.trace().steps] == ["Prompt", *["Ask", "Return"] * 3, "Answer"]
    assert run.trace().steps[-1].text == "The answer."
    agrees(run, tmp_path)


@pytest.mark.parametrize("thinking", ["show", "hide"])
@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_a_trace_on_a_channel_for_reasoning_becomes_events_too(size: int, thinking: str, tmp_path):
    with Run(RunOptions(thinking=thinking), clock=FakeClock()) as run:
        run.record(ModelStarted(model_call_id="m"))
        for start in range(0, len(TRACE), size):
            run.record(ThinkingDelta(text=TRACE[start : start + size], model_call_id="m"))
        run.record(ThinkingEnded(model_call_id="m", blocks=(agentcell.events.ThinkingBlock(content=TRACE),)))
        run.record(TextDelta(text="The answer.", model_call_id="m"))
        run.record(ModelEnded(model_call_id="m"))
        assert run.status == "collapsed"
    assert rows(run) == [row for row in ROWS if thinking == "show" or "Two things" not in row[1]]
    assert thinking == "show" or "Two things" not in repr(run.events)
    agrees(run, tmp_path)


def test_rows_of_a_trace_come_while_it_streams():
    with Run(clock=FakeClock()) as run:
        run.write("<think>\n🔧 Tool")
        assert (run.status, run.steps) == ("reasoning", ())
        run.write(" trace\n\n🔧 metrics(a=1)\n")
        assert (rows(run), run.status_line) == ([("tool", "Calling `metrics`", "running")], "Working on `metrics`…")
        run.write("📦 12 items\n")
        assert rows(run) == [("tool", "Calling `metrics`", "done")]


def test_secrets_in_the_arguments_of_a_trace_are_masked():
    run = ran("<think>🔧 login(password='hunter2 is it', user='a')\n📦 ok</think>In.")
    assert run.steps[0].arguments == {"password": "[secret]", "user": "a"}


def test_hidden_thinking_hides_no_call_of_a_trace():
    run = ran(WRAPPED[0], thinking="hide")
    assert rows(run) == [row for row in ROWS if "Two things" not in row[1]]


def test_a_further_result_of_a_call_is_a_note():
    run = ran("<think>🔧 a()\n📦 1 items\n📦 2 items\n</think>b")
    assert rows(run) == [("tool", "Calling `a`", "done"), ("note", "2 items", "done")]


def test_a_trace_that_breaks_off_leaves_its_open_call_to_the_end_of_the_run(tmp_path):
    run = ran("<think>🔧 Tool trace\n🔧 a()\n📦 ok\n🔧 b(")
    assert rows(run) == [("tool", "Calling `a`", "done"), ("tool", "Calling `b`", "cancelled")]
    agrees(run, tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "🔧 Let me fix it.",
        "💭 Hm.\n🔧 a()",
        "- one\n- two",
        "1",
        "🔧 Fixing\nthe bug",
        "I call 🔧 a() now",
        "   ",
        "🔧 Tool traces\n",
    ],
)
def test_ordinary_reasoning_stays_thinking(text: str):
    with Run(clock=FakeClock()) as run:
        for piece in text:
            run.think(piece)
        run.write("b")
    assert thoughts(run) == [text]
    assert run.projection.steps.tools == 0


# Everything at once

pieces = st.sampled_from(
    [
        *("<think>", "</think>", "<th", "ink>", "\n", " ", "a", "Hello.", "b" * 300, "`", "```\n", "<|im_end|>", "<", "["),
        *("🔧 Tool trace\n", "🔧 a(x=1)\n", "📦 3 items\n", "🧭 Routed to r (90%)\n", "💭 note\n", "🔧 b() → ok", "- "),
        *("◁think▷", "◁/think▷", "<details>\n<summary>🔧 Tool trace</summary>\n\n", "</details>"),
        *("<|channel|>analysis<|message|>", "<|end|>", "analysis", "assistantfinal"),
    ]
)
models = st.sampled_from(["m1", "m1", "m2"])
happenings = st.one_of(
    pieces,
    pieces,
    st.builds(TextDelta, text=pieces, model_call_id=models, agent_id=st.sampled_from(["", "", "s"])),
    st.builds(ThinkingDelta, text=pieces, model_call_id=st.sampled_from(["", "m1"])),
    st.builds(ModelEnded, model_call_id=models),
    st.builds(ToolStarted, call_id=st.just("t"), name=st.just("t"), model_call_id=st.sampled_from(["", "m1"])),
    st.builds(TurnEnded, text=pieces),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(happenings, max_size=25), st.sampled_from([{}, {}, {"thinking": "hide"}, {"split": "off"}]), st.data())
def test_a_log_shows_again_what_was_shown_live(tmp_path_factory, events, options, data):
    clock = FakeClock()
    with Run(RunOptions(**options), clock=clock) as run:
        for event in events:
            clock.advance(data.draw(st.sampled_from([0, 0.5, 7])))
            if isinstance(event, str):
                run.write(event)
            else:
                run.record(event)
            if data.draw(st.booleans()):
                run.catch_up()
    assert run.faults == {}
    agrees(run, tmp_path_factory.mktemp("run"))


# What it costs


def test_ten_thousand_small_pieces_of_an_answer_are_divided_in_few_goes(monkeypatch):
    feeds = 0
    feed = SourceSplitting.feed

    def counted(self, text):
        nonlocal feeds
        feeds += 1
        return feed(self, text)

    monkeypatch.setattr(SourceSplitting, "feed", counted)
    with Run(clock=FakeClock()) as run:
        run.write("<think>hm</think>")
        for number in range(10_000):
            run.write(f"word{number} " if number % 100 else "</b> ")
    assert len(run.answer_text) > 80_000
    assert feeds < 100 + 3 * 10_000 // INBOX_LIMIT + 100


NAMES = ("think", "thinking", "thought", "reasoning", "antthinking", "lobethinking", "seed:think", "mm:think", "ifm|think")
DELIMITERS = [
    *(f"<{name}>" for name in NAMES),
    *(f"<  /{name} >" for name in NAMES),
    *(f"< {name.upper()} a=b>" for name in NAMES),
    *("◁think▷", "◁/think▷", "<|open|>think<|sep|>", "<|close|>think<|sep|>", "<|begin_of_thought|>", "<|end_of_thought|>"),
    *("[THINK]", "[/THINK]", "[think]", "<|START_THINKING|>", "<|END_THINKING|>", "<|channel>thought", "<channel|>"),
    *("<|inner_prefix|>", "<|inner_suffix|>", "<details>\n<summary>🔧 Tool trace</summary>", "</details>"),
    *("<|begin_of_solution|>", "<|end_of_solution|>", "<|START_RESPONSE|>", "<|END_TEXT|>", "<|start|>", "<|channel|>", "<|end|>"),
]


@pytest.mark.parametrize("delimiter", DELIMITERS)
def test_no_beginning_of_a_delimiter_escapes_the_quick_look(delimiter: str):
    assert all(may_divide(f"text {delimiter[:end]}") for end in range(1, len(delimiter) + 1))


def test_the_quick_look_passes_over_ordinary_text():
    assert not any(may_divide(text) for text in ("a < b", "x[0] = [1]", "[link](url)", "1 <= 2", "<- here", "plain"))
