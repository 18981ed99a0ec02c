"""What an agent does, in bullets of plain words: one for a tool call, one for its result where that adds something.

    Searching notes for “machine learning”
    Found 5 relevant notes: Intro to ML, Backprop, Attention +2 more

Calls are told in the form "Searching …", so that "… failed" can follow. Words for a tool of your own: `register_summary`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from agentcell.errors import describe, must_be_count, must_be_text, warn
from agentcell.text.graphemes import cut
from agentcell.text.tool_kinds import ToolKind, kind_of

ToolNames: TypeAlias = Literal["shown", "neutral"]
"""Whether a tool that is not known is called by its name or by neutral words."""

CallSummary: TypeAlias = Callable[[Mapping[str, Any]], "str | None"]
"""Words for a call, from its arguments; None for the built-in ones."""

ResultSummary: TypeAlias = Callable[[Mapping[str, Any], Any], "str | None"]
"""Words for a result that is no failure, from the call's arguments and the result; None to say nothing."""

_MOST_TERMS = 6
_MOST_TITLES = 3
_LONGEST_NAME = 60
_LONGEST_TITLE = 50
_LONGEST_JSON = 1_000_000  # characters; reading a longer result only to count it would hold the display up
_LIST_KEYS = ("results", "items", "hits", "matches", "documents", "notes", "data")
_COUNT_KEYS = ("count", "total")
_TITLE_KEYS = ("title", "name", "path", "id")
_TOO_LONG_A_NUMBER = 10**18
_ARTEFACT = re.compile(r"\[object \w+\]|<[^<>]* object at 0x[0-9a-fA-F]+>")  # values that became text by mistake


@dataclass(frozen=True, slots=True)
class _Registered:
    call: CallSummary | None
    result: ResultSummary | None


_registered: dict[str, _Registered] = {}
_reported: set[tuple[str, str]] = set()


def register_summary(tool_name: str, *, call: CallSummary | None = None, result: ResultSummary | None = None) -> None:
    """Tells the calls and results of one tool in your own words; None keeps the built-in words, both None forgets yours.

    A failure is always told as the words for the call and "failed". When a callable raises, the built-in words are used and an
    AgentcellWarning says so, once.

    Raises:
        TypeError: `tool_name` is no string, or a summary is neither callable nor None.
    """
    must_be_text("tool_name", tool_name)
    for option, summary in (("call", call), ("result", result)):
        if summary is not None and not callable(summary):
            raise TypeError(f"{option} must be a function or None, not {describe(summary)}")
        _reported.discard((tool_name, option))
    if call is None and result is None:
        _registered.pop(tool_name, None)
    else:
        _registered[tool_name] = _Registered(call, result)


def summarize_call(tool: str, arguments: Mapping[str, Any], *, tool_names: ToolNames = "shown") -> str:
    """The bullet for a tool call, on one line. Backticks in it mark code: a tool's name, a command."""
    custom = _registered.get(tool)
    if custom is not None and (tell := custom.call) is not None:
        _, words = _ask(tool, "call", lambda: tell(arguments))
        if words:
            return words
    kind = kind_of(tool)
    if kind is None:
        name = _code_name(tool)
        return f"Calling {name}" if name and tool_names == "shown" else "Using a tool"
    known = arguments if isinstance(arguments, Mapping) else {}
    shown = next(filter(None, (_show(known.get(key), kind) for key in kind.keys)), None)
    vault = _plain(known.get("vault"), kind.limit)
    return (kind.doing_with.format(shown) if shown else kind.doing) + (f" from “{vault}”" if vault else "")


def summarize_result(
    tool: str, arguments: Mapping[str, Any], result: Any, *, failed: bool = False, tool_names: ToolNames = "shown"
) -> str | None:
    """The bullet for a tool's result, on one line; None where it would add nothing to the bullet of the call.

    Told are failures, edits that a person rejected, and how many things were found, with the titles of the first ones.
    """
    if failed:
        return f"{summarize_call(tool, arguments, tool_names=tool_names)} failed"
    custom = _registered.get(tool)
    if custom is not None and (tell := custom.result) is not None:
        answered, words = _ask(tool, "result", lambda: tell(arguments, result))
        if answered:
            return words
    kind = kind_of(tool)
    said = _from_json(result)
    if kind is None:
        name = _code_name(tool)
        source = f" from {name}" if name and tool_names == "shown" else ""
        return _found(said, lambda count: f"Got {count or 'no'} result{'' if count == 1 else 's'}{source}", only_lists=True)
    if kind.rejectable and isinstance(said, Mapping) and "rejected" in (said.get("status"), said.get("result")):
        return f"{summarize_call(tool, arguments, tool_names=tool_names)} was rejected"
    if kind.found is None:
        return None
    one, many = kind.found
    return _found(said, lambda count: f"Found {count} {one if count == 1 else many}" if count else f"No {many} found")


