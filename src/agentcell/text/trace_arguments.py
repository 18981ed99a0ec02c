"""The arguments of a call that stands in one line of text: where they end and the result begins, and what they say.

Arguments hold quotes, parentheses and arrows of their own, and who wrote the line may have cut them anywhere. So the careful
way is tried first; what it cannot read is cut at the parenthesis that looks most like the last one.
"""

from __future__ import annotations

import ast
import json
import re
from typing import Any

# None of these looks at a run of characters again and again while it searches, so no line costs more than its length.
_QUOTE_OR_PARENTHESIS = re.compile(r"""['"()]""")
_IN_STRING = re.compile(r"""\\?\.\.\.|\\.|['"]""")
_CUT_JSON = re.compile(r"\\?\.\.\.(?=, \w+=|\)\s*(?:\Z|:|→|->|[📦🚫❌]))")
_BEHIND_STRING = re.compile(r"[,)\]}:\s]|\Z")
_NAME = re.compile(r"\s*(?P<name>[\w.-]+)\s*=\s*")
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
_NEXT = re.compile(r"\s*(?:,|\Z)")
_JSON = json.JSONDecoder()
_BEFORE_RESULT = re.compile(r"\)\s*(?=→|->|[📦🚫❌])")


def split_arguments(behind: str) -> tuple[str, str]:
    """What stands behind `name(`, cut in two: the arguments, and what follows their closing parenthesis, maybe ""."""
    close = _find_close(behind)
    if close is not None:
        tail = behind[close + 1 :].lstrip("*`").strip()
        if not tail.startswith(('"', "'", ",", "]", "}", ")")):
            return behind[:close], tail
    undecorated = behind.rstrip("*`")
    if undecorated.endswith(")"):
        return undecorated[:-1], ""
    if (found := _BEFORE_RESULT.search(behind)) is not None:
        return behind[: found.start()], behind[found.end() :]
    return behind, ""


def _find_close(arguments: str) -> int | None:
    """Where the parenthesis closes that was opened before `arguments`, or None if strings and parentheses do not add up."""
    depth, at = 1, 0
    while (found := _QUOTE_OR_PARENTHESIS.search(arguments, at)) is not None:
        at = found.end()
        if found[0] == "(":
            depth += 1
        elif found[0] == ")":
            depth -= 1
            if depth == 0:
                return found.start()
        elif (opener := _last_before(arguments, found.start())) in "(,=[{:":
            end = _find_string_end(arguments, at, quote=found[0], json=found[0] == '"' and opener in ",[{:")
            if end is None:
                return None
            at = end
    return None


def _last_before(arguments: str, at: int) -> str:
    """The last character before `at` that is no whitespace; the arguments begin behind a parenthesis."""
    while at > 0 and arguments[at - 1].isspace():
        at -= 1
    return arguments[at - 1] if at > 0 else "("


def _find_string_end(arguments: str, at: int, *, quote: str, json: bool) -> int | None:
    """Where reading goes on behind the string whose content begins at `at`; None if it is no string.

    JSON may have been cut to `"beginning...` inside a string: there the next argument or the end of the call ends it.
    """
    while (found := _IN_STRING.search(arguments, at)) is not None:
        if json and (cut := _CUT_JSON.match(arguments, found.start())) is not None:
            return cut.end()
        if found[0] == quote:
            return found.end() if _BEHIND_STRING.match(arguments, found.end()) else None
        at = found.start() + (2 if found[0].startswith("\\") else 1)
    return None


def read_arguments(text: str) -> dict[str, Any] | None:
    """The arguments `name=value, …` of a call as values; None if they cannot be read, because somebody cut them or wrote them freely.

    A value is JSON or a Python string; instead of pairs there may be one JSON object.
    """
    if not text.strip():
        return {}
    try:
        if text.lstrip().startswith("{"):
            said = json.loads(text)
            return said if isinstance(said, dict) else None
        return _read_pairs(text)
    except (ValueError, SyntaxError, RecursionError):
        return None


def _read_pairs(text: str) -> dict[str, Any] | None:
    values: dict[str, Any] = {}
    at = 0
    while at < len(text):
        name = _NAME.match(text, at)
        if name is None:
            return None
        value, at = _read_value(text, name.end())
        behind = _NEXT.match(text, at)
        if behind is None:
            return None
        values[name["name"]], at = value, behind.end()
    return values


def _read_value(text: str, at: int) -> tuple[Any, int]:
    try:
        return _JSON.raw_decode(text, at)
    except ValueError:
        quoted = _QUOTED.match(text, at)
        if quoted is None:
            raise
        return ast.literal_eval(quoted[0]), quoted.end()
