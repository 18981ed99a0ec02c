"""A question to the person: what is shown while it waits, what comes of it, and every way it can end."""

import asyncio
import builtins
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import agentcell
from agentcell.errors import RunStopped
from agentcell.events import PauseRequested, PauseResumed, ToolEnded
from agentcell.pause import ask_console
from agentcell.reach import GREETING, Reach
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


def test_the_console_takes_other_words_where_they_are_allowed(typed: list[str]):
    typed.extend(["no", "YES", "later"])
    assert [ask_console("Send it?", ("Yes",), words=True) for _ in range(3)] == ["no", "Yes", "later"]


def test_where_no_view_can_be_heard_the_console_is_asked(typed: list[str]):
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


def test_one_string_is_no_list_of_choices():
    with (
        agentcell.watch("x", display=False) as run,
        pytest.raises(TypeError, match=r"must be a sequence of strings, like \['yes'\]"),
    ):
        run.pause("Send it?", choices="yes")


@pytest.mark.parametrize("choices", [None, 3])
def test_what_cannot_be_gone_through_is_no_list_of_choices(choices: object):
    with (
        agentcell.watch("x", display=False) as run,
        pytest.raises(TypeError, match=f"must be a sequence of strings.*not {choices}"),
    ):
        run.pause("Send it?", choices=choices)
    assert pauses(run) == []


def test_where_a_kernel_has_nobody_to_ask_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch):
    def read(prompt: str) -> str:
        raise NotImplementedError("raw_input was called, but this frontend does not support input requests.")

    monkeypatch.setattr(builtins, "input", read)
    with pytest.raises(EOFError, match=r"nobody is there to answer 'Send it\?': give run.pause an `ask=`"):
        ask_console("Send it?", ())


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


# Answers from a view


def message(**action: object) -> dict:
    """What the kernel hands to the widget when a page sends an action over the comm."""
    return {"content": {"data": {"method": "custom", "content": {"id": uuid.uuid4().hex, **action}}}, "buffers": []}


