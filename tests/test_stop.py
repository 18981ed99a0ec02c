"""Stopping a run: what meets the flag, what does not, and how the block ends it."""

import asyncio
import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

import agentcell
from agentcell.context import current_run
from agentcell.errors import RunStopped
from agentcell.events import ModelEnded, Noted, RunEnded, ToolEnded, ToolStarted
from agentcell.options import RunOptions
from agentcell.pacer import INTERVAL, Pacer
from agentcell.run import Run
from agentcell.testing.clock import FakeClock
from agentcell.testing.comms import patches, recorded_comms
from agentcell.widget import AgentCell


def chunk(text: str) -> dict:
    return {
        "id": "c",
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}],
    }


@agentcell.tool
def decorated() -> str:
    return "done"


@agentcell.tool
async def decorated_async() -> str:
    return "done"


def enter_tool(run: Run) -> None:
    with run.tool("search"):
        pytest.fail("the call began")


CALLS: dict[str, Callable[[Run], object]] = {
    "write": lambda run: run.write("more"),
    "step": lambda run: run.step("more"),
    "think": lambda run: run.think("more"),
    "answer": lambda run: run.answer("more"),
    "tool": enter_tool,
    "decorated": lambda run: decorated(),
    "decorated async": lambda run: asyncio.run(decorated_async()),
    "stream": lambda run: list(run.stream([chunk("more")])),
    "pause": lambda run: run.pause("More?", ask=lambda question, choices: pytest.fail("asked")),
    "pause_async": lambda run: asyncio.run(run.pause_async("More?")),
    "raise_if_stopping": lambda run: run.raise_if_stopping(),
}


@pytest.mark.parametrize("name", CALLS)
def test_whatever_the_agent_does_next_ends_it(name: str):
    with agentcell.watch("x", display=False) as run:
        run.step("before")
        assert not run.stopping
        run.stop()
        assert run.stopping
        before = run.events
        try:
            CALLS[name](run)
        except Exception:  # noqa: BLE001 - as an agent does that tries again
            pytest.fail("an `except Exception` kept the agent running")
        finally:
            assert run.events == before, "nothing of it is recorded"
        pytest.fail("it went on")
    assert (run.outcome, run.cell.sentence) == ("cancelled", "You stopped it.")


def test_the_block_ends_quietly_and_the_cell_goes_on():
    clock = FakeClock()
    went_on = False
    with agentcell.watch("x", display=False, clock=clock) as run:
        clock.advance(9)
        run.write("Half an ans")
        run.stop()
        run.write("wer")
        went_on = True
    assert not went_on
    assert (run.status, run.outcome, run.answer_text) == ("complete", "cancelled", "Half an ans")
    assert (run.cell.title, run.cell.sentence) == ("Stopped after 9s", "You stopped it.")
    ended = run.events[-1]
    assert isinstance(ended, RunEnded)
    assert ended.error_type == "RunStopped"
    assert current_run() is None


def stop_and_raise(run: Run, error: BaseException) -> None:
    run.stop()
    raise error


def test_code_that_polls_and_leaves_by_itself_was_stopped_too():
    with agentcell.watch("x", display=False) as run:
        run.write("Half")
        run.stop()
        assert run.stopping
    assert (run.outcome, run.cell.sentence) == ("cancelled", "You stopped it.")


def test_an_interrupt_behind_a_stop_is_a_stop_and_goes_on_as_an_interrupt():
    run = agentcell.watch("x", display=False)
    with pytest.raises(asyncio.CancelledError), run:
        stop_and_raise(run, asyncio.CancelledError())
    assert (run.outcome, run.cell.sentence) == ("cancelled", "You stopped it.")


def test_what_failed_while_it_was_to_stop_has_failed():
    run = agentcell.watch("x", display=False)
    with pytest.raises(OSError, match="no route"), run:
        stop_and_raise(run, OSError("no route"))
    assert (run.outcome, run.cell.sentence) == ("failed", "OSError: no route")


