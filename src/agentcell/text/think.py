"""Divides what a model wrote into its reasoning and its answer, whole or while it arrives."""

from __future__ import annotations

import re

from agentcell.errors import AgentcellError, must_be_flag, must_be_one_of, must_be_text
from agentcell.text.think_answer import AnswerReading
from agentcell.text.think_delimiters import delimiters
from agentcell.text.think_harmony import HarmonyReading
from agentcell.text.think_lost_tokens import LostTokens, LostTokensReading
from agentcell.text.think_result import Ledger, SplitChange, SplitText
from agentcell.text.think_source import STRETCH, Source

__all__ = ["FORMATS", "ReasoningSplitter", "SplitChange", "SplitText", "may_divide", "split_reasoning"]

FORMATS = ("default", "all")

may_divide = re.compile(r"<[ \t]{0,3}(?:\Z|[/|acdilmrst])|\[(?:\Z|[/t])|\u25c1", re.IGNORECASE).search
"""Finds where a text may hold, or end with, the beginning of a delimiter of the default formats; a wide net, but quick."""


def split_reasoning(text: str, *, assume_open: bool = False, formats: str = "default", finished: bool = True) -> SplitText:
    """Divides `text`, the message of an assistant.

    Args:
        text: The message as the model wrote it.
        assume_open: The text begins inside a block, because the prompt ended with its opener.
        formats: `default`, or `all` for the delimiters too that ordinary text may hold, such as `<plan>`.
        finished: Nothing will follow. Otherwise a block may be open, and an end that may become a delimiter is held back.

    Raises:
        TypeError: An argument of another type.
        ValueError: `formats` is no set of delimiters.
    """
    splitter = ReasoningSplitter(assume_open=assume_open, formats=formats)
    must_be_flag("finished", finished)
    splitter.feed(must_be_text("text", text))
    if finished:
        splitter.finish()
    return splitter.result


class ReasoningSplitter:
    """Divides a message while it arrives.

    At every moment the result is that of the text so far; how the text was cut makes no difference. A later one may take
    back what an earlier one showed: a closer whose opener is missing turns what was the answer into reasoning. The cost
    of a character does not depend on how many came before.

    Args:
        assume_open: As for `split_reasoning`.
        formats: As for `split_reasoning`.

    Raises:
        TypeError: An argument of another type.
        ValueError: `formats` is no set of delimiters.
    """

    __slots__ = ("_finished", "_ledger", "_lost_tokens", "_reading", "_source")

    def __init__(self, *, assume_open: bool = False, formats: str = "default") -> None:
        must_be_flag("assume_open", assume_open)
        must_be_one_of("formats", formats, FORMATS)
        self._source = Source()
        self._ledger = Ledger(self._source)
        self._reading: AnswerReading | HarmonyReading | LostTokensReading = AnswerReading(
            self._ledger, delimiters(formats), assume_open=assume_open
        )
        self._lost_tokens = None if assume_open else LostTokens(self._source)
        self._finished = False

    def feed(self, chunk: str) -> None:
        """Goes on with `chunk`, which may be cut anywhere and may be empty.

        Raises:
            TypeError: `chunk` is no string.
            AgentcellError: The message was finished.
        """
        must_be_text("chunk", chunk)
        if self._finished:
            raise AgentcellError("feed() must come before finish(): make a new ReasoningSplitter for the next message")
        for start in range(0, len(chunk), STRETCH):
            self._source.append(chunk[start : start + STRETCH])
            self._read()

    def finish(self) -> None:
        """Nothing follows: what was held back is text now, and what is still open gets its final meaning."""
        if self._finished:
            return
        self._finished = True
        self._reading.finish()
        if self._hand_over():
            self._reading.finish()

    @property
    def result(self) -> SplitText:
        """The text so far, divided; builds both strings anew."""
        return self._ledger.result()

    @property
    def in_reasoning(self) -> bool:
        """Whether the text so far ends inside a block of reasoning: what follows belongs to it."""
        if self._finished:
            return False
        if isinstance(self._reading, AnswerReading):
            return self._reading.block is not None
        return isinstance(self._reading, HarmonyReading) and self._reading.in_reasoning

    @property
    def is_settled(self) -> bool:
        """Whether nothing is held back, and text in which `may_divide` finds nothing can only make the answer grow."""
        reading = self._reading
        if self._lost_tokens is not None or self.in_reasoning:
            return False
        if isinstance(reading, AnswerReading):
            return reading.is_settled
        return not isinstance(reading, HarmonyReading) or reading.is_settled

    def is_called_trace(self, place: int) -> bool:
        """Whether the opener of the entry at this place of `reasoning` says that a tool trace follows."""
        return self._ledger.entries[place].trace

    def take_change(self) -> SplitChange | None:
        """What changed in `result` since the last call, or since the beginning; None if nothing did.

        Costs no more than the length of what it adds.
        """
        return self._ledger.take_change()

    def _read(self) -> None:
        self._reading.read()
        if self._hand_over():
            self._reading.read()
        if self._lost_tokens:
            found = self._lost_tokens.find()
            if found:
                self._reading = LostTokensReading(self._ledger, *found)
                self._reading.read()
            if found or not self._lost_tokens.possible:
                self._lost_tokens = None

    def _hand_over(self) -> bool:
        start = self._reading.handover if isinstance(self._reading, AnswerReading) else None
        if start is None:
            return False
        self._reading = HarmonyReading(self._ledger, start)
        return True
