"""The whole life of a run, asserted on the widget's traits: no kernel, no browser, no sleep."""

import json
import threading
import uuid
from collections.abc import Iterator

import pytest
import traitlets

from agentcell import wire
from agentcell.events import ModelEnded, ModelStarted, TextDelta, Usage
from agentcell.options import RunOptions
from agentcell.pacer import INTERVAL, Pacer
from agentcell.run import Run
from agentcell.testing.clock import FakeClock
from agentcell.testing.comms import patches, recorded_comms
from agentcell.widget import AgentCell


class Stage:
    """A run and its widget, with a clock and a pacer that are moved by hand, and every message that was sent."""

    def __init__(self, messages: list[dict], **options) -> None:
        self.messages = messages
        self.clock = FakeClock()
        self.pacer = Pacer(clock=self.clock, start=False)
        self.run = Run(RunOptions(**options), clock=self.clock)
        self.cell = AgentCell(self.run, pacer=self.pacer)

    def flush(self) -> None:
        self.clock.advance(INTERVAL)
        self.pacer.run_due()

    def act(self, **action) -> None:
        """What the reader does, as it comes in from the browser."""
        self.cell._handle_msg(custom({"id": uuid.uuid4().hex, **action}))

    @property
    def patches(self) -> list[dict]:
        return [content for content in patches(self.messages) if content["type"] == "patch"]


@pytest.fixture
def messages() -> Iterator[list[dict]]:
    with recorded_comms() as sent:
        yield sent


@pytest.fixture
def stage(messages: list[dict]) -> Stage:
    return Stage(messages)


def test_a_run_from_idle_to_complete(stage: Stage):
    cell, run, clock = stage.cell, stage.run, stage.clock
    assert (cell.status, cell.outcome, cell.elapsed_seconds, cell.steps) == ("idle", None, 0.0, [])
    with run:
        assert (cell.status, cell.clock, cell.title) == ("reasoning", "running", "Reasoning")
        with run.tool("search_notes", query="machine learning") as call:
            assert cell.status_line == "Working on `search_notes`…"
            assert cell.steps[0]["state"] == "running"
            clock.advance(4)
            call.progress("page 2 of 5")
            assert cell.status_line == "page 2 of 5"
            call.result(["Intro to ML", "Backprop"])
        assert (cell.steps[0]["state"], cell.steps[0]["elapsed"]) == ("done", 4.0)
        clock.advance(5)
        assert cell.elapsed_seconds == 9.0
        run.write("The **answer**")
        assert (cell.status, cell.clock, cell.status_line) == ("collapsed", "stopped", "")
        assert cell.answer == "The **answer**"
        assert "".join(cell.blocks).strip() == "<p>The <strong>answer</strong></p>"
        clock.advance(3)
    assert (cell.status, cell.outcome, cell.elapsed_seconds) == ("complete", "answered", 9.0)
    assert (cell.title, cell.facts, cell.sentence) == ("Thought for 9s", "1 tool", "")


def test_observers_of_status_and_outcome_hear_in_the_call_that_changes_them(stage: Stage):
    heard: list[object] = []
    stage.cell.observe(lambda change: heard.append(change.new), ["status", "outcome"])
    with stage.run:
        assert heard == ["reasoning"]
        stage.run.write("a")
        assert heard == ["reasoning", "collapsed"]
        stage.run.think("b")
        assert heard == ["reasoning", "collapsed", "reasoning"]
    assert heard == ["reasoning", "collapsed", "reasoning", "complete", "answered"]


def test_observers_of_the_other_traits_hear_at_the_flush(stage: Stage):
    heard: list[str] = []
    stage.cell.observe(lambda change: heard.append(change.name), ["steps", "answer", "usage", "elapsed_seconds"])
    with stage.run:
        stage.run.record(ModelStarted(model_call_id="m"))
        stage.run.record(ModelEnded(model_call_id="m", usage=Usage(input_tokens=3)))
        stage.run.step("a")
        stage.run.write("b")
        stage.flush()
        assert set(heard) == {"steps", "answer", "usage"}
    assert stage.cell.usage["total_tokens"] == 3


def test_an_observer_may_read_other_traits(stage: Stage):
    seen: list[tuple] = []
    stage.cell.observe(lambda change: seen.append((change.new, len(stage.cell.steps), stage.cell.answer)), "status")
    with stage.run as run:
        run.step("a")
        run.write("b")
    assert seen == [("reasoning", 0, ""), ("collapsed", 1, "b"), ("complete", 1, "b")]


