"""A run's state inside a chat message: an HTML comment that other chats understand, written and read back.

Two forms are in use; both are written and read:

    <!--AGENT_REASONING:complete:12:["Searching notes","Found 3 relevant notes"]-->
    <!--REASONING_BLOCK:{"elapsed":12,"steps":["Searching notes","Found 3 relevant notes"]}-->

Older messages hold a banner for each tool call instead, a pair of comments; those are read and written no more. A comment that
cannot be read, and any marker inside a code span or a fenced code block, is ordinary text: it stays where it is.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, TypeVar, cast, get_args
from urllib.parse import unquote

from agentcell.errors import describe, must_be_one_of, must_be_text
from agentcell.text.summaries import summarize_result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

MarkerStatus: TypeAlias = Literal["idle", "reasoning", "collapsed", "complete"]
"""Where a run stands."""

MarkerForm: TypeAlias = Literal["agent", "block"]
"""`agent` writes status, seconds and steps; `block` has no room for the status."""

_TOO_MANY_SECONDS = 10**15


@dataclass(frozen=True, slots=True)
class ParsedMarker:
    """The first marker of a message; `before` and `after` are the message without it, to the letter.

    A marker of form `block` does not say its status and is read as `complete`, because it stands in messages that were saved.
    """

    status: MarkerStatus
    elapsed_seconds: int
    steps: tuple[str, ...]
    before: str
    after: str


def to_marker(status: MarkerStatus, *, elapsed_seconds: float, steps: Iterable[str], form: MarkerForm = "agent") -> str:
    """Writes a marker; seconds are rounded down. The status `idle` is written as the empty string.

    The text has one `-->`, at its end, whatever the steps hold, so that readers that look for the first one find the right one.

    Raises:
        TypeError: an argument of another type; also when `steps` is one string.
        ValueError: a status or form that does not exist, seconds below 0, not finite or beyond 10**15.
    """
    must_be_one_of("status", status, get_args(MarkerStatus))
    must_be_one_of("form", form, get_args(MarkerForm))
    if isinstance(elapsed_seconds, bool) or not isinstance(elapsed_seconds, (int, float)):
        raise TypeError(f"elapsed_seconds must be a number, not {describe(elapsed_seconds)}")
    if not 0 <= elapsed_seconds < _TOO_MANY_SECONDS:
        raise ValueError(f"elapsed_seconds must be 0 or more and below 10**15, not {elapsed_seconds}")
    if isinstance(steps, str):
        raise TypeError(f"steps must be several strings, such as a tuple of them, not {describe(steps)}")
    summaries = [must_be_text("each of steps", step) for step in steps]
    if status == "idle":
        return ""
    if form == "agent":
        return f"<!--AGENT_REASONING:{status}:{int(elapsed_seconds)}:{_payload(summaries)}-->"
    return f"<!--REASONING_BLOCK:{_payload({'elapsed': int(elapsed_seconds), 'steps': summaries})}-->"


def parse_marker(text: str) -> ParsedMarker | None:
    """Reads the first marker in `text` that is valid, of either form; None if there is none. Takes any text, never raises."""
    found = next(_outside_code(text, _MARKER, _read_marker), None)
    if found is None:
        return None
    opening, end, (status, elapsed_seconds, steps) = found
    return ParsedMarker(status, elapsed_seconds, steps, before=text[: opening.start()], after=text[end:])


def strip_markers(text: str) -> str:
    """`text` without any valid marker, of either form; all else stays to the letter. Takes any text, never raises."""
    return _without(text, [(opening.start(), end) for opening, end, _ in _outside_code(text, _MARKER, _read_marker)])


def parse_banners(text: str) -> tuple[tuple[str, ...], str]:
    """Reads the tool-call banners of an old message: their steps, and the message without them.

    A banner gives its title as a step, and one more about its result if that adds something. What stands between its two
    comments stays in the message. Takes any text, never raises.
    """
    ends = _banner_ends(text)

    def read(start: re.Match[str]) -> tuple[int, _BannerEnd] | None:
        same_call = ends.get(start["id"], [])
        at = bisect_left(same_call, (start.end(),))
        return (same_call[at].end, same_call[at]) if at < len(same_call) else None

    steps: list[str] = []
    gone: list[tuple[int, int]] = []
    for start, _, end in _outside_code(text, _BANNER, read):
        gone += [start.span(), (end.start, end.end)]
        steps.append(start["title"].strip())
        found = summarize_result(start["tool"], {}, end.result)
        steps += [found] if found else []
    return tuple(steps), _without(text, gone)


_CODE = r"^ {0,3}(?P<fence>`{3,}(?=[^`\n]*$)|~{3,})|(?P<ticks>`+)"
_MARKER = re.compile(
    rf"{_CODE}|<!--(?:REASONING_BLOCK:|AGENT_REASONING:(?P<status>{'|'.join(get_args(MarkerStatus))}):"
    r"(?P<seconds>[0-9]{1,15})(?:\.[0-9]+)?:)",
    re.MULTILINE,
)
_BANNER = re.compile(  # id, name and title of the tool, its emoji, a question to the user, whether it is still running
    rf"{_CODE}|<!--TOOL_CALL_START:(?P<id>[^:<>\n]+):(?P<tool>[^:\n]+):(?P<title>[^:\n]+):[^:\n]+:[^:\n]*:(?:true|false)-->",
    re.MULTILINE,
)
_BANNER_END = re.compile(r"<!--TOOL_CALL_END:(?P<id>[^:<>\n]+):|-->")
_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"'
_PAYLOAD = re.compile(rf'([^"<>\\]*(?:{_STRING}[^"<>\\]*)*)-->', re.DOTALL)  # JSON has no `>` outside of strings
_TICKS = re.compile("`+")
_UNSAFE = re.compile(r"(?<=--)>|(?<=--!)>|[\u2028\u2029\ud800-\udfff]")

_Said = TypeVar("_Said")


class _BannerEnd(NamedTuple):
    """The second comment of a banner."""

    start: int
    end: int
    result: str


def _payload(value: object) -> str:
    """JSON that ends no comment, has no line separator (the readers of others stop there) and can be stored as UTF-8."""
    written = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", written)


def _read_marker(opening: re.Match[str]) -> tuple[int, tuple[MarkerStatus, int, tuple[str, ...]]] | None:
    """Where the marker ends that opens there, and what it says; None if it is none.

    Its end is the first `-->` outside of the JSON strings: other writers do not escape the one inside them.
    """
    payload = _PAYLOAD.match(opening.string, opening.end())
    if payload is None:
        return None
    try:
        said = json.loads(payload[1])
    except (ValueError, RecursionError):
        return None
    status, elapsed, steps = opening["status"], opening["seconds"], said
    if status is None:
        if not isinstance(said, dict):
            return None
        status, elapsed, steps = "complete", said.get("elapsed"), said.get("steps")
        if isinstance(elapsed, bool) or not isinstance(elapsed, (int, float)) or not 0 <= elapsed < _TOO_MANY_SECONDS:
            return None
    if not isinstance(steps, list) or not all(isinstance(step, str) for step in steps):
        return None
    return payload.end(), (cast("MarkerStatus", status), int(elapsed), tuple(steps))


def _banner_ends(text: str) -> dict[str, list[_BannerEnd]]:
    """The second comments of banners by the call's id, in order; the result may be URI-encoded so that it ends no comment."""
    ends: dict[str, list[_BannerEnd]] = {}
    start: re.Match[str] | None = None
    for found in _BANNER_END.finditer(text):
        if found["id"]:
            start = found
        elif start is not None:
            result = text[start.end() : found.start()]
            result = unquote(result.removeprefix("ENC:")) if result.startswith("ENC:") else result
            ends.setdefault(start["id"], []).append(_BannerEnd(start.start(), found.end(), result))
            start = None
    return ends