def test_open_tools_are_closed_and_the_sentence_names_the_one_that_ran():
    with agentcell.watch("x", display=False) as run, run.tool("plan"), run.tool("crawl") as call:
        run.stop()
        call.progress("page 2")
    assert [event.outcome for event in run.events if isinstance(event, ToolEnded)] == ["cancelled", "cancelled"]
    assert all(step.state == "cancelled" for step in run.steps)
    assert run.cell.sentence == "You stopped it while `crawl` was running."
    assert "You stopped it while <code>crawl</code> was running." in run.to_html()
    assert "You stopped it while `crawl` was running." in run.to_text()


def test_a_call_that_an_adapter_left_open_is_cancelled_too():
    with agentcell.watch("x", display=False) as run:
        run.record(ToolStarted(call_id="1", name="crawl"))
        run.stop()
        run.step("more")
    assert [step.state for step in run.steps] == ["cancelled"]


def test_what_an_adapter_records_does_not_raise():
    with agentcell.watch("x", display=False) as run:
        run.stop()
        run.record(Noted(text="the adapter saw this"))
        assert run.steps[0].text == "the adapter saw this"
    assert run.outcome == "cancelled"


def test_a_tool_that_runs_may_finish_and_tell_its_result():
    with agentcell.watch("x", display=False) as run:
        with run.tool("crawl") as call:
            run.stop()
            call.result("3 pages")
        run.step("more")
    assert [(step.state, step.result) for step in run.steps] == [("done", "3 pages")]


def test_the_async_block_ends_quietly():
    async def agent() -> Run:
        async with agentcell.watch("x", display=False) as run:
            run.stop()
            await asyncio.sleep(0)
            run.write("more")
            pytest.fail("it went on")
        return run

    assert asyncio.run(agent()).outcome == "cancelled"


def test_parallel_tasks_end_too():
    async def work(run: Run) -> None:
        while True:
            await asyncio.sleep(0)
            run.step("a page")

    async def agent() -> Run:
        async with agentcell.watch("x", display=False) as run:
            tasks = [asyncio.ensure_future(work(run)) for _ in range(3)]
            await asyncio.sleep(0)
            run.stop()
            await asyncio.gather(*tasks)
        for task in tasks:
            with pytest.raises(RunStopped):
                await task
        return run

    assert asyncio.run(agent()).outcome == "cancelled"


def test_a_group_of_exceptions_ends_with_the_block_only_when_all_in_it_are_stops():
    class Group(BaseException):
        """What a task group raises; Python has its own from 3.11 on."""

        def __init__(self, *exceptions: BaseException) -> None:
            super().__init__("a group")
            self.exceptions = exceptions

    run = agentcell.watch("x", display=False)
    with run:
        run.stop()
        raise Group(RunStopped(run), Group(RunStopped(run)))
    assert run.outcome == "cancelled"
    other = agentcell.watch("x", display=False)
    mixed = Group(RunStopped(other), ValueError("another one"))
    with pytest.raises(Group), other:
        raise mixed


def test_a_thread_of_a_pool_ends_and_hands_it_on():
    with ThreadPoolExecutor() as pool, agentcell.watch("x", display=False) as run:
        run.stop()
        pool.submit(run.write, "more").result()
        pytest.fail("it went on")
    assert run.outcome == "cancelled"


def test_inside_another_run_only_the_one_that_was_asked_ends_the_exception():
    went_on = []
    with agentcell.watch("outer", display=False) as outer:
        with agentcell.watch("inner", display=False) as inner:
            outer.stop()
            assert inner.stopping
            inner.write("more")
        went_on.append("outer")
    assert went_on == []
    assert (outer.outcome, inner.outcome) == ("cancelled", "cancelled")
    assert (outer.cell.sentence, inner.cell.sentence) == ("You stopped it.", "You stopped it.")


