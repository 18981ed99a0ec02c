"""A run where there is no notebook: its rows as lines of text, its answer at the end, and on a terminal a live line meanwhile."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, TextIO

from agentcell.live_line import LINE, LiveLine, has_colours
from agentcell.pacer import PACER, Pacer
from agentcell.render import render_header, render_step, running_title
from agentcell.snapshot import row_words, snapshot_text

if TYPE_CHECKING:
    from agentcell.projections.step import Step
    from agentcell.run import Run

_ENDS = {"done": "✓", "failed": "✕", "cancelled": "■"}
_STYLES = {"✕": "31", "■": "33"}


class TextSurface:
    """A run as lines: a row when it begins, and once more when something came of it that it did not say yet; the answer at the end.

    Nothing that was printed is rewritten, but for the live line. All goes to what was `sys.stdout` when the block was entered: who
    redirects it inside, to catch what a tool prints, catches nothing of this.
    """

    def __init__(self, *, pacer: Pacer = PACER, file: TextIO | None = None, line: LiveLine = LINE) -> None:
        self._pacer = pacer
        self._file = file
        self._line = line
        self._run: Run | None = None
        self._is_live = False
        self._has_news = True
        self._lines: list[str] = []  # that are not printed yet
        self._depths: list[int] = []
        self._running: set[int] = set()
        self._printing = threading.Lock()

    def open(self, run: Run) -> None:
        """Begins to print."""
        self._file = self._file or sys.stdout
        if self._file is None:  # as in a Windows program without a console
            return
        self._run = run
        self._is_live = self._line.join(self._file, self)
        run.subscribe(self)

    def close(self, run: Run) -> None:
        """Prints what is still missing, how it ended and the answer."""
        self._line.leave(self)
        with self._printing:
            if self._run is not None:
                self._lines += [*self._new_rows(run), self._end(run)]
                self._print(patient=False)
                self._run = None

    def before_asking(self) -> None:
        """Prints what waits: a question stands below it."""
        self.flush()

    def state_changed(self) -> None:
        """Called by the run: nothing is printed for a state alone."""

    def has_news(self) -> None:
        """Called by the run in the agent's thread, which does not wait for a terminal: the pacer's thread prints."""
        self._has_news = True
        self._pacer.wake(self)

    def beat(self) -> None:
        """Nothing: a terminal needs no sign of life."""

    def flush(self) -> bool:
        """Prints the rows that are new, unless the person is typing there."""
        with self._printing:
            run = self._run
            if run is not None:
                self._has_news = False
                self._lines += self._new_rows(run)
                self._print(patient=True)
        return True

    def tick(self) -> None:
        """Prints what had to wait."""
        if self._has_news or self._lines:
            self.flush()

    def tell(self) -> tuple[str, str] | None:
        """What the live line shows of it; nothing while it waits on the person."""
        run = self._run
        if run is None:
            return None
        projection = run.catch_up()
        with run.lock:
            if projection.life.waiting:
                return None
            header = render_header(projection, run.now())
        line = header["status_line"] or ("Writing the answer…" if header["status"] == "collapsed" else "")
        return running_title(header), line

    def _new_rows(self, run: Run) -> list[str]:
        steps = run.steps
        ended = [step for step in map(steps.__getitem__, sorted(self._running)) if step.state != "running"]
        self._running.difference_update(step.id for step in ended)
        rows = [self._row(step, _ENDS[step.state]) for step in ended if step.state != "done" or step.detail]
        for step in steps[len(self._depths) :]:
            self._depths.append(0 if step.parent is None else self._depths[step.parent] + 1)
            if step.state == "running":
                self._running.add(step.id)
            rows.append(self._row(step, "•"))
        return rows

    def _row(self, step: Step, sign: str) -> str:
        shown = render_step(step)
        words = shown["text"] if step.state == "running" else row_words(shown)
        return f"{'  ' * self._depths[step.id]}  {self._painted(sign, _STYLES.get(sign))} {words}"

    def _end(self, run: Run) -> str:
        heading, *rest = snapshot_text(run, rows=False).split("\n", 1)
        header = run.view.header
        sign = {"failed": "✕", "cancelled": "■", "limited": "■"}.get(header["outcome"] or "", "")
        if sign:
            sign = self._painted(sign, _STYLES[sign]) + " "
        title = heading.removesuffix(header["facts"])
        heading = sign + self._painted(title, "1") + self._painted(heading[len(title) :], "2")
        return "\n".join([heading, *rest])

    def _painted(self, text: str, style: str | None) -> str:
        return f"\x1b[{style}m{text}\x1b[0m" if text and style and self._is_live and has_colours() else text

    def _print(self, *, patient: bool) -> None:
        # A bare carriage return in an answer would let what follows stand over what was before.
        text = "\n".join(self._lines).replace("\r\n", "\n").replace("\r", "\n")
        if self._file is not None and self._lines and self._line.print(self._file, text, patient=patient):
            self._lines.clear()
