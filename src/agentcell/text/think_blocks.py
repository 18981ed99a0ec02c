"""Blocks of reasoning: what opens them, what ends them, and what becomes of one that nothing ends."""

from __future__ import annotations

import re
from abc import abstractmethod
from typing import TYPE_CHECKING

from agentcell.text.think_code import CodeReading
from agentcell.text.think_delimiters import VISIBLE_OR_LINE_END, WHITESPACE, Alternatives, Delimiters, Pair, Wrapper
from agentcell.text.think_reading import Line
from agentcell.text.think_records import Before, Block, Closed, Search, Stage

if TYPE_CHECKING:
    from agentcell.text.think_result import Channel, Ledger

_SPACE = re.compile(f"[{WHITESPACE}]*")


class BlockReading(CodeReading):
    """Reading that knows blocks.

    A block ends at the first closer of its own pair that is not in code, wherever on a line it stands; all else in it is
    text. If only code holds such a closer, then once the text is complete that one ends the block, and code in later blocks
    protects nothing. If openers of the pair stand in the content, as many closers are waited for in the answer behind it:
    when the last one comes, the block reaches up to there. A block that touches another one of its pair goes on with it.

    Attributes:
        block: The block that is being read; None in the answer.
        closed: The block that was read last.
        search: How that block may still become longer.
        any_block: A block has been recognised.
        untouched: Nothing was removed so far, nor does the text begin in a block.
        literal: Openers in the answer that were text: so many closers of the pair are text too.
        wrapping: The wrappers of the pairs that were seen.
        code_counts_in_blocks: Does code protect delimiters in blocks?
    """

    __slots__ = (
        "_answer_line",
        "answer",
        "any_block",
        "block",
        "closed",
        "code_counts_in_blocks",
        "delimiters",
        "literal",
        "search",
        "untouched",
        "wrapping",
    )

    def __init__(self, ledger: Ledger, delimiters: Delimiters, *, assume_open: bool) -> None:
        super().__init__(ledger)
        self.delimiters = delimiters
        self.answer = ledger.answer
        self.block: Block | None = None
        self.closed: Closed | None = None
        self.search: Search | None = None
        self.any_block = assume_open
        self.untouched = not assume_open
        self.literal: dict[Pair, int] = {}
        self.wrapping: dict[Wrapper, Stage] = {}
        self.code_counts_in_blocks = True
        self._answer_line = self.line
        if assume_open:
            self._enter(None, 0, 0, ledger.new_entry())

    @abstractmethod
    def read_in_answer(self, place: int) -> bool:
        """What stands at `place` of the window, outside blocks and code; False if it cannot be told yet."""

    def read_text(self) -> bool:
        """The state in which delimiters are looked for, in the answer and in blocks."""
        if self.indent >= 0 and self.reads_code():
            return True
        found = self._stop().search(self.window, self.pos - self.base)
        self.take(found.start() if found else len(self.window))
        if not found:
            return False
        place = found.start()
        if found.group() == "\n":
            self.take(place + 1)
            self.begin_line()
        elif found.group() != "`" or not self.code_counts or not self.reads_code():
            return self._read_in_block(self.block, place) if self.block else self.read_in_answer(place)
        return True

    def _stop(self) -> re.Pattern[str]:
        """Where reading has to pause: at a line end, a backtick, where a delimiter can begin; on blank ground anywhere."""
        if self.block:
            return VISIBLE_OR_LINE_END if self.block.is_fresh else self.block.inside.stop
        return self.delimiters.stop if self.answer.solid else VISIBLE_OR_LINE_END

    def read_space(self) -> bool:
        """Whitespace that goes with the delimiter before it."""
        found = _SPACE.match(self.window, self.pos - self.base)
        if found:
            self.skip(found.end())
        if self.pos - self.base == len(self.window):
            return False
        self.state = self.read_text
        return True

    def closer_behind_fence(self, place: int) -> bool | None:
        """Does a closer that counts stand at `place` of the window? None: there may, once more has come."""
        closers: Alternatives[Pair] | Alternatives[Pair | None] = self.delimiters.closers
        if self.block:
            closers = self.block.inside.closers
            if self.block.pair and self.block.pair.line_start:
                return False
        if closers.at(self.window, place):
            return True
        return None if not self.final and closers.begun(self.window, place) else False

    def recall_mentions(self) -> None:
        """Judges the openers whose end had not come."""
        places, self.mentions = self.mentions, []
        for place in places:
            self.mention(place - self.base)

    def mention(self, place: int) -> None:
        """Remembers an opener at `place` of the window that does not count; what may become one is judged again later."""
        openers = self.block.inside.openers if self.block else self.delimiters.mentions
        counts = self.block.nested if self.block else self.literal
        found = openers.at(self.window, place)
        if found:
            counts[found[0]] = counts.get(found[0], 0) + 1
        elif not self.final and openers.begun(self.window, place):
            self.mentions.append(self.base + place)

    # How a block begins

    def open(self, pair: Pair, place: int, end: int) -> None:
        """The opener from `place` to `end` of the window begins a block, or goes on with the one that it touches."""
        if not self.answer.solid:
            self.empty_answer()
        opener = self.base + place
        entry = None
        if self.closed and self.closed.end == opener and self.closed.pair is pair and self.closed.entry.solid:
            entry = self.closed.entry
            entry.untrim()
        self.recognise(pair)
        if entry is None:
            entry = self.ledger.new_entry()
            entry.trace = pair.trace
        self._enter(pair, opener, self.base + end, entry)

    def recognise(self, pair: Pair) -> None:
        """There is a block of `pair`."""
        self.any_block = True
        self.untouched = False
        self.search = None
        self.literal.clear()
        self.mentions.clear()
        for wrapper in self.delimiters.wrappers.get(pair, ()):
            self.wrapping.setdefault(wrapper, "opener")

    def empty_answer(self) -> None:
        """The answer was blank so far: nothing of it stays."""
        self.answer.cut(0, solid=0)
        self.line = self._answer_line = Line()

    def put_again(self, channel: Channel, start: int, end: int) -> None:
        """Adds text that was read before to `channel`."""
        self.channel = channel
        for at, text in self.source.stretches(start, end):
            self.put(at, text, len(text.rstrip(WHITESPACE)))

    def _enter(self, pair: Pair | None, opener: int, start: int, entry: Channel) -> None:
        inside = self.delimiters.inside(pair) if pair else self.delimiters.assumed
        before = Before(self.answer.length, self.answer.solid, self.line.copy(), dict(self.wrapping))
        self.block = Block(pair, inside, inside.openers, opener, start, entry, entry.length, entry.solid, before)
        self._answer_line = self.line
        self._begin_content(self.block, start)

    def _begin_content(self, block: Block, start: int) -> None:
        block.start = self.pos = start
        self.channel, self.line = block.entry, Line()
        self.code_counts = self.code_counts_in_blocks
        self.begin_line()

    # What stands in a block

    def _read_in_block(self, block: Block, place: int) -> bool:
        if block.is_fresh:
            opened = block.row.at(self.window, place)
            if opened:
                self._go_on_in_row(block, *opened)
                return True
        closers = block.inside.closers if not block.pair or self._may_close(block.pair) else None
        closed = closers.at(self.window, place) if closers else None
        if closed:
            self._end(block, closed[0], place, closed[1])
            return closed[0] is not None
        if not self.final and (
            (closers and closers.begun(self.window, place)) or (block.is_fresh and block.row.begun(self.window, place))
        ):
            return False
        self.mention(place)
        self.take(place + 1)
        return True

    def _may_close(self, pair: Pair) -> bool:
        return not pair.line_start or self.line.is_margin

    def _go_on_in_row(self, block: Block, pair: Pair, end: int) -> None:
        """One more opener: the content begins behind it."""
        if block.pair is None:
            block.pair, block.inside = pair, self.delimiters.inside(pair)
        block.entry.cut(block.entry_length, solid=block.entry_solid)
        self._begin_content(block, self.base + end)

    # How a block ends

    def _end(self, block: Block, pair: Pair | None, place: int, end: int) -> None:
        """The closer from `place` to `end` of the window ends the block; without a pair it is a harmony token."""
        block.entry.trim()
        self.ledger.drop_blank()
        if pair is None:
            self.handover = self.base + place
            return
        if block.pair is None:
            self.recognise(pair)
            block.before.wrapping = dict(self.wrapping)
        closed = Closed(pair, block.entry, self.base + end)
        self.leave(closed, self._answer_line)
        nested = block.nested.get(pair, 0)
        if nested and pair.orphan and not block.in_code:
            self.search = Search(closed, block.before, nested)

    def leave(self, closed: Closed, line: Line) -> None:
        """The answer goes on behind the block, whose closer takes the whitespace along."""
        self.block = None
        self.closed = closed
        self.mentions.clear()
        self.channel, self.line = self.answer, line
        self._answer_line = line
        self.code_counts = True
        self.begin_line()
        self.seek(closed.end)
        self.state = self.read_space

    # The end of the text

    def finish(self) -> None:
        """Nothing follows: what is still open gets its final meaning."""
        self.read(at_end=True)
        if self.block and self.handover is None and self.code_counts_in_blocks:
            self._read_without_code(self.block)
        if self.block and self.handover is None:
            self._stay_open(self.block)

    def _read_without_code(self, block: Block) -> None:
        """Nothing outside code ended the block: from its first closer in code on, code in blocks protects nothing."""
        self.code_counts_in_blocks = False
        self.forget_line()
        self.mentions.clear()
        block.in_code = True
        if block.pair is None:
            block.inside = self.delimiters.assumed_in_code
        block.entry.cut(block.entry_length, solid=block.entry_solid)
        self._begin_content(block, block.start)
        self.state = self.read_text
        self.read(at_end=True)

    def _stay_open(self, block: Block) -> None:
        """Nothing ended the block: behind an answer it was none, else the text ended too early."""
        if not self.answer.solid:
            self.ledger.truncated = block.entry.solid > 0
            return
        block.entry.cut(block.entry_length, solid=block.entry_solid)
        block.entry.trim()
        self.ledger.drop_blank()
        self.put_again(self.answer, block.opener, len(self.source))