class Reader:
    """Somebody at a page that shows the run: what comes from there comes by a thread of its own, as in a kernel that is busy."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.questions: list[dict] = []

    def act(self, **action: object) -> None:
        """Sends an action, and returns when Python has taken it."""
        thread = threading.Thread(target=self.run.cell._handle_msg, args=[message(**action)])
        thread.start()
        thread.join(10)

    def hello(self, view: str = "v1") -> None:
        self.act(type="hello", view=view)

    def answer(self, question: str, *, choice: int | None = None, text: str = "") -> None:
        self.act(type="answer", question=question, choice=choice, text=text)

    def when_asked(self, then: Callable[..., None], *, count: int = 1) -> None:
        """Lets `then` happen, with the questions that are shown, as soon as there are so many."""

        def look() -> None:
            heard = threading.Event()
            self.run.cell.observe(lambda change: heard.set(), "questions")
            for _ in range(200):
                self.questions = self.run.cell.questions
                if len(self.questions) >= count:
                    then(*self.questions)
                    return
                heard.wait(0.05)
                heard.clear()

        threading.Thread(target=look, daemon=True).start()


@pytest.fixture
def nobody_types(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builtins, "input", lambda prompt: pytest.fail(f"the console was asked: {prompt}"))


@pytest.mark.usefixtures("nobody_types")
def test_a_view_that_can_be_heard_takes_the_answer():
    with agentcell.watch("x", display=False) as run:
        reader = Reader(run)
        reader.hello()
        reader.when_asked(lambda question: reader.answer(question["id"], choice=1))
        assert run.pause("Send it?", choices=["yes", "no"]) == "no"
        assert run.cell.questions == []
    (shown,) = reader.questions
    assert (shown["text"], shown["choices"], shown["words"]) == ("Send it?", ["yes", "no"], False)
    assert [(step.text, step.state, step.detail) for step in run.steps] == [("Waiting on you: Send it?", "done", "no")]
    for kept in (run.to_html(), run.to_text()):
        assert "Send it?" in kept
        assert "no" in kept
        assert "<button" not in kept


@pytest.mark.usefixtures("nobody_types")
@pytest.mark.parametrize(
    ("choices", "words", "answer", "got"),
    [
        ((), False, {"text": " as you like "}, "as you like"),
        (("yes", "no"), True, {"text": "later"}, "later"),
        (("yes", "no"), True, {"choice": 0}, "yes"),
    ],
)
def test_an_answer_may_be_in_words_where_it_is_asked_for(choices: tuple[str, ...], words: bool, answer: dict, got: str):
    with agentcell.watch("x", display=False) as run:
        reader = Reader(run)
        reader.hello()
        reader.when_asked(lambda question: reader.answer(question["id"], **answer))
        assert run.pause("Send it?", choices=choices, words=words) == got
    assert reader.questions[0]["words"]


@pytest.mark.usefixtures("nobody_types")
def test_what_is_no_answer_changes_nothing():
    def answer(question: dict) -> None:
        for choice, text in [(7, ""), (-1, ""), (None, "maybe")]:
            reader.answer(question["id"], choice=choice, text=text)
        reader.answer("another", choice=0)
        reader.act(type="answer", question=question["id"])
        reader.answer(question["id"], choice=0)
        reader.answer(question["id"], choice=1)

    with agentcell.watch("x", display=False) as run:
        reader = Reader(run)
        reader.hello()
        reader.when_asked(answer)
        assert run.pause("Send it?", choices=["yes", "no"]) == "yes"


@pytest.mark.usefixtures("nobody_types")
def test_secrets_do_not_cross_to_the_view_and_the_answer_is_still_the_choice_itself():
    with agentcell.watch("x", display=False, redact=lambda text: text.replace("hunter2", "[secret]")) as run:
        reader = Reader(run)
        reader.hello()
        reader.when_asked(lambda question: reader.answer(question["id"], choice=0))
        assert run.pause("Use hunter2?", choices=["hunter2", "no"]) == "hunter2"
    assert "hunter2" not in repr(reader.questions) + run.to_html() + repr(run.events)


@pytest.mark.usefixtures("nobody_types")
def test_several_questions_wait_side_by_side_and_each_gets_its_own_answer():
    answers: dict[str, str] = {}

    def answer(*questions: dict) -> None:
        for question in reversed(questions):
            reader.answer(question["id"], text=f"to {question['text']}")

    with agentcell.watch("x", display=False) as run:
        reader = Reader(run)
        reader.hello()
        reader.when_asked(answer, count=3)
        threads = [
            threading.Thread(target=lambda text=text: answers.update({text: run.pause(text)}))  # type: ignore[misc]
            for text in ("A?", "B?", "C?")
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
    assert answers == {"A?": "to A?", "B?": "to B?", "C?": "to C?"}


@pytest.mark.usefixtures("nobody_types")
def test_stop_ends_the_waiting():
    with agentcell.watch("x", display=False) as run:
        reader = Reader(run)
        reader.hello()
        reader.when_asked(lambda question: reader.act(type="stop", again=False))
        run.pause("Send it?", choices=["yes", "no"])
        pytest.fail("it went on")
    assert (run.outcome, run.cell.questions) == ("cancelled", [])
    assert pauses(run)[-1].answer is None  # type: ignore[union-attr]


def test_where_the_only_one_who_hears_is_the_one_who_waits_the_console_is_asked(typed: list[str]):
    """As a sync pause in an async cell, where clicks come by the very loop that it blocks."""
    typed.append("yes")
    with agentcell.watch("x", display=False) as run:
        run.cell._handle_msg(message(type="hello", view="v1"))
        assert run.cell.stop == "ready"
        assert run.pause("Send it?") == "yes"


def test_where_all_views_have_left_the_console_is_asked(typed: list[str]):
    typed.append("yes")
    with agentcell.watch("x", display=False) as run:
        reader = Reader(run)
        reader.hello()
        reader.act(type="left", view="v1")
        run.reach._until = 0.0  # the time in which another view might come is over
        assert run.pause("Send it?") == "yes"


def test_how_long_a_view_is_waited_for():
    clock = FakeClock()
    reach = Reach(clock)
    assert reach.patience(awaiting=False) == 0.0, "nobody was shown anything"
    reach.expect()
    assert reach.patience(awaiting=False) == GREETING
    clock.advance(GREETING)
    assert reach.patience(awaiting=True) == 0.0
    reach.hear()
    reach.arrive("v1")
    assert (reach.patience(awaiting=False), reach.patience(awaiting=True)) == (0.0, None), "it was heard by this thread alone"
    thread = threading.Thread(target=reach.hear)
    thread.start()
    thread.join()
    assert reach.patience(awaiting=False) is None
    reach.leave("v1", over=False)
    assert reach.patience(awaiting=True) == GREETING, "another may come in its place"
    clock.advance(GREETING)
    reach.leave("v1", over=False)
    assert reach.patience(awaiting=True) == 0.0, "a view leaves once"


def test_a_view_that_comes_late_is_still_waited_for_while_it_may_come(nobody_types: None):
    with agentcell.watch("x", display=False) as run:
        reader = Reader(run)
        reader.when_asked(lambda question: reader.answer(question["id"], choice=0))
        run.reach.expect()
        late = threading.Timer(0.05, reader.hello)
        late.start()
        assert run.pause("Send it?", choices=["yes", "no"]) == "yes"
        late.join()


@pytest.mark.usefixtures("nobody_types")
def test_while_an_async_question_waits_other_tasks_go_on():
    async def agent() -> tuple[Run, list[str]]:
        async with agentcell.watch("x", display=False) as run:
            reader = Reader(run)
            reader.hello()
            ticked = asyncio.Event()

            async def tick() -> None:
                run.step("the other task")
                ticked.set()

            async def ask(question: str) -> str:
                return await run.pause_async(question, choices=["yes", "no"])

            asked = [asyncio.ensure_future(ask("A?")), asyncio.ensure_future(ask("B?"))]
            await asyncio.sleep(0)
            await asyncio.create_task(tick())
            assert ticked.is_set()
            for question, choice in zip(run.cell.questions, (0, 1), strict=True):
                reader.answer(question["id"], choice=choice)
            return run, await asyncio.gather(*asked)

    run, answers = asyncio.run(agent())
    assert answers == ["yes", "no"]
    assert [step.text for step in run.steps] == ["Waiting on you: A?", "Waiting on you: B?", "the other task"]


@pytest.mark.usefixtures("nobody_types")
def test_an_async_question_is_answered_by_the_loop_that_waits_too():
    async def agent() -> str:
        async with agentcell.watch("x", display=False) as run:
            run.cell._handle_msg(message(type="hello", view="v1"))
            asked = asyncio.ensure_future(run.pause_async("Send it?"))
            await asyncio.sleep(0)
            run.cell._handle_msg(message(type="answer", question=run.cell.questions[0]["id"], choice=None, text="yes"))
            return await asked

    assert asyncio.run(agent()) == "yes"


@pytest.mark.usefixtures("nobody_types")
def test_stop_and_cancelling_end_an_async_question():
    async def agent(end: str) -> Run:
        run = agentcell.watch("x", display=False)
        async with run:
            reader = Reader(run)
            reader.hello()
            asked = asyncio.ensure_future(run.pause_async("Send it?"))
            await asyncio.sleep(0)
            assert len(run.cell.questions) == 1
            if end == "stop":
                reader.act(type="stop", again=False)
                with pytest.raises(RunStopped):
                    await asked
            else:
                asked.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await asked
            assert (run.cell.questions, len(pauses(run))) == ([], 2)
        return run

    assert asyncio.run(agent("stop")).outcome == "cancelled"
    assert asyncio.run(agent("cancel")).outcome == "answered"


def test_where_no_view_can_be_heard_an_async_question_goes_to_the_console(typed: list[str]):
    typed.append("YES")

    async def agent() -> str:
        async with agentcell.watch("x", display=False) as run:
            return await run.pause_async("Send it?", choices=["yes", "no"])

    assert asyncio.run(agent()) == "yes"


def test_a_flag_that_is_none_is_refused():
    with agentcell.watch("x", display=False) as run, pytest.raises(TypeError, match="words must be True or False"):
        run.pause("Send it?", words="yes")  # type: ignore[arg-type]
    assert pauses(run) == []
