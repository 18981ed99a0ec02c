"""The place up to which a text has been read, and the channel that takes what is read there."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from agentcell.text.think_delimiters import WHITESPACE
from agentcell.text.think_source import STRETCH

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentcell.text.think_result import Ledger


class Line:
    """What has to be known about the current line of a channel.

    Attributes:
        width: Its number of characters as long as it is blank; 4 stands for more.
        tab: A tab is among them.
        solid: Its last visible character, or nothing.
        last: Its last character, or nothing.
    """

    __slots__ = ("last", "solid", "tab", "width")

    def __init__(self) -> None:
        self.width = 0
        self.tab = False
        self.solid = self.last = ""

    @property
    def is_margin(self) -> bool:
        """Does it hold so little that what follows still stands at the start of the line?"""
        return not self.solid and self.width < 4 and not self.tab

    def add(self, text: str, solid: int) -> None:
        """Goes on with `text`, whose first `solid` characters are what its trailing whitespace leaves."""
        start = text.rfind("\n") + 1
        if start:
            self.width, self.tab, self.solid, self.last = 0, False, "", ""
            if start == len(text):
                return
        self.last = text[-1]
        if solid > start:
            self.solid = text[solid - 1]
        elif not self.solid:
            self.width = min(4, self.width + len(text) - start)
            self.tab = self.tab or "\t" in text[start:]

    def copy(self) -> Line:
        """The same once more."""
        line = Line()
        line.width, line.tab, line.solid, line.last = self.width, self.tab, self.solid, self.last
        return line


class Reading(ABC):
    """Reads the source once from front to back; where it must know more than there is, it waits.

    Attributes:
        pos: The place in the source of the next character.
        window: The source around `pos`; `base` is the place of its first character.
        final: The window reaches the end of the text, and nothing will follow.
        channel: What takes the text.
        line: The current line of the channel.
        state: Reads on; returns whether there may be more to read in the window.
        mentions: Places before `pos`, the first one first, that the window must still show.
        handover: The place from which somebody else must read; None as long as this goes on.
    """

    __slots__ = (
        "at_end",
        "base",
        "channel",
        "final",
        "handover",
        "ledger",
        "line",
        "mentions",
        "pos",
        "source",
        "state",
        "window",
    )

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.source = ledger.source
        self.pos = self.base = 0
        self.window = ""
        self.at_end = self.final = False
        self.channel = ledger.answer
        self.line = Line()
        self.state: Callable[[], bool] = self.read_text
        self.mentions: list[int] = []
        self.handover: int | None = None

    @abstractmethod
    def read_text(self) -> bool:
        """The state in which delimiters are looked for."""

    @abstractmethod
    def recall_mentions(self) -> None:
        """Judges the mentions that could not be judged before."""

    def read(self, *, at_end: bool = False) -> None:
        """Reads all there is; `at_end` says that this is the whole text."""
        self.at_end = at_end
        while True:
            self._open_window()
            if self.mentions:
                self.recall_mentions()
            while self.state():
                pass
            all_read = self.base + len(self.window) == len(self.source)
            if all_read or self.handover is not None:
                self.base, self.window = self.pos, ""
                return

    def seek(self, place: int) -> None:
        """Goes on reading at `place`."""
        self.pos = place
        if not self.base <= place <= self.base + len(self.window):
            self._open_window()

    def _open_window(self) -> None:
        self.base = min(self.pos, self.mentions[0]) if self.mentions else self.pos
        end = min(len(self.source), self.pos + STRETCH)
        self.window = self.source.slice(self.base, end)
        self.final = self.at_end and end == len(self.source)

    def take(self, end: int) -> None:
        """Gives the text up to place `end` of the window to the channel."""
        text = self.window[self.pos - self.base : end]
        if not text:
            return
        start, self.pos = self.pos, self.base + end
        solid = len(text.rstrip(WHITESPACE))
        self.line.add(text, solid)
        self.put(start, text, solid)

    def put(self, start: int, text: str, solid: int) -> None:
        """Adds `text`, which begins at place `start` of the source, to the channel."""
        if self.channel is not self.ledger.answer and not self.channel.solid:
            # Reasoning does not begin with whitespace.
            lead = len(text) - len(text.lstrip(WHITESPACE))
            start, text, solid = start + lead, text[lead:], max(0, solid - lead)
        self.channel.add(start, start + len(text), solid=solid)

    def skip(self, end: int) -> None:
        """Passes over the text up to place `end` of the window: it goes nowhere."""
        self.pos = self.base + end
