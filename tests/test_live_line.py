"""The live line by hand: a clock that obeys, and a terminal that is a screen in memory."""

from __future__ import annotations

import io
import sys

import pyte
import pytest

from agentcell.events import ModelEnded, ModelStarted
from agentcell.live_line import TICK, LiveLine
from agentcell.options import RunOptions
from agentcell.pacer import Pacer
from agentcell.run import Run
from agentcell.terminal import TextSurface
from agentcell.testing import FakeClock
from agentcell.text.cells import cell_width, fit


class Screen(io.StringIO):
    """A terminal of 50 columns."""

    encoding = "utf-8"  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__()
        self._screen = pyte.Screen(50, 20)
        self._stream = pyte.Stream(self._screen)

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self._stream.feed(text.replace("\n", "\r\n"))
        return super().write(text)

    def __str__(self) -> str:
        return "\n".join(line.rstrip() for line in self._screen.display).rstrip()


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "50")
    monkeypatch.delenv("NO_COLOR", raising=False)


class Stage:
    """A run on a screen, with all that moves moved by hand."""

    def __init__(self, task: str = "x") -> None:
        self.clock = FakeClock()
        self.pacer = Pacer(clock=self.clock, start=False)
        self.line = LiveLine(pacer=self.pacer, clock=self.clock)
        self.screen = Screen()
        self.run = self.another(task)

    def another(self, task: str = "x") -> Run:
        surface = TextSurface(pacer=self.pacer, file=self.screen, line=self.line)
        return Run(RunOptions(task=task), clock=self.clock, surface=surface)

    def let_pass(self, seconds: float) -> str:
        """The screen after so much time."""
        for _ in range(round(seconds / TICK)):
            self.clock.advance(TICK)
            self.pacer.run_due()
        return str(self.screen)


def test_the_line_counts_and_turns_and_becomes_how_it_ended():
    stage = Stage()
    with stage.run as run:
        stage.pacer.run_due()
        assert str(stage.screen) == "⠋ Reasoning · 0s"
        assert stage.let_pass(TICK) == "⠙ Reasoning · 0s"
        run.step("Reading")
        assert stage.let_pass(9.0) == "  • Reading\n⠙ Reasoning · 9s"
        with run.tool("search") as call:
            assert stage.let_pass(2.0).splitlines()[1:] == ["  • Searching", "⠙ Reasoning · 11s  Working on `search`…"]
            call.result(["a", "b"])
        assert stage.let_pass(TICK).splitlines()[2:] == ["  ✓ Searching — Found 2 results · 2.0s", "⠹ Reasoning · 11s"]
        run.write("The answer.")
        assert stage.let_pass(1.0).splitlines()[-1] == "⠹ Thought for 11s · 1 tool  Writing the answer…"
        run.record(ModelStarted(model_call_id="m"))
        run.record(ModelEnded(model_call_id="m"))
    assert str(stage.screen).splitlines()[3:] == ["Thought for 11s · 1 tool", "", "The answer."]
    assert stage.let_pass(1.0).count("Thought") == 1
    assert stage.pacer.run_due() is None, "nothing ticks any more"


def test_an_idle_line_is_written_once_a_tick_and_nothing_else_is():
    stage = Stage()
    with stage.run:
        stage.let_pass(1.0)
        before = len(stage.screen.getvalue())
        stage.let_pass(1.0)
        assert stage.screen.getvalue()[before:].count("\r") == 10
        assert "\n" not in stage.screen.getvalue()


def test_what_is_printed_takes_the_lines_place_until_the_next_tick(monkeypatch: pytest.MonkeyPatch):
    stage = Stage()
    with stage.run:
        stage.let_pass(TICK)
        print("hello", file=stage.screen)
        assert str(stage.screen) == "hello"
        assert stage.let_pass(TICK) == "hello\n⠹ Reasoning · 0s"
        print("half", end="", file=stage.screen)
        assert stage.let_pass(1.0) == "hello\nhalf"
        print(file=stage.screen)
        assert stage.let_pass(TICK).splitlines()[:2] == ["hello", "half"]
    assert "write" not in vars(stage.screen)