def test_the_traits_cannot_be_set_from_outside(stage: Stage):
    for name in ("status", "steps", "answer"):
        with pytest.raises(traitlets.TraitError, match="read-only"):
            setattr(stage.cell, name, "x")


def test_opening_sends_the_truth_and_changes_send_only_patches(stage: Stage, messages: list[dict]):
    with stage.run as run:
        for text in ("a", "b"):
            run.step(text)
            stage.flush()
        run.write("c")
    stage.flush()
    kinds = [message["msg_type"] for message in messages]
    assert kinds.count("comm_open") == 2  # the widget and its layout
    assert [message["data"]["method"] for message in messages[2:]] == ["custom"] * (len(messages) - 2)
    assert [content["seq"] for content in stage.patches] == list(range(1, len(stage.patches) + 1))


def test_patches_make_a_copy_that_equals_the_traits(stage: Stage, messages: list[dict]):
    opened = next(m["data"]["state"] for m in messages if m["data"].get("state", {}).get("run_id"))
    copy = {key: opened[key] for key in wire.View.__annotations__}
    with stage.run as run:
        run.think("first <thought> & more")
        stage.flush()
        run.think(", \U0001f9e0 and more")
        stage.flush()
        run.record(ModelStarted(model_call_id="m"))
        run.record(TextDelta(model_call_id="m", text="Let me see.\n" + "draft " * 60))
        stage.flush()
        with run.tool("read", path="a.md") as call:
            stage.flush()
            call.fail(ValueError("no such file"))
        stage.flush()
        for piece in ("# Title\n\nA \U0001f600 para", "graph, **bo", "ld**\n\n- a\n", "- b\n\n[x]: http://x.y\n\n", "[x] end"):
            run.write(piece)
            stage.flush()
        run.answer("Something else.")
    stage.flush()
    for message in stage.patches:
        apply(copy, message)
    # JSON between, as the wire has it.
    assert copy == json.loads(json.dumps({key: getattr(stage.cell, key) for key in wire.View.__annotations__}))


def apply(view: dict, message: dict) -> None:
    """What a browser does with a patch, written again from the words in wire.py."""
    patch = message["patch"]
    view["seq"] = message["seq"]
    view.update(patch.get("header", {}))
    for step in patch.get("steps", []):
        view["steps"][step["id"] : step["id"] + 1] = [step]
    for text in patch.get("texts", []):
        view["steps"][text["id"]]["body"] += text["html"]
    if "blocks_count" in patch:
        del view["blocks"][patch["blocks_count"] :]
    for block in patch.get("blocks", []):
        old = view["blocks"][block["id"]]
        kept = old.encode("utf-16-le")[: 2 * block["keep"]].decode("utf-16-le")
        view["blocks"][block["id"]] = kept + block["html"]
    view["blocks"] += patch.get("blocks_added", [])
    view["trace"] = patch.get("trace", view["trace"])


@pytest.mark.parametrize("each_flush", [1, 5, 50, 10_000])
def test_ten_thousand_deltas_cost_little_more_than_their_letters(messages: list[dict], each_flush: int):
    words = [f"word{number} " if number % 12 else f"end {number}.\n\n" for number in range(10_000)]
    stage = Stage(messages)
    with stage.run as run:
        stage.flush()
        before = len(messages)
        for number, word in enumerate(words, 1):
            run.write(word)
            if number % each_flush == 0:
                stage.flush()
    stage.flush()
    sent = [json.dumps(message["data"], ensure_ascii=False) for message in messages[before:]]
    letters = sum(map(len, words))
    assert sum(map(len, sent)) <= 1.3 * letters + 700 * len(sent)
    assert sum(map(len, sent)) <= 1.3 * letters + 200 * len(sent)  # the envelope alone has 540 bytes: this is ours


def test_one_long_paragraph_is_not_sent_again_and_again(messages: list[dict]):
    stage = Stage(messages)
    with stage.run as run:
        for _ in range(2_000):
            run.write("word ")
            stage.flush()
    sent = sum(len(json.dumps(content)) for content in stage.patches)
    assert sent < 1.3 * 10_000 + 150 * len(stage.patches)


