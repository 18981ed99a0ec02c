"""Where the text went: the answer and the reasoning as stretches of the source, and what changed since the last look."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentcell.text.think_source import Source


@dataclass(frozen=True, slots=True)
class SplitText:
    """A text divided into what the model thought and what it answered.

    Attributes:
        reasoning: One entry a block, in order; none is blank.
        answer: Everything else.
        truncated: The finished text ended inside its reasoning and has no answer; the last entry may hold one.
    """

    reasoning: tuple[str, ...]
    answer: str
    truncated: bool


@dataclass(frozen=True, slots=True)
class SplitChange:
    """What turns the result of the last look into the present one.

    Attributes:
        answer_keep: So many characters of the answer stay; what was behind them is gone.
        answer_added: What stands behind them now.
        reasoning_keep: So many entries stay as they were; what was behind them is gone, but for the next line.
        entry_keep: So many characters of the next entry stay, and the first string added goes behind them.
        reasoning_added: The entries behind those that stay.
        truncated: As in `SplitText`.
    """

    answer_keep: int
    answer_added: str
    reasoning_keep: int
    entry_keep: int
    reasoning_added: tuple[str, ...]
    truncated: bool


class Channel:
    """A text made of stretches of the source.

    Attributes:
        length: Its number of characters.
        solid: Its number of characters without trailing whitespace; 0 if it is blank.
        shown: Its number of characters that count: `length`, or `solid` while it is trimmed.
        trace: Its opener said that it is a tool trace.
    """

    __slots__ = ("_again", "_again_end", "_pieces", "_same", "_seen", "length", "shown", "solid", "trace")

    def __init__(self) -> None:
        self._pieces = array("q")  # start, end, start, end, … in the source
        self.length = self.solid = self.shown = 0
        self.trace = False
        self._seen = 0  # its length at the last look
        self._same = 0  # so many characters are what they were at the last look
        self._again = self._again_end = -1  # the stretch that was seen right behind those

    @property
    def end(self) -> int:
        """The place in the source where its last stretch ends."""
        return self._pieces[-1]

    @property
    def start(self) -> int:
        """The place in the source where its first stretch begins."""
        return self._pieces[0]

    def add(self, start: int, end: int, *, solid: int) -> None:
        """Adds a stretch of the source; its first `solid` characters are what its trailing whitespace leaves."""
        if start == end:
            return
        if solid:
            self.solid = self.length + solid
        if self.length == self._same and start == self._again:
            # Text that was taken back stands in its place again: nothing changed.
            self._same += min(end, self._again_end) - start
            self._again = min(end, self._again_end)
        if self._pieces and self._pieces[-1] == start:
            self._pieces[-1] = end
        else:
            self._pieces.extend((start, end))
        self.length += end - start
        self.shown = self.length

    def cut(self, length: int, *, solid: int) -> None:
        """Keeps the first `length` characters, of which the last visible one is number `solid`."""
        again = again_end = -1
        while self.length > length:
            start, end = self._pieces[-2:]
            kept = max(0, end - start - (self.length - length))
            again, again_end = start + kept, end
            self.length -= end - start - kept
            if kept:
                self._pieces[-1] = again
            else:
                del self._pieces[-2:]
        self.solid, self.shown = solid, length
        if length < self._same:
            self._again, self._again_end = again, min(again_end, again + self._same - length)
            self._same = length

    def trim(self) -> None:
        """Its trailing whitespace does not count for now."""
        self.shown = self.solid
        self._same = min(self._same, self.solid)

    def untrim(self) -> None:
        """Its trailing whitespace counts again."""
        self.shown = self.length

    def text(self, source: Source, start: int = 0) -> str:
        """Its characters from number `start` on; costs no more than their number."""
        parts: list[str] = []
        place, end = len(self._pieces), self.length
        while end > start:
            place -= 2
            first, last = self._pieces[place : place + 2]
            begin = end - (last - first)
            if begin < self.shown:
                parts.append(source.slice(first + max(0, start - begin), last - max(0, end - self.shown)))
            end = begin
        return "".join(reversed(parts))

    @property
    def changed(self) -> bool:
        """Is it another text than at the last look?"""
        return self._same < self._seen or self._same < self.shown

    def look(self, source: Source) -> tuple[int, str]:
        """How many characters of the last look stay, and what stands behind them now."""
        kept = self._same
        self._seen = self._same = self.shown
        self._again = self._again_end = -1
        return kept, self.text(source, kept)


class Ledger:
    """Both outputs. Only the last entry ever changes, and only the last one may be blank; a blank one is not listed."""

    __slots__ = ("_kept", "_told_truncated", "answer", "entries", "source", "truncated")

    def __init__(self, source: Source) -> None:
        self.source = source
        self.answer = Channel()
        self.entries: list[Channel] = []
        self.truncated = False
        self._kept = 0  # so many entries were there at the last look and still are
        self._told_truncated = False

    def new_entry(self) -> Channel:
        """An entry behind the others."""
        self.entries.append(Channel())
        return self.entries[-1]

    def drop_blank(self) -> None:
        """Forgets the last entry if it is blank."""
        if self.entries and not self.entries[-1].solid:
            self.entries.pop()
            self._kept = min(self._kept, len(self.entries))

    def clear(self) -> None:
        """Takes everything back."""
        self.answer.cut(0, solid=0)
        self.entries.clear()
        self._kept = 0

    def result(self) -> SplitText:
        """Both outputs as they stand."""
        reasoning = tuple(entry.text(self.source) for entry in self._listed(0))
        return SplitText(reasoning, self.answer.text(self.source), self.truncated)

    def take_change(self) -> SplitChange | None:
        """What changed since the last call; None if nothing did."""
        listed = len(self.entries) - bool(self.entries and not self.entries[-1].solid)
        kept = min(self._kept, listed)
        before = self._kept
        self._kept = listed
        first = kept - 1 if kept and self.entries[kept - 1].changed else kept
        if first == before == listed and not self.answer.changed and self.truncated == self._told_truncated:
            return None
        self._told_truncated = self.truncated
        looks = [entry.look(self.source) for entry in self._listed(first)]
        return SplitChange(
            *self.answer.look(self.source),
            reasoning_keep=first,
            entry_keep=looks[0][0] if looks else 0,
            reasoning_added=tuple(added for _, added in looks),
            truncated=self.truncated,
        )

    def _listed(self, first: int) -> list[Channel]:
        return [entry for entry in self.entries[first:] if entry.solid]
