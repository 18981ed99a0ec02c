"""Every way out of a run leaves it complete, with its reason, and lets the exception go on unharmed."""

import asyncio
import concurrent.futures
import pickle
import sys
import threading
import traceback

import pytest

import agentcell
from agentcell.context import current_run
from agentcell.errors import AgentcellWarning
from agentcell.events import AnyEvent, LimitReached, ModelEnded, ModelStarted, RunEnded, TextDelta, ToolStarted
from agentcell.options import RunOptions
from agentcell.pacer import Pacer
from agentcell.run import Run
from agentcell.testing.clock import FakeClock


class MuteError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no str")


class Unshowable:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")

    __str__ = __repr__


def leave_by(error: BaseException, run: Run, *, first: AnyEvent | None = None) -> BaseException:
    """The exception that comes out of a run's block in which `error` was raised."""

    def agent() -> None:
        with run:
            if first is not None:
                run.record(first)
            run.write("Half an ans")
            raise error

    with pytest.raises(type(error)) as caught:
        agent()
    return caught.value


def end_of(run: Run) -> tuple[str | None, str | None, str | None]:
    ended = run.events[-1]
    assert isinstance(ended, RunEnded)
    assert (run.status, run.outcome) == ("complete", ended.outcome)
    assert all(step.state != "running" for step in run.steps)
    assert current_run() is None
    return ended.outcome, ended.error_type, ended.error


def test_the_end_of_the_block_is_the_end_of_the_run():
    with Run() as run:
        run.write("The answer")
        assert (run.status, run.outcome) == ("collapsed", None)
    assert end_of(run) == ("answered", None, None)
    assert run.answer_text == "The answer"


def test_a_run_without_an_answer_has_answered_nothing():
    with Run() as run:
        pass
    assert end_of(run) == ("answered", None, None)
    assert run.answer_text == ""


@pytest.mark.parametrize(
    ("error", "end"),
    [
        (ValueError("too small"), ("failed", "ValueError", "too small")),
        (ValueError("first line\nsecond line"), ("failed", "ValueError", "first line")),
        (ValueError(), ("failed", "ValueError", "")),
        (KeyError("name"), ("failed", "KeyError", "'name'")),
        (MuteError(), ("failed", "MuteError", "")),
        (ValueError(Unshowable()), ("failed", "ValueError", "")),
        (RuntimeError("key sk-proj-abcdef0123456789abcdef is wrong"), ("failed", "RuntimeError", "key [secret] is wrong")),
        (AssertionError("no"), ("failed", "AssertionError", "no")),
        (TimeoutError("late"), ("failed", "TimeoutError", "late")),
        (KeyboardInterrupt(), ("cancelled", "KeyboardInterrupt", "")),
        (asyncio.CancelledError("shut down"), ("cancelled", "CancelledError", "shut down")),
        (GeneratorExit(), ("cancelled", "GeneratorExit", "")),
        (SystemExit(3), ("cancelled", "SystemExit", "3")),
    ],
)
def test_an_exception_ends_the_run_and_goes_on(error, end):
    run = Run()
    assert leave_by(error, run) is error
    assert end_of(run) == end
    assert run.answer_text == "Half an ans", "what was written stays"
    assert run.faults == {}


def test_the_traceback_shows_the_users_own_lines_and_nothing_of_ours():
    def dig(depth: int) -> None:
        if depth == 0:
            raise ValueError("deep down")
        dig(depth - 1)

    with pytest.raises(ValueError, match="deep down") as caught, Run() as run, run.tool("dig"):
        dig(3)
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert [frame.name for frame in frames] == [sys._getframe().f_code.co_name, "dig", "dig", "dig", "dig"]
    assert {frame.filename for frame in frames} == {__file__}
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_sys_exit_goes_on_with_its_code():
    run = Run()
    with pytest.raises(SystemExit) as caught, run:
        sys.exit("bye")
    assert caught.value.code == "bye"
    assert end_of(run) == ("cancelled", "SystemExit", "bye")


def test_a_generator_that_nobody_reads_on_is_cancelled():
    runs = []

    def agent():
        with Run() as run:
            runs.append(run)
            run.write("one")
            yield "one"
            run.write("two")
            yield "two"

    for _ in agent():
        break
    (run,) = runs
    assert end_of(run) == ("cancelled", "GeneratorExit", "")
    assert run.answer_text == "one"


def test_async_with_is_the_same_block():
    async def main():
        async with Run() as run:
            assert current_run() is run
            async with run.tool("search") as call:
                call.result(1)
            run.write("The answer")
        return run

    run = asyncio.run(main())
    assert end_of(run) == ("answered", None, None)
    assert [step.state for step in run.steps] == ["done"]