def test_an_idle_minute_sends_only_heartbeats(stage: Stage, messages: list[dict]):
    with stage.run as run:
        run.step("waiting")
        stage.flush()
        before = len(messages)
        for _ in range(600):
            stage.clock.advance(0.1)
            stage.pacer.run_due()
        beats = patches(messages[before:])
    assert {beat["type"] for beat in beats} == {"heartbeat"}
    assert 11 <= len(beats) <= 12
    assert beats[-1]["seq"] == stage.cell.seq
    assert beats[-1]["elapsed_seconds"] == pytest.approx(60, abs=5.2)


def test_a_heartbeat_costs_little(stage: Stage, messages: list[dict]):
    with stage.run:
        stage.cell.beat()
    assert len(json.dumps(patches(messages)[-1])) < 100


def test_fifty_runs_at_once_stay_under_a_hundred_messages_a_second(messages: list[dict]):
    clock = FakeClock()
    pacer = Pacer(clock=clock, start=False)
    runs = [Run(clock=clock) for _ in range(50)]
    cells = [AgentCell(run, pacer=pacer) for run in runs]
    sent: list[float] = []
    for run in runs:
        run.__enter__()
    before = len(messages)
    for _ in range(400):  # four seconds, in steps of ten milliseconds
        for run in runs:
            run.write("token ")
        pacer.run_due()
        sent += [clock()] * (len(messages) - before - len(sent))
        clock.advance(0.01)
    for run in runs:
        run.__exit__(None, None, None)
    assert all(sum(start <= when < start + 1 for when in sent) < 100 for start in sent)
    assert all(cell.seq >= 2 for cell in cells), "somebody was forgotten"


def test_a_resync_sends_all_traits_once(stage: Stage, messages: list[dict]):
    with stage.run as run:
        run.step("a")
        run.write("b")
        stage.flush()
        before = len(messages)
        for _ in range(2):  # one action, by both roads
            stage.act(type="resync", id="sent twice")
        (message,) = messages[before:]
        assert message["data"]["method"] == "update"
        assert set(message["data"]["state"]) == set(wire.View.__annotations__)
        assert message["data"]["state"]["blocks"] == list(stage.cell.blocks)
        assert message["data"]["state"]["seq"] == stage.cell.seq


def test_what_a_resync_has_sent_no_patch_sends_again(stage: Stage):
    with stage.run as run:
        run.step("a")
        stage.act(type="resync")
        count = len(stage.patches)
        stage.flush()
        assert len(stage.patches) == count


def custom(content: object) -> dict:
    return {"content": {"data": {"method": "custom", "content": content}}, "buffers": []}


def test_rows_that_the_reader_opens_are_open_in_the_snapshot(stage: Stage):
    with stage.run as run:
        with run.tool("search", query="x") as call:
            call.result("y")
        stage.act(type="open", row=0, open=True)
        run.write("done")
    assert run.to_html().count("<details open>") == 2  # the row, and the block, for else the row would be out of sight
    stage.act(type="open", row=None, open=False)
    assert run.to_html().count("<details open>") == 1
    stage.act(type="open", row=0, open=False)
    assert "<details open>" not in run.to_html()


@pytest.mark.parametrize(
    "content",
    [
        None,
        3,
        "x",
        [],
        {},
        {"type": "open"},
        {"id": 5},
        {"id": "no such type", "type": "?"},
        {"id": "no such row", "type": "open", "row": "0"},
    ],
)
def test_what_is_no_action_is_passed_over(stage: Stage, content: object):
    with stage.run:
        stage.cell._handle_msg(custom(content))
    assert stage.run.opened == {}


def test_flushing_while_eight_threads_write_loses_and_reorders_nothing(messages: list[dict]):
    stage = Stage(messages)
    ready = threading.Barrier(9)

    def work(name: str) -> None:
        ready.wait()
        for number in range(500):
            stage.run.write(f"{name}{number} ")

    with stage.run:
        threads = [threading.Thread(target=work, args=(name,)) for name in "abcdefgh"]
        for thread in threads:
            thread.start()
        ready.wait()
        while any(thread.is_alive() for thread in threads):
            stage.cell.flush()
        for thread in threads:
            thread.join()
    words = stage.cell.answer.split()
    for name in "abcdefgh":
        assert [word for word in words if word[0] == name] == [f"{name}{number}" for number in range(500)]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\0b", "a\ufffdb"),
        ("a\ud800b", "a\ufffdb"),
        ("a\u2028b", "a\u2028b"),
        ("a\u202eb", "a\u202eb"),
    ],
)
def test_text_that_no_page_can_hold_is_shown_as_well_as_it_can_be_and_kept_in_python(stage: Stage, text: str, shown: str):
    with stage.run as run:
        run.step(text)
        run.think(text)
        with run.tool("t", value=text) as call:
            call.result(text)
        run.write(text)
        stage.flush()
    stage.flush()
    assert run.answer_text == text
    assert shown in "".join(stage.cell.blocks)
    assert shown in stage.cell.steps[1]["body"]
    json.dumps(stage.cell.steps, ensure_ascii=False).encode()
    run.to_html().encode()
    run.to_text()


