"""The answer around the blocks: which delimiters count in it, and what the others are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentcell.text.think_blocks import BlockReading
from agentcell.text.think_code import BLANK_REST
from agentcell.text.think_delimiters import START_TOKENS, WHITESPACE, Alternatives, Delimiters, Pair, Wrapper
from agentcell.text.think_records import Closed, Search

if TYPE_CHECKING:
    from agentcell.text.think_result import Ledger

_SENTENCE_ENDS = frozenset(".!?…。\uff01\uff1f")  # the last two are the wide ! and ?
_COUPLES = dict(zip("\"'([{<“\u2018«*_~|", "\"')]}>”\u2019»*_~|", strict=True))  # \u2018 and \u2019 are curved '
_SPACES = frozenset(WHITESPACE)


@dataclass(frozen=True, slots=True)
class _Closer:
    """A closer that has to wait for what follows it."""

    pair: Pair
    start: int
    end: int


class AnswerReading(BlockReading):
    """Reading of a text that holds blocks and an answer.

    An opener counts where the answer has nothing visible yet, or where its line has at most three characters of whitespace
    and no tab, which is how far Markdown lets a line be indented before it is code. Anywhere else it is text, and so is the
    closer that belongs to it. A closer alone, well placed, turns the answer so far into reasoning, once; later it goes.
    """

    __slots__ = ("_closer",)

    def __init__(self, ledger: Ledger, delimiters: Delimiters, *, assume_open: bool) -> None:
        super().__init__(ledger, delimiters, assume_open=assume_open)
        self._closer: _Closer | None = None

    @property
    def is_settled(self) -> bool:
        """Whether all text was read, and none of it will be judged once more."""
        return self.pos == len(self.source) and self._closer is None and not self.may_go_back

    def read_in_answer(self, place: int) -> bool:
        """What stands at `place` of the window; False if it cannot be told yet, or somebody else must read it."""
        blank = not self.answer.solid
        starts = blank and self.untouched
        at_margin = blank or self.line.is_margin
        if starts and START_TOKENS.at(self.window, place):
            self.answer.cut(0, solid=0)
            self.handover = self.base + place
            return False
        openers = self.delimiters.first_openers if starts else self.delimiters.openers
        opened = openers.at(self.window, place) if at_margin else None
        if opened:
            self.open(opened[0], place, opened[1])
            return True
        closed = self.delimiters.closers.at(self.window, place)
        if closed:
            self._meet_closer(closed[0], place, closed[1])
            return True
        parts = self._wrapper_parts()
        if self._unwrap(parts, place):
            return True
        if not self.final and (
            (at_margin and openers.begun(self.window, place))
            or self.delimiters.closers.begun(self.window, place)
            or any(part.begun(self.window, place) for _, part in parts)
            or (starts and START_TOKENS.begun(self.window, place))
        ):
            return False
        if not at_margin:
            self.mention(place)
        self.take(place + 1)
        return True

    # Closers

    def _meet_closer(self, pair: Pair, place: int, end: int) -> None:
        if self.literal.get(pair):
            self.literal[pair] -= 1
            self.take(end)
            return
        self._closer = _Closer(pair, self.base + place, self.base + end)
        self.skip(end)
        self.state = self._read_behind_closer

    def _read_behind_closer(self) -> bool:
        closer, counts = self._closer, self._is_well_placed()
        if closer is None or counts is None:
            return False
        self._closer = None
        self.state = self.read_text
        self.seek(closer.start)
        end = closer.end - self.base
        if not counts:
            self.take(end)
        elif self.search and self.search.closed.pair is closer.pair:
            self.search.missing -= 1
            if self.search.missing:
                self._drop(end)
            else:
                self._extend(self.search, closer)
        elif self.any_block or not self.answer.solid:
            self._drop(end)
        else:
            self._close_orphan(closer)
        return True

    def _is_well_placed(self) -> bool | None:
        """Is the closer before `pos` meant as one? None if only what follows will tell.

        It is at the start of the answer or of a line, behind a sentence, glued to a word, or last on its line; it is not
        between quotes or brackets, nor in the middle of a sentence.
        """
        line = self.line
        if not self.answer.solid:
            return True
        if not line.solid:
            return line.is_margin
        if line.solid in _SENTENCE_ENDS:
            return True
        if line.last in _SPACES:
            found = BLANK_REST.match(self.window, self.pos - self.base)
            if found:
                self.skip(found.end())
            behind = self._next()
            if behind:
                return behind == "\n"
        else:
            partner, behind = _COUPLES.get(line.last), self._next()
            if behind or not partner:
                return behind != partner
        return True if self.final else None

    def _next(self) -> str:
        place = self.pos - self.base
        return self.window[place : place + 1]

    def _drop(self, end: int) -> None:
        """Removes the delimiter from `pos` to `end`; in front of the answer, also all whitespace around it."""
        self.untouched = False
        self.skip(end)
        if not self.answer.solid:
            self.empty_answer()
            self.state = self.read_space
        self.begin_line()

    def _close_orphan(self, closer: _Closer) -> None:
        """The answer so far was reasoning whose opener is missing."""
        entry = self.ledger.new_entry()
        self.put_again(entry, self.answer.start, closer.start)
        entry.trim()
        self.empty_answer()
        self.recognise(closer.pair)
        self.leave(Closed(closer.pair, entry, closer.end), self.line)

    def _extend(self, search: Search, closer: _Closer) -> None:
        """The block that was read last ends only here; what was read as answer since belongs to it."""
        entry, before = search.closed.entry, search.before
        self.answer.cut(before.length, solid=before.solid)
        self.put_again(entry, entry.end, closer.start)
        entry.trim()
        self.recognise(closer.pair)
        self.wrapping = before.wrapping
        self.leave(Closed(closer.pair, entry, closer.end), before.line)

    # Wrappers

    def _wrapper_parts(self) -> list[tuple[Wrapper, Alternatives[None]]]:
        """What may be removed of the wrappers here."""
        parts = []
        for wrapper, stage in self.wrapping.items():
            if stage == "closer":
                parts.append((wrapper, wrapper.closer))
            elif stage == "opener" and not self.answer.solid:
                parts.append((wrapper, wrapper.opener))
        return parts

    def _unwrap(self, parts: list[tuple[Wrapper, Alternatives[None]]], place: int) -> bool:
        for wrapper, part in parts:
            found = part.at(self.window, place)
            if found and self.wrapping[wrapper] == "opener":
                self.wrapping[wrapper] = "closer"
                self._drop(found[1])
                return True
            if found:
                self.wrapping[wrapper] = "done"
                self.skip(found[1])
                self.begin_line()
                return True
        return False
