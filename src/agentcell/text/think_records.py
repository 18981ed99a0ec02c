"""What is remembered of a block while it is read, and behind it while its end may still move."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from agentcell.text.think_delimiters import Alternatives, Inside, Pair, Wrapper
    from agentcell.text.think_reading import Line
    from agentcell.text.think_result import Channel

Stage = Literal["opener", "closer", "done"]  # which part of a wrapper may come next


@dataclass(slots=True)
class Before:
    """What the answer was before a block, to which it returns if the block turns out to be longer."""

    length: int
    solid: int
    line: Line
    wrapping: dict[Wrapper, Stage]


@dataclass(slots=True)
class Block:
    """The block that is being read.

    Attributes:
        pair: None as long as nothing tells the pair of a block whose opener was not seen.
        inside: What is looked for in it.
        row: The openers that are dropped at its start.
        opener: The place where its opener begins.
        start: The place where its content begins.
        entry: Takes its content. It held `entry_length` characters before, from blocks that this one touches; without their
            trailing whitespace they were `entry_solid`.
        before: What the answer was.
        nested: The openers of each pair in the content.
        in_code: The first closer in code ends it, because there is no other.
    """

    pair: Pair | None
    inside: Inside
    row: Alternatives[Pair]
    opener: int
    start: int
    entry: Channel
    entry_length: int
    entry_solid: int
    before: Before
    nested: dict[Pair, int] = field(default_factory=dict)
    in_code: bool = False

    @property
    def is_fresh(self) -> bool:
        """Is its content blank so far?"""
        return self.entry.solid == self.entry_solid


@dataclass(slots=True)
class Closed:
    """The block that was read last; `end` is the place where its closer ends."""

    pair: Pair
    entry: Channel
    end: int


@dataclass(slots=True)
class Search:
    """The block that was read last ends later if `missing` more closers of its pair follow."""

    closed: Closed
    before: Before
    missing: int