def test_a_task_that_is_cancelled_is_cancelled_and_not_failed():
    runs = []

    async def agent(begun: asyncio.Event):
        async with Run() as run, run.tool("wait"):
            runs.append(run)
            begun.set()
            await asyncio.Event().wait()

    async def main():
        begun = asyncio.Event()
        task = asyncio.create_task(agent(begun))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()

    asyncio.run(main())
    (run,) = runs
    assert end_of(run)[:2] == ("cancelled", "CancelledError")
    assert [step.state for step in run.steps] == ["cancelled"]


def test_an_exception_inside_a_tool_call_fails_the_call_and_then_the_run():
    run, error = Run(), OSError("no route\nto host")
    with pytest.raises(OSError, match="no route") as caught, run, run.tool("fetch", url="x"):
        raise error
    assert caught.value is error
    assert [(step.state, step.detail) for step in run.steps] == [("failed", "OSError: no route")]
    assert end_of(run) == ("failed", "OSError", "no route")


def test_a_tools_exception_that_the_agent_handles_does_not_end_the_run():
    with Run() as run:
        with pytest.raises(OSError, match="no route"), run.tool("fetch"):
            raise OSError("no route")
        run.write("Then without.")
    assert [step.state for step in run.steps] == ["failed"]
    assert end_of(run) == ("answered", None, None)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), asyncio.CancelledError(), GeneratorExit(), SystemExit()])
def test_a_tool_call_that_is_interrupted_is_cancelled(error):
    run = Run()
    with pytest.raises(type(error)), run, run.tool("fetch"):
        raise error
    assert [step.state for step in run.steps] == ["cancelled"]


def test_a_limit_that_was_reached_ends_the_run_as_limited():
    with Run() as run:
        run.record(LimitReached(kind="iterations", limit=10, actual=10))
    assert end_of(run) == ("limited", None, None)


def test_a_limit_that_only_warns_does_not():
    with Run() as run:
        run.record(LimitReached(kind="cost", limit=1.0, actual=1.2, stops=False))
    assert end_of(run) == ("answered", None, None)


def test_an_exception_after_a_limit_is_what_ended_the_run():
    limit, run = LimitReached(kind="iterations"), Run()
    error = ValueError("gave up")
    assert leave_by(error, run, first=limit) is error
    assert end_of(run) == ("failed", "ValueError", "gave up")


def test_what_is_open_at_the_end_is_closed():
    with Run() as run:
        run.step("Looking")
        run.think("hm")
        run.record(ModelStarted(model_call_id="m"))
        run.record(TextDelta(text="A dra", model_call_id="m"))
        call = run.tool("search")
        call.__enter__()
    assert [step.state for step in run.steps] == ["done", "done", "cancelled"]
    assert run.answer_text == "A dra"
    assert (run.status_line, end_of(run)) == ("", ("answered", None, None))


def test_an_adapter_that_knew_the_end_first_has_the_last_word():
    with Run() as run:
        run.record(RunEnded(outcome="limited", error="token sk-proj-abcdef0123456789abcdef"))
        assert run.status == "complete"
    assert [type(event) for event in run.events].count(RunEnded) == 1
    assert end_of(run) == ("limited", None, "token [secret]")


def test_the_clock_stands_still_after_every_way_out():
    for error in (None, ValueError(), KeyboardInterrupt()):
        clock = FakeClock(100.0)
        run = Run(clock=clock)
        try:
            with run:
                clock.advance(12.5)
                if error is not None:
                    raise error
        except (ValueError, KeyboardInterrupt):
            pass
        clock.advance(1000)
        assert run.elapsed_seconds == 12.5


def test_a_block_that_was_left_is_not_left_again():
    run = Run()
    with run:
        pass
    before = run.events
    assert run.__exit__(ValueError, ValueError("late"), None) is False
    assert run.events == before


def test_a_redact_function_that_raises_does_not_hide_the_exception_nor_let_it_through():
    def broken(text: str) -> str:
        raise RuntimeError("no masker")

    run = Run(RunOptions(redact=broken))
    assert isinstance(leave_by(ValueError("the password is hunter2"), run), ValueError)
    assert end_of(run) == ("failed", "ValueError", "[secret]")


class Screen:
    """A surface that raises when it is told to."""

    def __init__(self, on_open: BaseException | None = None, on_close: BaseException | None = None) -> None:
        self.on_open = on_open
        self.on_close = on_close

    def open(self, run: Run) -> None:
        if self.on_open is not None:
            raise self.on_open

    def close(self, run: Run) -> None:
        if self.on_close is not None:
            raise self.on_close


def test_a_surface_that_fails_at_the_end_does_not_hide_the_exception(capsys):
    run = Run(surface=Screen(OSError("no screen"), OSError("still none")))
    assert isinstance(leave_by(ValueError("mine"), run), ValueError)
    assert end_of(run) == ("failed", "ValueError", "mine")
    assert run.faults == {"showing the run": 1, "showing how the run ended": 1}
    assert "OSError: no screen" in capsys.readouterr().err