def first_line(text: str, *, limit: int = 100) -> str:
    """The first line of `text` that is not blank, with at most `limit` characters, the `…` of a cut among them.

    Raises:
        TypeError, ValueError: `limit` is no whole number of 1 or more.
    """
    must_be_count("limit", limit, at_least=1)
    lines = text.strip().splitlines()
    line = lines[0].rstrip() if lines else ""
    return line if len(line) <= limit else cut(line, limit - 1).rstrip() + "…"


def _ask(tool: str, option: str, tell: Callable[[], object]) -> tuple[bool, str | None]:
    """Whether a registered summary answered, and its words on one line, None if it has none. Its first fault is reported."""
    try:
        words = tell()
    except Exception as error:  # noqa: BLE001 - it is the user's code, and whatever it raises must not end the run
        fault = describe(error)
    else:
        if words is None or isinstance(words, str):
            return True, " ".join((words or "").split()) or None
        fault = f"it must return a string or None, not {describe(words)}"
    if (tool, option) not in _reported:
        _reported.add((tool, option))
        message = f"the {option} summary registered for {tool!r} failed, so the built-in words are used: {fault}"
        warn(message)
    return False, None


def _show(value: object, kind: ToolKind) -> str:
    """An argument as it stands in a bullet; "" if it tells nothing."""
    values = list(value) if isinstance(value, (list, tuple)) else [value]
    if kind.shown_as == "code":
        return _show_code(" ".join(part for part in values if isinstance(part, str)), kind.limit)
    if kind.shown_as == "path":
        values = [_last_part(path) for path in values]
    terms = [term for term in (_plain(each, kind.limit) for each in values) if term]
    more = f" +{len(terms) - _MOST_TERMS} more" if len(terms) > _MOST_TERMS else ""
    return ", ".join(f"“{term}”" for term in terms[:_MOST_TERMS]) + more


def _show_code(code: str, limit: int) -> str:
    """The first line of a command in backticks, or in quotes if it has backticks itself; `…` says that there is more."""
    lines = code.strip().splitlines()
    line = _plain(lines[0], limit) if lines else ""
    if line and len(lines) > 1:
        line = line.removesuffix("…") + "…"
    return f"“{line}”" if "`" in line else f"`{line}`" if line else ""


def _code_name(tool: str) -> str:
    """A tool's name in backticks; "" if it has none."""
    name = _plain(tool.replace("`", ""), _LONGEST_NAME)
    return f"`{name}`" if name else ""


def _plain(value: object, limit: int) -> str:
    """A text or whole number on one line with at most `limit` characters before the `…`; "" for every other value."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < _TOO_LONG_A_NUMBER:
        value = str(value)
    if not isinstance(value, str) or _ARTEFACT.search(value):
        return ""
    text = " ".join(value.split())
    return text if len(text) <= limit else cut(text, limit).rstrip() + "…"


def _last_part(path: object) -> object:
    """The last part of a path, without `.md`; every other value as it is."""
    if not isinstance(path, str):
        return path
    return re.split(r"[/\\]", path.strip().rstrip("/\\"))[-1].removesuffix(".md") or path


def _from_json(result: object) -> object:
    """What a result says that may be JSON text; the result itself if it is not."""
    if isinstance(result, str) and len(result) <= _LONGEST_JSON and result.lstrip().startswith(("[", "{")):
        try:
            return json.loads(result)
        except (ValueError, RecursionError):
            return result
    return result


def _found(said: object, lead: Callable[[int], str], *, only_lists: bool = False) -> str | None:
    """How many things a result holds, and the titles of the first ones; None if it does not say."""
    values = said if isinstance(said, Mapping) else {}
    lists = (values.get(key) for key in _LIST_KEYS)
    items = said if isinstance(said, (list, tuple)) else next((each for each in lists if isinstance(each, (list, tuple))), None)
    if items is None:
        counts = (values.get(key) for key in _COUNT_KEYS if not only_lists)
        count = next((each for each in counts if isinstance(each, int) and not isinstance(each, bool) and each >= 0), None)
        return None if count is None else lead(count)
    titles = [title for title in map(_title, items[:_MOST_TITLES]) if title]
    more = f" +{len(items) - len(titles)} more" if len(items) > len(titles) else ""
    return lead(len(items)) + (f": {', '.join(titles)}{more}" if titles else "")


def _title(item: object) -> str:
    """What names one thing that was found; "" if nothing does."""
    values = item if isinstance(item, Mapping) else {}
    names = (_plain(_last_part(values.get(key)) if key == "path" else values.get(key), _LONGEST_TITLE) for key in _TITLE_KEYS)
    return next(filter(None, names), "")
