"""Markdown that arrives in pieces is rendered block by block, and is at every moment what the whole text so far would be.

A top-level block is closed once nothing that may still come can change it; only the text behind the last closed block, the
tail, is parsed again. Two things reach across blocks, and both are followed:

- A line `[label]: address` makes links of every `[label]` in the text, before it too. Each closed block's labels are kept, and
  when a label gets a meaning, changes it (its address is still arriving) or loses it, the blocks that ask for it are rendered
  anew.
- A definition's label or title may run over many lines, through lines that look like blocks of their own, until a blank line.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from agentcell.markdown import Block, Definitions, Images, clean_source, markdown_renderer

# What may stand before the text of a line in quotes and lists.
_CONTAINER_MARKS = " \t>-+*.)0123456789"


class MarkdownStream:
    """The blocks of a text that grows.

    `feed` only keeps the text. It is parsed when somebody looks, so a thousand feeds between two looks cost as much as one.
    One thread at a time: whoever feeds and looks from two threads holds a lock.

    Args:
        images: As in `render_markdown`.
    """

    def __init__(self, *, images: Images = "link") -> None:
        self._images = images
        self._fed: list[str] = []
        self._html: list[str] = []
        self._changed: set[int] = set()
        self._tail = _Tail()
        self._definitions: dict[str, Mapping[str, Any]] = {}  # those in closed lines: nothing changes them any more
        self._askers: dict[str, set[int]] = {}  # label -> numbers of the closed blocks that asked for it
        self._asking: dict[int, Block] = {}  # the closed blocks that asked for a label, by their number

    def feed(self, text: str) -> None:
        """Adds `text`; O(1)."""
        if text:
            self._fed.append(text)

    @property
    def blocks(self) -> Sequence[str]:
        """The HTML of each top-level block so far, the same list at each look.

        Joined it equals `render_markdown` of the whole text so far.
        """
        self._look()
        return self._html

    def take_changes(self) -> tuple[int, ...]:
        """The numbers of the blocks that are new or changed since the last call, rising, each below `len(blocks)`.

        Blocks can also become fewer (what looked like two was one): then those from `len(blocks)` on are gone.
        """
        self._look()
        changes = tuple(sorted(number for number in self._changed if number < len(self._html)))
        self._changed.clear()
        return changes

    def _look(self) -> None:
        """Brings the blocks up to date with the text."""
        if not self._fed:
            return
        tail = self._tail
        fed = "".join(self._fed)
        # A `\r` ended its line at once; a `\n` that comes after it belongs to the same line end.
        source = tail.source + clean_source(fed.removeprefix("\n") if tail.ended_in_return else fed)
        page = markdown_renderer(self._images).parse(source)
        found = {label: entry for label, entry in page.definitions.items() if label not in self._definitions}
        labels = tail.definitions.keys() | found.keys()
        moved = {label for label in labels if _link(tail.definitions, label) != _link(found, label)}
        definitions = ChainMap(self._definitions, found)
        stale = set(chain.from_iterable(self._askers.get(label, ()) for label in moved))
        rewriter = _Writer(self._images, definitions)
        redone = {number: rewriter.write(self._asking[number]) for number in stale}
        known = {text: run for text, run in tail.runs.items() if moved.isdisjoint(run.asked)}
        writer = _Writer(self._images, definitions, known)
        blocks = tuple(writer.write(block) for block in page.blocks)

        # An interrupt may come at any line, and the next look then does all of this again, to the same end.
        for number, one in (*redone.items(), *enumerate(blocks, tail.closed)):
            self._place(number, one.html)
        del self._html[tail.closed + len(blocks) :]
        for number, one in redone.items():
            self._note_asked(number, one)
        whole = _Tail(tail.closed, source, blocks, writer.runs, found, ended_in_return=fed.endswith("\r"))
        self._tail, self._fed = self._without_settled(whole), []

    def _place(self, number: int, html: str) -> None:
        if number < len(self._html) and self._html[number] == html:
            return
        self._changed.add(number)  # noted first: after an interrupt between the two it would not be seen any more
        self._html[number : number + 1] = [html]

    def _note_asked(self, number: int, one: _Written) -> None:
        if one.asked:
            self._asking[number] = one.block
        for label in one.asked:
            self._askers.setdefault(label, set()).add(number)

    def _without_settled(self, tail: _Tail) -> _Tail:
        """Closes the tail's blocks that nothing can change any more; returns the tail behind them."""
        lines = tail.source.split("\n")
        count = _count_settled(lines, [one.block.first_line for one in tail.blocks])
        if not count:
            return tail
        for number, one in enumerate(tail.blocks[:count], tail.closed):
            self._note_asked(number, one)
        end_line = tail.blocks[count - 1].block.end_line
        open_definitions: dict[str, Mapping[str, Any]] = {}
        for label, entry in tail.definitions.items():
            (self._definitions if entry["map"][0] < end_line else open_definitions)[label] = entry
        return replace(
            tail,
            closed=tail.closed + count,
            source="\n".join(lines[end_line:]),
            blocks=tail.blocks[count:],
            definitions=open_definitions,
        )


