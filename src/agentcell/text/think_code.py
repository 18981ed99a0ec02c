"""Fenced code and code spans, in which no delimiter counts, on the lines of one channel."""

from __future__ import annotations

import re
from abc import abstractmethod
from typing import TYPE_CHECKING

from agentcell.text.think_delimiters import WHITESPACE
from agentcell.text.think_reading import Reading

if TYPE_CHECKING:
    from agentcell.text.think_result import Ledger

_TICK_OR_LINE_END = re.compile("[`\n]")
_TICKS = re.compile("`+")
BLANK_REST = re.compile(f"[{WHITESPACE.replace(chr(10), '')}]*")


class CodeReading(Reading):
    """Reading that knows where code begins and ends.

    A run of backticks may be text or the beginning of code, and only the rest of its line tells. Until that line ends
    what follows the run counts as code. If no equal run came, it is read once more, now with the runs of the line known,
    so that no character is read a third time.

    Attributes:
        indent: The number of spaces before `pos` if a fence may begin here, else -1.
        code_counts: Does code protect delimiters on this channel?
    """

    __slots__ = (
        "_closing_blanks",
        "_count",
        "_fence",
        "_fence_run",
        "_last_runs",
        "_line_end",
        "_may_be_fence",
        "_other_runs",
        "_run",
        "_run_end",
        "_solid_at_run",
        "code_counts",
        "indent",
    )

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger)
        self.indent = 0
        self.code_counts = True
        self._run = 0  # length of the run of backticks that may begin code
        self._run_end = 0
        self._solid_at_run = 0  # what the channel held behind that run
        self._may_be_fence = False
        self._other_runs = False  # more runs follow on the line
        self._count = 0  # characters of the run that is being read
        self._line_end = -1  # up to here the runs of the current line are known: the last place of each length
        self._last_runs: dict[int, int] = {}
        self._fence = ""
        self._fence_run = 0
        self._closing_blanks = False  # nothing but spaces and tabs follows the closing run so far

    @property
    def may_go_back(self) -> bool:
        """Whether what was read since a run of backticks may have to be read once more."""
        return self.state in (self._read_run, self._read_span, self._read_second_run)

    @abstractmethod
    def closer_behind_fence(self, place: int) -> bool | None:
        """Does a closer stand at `place` of the window, behind the end of a fence? None: there may, once more has come."""

    def forget_line(self) -> None:
        """Reading goes on at an earlier line than the one whose runs of backticks are known."""
        self._line_end = -1

    def begin_line(self) -> None:
        """From here a fence may begin, if the line of the channel is blank so far, and spans are counted anew."""
        self.indent = 0 if self.code_counts and not self.line.solid else -1
        if self._last_runs and self.pos > self._line_end:
            self._last_runs = {}

    def reads_code(self) -> bool:
        """At the place where a fence may begin, or at a backtick: goes into it, and returns whether it did something."""
        place = self.pos - self.base
        character = self.window[place : place + 1]
        if character == "`":
            self._may_be_fence = self.indent >= 0
            self._count = 0
            self.state = self._read_run
        elif self.indent < 0:
            return False
        elif character == "~":
            self._count = 0
            self.state = self._read_tildes
        elif character == " " and self.indent < 3:
            self.take(place + 1)
            self.indent += 1
        else:
            if character:
                self.indent = -1
            return False
        return True

    def _count_run(self, character: str) -> bool:
        """Takes a run of `character`; returns whether its end was seen."""
        place = start = self.pos - self.base
        while self.window.startswith(character, place):
            place += 1
        self._count += place - start
        self.take(place)
        return place < len(self.window) or self.final

    def _read_tildes(self) -> bool:
        if not self._count_run("~"):
            return False
        if self._count >= 3:
            self._begin_fence("~", self._count)
        else:
            self._to_text()
        return True

    def _read_run(self) -> bool:
        """The run that may begin code."""
        if not self._count_run("`"):
            return False
        self._run, self._run_end, self._solid_at_run = self._count, self.pos, self.channel.length
        self._other_runs = False
        if self.pos <= self._line_end and self._last_runs.get(self._run, -1) < self.pos:
            self._other_runs = any(last >= self.pos for last in self._last_runs.values())
            return self._end_unmatched()
        self.state = self._read_span
        return True

    def _read_span(self) -> bool:
        """What follows that run, up to an equal one or the end of the line."""
        found = _TICK_OR_LINE_END.search(self.window, self.pos - self.base)
        self.take(found.start() if found else len(self.window))
        if found and found.group() == "`":
            self._count = 0
            self.state = self._read_second_run
            return True
        if found or self.final:
            return self._end_unmatched()
        return False

    def _read_second_run(self) -> bool:
        if not self._count_run("`"):
            return False
        if self._count == self._run:
            self._to_text()
        else:
            self._other_runs = True
            self.state = self._read_span
        return True

    def _end_unmatched(self) -> bool:
        """No equal run follows on the line, of which everything up to `pos` has been read."""
        if self._may_be_fence and self._run >= 3 and not self._other_runs:
            self._begin_fence("`", self._run)
            return True
        if self.pos > self._line_end:
            self._line_end = self.pos
            self._last_runs = {}
            if self._other_runs:
                rest = self.source.slice(self._run_end, self.pos)
                self._last_runs = {len(run.group()): self._run_end + run.start() for run in _TICKS.finditer(rest)}
        if self.pos > self._run_end:
            self.channel.cut(self._solid_at_run, solid=self._solid_at_run)
            self.line.solid = self.line.last = "`"
            self.seek(self._run_end)
        self._to_text()
        return True

    def _to_text(self) -> None:
        self.indent = -1
        self.state = self.read_text

    def _begin_fence(self, character: str, run: int) -> None:
        self._fence, self._fence_run = character, run
        self.state = self._read_fence_line

    def _read_fence_line(self) -> bool:
        line_end = self.window.find("\n", self.pos - self.base)
        if line_end < 0:
            self.take(len(self.window))
            return False
        self.take(line_end + 1)
        self._count = 0
        self.state = self._read_fence_indent
        return True

    def _read_fence_indent(self) -> bool:
        place = self.pos - self.base
        character = self.window[place : place + 1]
        if not character:
            return False
        if character == " " and self._count < 3:
            self.take(place + 1)
            self._count += 1
        elif character == self._fence:
            self._count = 0
            self.state = self._read_closing_run
        else:
            self.state = self._read_fence_line
        return True

    def _read_closing_run(self) -> bool:
        if not self._count_run(self._fence):
            return False
        self._closing_blanks = True
        self.state = self._read_behind_fence if self._count >= self._fence_run else self._read_fence_line
        return True

    def _read_behind_fence(self) -> bool:
        """The rest of a line that ends the fence if it is blank."""
        start = self.pos - self.base
        found = BLANK_REST.match(self.window, start)
        place = found.end() if found else start
        self._closing_blanks = self._closing_blanks and not self.window[start:place].strip(" \t")
        self.take(place)
        if place == len(self.window):
            return False
        if self.window[place] == "\n":
            self.take(place + 1)
            self.begin_line()
            self.state = self.read_text
            return True
        closes = self.closer_behind_fence(place) if self._closing_blanks else False
        if closes is None:
            return False
        if closes:
            self._to_text()
        else:
            self.state = self._read_fence_line
        return True