def test_an_interrupt_while_the_run_is_being_shown_ends_it():
    run = Run(surface=Screen(on_open=KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt), run:
        pytest.fail("the block was entered")
    assert end_of(run) == ("cancelled", "KeyboardInterrupt", "")


def test_an_interrupt_while_the_end_is_being_shown_goes_on():
    run = Run(surface=Screen(on_close=KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt), run:
        pass
    assert end_of(run) == ("answered", None, None)


@pytest.mark.parametrize("error", [concurrent.futures.CancelledError(), type("Cancelled", (BaseException,), {})()])
def test_cancelled_by_another_library_is_cancelled_too(error: BaseException):
    run = Run(clock=FakeClock())
    with pytest.raises(type(error)), run, run.tool("t"):
        raise error
    assert (run.outcome, run.steps[0].state) == ("cancelled", "cancelled")


@pytest.mark.parametrize(
    ("end", "sentence"),
    [
        (
            {"outcome": "cancelled", "error": "the stream ended without its last event"},
            "The answer broke off: the stream ended without its last event",
        ),
        ({"outcome": "failed", "error": "overloaded"}, "The answer broke off: overloaded"),
        ({"finish_reason": "length"}, "The answer was cut at its token limit."),
        ({"finish_reason": "MAX_TOKENS"}, "The answer was cut at its token limit."),
        ({"finish_reason": "content_filter"}, "The provider withheld the rest of the answer."),
        ({"finish_reason": "stop"}, ""),
    ],
)
def test_an_answer_that_is_not_whole_says_so(end: dict, sentence: str):
    with Run(clock=FakeClock()) as run:
        run.record(ModelStarted(model_call_id="m"))
        run.record(TextDelta(model_call_id="m", text="Half an"))
        run.record(ModelEnded(model_call_id="m", **end))
    assert run.outcome == "answered"
    assert sentence in run.to_text()
    run.view.refresh()
    assert run.view.header["sentence"] == sentence


def test_an_answer_that_the_users_own_code_completes_is_whole():
    with Run(clock=FakeClock()) as run:
        run.record(ModelStarted(model_call_id="m"))
        run.record(ModelEnded(model_call_id="m", outcome="failed", error="overloaded"))
        run.write("What I know without it.")
    run.view.refresh()
    assert run.view.header["sentence"] == ""


def test_a_call_that_was_only_asked_for_has_not_failed():
    run = Run(clock=FakeClock())
    run.__enter__()
    run.record(ToolStarted(call_id="a", name="t", requested=True))
    with pytest.raises(ValueError, match="later"), run.tool("u"):
        raise ValueError("later")
    run.__exit__(ValueError, ValueError("later"), None)
    assert [step.state for step in run.steps] == ["cancelled", "failed"]


def test_a_mask_that_fails_is_reported_and_lets_nothing_through():
    def mask(text: str) -> str:
        raise KeyError("typo")

    run = Run(RunOptions(redact=mask), clock=FakeClock())
    with pytest.warns(AgentcellWarning, match="masking secrets failed"), run:
        run.step("a secret")
    assert run.faults["masking secrets"] >= 1
    assert "secret]" in run.steps[0].text
    assert "a secret" not in run.steps[0].text


def test_a_run_cannot_be_pickled_and_says_what_to_do():
    with pytest.raises(TypeError, match="use run"):
        pickle.dumps(Run())


def place_of(act) -> tuple[str, int]:
    """Where the one warning of `act` points."""
    with pytest.warns(AgentcellWarning) as caught:
        act()
    (warning,) = caught
    return warning.filename, warning.lineno


def test_a_warning_points_at_the_line_of_the_users_own_code():
    def mask(text: str) -> str:
        raise KeyError("typo")

    def note() -> None:
        run.step("a secret")

    def end() -> None:
        with Run(surface=Screen(on_close=OSError("no screen"))):
            pass

    def call() -> None:
        agentcell.tool(lambda x: x)(1)

    def late() -> None:
        done.write("late")

    with Run() as done:
        pass
    with Run() as run, Run(RunOptions(redact=mask)) as run:
        assert place_of(note) == (__file__, note.__code__.co_firstlineno + 1)
    assert place_of(end) == (__file__, end.__code__.co_firstlineno + 1)
    with Run(RunOptions(redact=mask)):
        assert place_of(call) == (__file__, call.__code__.co_firstlineno + 1)
    assert place_of(late) == (__file__, late.__code__.co_firstlineno + 1)


def test_a_warning_from_a_thread_of_ours_points_at_no_line_of_ours():
    pacer, done = Pacer(), threading.Event()

    def fail() -> None:
        raise OSError("no screen")

    def wait_for_both() -> None:
        pacer.later(0.0, fail)
        pacer.later(0.0, done.set)
        assert done.wait(30)

    with pytest.warns(AgentcellWarning, match="no screen") as caught:
        wait_for_both()
    assert "agentcell" not in caught[0].filename
    assert "threading" not in caught[0].filename
