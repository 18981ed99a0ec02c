"""A run where there is no notebook: lines of text."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, TextIO

from agentcell.markup import showable
from agentcell.pacer import PACER, Pacer
from agentcell.snapshot import snapshot_text

if TYPE_CHECKING:
    from agentcell.run import Run


class TextSurface:
    """A run as lines in a terminal or a log: a row when it begins and when it failed, the answer at the end."""

    def __init__(self, *, pacer: Pacer = PACER, file: TextIO | None = None) -> None:
        self._pacer = pacer
        self._file = file
        self._run: Run | None = None
        self._told = 0
        self._printing = threading.Lock()

    def open(self, run: Run) -> None:
        """Begins to print."""
        self._run = run
        run.subscribe(self)

    def close(self, run: Run) -> None:
        """Prints what is still missing, how it ended and the answer."""
        self.flush()
        self._print(snapshot_text(run, rows=False))

    def state_changed(self) -> None:
        """Called by the run: nothing is printed for a state alone."""

    def has_news(self) -> None:
        """Called by the run in the agent's thread, which does not wait for a terminal: the pacer's thread prints."""
        self._pacer.wake(self)

    def beat(self) -> None:
        """Nothing: a terminal needs no sign of life."""

    def flush(self) -> None:
        """Prints the rows that are new."""
        if self._run is None:
            return
        with self._printing:
            steps = self._run.steps[self._told :]
            self._told += len(steps)
            for step in steps:
                self._print(f"  • {showable(step.text)}")

    def _print(self, text: str) -> None:
        file = self._file or sys.stdout
        encoding = getattr(file, "encoding", None) or "utf-8"
        # What the terminal's encoding does not have is shown as a question mark: a run is not lost for its bullets.
        print(text.encode(encoding, "replace").decode(encoding), file=file, flush=True)
