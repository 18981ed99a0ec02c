"""The text of one source, divided into reasoning and answer before anything of it is shown."""

from __future__ import annotations

from dataclasses import dataclass

from agentcell.text.control_tokens import ControlTokenFilter
from agentcell.text.think import ReasoningSplitter, SplitChange


@dataclass(frozen=True, slots=True)
class Thought:
    """A block of reasoning that changed: `keep` characters of it stand as they were, then comes `added`."""

    place: int
    keep: int
    added: str


@dataclass(frozen=True, slots=True)
class Division:
    """What more text of a source did.

    Attributes:
        thoughts: Blocks of reasoning that are new or changed, by their place among those of the source.
        gone: From this place on no block is reasoning any more; None when all still are.
        answer: The whole answer, where it did not only grow; else None.
        added: What came to the answer's end.
    """

    thoughts: tuple[Thought, ...] = ()
    gone: int | None = None
    answer: str | None = None
    added: str = ""

    @property
    def only_grows(self) -> bool:
        """Whether nothing happened but that the answer may have grown."""
        return not self.thoughts and self.gone is None and self.answer is None


class SourceSplitting:
    """Divides the text of one source while it arrives; control tokens of chat templates go.

    Attributes:
        rows: Where the blocks of reasoning are shown, in their order; for whoever shows them.
    """

    def __init__(self) -> None:
        self.rows: list[int] = []
        self._splitter = ReasoningSplitter()
        self._filter = ControlTokenFilter()
        self._answer_length = 0  # before the filter
        self._lengths: list[int] = []  # of the blocks of reasoning

    def feed(self, text: str) -> Division:
        """Goes on with `text`."""
        self._splitter.feed(text)
        return self._divided(self._splitter.take_change())

    def finish(self) -> Division:
        """Nothing follows: what was held back is told."""
        self._splitter.finish()
        division = self._divided(self._splitter.take_change())
        held = self._filter.finish()
        if division.answer is not None:
            return Division(division.thoughts, division.gone, division.answer + held)
        return Division(division.thoughts, division.gone, None, division.added + held)

    def _divided(self, change: SplitChange | None) -> Division:
        if change is None:
            return Division()
        rewritten = change.answer_keep < self._answer_length
        self._answer_length = change.answer_keep + len(change.answer_added)
        thoughts, gone = self._thoughts(change)
        if not rewritten:
            return Division(thoughts, gone, None, self._filter.feed(change.answer_added))
        self._filter = ControlTokenFilter()
        return Division(thoughts, gone, self._filter.feed(self._splitter.result.answer))

    def _thoughts(self, change: SplitChange) -> tuple[tuple[Thought, ...], int | None]:
        first, before = change.reasoning_keep, len(self._lengths)
        added = list(change.reasoning_added)
        if change.entry_keep and not added and self._lengths[first] > change.entry_keep:
            added = [""]  # an entry that only became shorter
        if not added and first == before:
            return (), None
        del self._lengths[first:]
        thoughts = []
        for place, text in enumerate(added, first):
            keep = change.entry_keep if place == first else 0
            thoughts.append(Thought(place, keep, text))
            self._lengths.append(keep + len(text))
        return tuple(thoughts), len(self._lengths) if len(self._lengths) < before else None
