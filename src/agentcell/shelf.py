"""Which widgets of ended runs stay open, for a page that asks for them late; the others are closed, and free what they hold.

ipywidgets keeps each widget, here and in every page, until it is closed. But a page that was reloaded while the run went on has
nothing but the widget, and shows an error in its place when it finds it closed. So the newest stay.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentcell.run import Run

KEPT = 16
"""Ended runs whose widgets stay open: more than run between two times that a notebook is saved."""

PATIENCE = 60.0
"""Seconds after its end in which a run's widget is closed only if the final output has arrived: a page may be loading it just now."""

AWAITED = 64
"""Ended runs whose widgets stay open, whatever has arrived: a run that ends before its view is drawn is never heard of."""


class Shelf:
    """The ended runs whose widgets are open, the newest last. One thread alone uses it: the pacer's."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._runs: list[tuple[float, Run]] = []

    def put(self, run: Run) -> None:
        """Takes in a run that has ended, and closes the widgets that nobody will ask for any more."""
        now = self._clock()
        self._runs.append((now, run))
        stay: list[tuple[float, Run]] = []
        over: list[tuple[float, Run]] = []
        for later, (since, one) in zip(range(len(self._runs))[::-1], self._runs, strict=True):
            awaited = later < AWAITED and not one.reach.delivered and now - since <= PATIENCE
            (stay if later < KEPT or awaited else over).append((since, one))
        self._runs = stay
        for _, one in over:
            one.cell.close()

    def forget(self) -> None:
        """After a fork: what it held is shown, and closed, by the parent."""
        self._runs = []


SHELF = Shelf()
"""The process's one shelf."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=SHELF.forget)
