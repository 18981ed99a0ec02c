"""When to send: often enough, never too often, fair to all, and alone with its faults."""

import gc
import os
import subprocess
import sys
import threading
import warnings
import weakref
from collections import Counter
from collections.abc import Callable

import pytest

from agentcell.errors import AgentcellWarning
from agentcell.pacer import HEARTBEAT, INTERVAL, MESSAGES_A_SECOND, Pacer
from agentcell.testing.clock import FakeClock


class Screen:
    """Writes down when it was asked for what; a flush may take a while, or fail."""

    def __init__(
        self, stage: "Stage", name: object = "", *, takes: float = 0.0, error: BaseException | None = None, speaks: bool = True
    ) -> None:
        self.stage = stage
        self.speaks = speaks
        self.name = name
        self.takes = takes
        self.error = error
        self.flushes: list[float] = []
        self.beats: list[float] = []

    def flush(self) -> bool:
        self.flushes.append(self.stage.clock())
        self.stage.clock.advance(self.takes)
        if self.error is not None:
            raise self.error
        return self.speaks

    def beat(self) -> None:
        self.beats.append(self.stage.clock())
        if self.error is not None:
            raise self.error


class Stage:
    """A pacer without a thread, and a clock that stops at each moment at which there is something to do."""

    def __init__(self, start: float = 1000.0) -> None:
        self.clock = FakeClock(start)
        self.pacer = Pacer(clock=self.clock, start=False)

    def screen(self, name: object = "", **values) -> Screen:
        screen = Screen(self, name, **values)
        self.pacer.add(screen)
        return screen

    def run(self, seconds: float, busy: Callable[[], None] | None = None) -> None:
        """Lets time pass, with the pacer at work; `busy` happens a hundred times a second."""
        end = self.clock() + seconds
        while self.clock() < end:
            if busy is not None:
                busy()
            wait = self.pacer.run_due()
            step = min(1.0 if busy is None else 0.01, 1.0 if wait is None else max(1e-6, wait))
            self.clock.advance(min(max(end - self.clock(), 0.0), step))
        self.pacer.run_due()


@pytest.fixture
def stage() -> Stage:
    return Stage()


def busiest_second(times: list[float]) -> int:
    """The most of these moments that lie inside one second."""
    times, most, first = sorted(times), 0, 0
    for last, time in enumerate(times):
        while time - times[first] > 1.0 - 1e-9:
            first += 1
        most = max(most, last - first + 1)
    return most


# One run


def test_news_are_flushed_at_once_when_all_was_quiet(stage):
    screen = stage.screen()
    stage.run(1)
    stage.pacer.wake(screen)
    now = stage.clock()
    stage.pacer.run_due()
    assert screen.flushes == [now]


def test_without_news_nothing_is_flushed(stage):
    screen = stage.screen()
    stage.run(60)
    assert screen.flushes == []


def test_many_wakes_are_one_flush(stage):
    screen = stage.screen()
    for _ in range(1000):
        stage.pacer.wake(screen)
    stage.run(1)
    assert len(screen.flushes) == 1


@pytest.mark.parametrize("watched", [True, False])
def test_a_busy_run_is_flushed_twenty_times_a_second(stage, watched):
    screen = stage.screen()
    if not watched:
        stage.pacer.remove(screen)
    stage.run(10, lambda: stage.pacer.wake(screen))
    assert busiest_second(screen.flushes) <= 20
    assert 160 <= len(screen.flushes) <= 201
    assert screen.beats == [], "who speaks all the time need not say that he lives"


def test_an_idle_run_says_every_five_seconds_that_it_lives(stage):
    began = stage.clock()
    screen = stage.screen()
    stage.run(26)
    assert [round(time - began, 3) for time in screen.beats] == [5, 10, 15, 20, 25]


def test_who_is_busy_with_what_nobody_sees_says_that_he_lives_too(stage):
    began = stage.clock()
    screen = stage.screen(speaks=False)
    stage.run(26, lambda: stage.pacer.wake(screen))
    assert [round(time - began, 1) for time in screen.beats] == [5, 10, 15, 20, 25]


