"""Reasoning that a model sends inside its text, told apart from the answer before anything is shown."""

from __future__ import annotations

from dataclasses import dataclass

from agentcell.text.think import ReasoningSplitter, SplitChange


@dataclass(frozen=True, slots=True)
class Thought:
    """A block of reasoning that changed: `keep` characters of it stand as they were, then comes `added`."""

    place: int
    keep: int
    added: str


@dataclass(frozen=True, slots=True)
class Change:
    """What more text of a source did.

    Attributes:
        thoughts: Blocks of reasoning that are new or have grown, in order.
        gone: From this place on no block is reasoning any more; None when all are.
        answer: The answer as a whole, where it did not only grow; else None.
        added: What came to the answer's end.
    """

    thoughts: tuple[Thought, ...] = ()
    gone: int | None = None
    answer: str | None = None
    added: str = ""


class SourceSplitting:
    """The text of one source, divided while it arrives."""

    def __init__(self) -> None:
        self._splitter = ReasoningSplitter()
        self._answer_length = 0
        self._lengths: list[int] = []  # of the blocks of reasoning

    def feed(self, text: str) -> Change:
        """Goes on with `text`."""
        self._splitter.feed(text)
        return self._changed(self._splitter.take_change())

    def finish(self) -> Change:
        """Nothing follows: what was held back is told."""
        self._splitter.finish()
        return self._changed(self._splitter.take_change())

    def _changed(self, change: SplitChange | None) -> Change:
        if change is None:
            return Change()
        rewritten = change.answer_keep < self._answer_length
        self._answer_length = change.answer_keep + len(change.answer_added)
        thoughts = []
        before = len(self._lengths)
        entries_kept = self._lengths[: change.reasoning_keep]
        for place, added in enumerate(change.reasoning_added, change.reasoning_keep):
            keep = change.entry_keep if place == change.reasoning_keep else 0
            thoughts.append(Thought(place, keep, added))
            entries_kept.append(keep + len(added))
        if change.entry_keep and not change.reasoning_added:
            entries_kept.append(change.entry_keep)
            thoughts.append(Thought(change.reasoning_keep, change.entry_keep, ""))
        self._lengths = entries_kept
        return Change(
            thoughts=tuple(thoughts),
            gone=len(self._lengths) if len(self._lengths) < before else None,
            answer=self._splitter.result.answer if rewritten else None,
            added="" if rewritten else change.answer_added,
        )