def _outside_code(
    text: str, opening: re.Pattern[str], read: Callable[[re.Match[str]], tuple[int, _Said] | None]
) -> Iterator[tuple[re.Match[str], int, _Said]]:
    """Everything outside of code that `read` makes something of, from left to right: its opening, its end, what it says.

    A fence is code up to the line that closes it, or to the end of the text. A code span is closed on its line by a run of
    as many backticks; a run without such a partner is text. In time linear in the text.
    """
    at = line_end = 0
    runs: dict[int, list[int]] = {}  # by length: where the runs of so many backticks begin, from the first one of the line on
    while (found := opening.search(text, at)) is not None:
        at = found.end()
        if (fence := found["fence"]) is not None:
            closing = re.compile(rf"^ {{0,3}}{fence[0]}{{{len(fence)},}}[^\S\n]*$", re.MULTILINE).search(text, at)
            if closing is None:
                return
            at = closing.end()
        elif (ticks := found["ticks"]) is not None:
            if found.start() >= line_end:
                line_end = text.find("\n", at)
                line_end = len(text) if line_end < 0 else line_end
                runs = {}
                for run in _TICKS.finditer(text, found.start(), line_end):
                    runs.setdefault(len(run[0]), []).append(run.start())
            same = runs[len(ticks)]
            partner = bisect_left(same, at)
            at = same[partner] + len(ticks) if partner < len(same) else at
        elif (said := read(found)) is not None:
            at, value = said
            yield found, at, value


def _without(text: str, gone: list[tuple[int, int]]) -> str:
    """`text` without some of its stretches, given in order as (start, end)."""
    edges = [0, *(edge for stretch in gone for edge in stretch), len(text)]
    return "".join(text[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True))
