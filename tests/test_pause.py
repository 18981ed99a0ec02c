"""A question to the person: what is shown while it waits, what comes of it, and every way it can end."""

import builtins
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import agentcell
from agentcell.events import PauseRequested, PauseResumed, ToolEnded
from agentcell.pause import ask_console
from agentcell.run import Run
from agentcell.testing.clock import FakeClock


def pauses(run: Run) -> list[PauseRequested | PauseResumed]:
    return [event for event in run.events if isinstance(event, PauseRequested | PauseResumed)]


def test_a_question_and_its_answer_are_recorded_and_the_answer_comes_back():
    with agentcell.watch("x", display=False) as run:
        assert run.pause("Send it?", choices=["yes", "no"], ask=lambda question, choices: choices[1]) == "no"
    asked, answered = pauses(run)
    assert isinstance(asked, PauseRequested)
    assert isinstance(answered, PauseResumed)
    assert (asked.question, asked.choices, asked.call_id) == ("Send it?", ("yes", "no"), None)
    assert answered.answer == "no"
    assert asked.pause_id == answered.pause_id != ""


def test_while_it_waits_the_cell_says_so_and_its_clock_stands_still():
    clock = FakeClock()

    def ask(question: str, choices: tuple[str, ...]) -> str:
        clock.advance(100)
        cell = run.cell
        assert (cell.status_line, cell.title, cell.clock) == ("Waiting on you: Send it?", "Waiting on you", "stopped")
        assert (run.status_line, run.elapsed_seconds, cell.elapsed_seconds) == ("Waiting on you: Send it?", 2.0, 2.0)
        return "yes"

    with agentcell.watch("x", display=False, clock=clock) as run:
        clock.advance(2)
        run.pause("Send it?", ask=ask)
        assert (run.status_line, run.cell.title, run.cell.clock) == ("", "Reasoning", "running")
        clock.advance(3)
    assert run.elapsed_seconds == 5.0