def test_ten_megabytes_in_one_delta_are_cut_in_view_with_the_cut_stated_and_whole_in_python(stage: Stage):
    with stage.run as run:
        run.write("x" * 10_000_000)
        run.think("y" * 10_000_000)
        with run.tool("t") as call:
            call.result("z" * 10_000_000)
        stage.flush()
    stage.flush()
    assert len(run.answer_text) == 10_000_000
    assert "9,800,000 more characters" in stage.cell.blocks[-1]
    assert "more characters" in stage.cell.steps[0]["detail"]
    assert "9,994,000 more characters" in stage.cell.steps[1]["body"]
    assert len(run.to_html()) < 600_000


def test_a_view_that_is_made_after_the_end_shows_all(messages: list[dict]):
    run = Run(clock=FakeClock())
    with run:
        run.step("a")
        run.write("b")
    cell = AgentCell(run, pacer=Pacer(start=False))
    assert (cell.status, [step["text"] for step in cell.steps], cell.answer) == ("complete", ["a"], "b")
    opened = next(m["data"]["state"] for m in messages if m["data"].get("state", {}).get("run_id"))
    assert opened["status"] == "complete"
    assert len(opened["blocks"]) == 1


def test_thinking_that_is_to_be_hidden_is_nowhere(messages: list[dict]):
    stage = Stage(messages, thinking="hide")
    with stage.run as run:
        run.think("a secret thought")
        run.write("b")
        stage.flush()
    assert stage.cell.steps == []
    assert "secret thought" not in json.dumps(messages) + repr(run.events) + run.to_html()


def test_a_widget_of_a_run_that_was_never_entered_says_nothing(stage: Stage, messages: list[dict]):
    before = len(messages)
    stage.clock.advance(60)
    stage.pacer.run_due()
    assert messages[before:] == []


def test_a_line_that_is_shown_stays_long_enough_to_be_read(stage: Stage):
    def lines() -> list[str]:
        headers = [message["patch"].get("header", {}) for message in stage.patches]
        return [header["status_line"] for header in headers if "status_line" in header]

    with stage.run as run:
        with run.tool("search", query="a") as call:
            stage.flush()
            before = len(lines())
            call.progress("page 1")
            stage.flush()
            call.progress("page 2")
            assert stage.cell.status_line == run.status_line == "page 2"
            stage.flush()
            assert len(lines()) == before
            for _ in range(6):  # nothing else happens, and the newest line comes
                stage.flush()
            assert lines()[before:] == ["page 2"]
            call.progress("page 3")
            stage.flush()
        assert run.pause("Go on?", ask=lambda question, choices: asked(stage, lines)) == "yes"
    stage.flush()
    assert lines()[-1] == ""
    count = len(stage.patches)
    stage.clock.advance(1)
    stage.pacer.run_due()
    assert len(stage.patches) == count


def asked(stage: Stage, lines) -> str:
    """The question is there in the next flush, whatever stood there before, and so is what comes after it."""
    stage.flush()
    assert "Go on?" in lines()[-1]
    return "yes"


def test_a_line_that_a_resync_has_sent_too_early_is_put_right(stage: Stage):
    with stage.run as run, run.tool("search") as call:
        stage.flush()
        first = stage.cell.status_line
        call.progress("page 1")
        stage.act(type="resync")  # sends the truth: page 1
        assert stage.messages[-1]["data"]["state"]["status_line"] == "page 1"
        call.progress(first)
        for _ in range(8):
            stage.flush()
        assert stage.cell.status_line == first
        shown = [m["patch"]["header"].get("status_line") for m in stage.patches if "header" in m["patch"]]
        assert shown[-1] == first