@dataclass(frozen=True, slots=True)
class _Run:
    """Running text as HTML, and the labels that it asked for, known or not."""

    html: str
    asked: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Written:
    """A block, its HTML, and the labels that its running text asked for."""

    block: Block
    html: str
    asked: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Tail:
    """How many blocks are closed, and the text behind them as it was seen last.

    Its blocks, its running texts (a long list grows at its end, and each look would parse all of its items again), and its
    definitions of labels that no closed line defines.
    """

    closed: int = 0
    source: str = ""
    blocks: tuple[_Written, ...] = ()
    runs: Mapping[str, _Run] = field(default_factory=dict)
    definitions: Definitions = field(default_factory=dict)
    ended_in_return: bool = False


class _Writer:
    """Writes blocks, each running text once; `known` are those written before that are still right."""

    def __init__(self, images: Images, definitions: Definitions, known: Mapping[str, _Run] | None = None) -> None:
        self._renderer = markdown_renderer(images)
        self._definitions = definitions
        self._known = known or {}
        self.runs: dict[str, _Run] = {}

    def write(self, block: Block) -> _Written:
        asked: set[str] = set()

        def inline_html(text: str) -> str:
            run = self.runs.get(text) or self._known.get(text) or self._run(text)
            self.runs[text] = run
            asked.update(run.asked)
            return run.html

        return _Written(block, self._renderer.block_html(block, inline_html), frozenset(asked))

    def _run(self, text: str) -> _Run:
        lookup = _Lookup(self._definitions)
        html = self._renderer.inline_html(text, lookup)
        return _Run(html, frozenset(lookup.asked))


class _Lookup(Mapping[str, Mapping[str, Any]]):
    """Definitions that note which labels they are asked for."""

    def __init__(self, definitions: Definitions) -> None:
        self._definitions = definitions
        self.asked: set[str] = set()

    def __getitem__(self, label: str) -> Mapping[str, Any]:
        self.asked.add(label)
        return self._definitions[label]

    def __iter__(self) -> Iterator[str]:
        return iter(self._definitions)

    def __len__(self) -> int:
        return len(self._definitions)


def _link(definitions: Definitions, label: str) -> tuple[str, str] | None:
    """Where `label` leads, and the link's title."""
    definition = definitions.get(label)
    return (definition["href"], definition["title"]) if definition else None


def _count_settled(lines: Sequence[str], first_lines: Sequence[int]) -> int:
    """How many of the blocks that begin in `first_lines` can no more be changed by what comes behind the last of `lines`.

    A block is settled when the next block's first two lines are whole: no rule but that of link definitions looks further (a
    table needs two lines to end a paragraph, everything else one), and a line that begins with `[`, in whatever quotes and
    lists, may be such a definition up to the next blank line.
    """
    settled = 0
    next_block = 1
    may_be_definition = False
    for number, line in enumerate(lines[:-1]):  # the last one is not whole
        if next_block < len(first_lines) and number == first_lines[next_block]:
            if number + 2 >= len(lines):
                break
            if not may_be_definition:
                settled = next_block
            next_block += 1
        if not line.strip(" \t"):
            may_be_definition = False
        elif line.lstrip(_CONTAINER_MARKS).startswith("["):
            may_be_definition = True
    return settled