def test_a_question_in_the_middle_of_the_answer_is_shown_too():
    def ask(question: str, choices: tuple[str, ...]) -> str:
        assert (run.status, run.cell.status_line, run.cell.title) == ("collapsed", "Waiting on you: More?", "Waiting on you")
        return "yes"

    with agentcell.watch("x", display=False) as run:
        run.write("The beginning.")
        run.pause("More?", ask=ask)
        assert run.status_line == ""
    assert run.answer_text == "The beginning."


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What the person types, line by line; the prompts that they saw take its place."""
    lines: list[str] = []
    prompts: list[str] = []

    def read(prompt: str) -> str:
        prompts.append(prompt)
        return lines.pop(0)

    monkeypatch.setattr(builtins, "input", read)
    yield lines
    lines[:] = prompts


@pytest.mark.parametrize(
    ("choices", "lines", "answer", "left"),
    [
        ((), ["  as you like "], "as you like", 0),
        ((), [""], "", 0),
        (("Yes", "No"), ["YES"], "Yes", 0),
        (("Yes", "No"), ["maybe", "", " no "], "No", 0),
        (("straße",), ["STRASSE"], "straße", 0),
        (("Yes", "No"), ["no", "yes"], "No", 1),
    ],
)
def test_the_console_asks_until_the_answer_is_one_of_the_choices(
    typed: list[str], choices: tuple[str, ...], lines: list[str], answer: str, left: int
):
    typed.extend(lines)
    assert ask_console("Send it?", choices) == answer
    assert len(typed) == left


def test_by_default_the_console_is_asked(typed: list[str]):
    typed.append("YES")
    with agentcell.watch("x", display=False) as run:
        assert run.pause("Send it?", choices=["yes", "no"]) == "yes"
    assert [(step.text, step.state, step.detail) for step in run.steps] == [("Waiting on you: Send it?", "done", "yes")]


@pytest.mark.parametrize(
    ("error", "outcome"), [(EOFError, "failed"), (KeyboardInterrupt, "cancelled"), (ZeroDivisionError, "failed")]
)
def test_an_exception_while_it_waits_closes_the_question_and_goes_on(
    monkeypatch: pytest.MonkeyPatch, error: type[BaseException], outcome: str
):
    def read(prompt: str) -> str:
        raise error

    monkeypatch.setattr(builtins, "input", read)
    with pytest.raises(error), agentcell.watch("x", display=False) as run:
        run.pause("Send it?")
    asked, answered = pauses(run)
    assert isinstance(answered, PauseResumed)
    assert (answered.pause_id, answered.answer) == (asked.pause_id, None)
    assert (run.outcome, run.status_line) == (outcome, "")
    assert run.cell.title.startswith(("Failed", "Stopped"))


def test_a_question_inside_a_tool_call_belongs_to_the_call():
    with agentcell.watch("x", display=False) as run:
        with run.tool("send_mail", to="Kim") as call:
            run.pause("Send it?", ask=lambda question, choices: "yes")
            call.result("sent")
        run.pause("Another?", ask=lambda question, choices: "no")
    inside, _, outside, _ = pauses(run)
    assert isinstance(inside, PauseRequested)
    assert isinstance(outside, PauseRequested)
    assert (inside.call_id, outside.call_id) == (call.call_id, None)
    assert [(step.text, step.parent) for step in run.steps[1:]] == [
        ("Waiting on you: Send it?", 0),
        ("Waiting on you: Another?", None),
    ]
    assert run.steps[0].state == "done"


def test_an_interrupt_while_a_tool_waits_cancels_the_tool_too():
    def ask(question: str, choices: tuple[str, ...]) -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), agentcell.watch("x", display=False) as run, run.tool("send_mail"):
        run.pause("Send it?", ask=ask)
    (ended,) = (event for event in run.events if isinstance(event, ToolEnded))
    assert ended.outcome == "cancelled"


def test_two_questions_in_two_threads_wait_side_by_side():
    clock = FakeClock()
    may_answer = {"A?": threading.Event(), "B?": threading.Event()}
    asked = {"A?": threading.Event(), "B?": threading.Event()}
    answers: dict[str, str] = {}

    def ask(question: str, choices: tuple[str, ...]) -> str:
        asked[question].set()
        assert may_answer[question].wait(10)
        return f"to {question}"

    with agentcell.watch("x", display=False, clock=clock) as run:

        def work(question: str) -> None:
            answers[question] = run.pause(question, ask=ask)

        threads = {question: threading.Thread(target=work, args=[question]) for question in may_answer}
        for question, thread in threads.items():
            thread.start()
            assert asked[question].wait(10)
        assert run.status_line == "Waiting on you: B?"
        may_answer["B?"].set()
        threads["B?"].join(10)
        clock.advance(50)
        assert (run.status_line, run.cell.title, run.elapsed_seconds) == ("Waiting on you: A?", "Waiting on you", 0.0)
        may_answer["A?"].set()
        threads["A?"].join(10)
        clock.advance(4)
        assert (run.status_line, run.cell.title, run.elapsed_seconds) == ("", "Reasoning", 4.0)
    assert answers == {"A?": "to A?", "B?": "to B?"}
    assert [(step.text, step.detail) for step in run.steps] == [("Waiting on you: A?", "to A?"), ("Waiting on you: B?", "to B?")]


def test_a_run_with_a_question_is_saved_and_loaded(tmp_path: Path):
    clock = FakeClock()

    def ask(question: str, choices: tuple[str, ...]) -> str:
        clock.advance(60)
        return "yes"

    with agentcell.watch("x", display=False, clock=clock) as run:
        clock.advance(1)
        with run.tool("send_mail"):
            run.pause("Send it?", choices=["yes", "no"], ask=ask)
    run.save(tmp_path / "run.jsonl")
    loaded = agentcell.load(tmp_path / "run.jsonl")
    assert loaded == run
    assert (loaded.steps, loaded.elapsed_seconds) == (run.steps, 1.0)
    assert pauses(loaded)[0] == pauses(run)[0]


def test_secrets_in_a_question_are_masked_in_what_is_shown_but_not_for_the_one_who_asks():
    heard: list[object] = []

    def ask(question: str, choices: tuple[str, ...]) -> str:
        heard.extend([question, *choices])
        return choices[0]

    with agentcell.watch("x", display=False, redact=lambda text: text.replace("hunter2", "[secret]")) as run:
        assert run.pause("Use hunter2?", choices=["hunter2", "no"], ask=ask) == "hunter2"
    assert heard == ["Use hunter2?", "hunter2", "no"]
    asked, answered = pauses(run)
    assert isinstance(asked, PauseRequested)
    assert (asked.question, asked.choices) == ("Use [secret]?", ("[secret]", "no"))
    assert "hunter2" not in run.to_html() + run.to_text() + repr(answered)


@pytest.mark.parametrize(("question", "choices"), [(3, ()), ("Send it?", ["yes", 3])])
def test_what_is_no_text_is_refused_before_anybody_waits(question: object, choices: object):
    with agentcell.watch("x", display=False) as run, pytest.raises(TypeError, match="must be a string, not 3"):
        run.pause(question, choices=choices, ask=lambda question, choices: pytest.fail("asked"))  # type: ignore[arg-type]
    assert pauses(run) == []