def test_the_trace_is_sent_once_and_at_the_end(stage: Stage, messages: list[dict]):
    with stage.run as run:
        with run.tool("read", path="a.md") as call:
            call.result("text")
        stage.flush()
        run.write("done")
        stage.flush()
        assert stage.cell.trace == ""
    assert stage.cell.trace.startswith("<details")
    stage.flush()
    stage.flush()
    assert [message["patch"]["trace"] for message in stage.patches if "trace" in message["patch"]] == [stage.cell.trace]
    assert stage.cell.get_state(["trace"]) == {"trace": stage.cell.trace}
    stage.act(type="resync")
    stage.flush()
    assert sum("trace" in message["patch"] for message in stage.patches) == 1


def test_a_trace_that_is_asked_for_open_is_open(messages: list[dict]):
    stage = Stage(messages, expand_trace=True)
    with stage.run as run, run.tool("read") as call:
        call.result("text")
    assert stage.cell.trace.startswith('<details class="ac-trace" open>')


def test_an_emoji_that_comes_in_two_halves_is_whole_everywhere(stage: Stage, messages: list[dict]):
    with stage.run as run:
        run.write("hi \ud83d")
        stage.flush()
        run.write("\ude00 there \ud800")
        stage.flush()
    stage.flush()
    assert "".join(stage.cell.blocks).strip() == "<p>hi \U0001f600 there \ufffd</p>"
    for text in (run.to_text(), run.to_markdown(), run.to_html(standalone=True)):
        assert "\U0001f600" in text
        text.encode()
    assert run.answer_text == "hi \U0001f600 there \ud800"


def test_a_task_that_no_page_can_hold_is_shown_as_well_as_it_can_be(messages: list[dict]):
    stage = Stage(messages, task="why \ud800?")
    assert stage.cell.task == "why \ufffd?"


def test_a_view_that_leaves_while_the_run_goes_on_has_not_left_for_the_end(stage: Stage):
    with stage.run:
        stage.act(type="left", view="v")
        assert not stage.run.reach.delivered
    assert not stage.run.reach.delivered
    stage.act(type="left", view="v")
    assert stage.run.reach.delivered


def ends(messages: list[dict]) -> list[dict]:
    return [content for content in patches(messages) if content["type"] == "end"]


END = {"type": "end", "output": {"output_type": "display_data", "data": {"text/plain": "the end"}, "metadata": {}}}


@pytest.mark.parametrize("late", [False, True])
def test_a_view_that_stays_or_comes_after_the_end_is_replaced(stage: Stage, messages: list[dict], late: bool):
    with stage.run:
        if not late:
            stage.act(type="hello", view="a")
    stage.cell.end_with(lambda: {"text/plain": "the end"})
    if late:
        stage.act(type="hello", view="a")
        stage.flush()
    assert ends(messages) == [{**END, "quiet": False}]

    # Now that a page has the end, another one gets it too, but its copy of the notebook does not count as changed.
    stage.act(type="left", view="a")
    stage.act(type="hello", view="b")
    stage.flush()
    assert ends(messages) == [{**END, "quiet": False}, {**END, "quiet": True}]


def test_nothing_is_replaced_where_no_view_is_or_the_run_keeps_its_widget(stage: Stage, messages: list[dict]):
    with stage.run:
        pass
    stage.act(type="hello", view="a")
    stage.flush()
    stage.act(type="left", view="a")
    stage.cell.end_with(lambda: {"text/plain": "the end"})
    stage.flush()
    assert ends(messages) == []


def test_a_closed_cell_keeps_its_traits_and_shows_html(stage: Stage, messages: list[dict]):
    with stage.run:
        stage.run.write("The answer")
    cell = stage.cell
    cell.close()
    assert [message["msg_type"] for message in messages].count("comm_close") == 2, "the widget and its layout"
    assert (cell.status, cell.answer) == ("complete", "The answer")
    bundle, _metadata = cell._repr_mimebundle_()
    assert set(bundle) == {"text/html", "text/plain"}
    cell.flush()
    cell.close()


def test_a_layout_that_somebody_else_has_given_is_not_closed(stage: Stage, messages: list[dict]):
    stage.cell.layout = type(stage.cell.layout)(width="50%")
    with stage.run:
        pass
    stage.cell.close()
    assert [message["msg_type"] for message in messages].count("comm_close") == 1


def test_a_run_that_is_busy_with_what_is_not_shown_is_not_taken_for_lost(stage: Stage):
    with stage.run:
        for _ in range(260):  # 13 seconds
            stage.run.write("")
            stage.flush()
        assert [content["type"] for content in patches(stage.messages)][-2:] == ["heartbeat", "heartbeat"]
