"""Messages between harmony tokens: each is reasoning, a part of the answer, or hidden."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from agentcell.text.think_delimiters import WHITESPACE
from agentcell.text.think_source import BREAK, STRETCH

if TYPE_CHECKING:
    from agentcell.text.think_result import Channel, Ledger

_TOKENS = ("<|start|>", "<|channel|>", "<|constrain|>", "<|message|>", "<|end|>", "<|return|>", "<|call|>")
_TOKEN = re.compile("|".join(re.escape(token) for token in _TOKENS))
_BEGINNINGS = frozenset(token[:length] for token in _TOKENS for length in range(1, len(token)))
_LONGEST = max(len(token) for token in _TOKENS)
_ADDRESSED = re.compile(f"(?:^|[{WHITESPACE}])to=")
_WORD = re.compile(f"[{WHITESPACE}]*[^{WHITESPACE}]*")
_LETTERS = re.compile("[A-Za-z]+")

Kind = Literal["reasoning", "answer", "hidden"]


class Parts:
    """Adds texts to the reasoning and to the answer, without the whitespace around them, and none that is blank."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._target: Channel | None = None
        self._begun = False

    @property
    def is_reasoning(self) -> bool:
        """Is the open part a visible piece of reasoning?"""
        return self.goes_to_reasoning and self._begun

    @property
    def goes_to_reasoning(self) -> bool:
        """Is the open part a piece of reasoning, blank or not?"""
        return self._target is not None and self._target is not self._ledger.answer

    def open(self, kind: Kind) -> None:
        """Begins a part; a hidden one goes nowhere."""
        self.close()
        if kind == "reasoning":
            self._target = self._ledger.new_entry()
        elif kind == "answer":
            self._target = self._ledger.answer

    def add(self, start: int, text: str) -> None:
        """Goes on with `text`, which begins at place `start` of the source."""
        target = self._target
        if target is None:
            return
        if not self._begun:
            lead = len(text) - len(text.lstrip(WHITESPACE))
            start, text = start + lead, text[lead:]
            if not text:
                return
            self._begun = True
            if target.length:
                target.add(*BREAK, solid=0)
        target.add(start, start + len(text), solid=len(text.rstrip(WHITESPACE)))

    def close(self) -> None:
        """Ends the part: its trailing whitespace goes."""
        if self._target is not None:
            self._target.cut(self._target.solid, solid=self._target.solid)
            self._ledger.drop_blank()
        self._target = None
        self._begun = False


@dataclass(slots=True)
class _Header:
    """What stands before a message: where the texts of its role and of its channel begin and end."""

    role: tuple[int, int] = (0, 0)
    channel: tuple[int, int] | None = None


class HarmonyReading:
    """Reads messages from a place in the source to its end."""

    def __init__(self, ledger: Ledger, start: int) -> None:
        self._ledger = ledger
        self._source = ledger.source
        self._pos = start
        self._parts = Parts(ledger)
        self._header: _Header | None = None  # the header that is being read; None in a message and between messages
        self._field: Literal["role", "channel", ""] = ""  # what of the header the text belongs to
        self._field_start = start
        self._parts.open("answer")

    def read(self, *, at_end: bool = False) -> None:
        """Reads all there is; `at_end` says that this is the whole text."""
        while self._pos < len(self._source):
            end = min(len(self._source), self._pos + STRETCH)
            base, window, place = self._pos, self._source.slice(self._pos, end), 0
            for token in _TOKEN.finditer(window):
                self._take(window[place : token.start()])
                self._pos = base + token.end()
                self._meet(token.group(), base + token.start())
                place = token.end()
            is_last = end == len(self._source)
            held = 0 if at_end and is_last else _beginning_at_end(window[place:])
            self._take(window[place : len(window) - held])
            if is_last:
                return

    @property
    def in_reasoning(self) -> bool:
        """Whether a piece of reasoning is open."""
        return self._header is None and self._parts.goes_to_reasoning

    @property
    def is_settled(self) -> bool:
        """Whether all text was read and belongs to a part."""
        return self._header is None and self._pos == len(self._source)

    def finish(self) -> None:
        """Nothing follows."""
        self.read(at_end=True)
        if self._header:
            self._end_field(self._pos)
            self._take_from_header(self._header)
        self._ledger.truncated = self._parts.is_reasoning and not self._ledger.answer.solid

    def _take(self, text: str) -> None:
        if not self._header:
            self._parts.add(self._pos, text)
        self._pos += len(text)

    def _meet(self, mark: str, start: int) -> None:
        header = self._header
        self._end_field(start)
        if mark == "<|message|>":
            if header:
                self._parts.open(self._kind(header))
                self._header = None
        elif mark == "<|constrain|>":
            self._field = ""
        elif mark == "<|channel|>" and header and header.channel is None:
            self._begin_field("channel")
        else:
            self._end_message()
            if mark == "<|start|>":
                self._header = _Header()
                self._begin_field("role")
            elif mark == "<|channel|>":
                self._header = _Header()
                self._begin_field("channel")

    def _begin_field(self, field: Literal["role", "channel"]) -> None:
        self._field, self._field_start = field, self._pos

    def _end_field(self, end: int) -> None:
        if self._header and self._field:
            setattr(self._header, self._field, (self._field_start, end))
        self._field = ""

    def _end_message(self) -> None:
        """What follows, if it is no header, stands outside any message and belongs to the answer."""
        if self._header:
            self._take_from_header(self._header)
            self._header = None
        self._parts.open("answer")

    def _take_from_header(self, header: _Header) -> None:
        """A header that no message followed: what stands behind its first word is the message."""
        start, end = header.role if header.channel is None else header.channel
        text = self._source.slice(start, end)
        word = _WORD.match(text)
        body = text[word.end() :] if word else ""
        if body.lstrip(WHITESPACE).startswith("to="):
            return
        self._parts.open(self._kind(header))
        self._parts.add(end - len(body), body)

    def _kind(self, header: _Header) -> Kind:
        role = self._source.slice(*header.role).lstrip(WHITESPACE)
        channel = self._source.slice(*header.channel) if header.channel else ""
        if (role and not role.startswith("assistant")) or _ADDRESSED.search(role) or _ADDRESSED.search(channel):
            return "hidden"
        name = _LETTERS.search(channel)
        return "reasoning" if name and name.group().lower() == "analysis" else "answer"


def _beginning_at_end(text: str) -> int:
    """The length of the beginning of a token that `text` ends with."""
    start = text.rfind("<", -_LONGEST)
    return len(text) - start if start >= 0 and text[start:] in _BEGINNINGS else 0