def test_a_question_takes_the_line_away_and_what_comes_meanwhile_waits(monkeypatch: pytest.MonkeyPatch):
    stage = Stage()

    def ask(prompt: str) -> str:
        run.step("Meanwhile")
        assert stage.let_pass(1.0) == "  • Before\n  • Waiting on you: Send?"
        stage.screen.write(f"{prompt}yes\n")
        return "yes"

    monkeypatch.setattr("builtins.input", ask)
    with stage.run as run:
        run.step("Before")
        assert run.pause("Send?", choices=["yes", "no"]) == "yes"
        shown = stage.let_pass(TICK).splitlines()
        rows = ["Send? [yes / no] yes", "  • Meanwhile", "  ✓ Waiting on you: Send? — yes · 1.0s"]
        assert shown == ["  • Before", "  • Waiting on you: Send?", *rows, shown[-1]]
        assert shown[-1].endswith("Reasoning · 0s")
    assert input is ask


def test_the_run_that_came_first_has_the_line_and_the_next_one_takes_it_over():
    stage = Stage()
    second = stage.another()
    with stage.run as first, second:
        first.step("First")
        second.step("Second")
        with second.tool("search"):
            assert stage.let_pass(2.0) == "  • First\n  • Second\n  • Searching\n⠋ Reasoning · 2s · +1 more"
            first.__exit__(None, None, None)
            assert stage.let_pass(TICK).splitlines()[-1] == "⠙ Reasoning · 2s  Working on `search`…"
    assert str(stage.screen).count("It ended without an answer.") == 2


def test_another_terminal_gets_lines():
    stage, other = Stage(), Screen()
    second = Run(clock=stage.clock, surface=TextSurface(pacer=stage.pacer, file=other, line=stage.line))
    with stage.run, second:
        second.step("Second")
        stage.let_pass(1.0)
        assert str(other) == "  • Second"
    assert "\r" not in other.getvalue()


def test_a_terminal_that_is_gone_costs_the_line_and_not_the_run(recwarn: pytest.WarningsRecorder):
    stage = Stage()
    with stage.run as run:
        stage.let_pass(TICK)
        stage.screen.close()
        stage.let_pass(1.0)
        run.write("The answer.")
    assert run.outcome == "answered"
    assert run.faults == {"showing how the run ended": 1}


def test_a_sign_of_control_in_the_agents_words_moves_nothing():
    stage = Stage()
    with stage.run as run:
        run.step("a\x1b[2Jb\rc")
        run.write("one\rtwo\x1b[1Athree")
        stage.let_pass(TICK)
    assert str(stage.screen).splitlines()[0] == "  • a\ufffd[2Jb c"
    assert str(stage.screen).splitlines()[-2:] == ["one", "two\ufffd[1Athree"]


def test_without_a_stdout_nothing_is_shown(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stdout", None)
    with Run(surface=TextSurface()) as run:
        run.step("First")
    assert run.faults == {}


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("Reasoning", 9, "Reasoning"),
        ("Reasoning", 8, "Reasoni…"),
        ("Reasoning on", 11, "Reasoning…"),
        ("東京の", 6, "東京の"),
        ("東京の", 5, "東京…"),
        ("東京の", 4, "東…"),
        ("東京", 2, "…"),
        ("東", 1, "…"),
        ("abc", 1, "…"),
        ("abc", 0, ""),
        ("abc", -3, ""),
        ("", 5, ""),
        ("e\u0301te\u0301", 3, "e\u0301te\u0301"),
        ("e\u0301te\u0301", 2, "e\u0301…"),
        ("👩\u200d👩\u200d👧 x", 7, "👩\u200d👩\u200d👧…"),
        ("x 👩\u200d👩\u200d👧", 6, "x…"),
        ("a☎\ufe0fb", 3, "a…"),
        ("한글", 4, "한글"),
    ],
)
def test_a_text_is_cut_to_cells_between_two_signs(text: str, width: int, shown: str):
    assert fit(text, width) == shown
    assert cell_width(shown) <= max(0, width)


def test_a_program_that_ends_in_the_middle_of_a_run_draws_no_more(monkeypatch: pytest.MonkeyPatch):
    ends = []
    monkeypatch.setattr("agentcell.live_line.atexit.register", ends.append)
    stage = Stage()
    with stage.run as run:
        run.step("First")
        assert "Reasoning" in stage.let_pass(1)
        (end,) = ends
        end()
        assert stage.let_pass(1) == "  • First"
