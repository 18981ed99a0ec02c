"""Which widgets of ended runs stay open, for a page that asks for them late; the others are closed, and free what they hold.

ipywidgets keeps each widget, here and in every page, until it is closed. But a page that was reloaded while the run went on has
nothing but the widget, and shows an error in its place when it finds it closed. So the newest stay.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

KEPT = 16
"""Ended runs whose widgets stay open: more than run between two times that a notebook is saved."""

PATIENCE = 60.0
"""Seconds after its end in which a run's widget is closed only if the final output has arrived: a page may be loading it just now."""


class Closable(Protocol):
    """A widget of a run that has ended."""

    left: bool
    """Whether the final output has arrived in a page."""

    def close(self) -> None:
        """Ends it, here and in all pages."""


class Shelf:
    """The widgets of ended runs, the newest last. One thread alone uses it: the pacer's."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._cells: list[tuple[float, Closable]] = []

    def put(self, cell: Closable) -> None:
        """Takes in a widget whose run has ended, and closes those that nobody will ask for any more."""
        now = self._clock()
        self._cells.append((now, cell))
        older, newest = self._cells[:-KEPT], self._cells[-KEPT:]
        over = [(since, old) for since, old in older if old.left or now - since > PATIENCE]
        self._cells = [entry for entry in older if entry not in over] + newest
        for _, old in over:
            old.close()

    def forget(self) -> None:
        """After a fork: what it held is shown, and closed, by the parent."""
        self._cells = []


SHELF = Shelf()
"""The process's one shelf."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=SHELF.forget)
