"""Tool-trace text, read line by line: routes, calls with their results, and notes.

Agents behind a chat API often write what they do into the text itself, one line an event: `🧭 Routed to …`,
`🔧 tool(arguments)`, `📦 result`, `💭 note`. A sign counts only at the start of a line. Nothing is dropped but the fixed header
`🔧 Tool trace`, blank lines and the signs themselves: a line that fits no rule becomes a note, as it stands.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, TypeAlias

from agentcell.errors import AgentcellError
from agentcell.text.trace_arguments import split_arguments

CallStatus: TypeAlias = Literal["pending", "ok", "empty", "error", "not_found", "blocked"]
"""What the last result of a call says; `pending` while there is none."""


@dataclass(frozen=True, slots=True)
class Route:
    """The agent that was chosen; `confidence` in percent, whole ones as int; `focus` is the part of the task it got."""

    name: str
    confidence: float | None = None
    focus: str | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call with all its results, in the order of the text; `status` is that of the last one."""

    tool: str
    results: tuple[str, ...] = ()
    status: CallStatus = "pending"


@dataclass(frozen=True, slots=True)
class ToolTrace:
    """Everything a trace text says, each part in the order of its lines; `summary` is one line about it."""

    routes: tuple[Route, ...] = ()
    calls: tuple[Call, ...] = ()
    notes: tuple[str, ...] = ()
    summary: str = ""


@dataclass(frozen=True, slots=True)
class CallStart:
    """News: a call begins. `arguments` is what stands between the parentheses, as it stands."""

    tool: str
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class CallResult:
    """News: one more result of the call that started last."""

    text: str
    status: CallStatus


@dataclass(frozen=True, slots=True)
class Note:
    """News: a note is complete."""

    text: str


News: TypeAlias = Route | CallStart | CallResult | Note
"""What one line, or the lines of one note, added to a trace."""


# None of these looks at a run of characters again and again while it searches, so no line costs more than its length.
SIGN = re.compile(r"\s*(?:(?:[-*+•]|\d+[.)])\s+)?(?P<sign>[🧭🔧📦💭🚫❌])[\ufe0e\ufe0f]?\s*")
_HEADER = re.compile(r"\s*🔧[\ufe0e\ufe0f]? Tool trace")
_ROUTED = re.compile(r"routed to\s+", re.IGNORECASE)
_DASHES = "—\u2013-"  # em dash, en dash, hyphen
_FOCUS = re.compile(rf"[{_DASHES}]\s*foc(?:o|us)\s*:", re.IGNORECASE)
_NUMBER = r"(?P<number>[0-9]{1,15}(?:\.[0-9]{1,15})?)\s*(?P<percent>%\s*)?"  # longer ones are no confidence
_IN_PARENTHESES = re.compile(rf"\(\s*(?:confidence\s*)?(?:[:=]\s*)?{_NUMBER}\)\Z", re.IGNORECASE)
_BEHIND_A_WORD = re.compile(rf"(?<=[,;:\s])confidence\s*(?:[:=]\s*)?{_NUMBER}\Z", re.IGNORECASE)
RESULT = re.compile("→|->|[📦🚫❌]")
_INLINE = re.compile(r"(?:→|->|:)?\s*(?:(?P<sign>[📦🚫❌])[\ufe0e\ufe0f]?)?\s*")
_NO_ITEMS = re.compile(r"~?0 items\b")


def parse_trace(text: str) -> ToolTrace:
    """Reads a whole trace text. Takes any text and never raises."""
    reader = TraceReader()
    reader.feed(text)
    reader.finish()
    return reader.trace


class TraceReader:
    """Reads a trace text while it arrives; how it was cut into chunks never shows.

    A line counts once its line feed is there, a note once the line that ends it is there: nothing told is ever taken back.
    Time and memory grow with the length of the text alone.
    """

    def __init__(self) -> None:
        self._line: list[str] = []  # the chunks of the line that has no line feed yet
        self._note: list[str] | None = None  # the lines of the note that may still go on
        self._news: list[News] = []  # everything told so far
        self._called = False
        self._finished = False

    def feed(self, chunk: str) -> tuple[News, ...]:
        """Takes more text and returns what it made known, in the order of the text.

        Raises:
            AgentcellError: the text was finished before.
        """
        if self._finished:
            raise AgentcellError("a finished TraceReader takes no more text: make a new one for the next text")
        told = len(self._news)
        *complete, rest = chunk.split("\n")
        for part in complete:
            self._read("".join((*self._line, part)))
            self._line.clear()
        if rest:
            self._line.append(rest)
        return tuple(self._news[told:])

    def finish(self) -> tuple[News, ...]:
        """Ends the text and returns what that made known: the last line, the last note. Nothing the second time."""
        told = len(self._news)
        if not self._finished:
            self._finished = True
            self._read("".join(self._line))
            self._end_note()
        return tuple(self._news[told:])

    @property
    def trace(self) -> ToolTrace:
        """The trace made of all the news so far; built when asked for."""
        routes: list[Route] = []
        notes: list[str] = []
        calls: list[tuple[str, list[CallResult]]] = []
        for news in self._news:
            match news:
                case Route():
                    routes.append(news)
                case CallStart():
                    calls.append((news.tool, []))
                case CallResult():
                    calls[-1][1].append(news)
                case Note():
                    notes.append(news.text)
        return ToolTrace(
            routes=tuple(routes),
            calls=tuple(
                Call(tool, tuple(result.text for result in results), results[-1].status if results else "pending")
                for tool, results in calls
            ),
            notes=tuple(notes),
            summary=_summarize(routes, [tool for tool, _ in calls], notes),
        )

    def _read(self, line: str) -> None:
        line = line.rstrip()
        signed = SIGN.match(line)
        if signed is None:
            if self._note is not None:
                self._note.append(line)
            elif line:
                self._news.append(Note(line))
            return
        self._end_note()
        sign, rest = signed["sign"], line[signed.end() :]
        if sign == "💭":
            self._note = [rest]
        elif not _HEADER.fullmatch(line):
            news = self._read_signed(sign, rest)
            self._called = self._called or any(isinstance(new, CallStart) for new in news)
            self._news += news or (Note(line),)

    def _read_signed(self, sign: str, rest: str) -> tuple[News, ...]:
        """What a line with a sign says; nothing if it fits no rule."""
        if sign == "🧭":
            return _read_route(rest)
        if sign == "🔧":
            return _read_call(rest)
        return (CallResult(rest, _status(sign, rest)),) if self._called else ()

    def _end_note(self) -> None:
        lines, self._note = self._note or [], None
        filled = [at for at, line in enumerate(lines) if line]
        if filled:
            self._news.append(Note("\n".join(lines[filled[0] : filled[-1] + 1])))


