"""The text of one source, divided into reasoning and answer before anything of it is shown."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from agentcell.text.control_tokens import ControlTokenFilter
from agentcell.text.think import ReasoningSplitter, SplitChange

if TYPE_CHECKING:
    from agentcell.projections.reasoning import ReasoningStretch


@dataclass(frozen=True, slots=True)
class Thought:
    """A block of reasoning that changed: `keep` characters of it stand as they were, then comes `added`.

    `is_trace` says that its opener called it a tool trace.
    """

    place: int
    keep: int
    added: str
    is_trace: bool = False


@dataclass(frozen=True, slots=True)
class Division:
    """What more text of a source did.

    Attributes:
        thoughts: Blocks of reasoning that are new or changed, by their place among those of the source.
        gone: From this place on no block is reasoning any more; None when all still are.
        answer: The whole answer, where it did not only grow; else None.
        added: What came to the answer's end.
        in_reasoning: The text ends inside the last block.
    """

    thoughts: tuple[Thought, ...] = ()
    gone: int | None = None
    answer: str | None = None
    added: str = ""
    in_reasoning: bool = False

    @property
    def only_grows(self) -> bool:
        """Whether nothing happened but that the answer may have grown."""
        return not self.thoughts and self.gone is None and self.answer is None


class SourceSplitting:
    """Divides the text of one source while it arrives; control tokens of chat templates go.

    Attributes:
        blocks: The blocks of reasoning in their order; for whoever shows them.
        over: So many of them are known to be over; likewise.
        has_answer: Whether it has given out answer text that stands.
    """

    def __init__(self) -> None:
        self.blocks: list[ReasoningStretch] = []
        self.over = 0
        self.has_answer = False
        self._splitter = ReasoningSplitter()
        self._filter = ControlTokenFilter()
        self._answer_length = 0  # before the filter
        self._lengths: list[int] = []  # of the blocks of reasoning

    @property
    def in_reasoning(self) -> bool:
        """Whether the text so far ends inside a block of reasoning."""
        return self._splitter.in_reasoning

    @property
    def is_settled(self) -> bool:
        """Whether text in which `may_divide` finds nothing can only make the answer grow."""
        return self._splitter.is_settled

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
            return replace(division, answer=division.answer + held)
        return replace(division, added=division.added + held)

    def _divided(self, change: SplitChange | None) -> Division:
        if change is None:
            return Division(in_reasoning=self.in_reasoning)
        rewritten = change.answer_keep < self._answer_length
        self._answer_length = change.answer_keep + len(change.answer_added)
        thoughts, gone = self._thoughts(change)
        if not rewritten:
            added = self._filter.feed(change.answer_added)
            self.has_answer = self.has_answer or bool(added)
            return Division(thoughts, gone, None, added, self.in_reasoning)
        self._filter = ControlTokenFilter()
        answer = self._filter.feed(self._splitter.result.answer)
        self.has_answer = bool(answer)
        return Division(thoughts, gone, answer, in_reasoning=self.in_reasoning)

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
            thoughts.append(Thought(place, keep, text, self._splitter.is_called_trace(place)))
            self._lengths.append(keep + len(text))
        return tuple(thoughts), len(self._lengths) if len(self._lengths) < before else None
