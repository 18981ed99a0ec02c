"""Which widgets of ended runs stay open, for a page that asks for them late; the others are closed, and free what they hold.

ipywidgets keeps each widget, here and in every page, until it is closed. But a page that was reloaded while the run went on has
nothing but the widget, and shows an error in its place when it finds it closed. So the newest stay, but for those whose cell was run
again: what a page saves of its widgets must not grow with each time.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentcell.cell_output import CellOutput
    from agentcell.run import Run

KEPT = 16
"""Ended runs whose widgets stay open: more than run between two times that a notebook is saved."""

PATIENCE = 60.0
"""Seconds after its end in which a run's widget is closed only if the final output has arrived: a page may be loading it just now."""

AWAITED = 64
"""Ended runs whose widgets stay open, whatever has arrived: a run that ends before its view is drawn is never heard of."""


@dataclass(frozen=True, slots=True, eq=False)
class Ended:
    """A run that has ended, and whose widget is open."""

    run: Run
    output: CellOutput
    since: float


class Shelf:
    """The ended runs whose widgets are open, the newest last. One thread alone uses it: the pacer's."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._ended: list[Ended] = []

    def put(self, run: Run, output: CellOutput) -> None:
        """Takes in a run that has ended, and closes the widgets that nobody will ask for any more."""
        self._ended.append(Ended(run, output, self._clock()))
        count = len(self._ended)
        over = [one for place, one in enumerate(self._ended, start=1) if self._is_over(one, count - place)]
        self._ended = [one for one in self._ended if one not in over]
        for one in over:
            one.run.cell.close()

    def _is_over(self, one: Ended, later: int) -> bool:
        """Whether nobody will ask for a widget any more, when so many runs have ended since."""
        newest = self._ended[-1]
        again = one.output.has_given_way_to(newest.output)
        if one.run.options.persist == "widget":  # as long as somebody looks at it, or may come back to do so
            return again and one.run.reach.gone
        if again:
            return True
        awaited = not one.run.reach.delivered and newest.since - one.since <= PATIENCE
        return later >= (AWAITED if awaited else KEPT)

    def forget(self) -> None:
        """After a fork: what it held is shown, and closed, by the parent."""
        self._ended = []


SHELF = Shelf()
"""The process's one shelf."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=SHELF.forget)
