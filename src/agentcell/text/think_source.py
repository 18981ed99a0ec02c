"""The text of one message, held once, of which any stretch can be read again."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

STRETCH = 1 << 16  # characters that are looked at in one go: memory beyond the text stays below this
BREAK = (-2, 0)  # the place of a blank line that is in no text: it joins the parts of an answer

_SMALL = 1 << 10  # adding a character copies at most this much
_LARGE = 1 << 20  # pages are joined up to this length, so that their number stays small


class Source:
    """A text that only grows.

    Small pages are joined into larger ones like the digits of a counter: each character is copied at most ten times,
    and ten million characters are a dozen strings.
    """

    __slots__ = ("_pages", "_starts", "_tail", "_tail_start")

    def __init__(self) -> None:
        self._pages: list[str] = []
        self._starts: list[int] = []
        self._tail = ""
        self._tail_start = 0

    def __len__(self) -> int:
        return self._tail_start + len(self._tail)

    def append(self, text: str) -> None:
        """Adds `text` at the end."""
        self._tail += text
        if len(self._tail) >= _SMALL:
            self._turn_page()

    def slice(self, start: int, end: int) -> str:
        """The characters from `start` up to `end`; `slice(*BREAK)` is two line feeds."""
        if start >= self._tail_start:
            return self._tail[start - self._tail_start : end - self._tail_start]
        if start < 0:
            return "\n\n"
        parts = []
        for index in range(bisect_right(self._starts, start) - 1, len(self._pages)):
            first = self._starts[index]
            if first >= end:
                break
            parts.append(self._pages[index][max(0, start - first) : end - first])
        if end > self._tail_start:
            parts.append(self._tail[: end - self._tail_start])
        return "".join(parts)

    def stretches(self, start: int, end: int) -> Iterator[tuple[int, str]]:
        """The text from `start` up to `end` in pieces of bounded length, each with the place where it begins."""
        for at in range(start, end, STRETCH):
            yield at, self.slice(at, min(end, at + STRETCH))

    def _turn_page(self) -> None:
        page, start = self._tail, self._tail_start
        self._tail, self._tail_start = "", start + len(page)
        while self._pages and len(self._pages[-1]) <= len(page) and len(self._pages[-1]) + len(page) <= _LARGE:
            page = self._pages.pop() + page
            start = self._starts.pop()
        self._pages.append(page)
        self._starts.append(start)