def _read_route(rest: str) -> tuple[News, ...]:
    """`Routed to NAME (confidence N%) — foco: "…"`; each part but the name may be missing."""
    routed = _ROUTED.match(rest)
    if routed is None:
        return ()
    said, focus = rest[routed.end() :], None
    if (found := _FOCUS.search(said)) is not None:
        focus = said[found.end() :].strip()
        if focus.startswith('"'):
            focus = focus[1:].removesuffix('"')
        said = said[: found.start() + 1].rstrip(_DASHES)
    said = said.rstrip()
    confidence = None
    if (found := _IN_PARENTHESES.search(said)) is not None:
        confidence, said = _percent(found), said[: found.start()]
    elif (found := _BEHIND_A_WORD.search(said)) is not None:
        confidence, said = _percent(found), said[: found.start()].rstrip()
        said = said[:-1] if said.endswith((",", ";", ":")) else said
    name = _without_marks(said)
    return (Route(name, confidence, focus or None),) if name else ()


def _percent(found: re.Match[str]) -> float:
    """The number as percent: `0.92` is a fraction, `0.92%`, `1` and `92` are percent already."""
    number = Decimal(found["number"])
    if not found["percent"] and "." in found["number"] and number <= 1:
        number *= 100
    return int(number) if number == int(number) else float(number)


def _read_call(rest: str) -> tuple[News, ...]:
    """`NAME(arguments)` or `NAME`, either with a result behind it."""
    name, opened, behind = rest.partition("(")
    tool = _without_marks(name)
    if opened and _is_name(tool):
        arguments, tail = split_arguments(behind)
        return (CallStart(tool, arguments), *_read_inline(tail))
    separator = RESULT.search(rest)
    name, tail = (rest, "") if separator is None else (rest[: separator.start()], rest[separator.start() :])
    tool = _without_marks(name)
    return (CallStart(tool), *_read_inline(tail)) if _is_name(tool) else ()


def _read_inline(tail: str) -> tuple[CallResult, ...]:
    """The result on the line of its call, behind `→`, `->`, `:` or a sign; `→` alone is none yet."""
    inline = _INLINE.match(tail)
    if inline is None or (inline.end() == len(tail) and inline["sign"] is None):
        return ()
    text = tail[inline.end() :].strip()
    return (CallResult(text, _status(inline["sign"] or "", text)),)


def _status(sign: str, text: str) -> CallStatus:
    said = text.casefold()
    if sign == "🚫" or said == "blocked by guardrail":
        return "blocked"
    if said == "tool not found" or (sign == "❌" and "not found" in said):
        return "not_found"
    if sign == "❌":
        return "error"
    if said in ("", "empty") or _NO_ITEMS.match(said):
        return "empty"
    return "error" if said == "error" or said.startswith("error:") else "ok"


def _without_marks(text: str) -> str:
    """`text` without whitespace, asterisks and backticks around it, in any mixture."""
    start, end = 0, len(text)
    while start < end and (text[start] in "*`" or text[start].isspace()):
        start += 1
    while end > start and (text[end - 1] in "*`" or text[end - 1].isspace()):
        end -= 1
    return text[start:end]


def _is_name(text: str) -> bool:
    """Whether a tool can be called so: letters, marks, digits and `_` of any script, and `.`, `-`, `/`, `:` between them."""
    return text.strip(".-/:") == text != "" and all(_is_word(character) for character in text if character not in ".-/:")


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_" or unicodedata.category(character).startswith("M")


def _summarize(routes: list[Route], tools: list[str], notes: list[str]) -> str:
    """One line: each route once with its first confidence, then how often each tool was called; both in order of appearance."""
    confidences: dict[str, float | None] = {}
    for route in routes:
        confidences.setdefault(route.name, route.confidence)
    parts = [name if percent is None else f"{name} ({_shortest(percent)}%)" for name, percent in confidences.items()]
    parts += [f"{count}\u00d7 {tool}" for tool, count in Counter(tools).items()]
    if not parts and notes:
        return "1 note" if len(notes) == 1 else f"{len(notes)} notes"
    return " · ".join(parts)


def _shortest(number: float) -> str:
    """At most two decimals, no trailing zeros."""
    return f"{number:.2f}".rstrip("0").rstrip(".")
