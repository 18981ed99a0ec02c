"""Whether what the reader does in a view reaches a run while its code is busy: known from what has come in, not from the host's name.

A view says so when it opens. What came in by another thread than the one that waits comes in while that one waits; what came in by
the same one does so only as long as that thread runs an event loop.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

GREETING = 3.0
"""Seconds that a view has, from its display on, to say that it is there; then the console asks in its place."""


class Reach:
    """The views of one run that can be heard, and who waits to hear from them."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._views: set[str] = set()
        self._arrived = False
        self._delivered = False
        self._heard_by: tuple[threading.Thread, ...] = ()  # two are enough to know one that is not the one who asks
        self._until = float("-inf")  # when it is too late for a view that is on its way
        self._waiting: dict[int, Callable[[], None]] = {}
        self._lock = threading.Lock()

    def expect(self) -> None:
        """A page was told to show the run."""
        self._until = self._clock() + GREETING

    def hear(self) -> None:
        """Something came in from a view, by this thread."""
        thread = threading.current_thread()
        self._heard_by = (thread, *(one for one in self._heard_by if one is not thread))[:2]

    def arrive(self, view: str) -> None:
        """A view is in a page."""
        with self._lock:
            self._views.add(view)
            self._arrived = True
        self.wake()

    def leave(self, view: str, *, over: bool) -> None:
        """A view has left its page; another may come in its place, as when a host draws an output anew.

        Args:
            view: Which one.
            over: Whether the run has ended, so that it is the final output that has taken the view's place.
        """
        with self._lock:
            self._delivered |= over
            if view in self._views:
                self._views.discard(view)
                self._until = self._clock() + GREETING
        self.wake()

    @property
    def seen(self) -> bool:
        """Whether a view is in a page that can be heard; the page may have been reloaded since."""
        return bool(self._views)

    @property
    def gone(self) -> bool:
        """Whether views were in a page and all have left, as they do when the reader clears the output."""
        return self._arrived and not self._views

    @property
    def delivered(self) -> bool:
        """Whether the final output has arrived in a page."""
        return self._delivered

    def patience(self, *, awaiting: bool) -> float | None:
        """How many seconds the calling thread shall wait for a view: None when one is there, 0.0 when none will come.

        Args:
            awaiting: Whether the thread's event loop goes on while it waits, so that it hears what comes in by itself.
        """
        with self._lock:
            thread = threading.current_thread()
            if self._views and any(awaiting or one is not thread for one in self._heard_by):
                return None
            return max(0.0, self._until - self._clock())

    @contextmanager
    def waking(self, wake: Callable[[], None]) -> Iterator[None]:
        """Inside, `wake` is called, from any thread, whenever something may be different; it must return at once."""
        key = id(wake)
        self._waiting[key] = wake
        try:
            yield
        finally:
            del self._waiting[key]

    def wake(self) -> None:
        """Something is different for those who wait."""
        for wake in tuple(self._waiting.values()):
            wake()
