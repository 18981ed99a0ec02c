"""When to send: one thread for the whole process, which keeps all runs together under what a notebook server takes.

A Jupyter server drops everything above 1,000 messages a second for three seconds, and the last state with it. So each run sends at
most 20 times a second, and all of them together at most `MESSAGES_A_SECOND`; the rest up to a hundred is left to the ends of runs,
which do not wait for their turn.
"""

from __future__ import annotations

import heapq
import itertools
import os
import threading
import time
from typing import TYPE_CHECKING, Protocol

from agentcell.errors import describe_error, warn

if TYPE_CHECKING:
    from collections.abc import Callable

INTERVAL = 0.05
"""Seconds between two flushes of one run, at the least."""

MESSAGES_A_SECOND = 48
"""Flushes of all runs together."""

HEARTBEAT = 5.0
"""Seconds of silence after which a run that is watched says that it lives."""

_SHARE = 10  # A flush that took t seconds is followed by 10 t of rest: showing a run takes a tenth of a core at the most.


class Flushable(Protocol):
    """Something that has news from time to time."""

    def flush(self) -> bool:
        """Sends the news, if there are any; returns whether there were, and so whether it is known to live."""

    def beat(self) -> None:
        """Says that it lives."""


class Pacer:
    """Flushes what was woken, no faster than the limits allow.

    `run_due` does the work and can be called by hand with any clock; `start=False` keeps the thread away, for tests.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic, start: bool = True) -> None:
        self._clock = clock
        self._threaded = start
        self._woken = threading.Condition()
        self._thread: threading.Thread | None = None
        self._targets: dict[Flushable, float] = {}  # when each may flush again; one that nobody watches is here until then
        self._last_words: dict[Flushable, float] = {}  # when each that is watched said something
        self._due: dict[Flushable, float] = {}  # since when each has news
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._next_slot = 0.0

    def add(self, target: Flushable) -> None:
        """Begins to look after `target`: heartbeats from now on, flushes when it is woken."""
        with self._woken:
            now = self._clock()
            self._targets[target] = now
            self._last_words[target] = now
            self._run_thread()

    def remove(self, target: Flushable) -> None:
        """Ends looking after `target`; a flush that it was woken for still happens, and does not wait for its turn."""
        with self._woken:
            self._last_words.pop(target, None)
            if target in self._due:
                self._targets[target] = 0.0
            else:
                self._targets.pop(target, None)
            self._woken.notify()  # the thread may have nothing to wait for any more

    def wake(self, target: Flushable) -> None:
        """Says that `target` has news. Takes a microsecond, from any thread."""
        with self._woken:
            self._due.setdefault(target, self._clock())
            self._targets.setdefault(target, 0.0)
            self._run_thread()

    def later(self, seconds: float, action: Callable[[], None]) -> None:
        """Does `action` once, after so many seconds."""
        with self._woken:
            heapq.heappush(self._timers, (self._clock() + seconds, next(self._order), action))
            self._run_thread()

    def run_due(self) -> float | None:
        """Does all that is due now; returns the seconds until there is more to do, None when nothing is planned."""
        while True:
            with self._woken:
                now = self._clock()
                action = self._next_action(now)
                if action is None:
                    return self._wait(now)
            action()

    def _next_action(self, now: float) -> Callable[[], None] | None:
        if self._timers and self._timers[0][0] <= now:
            return _guarded(heapq.heappop(self._timers)[2])
        for target in self._resting():
            if self._targets[target] <= now:
                del self._targets[target]
        if self._next_slot > now:
            return None
        flush = next((target for target in self._due if self._targets[target] <= now), None)
        beat = min(self._last_words, key=self._last_words.__getitem__, default=None)
        if beat is not None and self._last_words[beat] + HEARTBEAT <= (now if flush is None else min(now, self._due[flush])):
            self._last_words[beat] = now
            self._next_slot = now + 1 / MESSAGES_A_SECOND
            return _guarded(beat.beat)
        if flush is not None:
            del self._due[flush]
            self._next_slot = now + 1 / MESSAGES_A_SECOND
            return lambda: self._flush(flush)
        return None

    def _resting(self) -> list[Flushable]:
        """Those that nobody watches any more, and that are kept only so that they do not flush again too soon."""
        return [target for target in self._targets if target not in self._last_words and target not in self._due]

    def _flush(self, target: Flushable) -> None:
        began = self._clock()
        watched = target in self._last_words
        spoke = False

        def flush() -> None:
            nonlocal spoke
            spoke = target.flush()

        _guarded(flush)()
        ended = self._clock()
        with self._woken:
            self._targets[target] = max(began + INTERVAL, ended + _SHARE * (ended - began))
            if target in self._last_words:
                if spoke:
                    self._last_words[target] = ended
            elif watched:  # its end came while it was flushed
                self._targets[target] = 0.0

    def _wait(self, now: float) -> float | None:
        times = [when for when, _, _ in self._timers[:1]]
        times += [max(self._next_slot, min(self._targets[target] for target in self._due))] if self._due else []
        times += [max(self._next_slot, min(self._last_words.values()) + HEARTBEAT)] if self._last_words else []
        times += [self._targets[target] for target in self._resting()]
        return max(0.0, min(times) - now) if times else None

    def _run_thread(self) -> None:
        """With the lock held: sees to it that somebody does what is due."""
        if not self._threaded:
            return
        if self._thread is None or not self._thread.is_alive():
            thread = threading.Thread(target=self._work, name="agentcell-pacer", daemon=True)
            thread.start()  # may fail, when Python is about to end or has no more threads
            self._thread = thread
        else:
            self._woken.notify()

    def _work(self) -> None:
        while True:
            wait = self.run_due()
            with self._woken:
                if self._timers or self._targets:
                    self._woken.wait(self._wait(self._clock()) if wait is not None else 0)
                else:  # Nobody is watched any more: the thread ends, and the next run starts another.
                    self._thread = None
                    return

    def forget(self) -> None:
        """After a fork: the thread stayed with the parent, and so did everything that it looked after."""
        self.__init__(clock=self._clock, start=self._threaded)  # type: ignore[misc]


def _guarded(action: Callable[[], None]) -> Callable[[], None]:
    def guarded() -> None:
        try:
            action()
        except Exception as error:  # noqa: BLE001 - the edge of this thread: a fault here must not end the display of other runs
            warn(f"showing a run failed: {describe_error(error)}")

    return guarded


PACER = Pacer()
"""The process's one pacer."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=PACER.forget)