def test_a_run_that_is_stopped_inside_another_ends_alone():
    with agentcell.watch("outer", display=False) as outer:
        with agentcell.watch("inner", display=False) as inner:
            inner.stop()
            outer.step("the outer one goes on")
            inner.write("more")
        outer.write("The answer")
    assert (outer.outcome, inner.outcome, outer.stopping) == ("answered", "cancelled", False)


def test_a_run_that_begins_inside_a_stopped_one_is_stopped():
    with agentcell.watch("outer", display=False) as outer:
        outer.stop()
        with agentcell.watch("inner", display=False) as inner:
            inner.write("more")
        pytest.fail("the outer one went on")
    assert (outer.outcome, inner.outcome) == ("cancelled", "cancelled")


def test_a_run_that_outlives_the_one_around_it_ends_its_own_stop():
    async def agent() -> tuple[Run, Run]:
        inner = agentcell.watch("inner", display=False)

        async def work() -> None:
            with inner:
                while True:
                    await asyncio.sleep(0)
                    inner.step("a page")

        with agentcell.watch("outer", display=False) as outer:
            task = asyncio.create_task(work())
            await asyncio.sleep(0)
            outer.stop()
        await task
        return outer, inner

    outer, inner = asyncio.run(agent())
    assert (outer.outcome, inner.outcome) == ("cancelled", "cancelled")


def test_after_the_block_nothing_is_stopped():
    with agentcell.watch("outer", display=False) as outer:
        with agentcell.watch("inner", display=False) as inner:
            pass
        inner.stop()
        assert not inner.stopping
        inner.raise_if_stopping()
        outer.write("The answer")
    outer.stop()
    assert (outer.outcome, outer.stopping) == ("answered", False)


def test_the_end_of_a_stopped_run_can_still_be_polled_but_raises_no_more():
    with agentcell.watch("x", display=False) as run:
        run.stop()
        run.step("more")
    assert run.stopping, "a thread that polls it learns of it after the block, too"
    run.raise_if_stopping()


class Stream:
    """A stream that says what was asked of it."""

    def __init__(self, run: Run) -> None:
        self.run, self.given, self.closed = run, 0, False

    def __iter__(self) -> Iterator[dict]:
        return self

    def __next__(self) -> dict:
        self.given += 1
        if self.given == 3:
            self.run.stop()
        return chunk(f"{self.given} ")

    def close(self) -> None:
        self.closed = True


def test_a_stream_ends_before_the_next_event_is_asked_for():
    with agentcell.watch("x", display=False) as run:
        stream = Stream(run)
        for _ in run.stream(stream):
            assert stream.given <= 3
    assert (stream.given, stream.closed) == (3, True)
    (ended,) = (event for event in run.events if isinstance(event, ModelEnded))
    assert ended.outcome == "cancelled"
    assert (run.outcome, run.answer_text.strip()) == ("cancelled", "1 2 3")


def test_an_async_stream_ends_before_the_next_event_is_asked_for():
    given = []

    async def source(run: Run):
        for number in range(9):
            given.append(number)
            yield chunk(f"{number} ")
            if number == 2:
                run.stop()

    async def agent() -> Run:
        async with agentcell.watch("x", display=False) as run:
            async for _ in run.stream(source(run)):
                if len(given) == 2:
                    run.stop()
        return run

    assert asyncio.run(agent()).outcome == "cancelled"
    assert given == [0, 1]


# What the reader does