def test_a_flush_counts_as_a_sign_of_life(stage):
    began = stage.clock()
    screen = stage.screen()
    stage.run(3)
    stage.pacer.wake(screen)
    stage.run(10)
    assert [round(time - began, 3) for time in screen.beats] == [8, 13]


def test_a_slow_flush_is_followed_by_ten_times_its_rest(stage):
    screen = stage.screen(takes=0.2)
    stage.run(30, lambda: stage.pacer.wake(screen))
    pauses = [later - earlier for earlier, later in zip(screen.flushes, screen.flushes[1:], strict=False)]
    assert min(pauses) >= 0.2 + 10 * 0.2 - 1e-6
    assert max(pauses) <= 0.2 + 10 * 0.2 + 0.1
    assert screen.beats == []


def test_a_very_slow_run_says_in_between_that_it_lives(stage):
    screen = stage.screen(takes=2.0)
    stage.run(40, lambda: stage.pacer.wake(screen))
    assert len(screen.flushes) == 2
    assert len(screen.beats) >= 5


def test_a_slow_flush_slows_nobody_else_down(stage):
    quick, slow = stage.screen("quick"), stage.screen("slow", takes=0.5)

    def wake() -> None:
        stage.pacer.wake(slow)
        stage.pacer.wake(quick)

    stage.run(55, wake)
    assert len(slow.flushes) == 10
    assert len(quick.flushes) >= 16 * (55 - 10 * 0.5)


# Many runs


@pytest.mark.parametrize(("runs", "idle"), [(2, 0), (10, 0), (50, 0), (50, 50), (400, 0), (0, 400)])
def test_all_together_stay_under_the_limit_and_nobody_is_forgotten(stage, runs, idle):
    seconds = 30
    busy = [stage.screen(number) for number in range(runs)]
    quiet = [stage.screen(number) for number in range(idle)]

    def wake() -> None:
        for screen in busy:
            stage.pacer.wake(screen)

    stage.run(seconds, wake)
    said = [time for screen in busy + quiet for time in screen.flushes + screen.beats]
    assert busiest_second(said) <= MESSAGES_A_SECOND + 1 < 100
    if busy:
        counts = [len(screen.flushes) for screen in busy]
        share = min(20, (MESSAGES_A_SECOND - idle / HEARTBEAT) / runs) * seconds
        assert min(counts) >= 0.9 * share - 1
        assert max(counts) - min(counts) <= 2, "each is served as often as the others"
    if quiet:
        gap = max(HEARTBEAT, idle / MESSAGES_A_SECOND)
        assert min(len(screen.beats) for screen in quiet) >= int(seconds / (gap * 1.1)) - 1


def test_those_that_wait_are_served_in_the_order_in_which_they_asked(stage):
    screens = [stage.screen(number) for number in range(5)]
    stage.run(1)
    for number in (3, 1, 4, 0, 2):
        stage.pacer.wake(screens[number])
    stage.pacer.wake(screens[3])  # asking again changes nothing
    stage.run(1)
    assert sorted(range(5), key=lambda number: screens[number].flushes[0]) == [3, 1, 4, 0, 2]


# Coming and going


def test_a_run_that_was_removed_is_silent(stage):
    screen, other = stage.screen(), stage.screen()
    stage.run(1)
    stage.pacer.remove(screen)
    stage.pacer.remove(screen)
    stage.run(20)
    assert (screen.flushes, screen.beats) == ([], [])
    assert len(other.beats) == 4


def test_a_flush_that_it_was_woken_for_still_happens(stage):
    screen = stage.screen()
    stage.pacer.wake(screen)
    stage.pacer.remove(screen)
    stage.run(20)
    assert len(screen.flushes) == 1
    assert screen.beats == []


