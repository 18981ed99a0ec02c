"""A run in a marimo notebook: live as a widget among the cell's outputs, and at the end as HTML in its place.

While a cell runs, marimo takes messages to the page and none from it. A page that missed a patch, because it had not loaded the
widget's script yet, cannot ask for what it missed; so everything is sent from time to time, whether or not anybody asks.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from agentcell.pacer import PACER, Pacer
from agentcell.snapshot import snapshot_html

if TYPE_CHECKING:
    from agentcell.run import Run

FIRST = 0.5
"""Seconds until everything is sent for the first time."""

LAST = 8.0
"""Seconds between two times at the most: they begin with `FIRST` and double."""


def running_marimo() -> Any:
    """The module `marimo` when this code runs in a cell of it, else None; it is not imported to find out."""
    marimo = sys.modules.get("marimo")
    return marimo if marimo is not None and marimo.running_in_notebook() else None


class MarimoSurface:
    """A run among the outputs of the marimo cell that entered it."""

    def __init__(self, marimo: Any, *, pacer: Pacer = PACER) -> None:
        self._marimo = marimo
        self._pacer = pacer
        self._place: int | None = None
        self._cell_id: str | None = None
        self._sent = 0

    def open(self, run: Run) -> None:
        """Adds the widget to the cell's outputs."""
        self._marimo.output.append(run.cell)
        self._send_all(run, after=FIRST)
        self._pacer.later(0.0, run.view.make_ready)
        running = self._running()
        self._cell_id = running.cell_id
        self._place = len(running.output) - 1

    def close(self, run: Run) -> None:
        """Puts the final HTML in the widget's place. Once the cell has ended that place is gone: then the widget shows the end."""
        running = self._running()
        here = self._place is not None and running is not None and running.cell_id == self._cell_id
        if here and run.options.persist == "snapshot":
            self._marimo.output.replace_at_index(self._marimo.Html(snapshot_html(run)), self._place)
        else:
            run.cell.send_all()

    def before_asking(self) -> None:
        """Nothing: a page shows what is new within a moment, and the question elsewhere."""

    def _send_all(self, run: Run, *, after: float) -> None:
        def send() -> None:
            if run.outcome is not None:
                return
            if run.cell.seq != self._sent:
                self._sent = run.cell.seq
                run.cell.send_all()
            self._send_all(run, after=min(after * 2, LAST))

        self._pacer.later(after, send)

    def _running(self) -> Any:
        """What marimo runs now, in this thread: a cell's id and its outputs. There is no public way to ask for them."""
        context = self._marimo._runtime.context.safe_get_context()  # noqa: SLF001
        return None if context is None else context.execution_context