class Stage:
    """A run and its widget, and the two roads by which a click comes."""

    def __init__(self, messages: list[dict]) -> None:
        self.messages = messages
        self.clock = FakeClock()
        self.pacer = Pacer(clock=self.clock, start=False)
        self.run = Run(RunOptions(task="x"), clock=self.clock)
        self.cell = AgentCell(self.run, pacer=self.pacer)

    def by_comm(self, **action: object) -> None:
        self.cell._handle_msg(
            {"content": {"data": {"method": "custom", "content": {"id": uuid.uuid4().hex, **action}}}, "buffers": []}
        )

    def by_control(self, **action: object) -> None:
        content = {"run_id": self.cell.run_id, "action": {"id": uuid.uuid4().hex, **action}}
        agentcell.actions.DESK._from_control_channel(None, None, {"content": content})

    def flush(self) -> None:
        self.clock.advance(INTERVAL)
        self.pacer.run_due()

    def headers(self) -> list[dict]:
        return [content["patch"].get("header", {}) for content in patches(self.messages) if content["type"] == "patch"]


@pytest.fixture
def stage() -> Iterator[Stage]:
    with recorded_comms() as messages:
        yield Stage(messages)


def test_stop_shows_as_soon_as_a_view_was_heard_and_until_the_end(stage: Stage):
    cell = stage.cell
    assert cell.stop == "none"
    with stage.run as run:
        assert cell.stop == "none", "nobody knows yet whether a click would come through"
        stage.by_control(type="hello", view="v1")
        assert cell.stop == "ready"
        stage.by_comm(type="stop", again=False)
        assert (cell.stop, run.stopping) == ("stopping", True)
        stage.flush()
        assert stage.headers()[-1]["stop"] == "stopping", "a second tab learns of it"
        run.step("more")
    assert (cell.stop, cell.outcome) == ("none", "cancelled")


def test_where_the_last_view_left_there_is_no_stop(stage: Stage):
    with stage.run:
        for view in ("v1", "v2"):
            stage.by_comm(type="hello", view=view)
        stage.by_comm(type="left", view="v1")
        assert stage.cell.stop == "ready"
        stage.by_comm(type="left", view="v2")
        assert stage.cell.stop == "none"


def test_a_run_that_an_adapter_ended_inside_its_block_has_no_stop(stage: Stage):
    with stage.run as run:
        stage.by_comm(type="hello", view="v1")
        run.record(RunEnded(outcome="answered"))
        assert stage.cell.stop == "none"


@pytest.fixture
def interrupts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Where the kernel would be interrupted; this process is none."""
    calls: list[str] = []
    monkeypatch.setattr("agentcell.widget.interrupt_kernel", lambda _cell: calls.append(threading.current_thread().name))
    return calls


def test_a_press_that_comes_by_both_roads_counts_once(stage: Stage, interrupts: list[str]):
    with stage.run as run:
        for road in (stage.by_control, stage.by_comm):
            road(type="stop", again=False, id="press-1")
        assert (run.stopping, interrupts) == (True, [])
        for road in (stage.by_control, stage.by_comm):
            road(type="stop", again=True, id="press-2")
        assert interrupts == ["MainThread"]


def test_first_presses_in_two_tabs_do_not_interrupt(stage: Stage, interrupts: list[str]):
    with stage.run as run:
        stage.by_comm(type="stop", again=False)
        stage.by_comm(type="stop", again=False)
        assert (run.stopping, interrupts) == (True, [])


def test_a_second_press_whose_first_was_lost_is_the_first(stage: Stage, interrupts: list[str]):
    with stage.run as run:
        stage.by_comm(type="stop", again=True)
        assert (run.stopping, interrupts) == (True, [])


def test_a_press_after_the_end_interrupts_nothing(stage: Stage, interrupts: list[str]):
    with stage.run as run:
        stage.by_comm(type="stop", again=False)
        run.step("more")
    stage.by_comm(type="stop", again=True)
    assert interrupts == []


def test_a_press_that_is_none_does_nothing(stage: Stage, interrupts: list[str]):
    with stage.run as run:
        for action in ({"type": "stop"}, {"type": "stop", "again": "yes"}, {"type": "hello"}, {"type": "hello", "view": 3}):
            stage.by_comm(**action)
        assert stage.cell.stop == "none"
        assert not run.stopping