def test_the_last_flush_of_a_run_does_not_wait_for_its_turn(stage):
    screen = stage.screen(takes=0.2)
    stage.pacer.wake(screen)
    stage.pacer.run_due()
    ended = stage.clock()
    stage.pacer.wake(screen)
    stage.pacer.remove(screen)
    stage.run(20)
    assert screen.flushes[1:] == [pytest.approx(ended, abs=1 / MESSAGES_A_SECOND)]


def test_a_run_that_ends_while_it_is_flushed_does_not_wait_either(stage):
    class Ending(Screen):
        def flush(self) -> bool:
            spoke = super().flush()
            if len(self.flushes) == 1:
                self.stage.pacer.wake(self)
                self.stage.pacer.remove(self)
            return spoke

    screen = Ending(stage, takes=0.2)
    stage.pacer.add(screen)
    stage.pacer.wake(screen)
    stage.run(20)
    first, *others = screen.flushes
    assert others == [pytest.approx(first + 0.2, abs=1 / MESSAGES_A_SECOND)]


def test_who_was_never_added_is_flushed_but_says_nothing_else(stage):
    screen = Screen(stage)
    stage.pacer.wake(screen)
    stage.run(20)
    assert (len(screen.flushes), screen.beats) == (1, [])


def test_when_nobody_is_left_nothing_is_planned_and_nothing_is_kept(stage):
    assert stage.pacer.run_due() is None
    screen = stage.screen()
    assert stage.pacer.run_due() == pytest.approx(HEARTBEAT)
    stage.pacer.wake(screen)
    stage.pacer.remove(screen)
    stage.run(1)
    assert stage.pacer.run_due() is None
    left = weakref.ref(screen)
    del screen
    gc.collect()
    assert left() is None


def test_it_knows_how_long_there_is_nothing_to_do(stage):
    screen = stage.screen()
    stage.pacer.later(3, lambda: None)
    assert stage.pacer.run_due() == pytest.approx(3)
    stage.pacer.wake(screen)
    assert stage.pacer.run_due() == pytest.approx(3)
    stage.pacer.wake(screen)
    assert stage.pacer.run_due() == pytest.approx(INTERVAL)


def test_later_is_once_and_in_order(stage):
    done = []
    began = stage.clock()
    for seconds, name in ((2, "c"), (1, "a"), (1, "b"), (0, "now")):
        stage.pacer.later(seconds, lambda name=name: done.append((name, round(stage.clock() - began, 3))))
    stage.run(10)
    assert done == [("now", 0), ("a", 1), ("b", 1), ("c", 2)]


def test_what_is_done_later_may_plan_more(stage):
    done = []
    stage.pacer.later(1, lambda: (done.append(1), stage.pacer.later(1, lambda: done.append(2))))
    stage.run(5)
    assert done == [1, 2]


# Faults


class MuteError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no str")


@pytest.mark.parametrize(("error", "said"), [(OSError("no screen"), "OSError: no screen"), (MuteError(), "MuteError")])
def test_a_fault_is_told_and_the_others_go_on(stage, error, said):
    broken, good = stage.screen(error=error), stage.screen()
    stage.pacer.later(1, lambda: 1 / 0)
    for screen in (broken, good):
        stage.pacer.wake(screen)
    with pytest.warns(AgentcellWarning) as caught:
        stage.run(6)
    assert Counter(str(one.message) for one in caught) == {
        f"showing a run failed: {said}": 2,
        "showing a run failed: ZeroDivisionError: division by zero": 1,
    }
    assert (len(broken.flushes), len(broken.beats)) == (1, 1)
    assert (len(good.flushes), len(good.beats)) == (1, 1)


def test_where_warnings_are_errors_a_fault_is_a_line_on_stderr(stage, capsys):
    broken, good = stage.screen(error=OSError("no screen")), stage.screen()
    for screen in (broken, good):
        stage.pacer.wake(screen)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stage.run(1)
    assert capsys.readouterr().err == "agentcell: showing a run failed: OSError: no screen\n"
    assert len(good.flushes) == 1


