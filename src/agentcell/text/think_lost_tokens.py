"""Harmony messages whose tokens a server dropped, so that only the names of their channels stand between them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentcell.text.think_delimiters import WHITESPACE
from agentcell.text.think_harmony import Parts
from agentcell.text.think_source import STRETCH, Source

if TYPE_CHECKING:
    from agentcell.text.think_result import Ledger

_FIRST = "analysis"
_FINAL = "assistantfinal"
_SEPARATOR = re.compile("assistant(analysis|commentary)")


class LostTokens:
    """Watches for the two words that prove that a text was harmony before its tokens were dropped."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._start = 0  # where the visible text begins
        self._pos = 0
        self.possible = True

    def find(self) -> tuple[int, int] | None:
        """Where the first message begins and where the final one does; None as long as the proof is missing."""
        source = self._source
        if self._pos <= self._start:
            for start, text in source.stretches(self._start, len(source)):
                visible = text.lstrip(WHITESPACE)
                self._start = start + len(text) - len(visible)
                if visible:
                    break
            first = source.slice(self._start, self._start + len(_FIRST))
            if first != _FIRST:
                self.possible = _FIRST.startswith(first)
                return None
            self._pos = self._start + len(_FIRST)
        first_message = self._start + len(_FIRST)
        while self._pos < len(source):
            window = source.slice(self._pos, self._pos + STRETCH)
            place = window.find(_FINAL)
            if place >= 0:
                return first_message, self._pos + place
            if self._pos + len(window) == len(source):
                # All but what may be a beginning of the word need not be looked at again.
                self._pos = max(self._pos, len(source) - len(_FINAL) + 1)
                return None
            self._pos += len(window) - len(_FINAL)
        return None


class LostTokensReading:
    """Reads the messages from `start` on, of which the final one begins at `final`, then the rest of the text."""

    def __init__(self, ledger: Ledger, start: int, final: int) -> None:
        self._source = ledger.source
        self._parts = Parts(ledger)
        ledger.clear()
        text = self._source.slice(start, final)
        place, kind = 0, "analysis"
        for separator in _SEPARATOR.finditer(text):
            self._add(kind, start + place, text[place : separator.start()])
            place, kind = separator.end(), separator.group(1)
        self._add(kind, start + place, text[place:])
        self._parts.open("answer")
        self._pos = final + len(_FINAL)

    def read(self) -> None:
        """Reads all there is."""
        for start, text in self._source.stretches(self._pos, len(self._source)):
            self._parts.add(start, text)
        self._pos = len(self._source)

    def finish(self) -> None:
        """Nothing follows."""
        self.read()

    def _add(self, kind: str, start: int, text: str) -> None:
        if kind == "analysis":
            self._parts.open("reasoning")
        else:
            self._parts.open("hidden" if text.lstrip(WHITESPACE).startswith("to=") else "answer")
        self._parts.add(start, text)