def test_the_clock_that_is_moved_by_hand_never_runs_backwards():
    clock = FakeClock(5.0)
    clock.advance(2)
    with pytest.raises(ValueError, match="seconds must be 0 or more, not -1"):
        clock.advance(-1)
    assert clock() == 7.0


# The thread


class Heard:
    """A target that a test can wait for."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.flushed = threading.Event()
        self.thread: threading.Thread | None = None
        self.error = error

    def flush(self) -> bool:
        self.thread = threading.current_thread()
        self.flushed.set()
        if self.error is not None:
            raise self.error
        return True

    def beat(self) -> None:
        """Nothing."""


def heard_by(pacer: Pacer) -> threading.Thread:
    """The thread that a flush happens in, after it has ended."""
    target = Heard()
    pacer.add(target)
    pacer.wake(target)
    assert target.flushed.wait(20)
    pacer.remove(target)
    assert target.thread is not None
    target.thread.join(20)
    assert not target.thread.is_alive()
    return target.thread


def test_the_thread_comes_when_it_is_needed_and_goes_when_nobody_is_watched():
    pacer = Pacer()
    assert pacer._thread is None
    first = heard_by(pacer)
    assert first is not threading.main_thread()
    assert first.daemon
    assert first.name == "agentcell-pacer"
    assert pacer._thread is None
    assert heard_by(pacer) is not first, "and comes again"


def test_the_thread_stays_for_what_is_to_be_done_later():
    pacer, done = Pacer(), threading.Event()
    pacer.later(0.01, done.set)
    thread = pacer._thread
    assert done.wait(20)
    thread.join(20)
    assert pacer._thread is None


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_died_is_replaced():
    pacer, fatal = Pacer(), Heard(error=SystemExit())
    pacer.add(fatal)
    pacer.wake(fatal)
    assert fatal.flushed.wait(20)
    fatal.thread.join(20)
    fatal.error = None
    fatal.flushed.clear()
    pacer.wake(fatal)
    assert fatal.flushed.wait(20)
    pacer.remove(fatal)
    fatal.thread.join(20)


def test_eight_threads_that_wake_at_once_lose_nobody():
    pacer, targets = Pacer(), [Heard() for _ in range(8)]
    together = threading.Barrier(8, timeout=20)

    def work(target: Heard) -> None:
        together.wait()
        pacer.add(target)
        for _ in range(100):
            pacer.wake(target)
        pacer.remove(target)

    workers = [threading.Thread(target=work, args=(target,)) for target in targets]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(20)
    assert all(target.flushed.wait(20) for target in targets)
    for target in targets:
        target.thread.join(20)
    assert pacer._thread is None
    assert pacer.run_due() is None


FORK = """
import os, threading
from agentcell.pacer import PACER

class Target:
    def __init__(self): self.flushed = threading.Event()
    def flush(self): self.flushed.set()
    def beat(self): pass

held, go_on = threading.Event(), threading.Event()
def hold():
    with PACER._woken:
        held.set()
        go_on.wait()

parents = Target()
PACER.add(parents)
PACER.wake(parents)
assert parents.flushed.wait(20)
parents.flushed.clear()
thread = threading.Thread(target=hold)
thread.start()
held.wait()
child = os.fork()
if child == 0:
    assert PACER.run_due() is None, "what the parent looks after stays there"
    own = Target()
    PACER.add(own)
    PACER.wake(own)
    ok = own.flushed.wait(20) and not parents.flushed.is_set()
    os._exit(0 if ok else 1)
_, status = os.waitpid(child, 0)
go_on.set()
thread.join()
assert os.waitstatus_to_exitcode(status) == 0
PACER.wake(parents)
assert parents.flushed.wait(20), "the parent's thread goes on"
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_begins_anew_and_never_waits_for_the_parents_threads():
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", FORK], timeout=60, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_program_that_ends_does_not_wait_for_it():
    code = "from agentcell.pacer import PACER; PACER.later(3600, print)"
    done = subprocess.run([sys.executable, "-c", code], timeout=60, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
