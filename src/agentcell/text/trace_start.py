"""Whether reasoning that has begun to arrive is a tool trace, told as soon as it is certain.

The first line that is not blank decides. It is the fixed header, or a route, or a call: certain with its line feed, and before it
once a route's name begins, or once a parenthesis or a result stands behind a tool's name, because nothing that follows on the line
can change these. A tool's bare name may be a word like any other, so then the next line must have a sign too. Everything else is
ordinary reasoning from its first character on that a trace cannot have there; also a note in front, which people write as well.
"""

from __future__ import annotations

import re

from agentcell.text.trace_lines import RESULT, SIGN, parse_trace

_LONGEST = 400
"""Characters of a line that cannot be told; a longer one is no beginning of a trace."""

_TITLE = "Tool trace"
_SIGN_TO_COME = re.compile(r"(?:(?:[-*+•]|[0-9]{1,9}[.)]?)\s*)?")
_NAME_SO_FAR = re.compile(r"[\s*`]*[^\s*`()]*[\s*`]*-?")


def begins_trace(text: str, *, finished: bool = False) -> bool | None:
    """Whether `text` is the beginning of a tool trace; None as long as only more text will tell.

    Args:
        text: The reasoning so far, from its start.
        finished: Nothing follows.
    """
    first, line_end, others = text.lstrip().partition("\n")
    signed = SIGN.match(first)
    if signed is None or signed["sign"] not in "🧭🔧":
        return None if not (signed or line_end or finished) and _SIGN_TO_COME.fullmatch(first) else False
    ended = bool(line_end) or finished
    said = parse_trace(first)
    if said.calls:
        if "(" in first or RESULT.search(first):
            return True
        if ended:
            return _goes_on(others, finished=finished)
    elif said.routes:
        if ended or said.routes[0].name[0].isalnum():
            return True
    elif ended:
        return not said.notes  # a line that says nothing at all is the header
    return None if len(first) <= _LONGEST and _may_become_one(signed["sign"], first[signed.end() :]) else False


def _goes_on(others: str, *, finished: bool) -> bool | None:
    """Whether the line behind a tool's bare name has a sign."""
    second, line_end, _ = others.lstrip().partition("\n")
    if SIGN.match(second):
        return True
    return None if not (line_end or finished) and _SIGN_TO_COME.fullmatch(second) else False


def _may_become_one(sign: str, rest: str) -> bool:
    if sign == "🧭":
        said = rest.casefold()
        return "routed to".startswith(said) or said.startswith("routed to")
    return _TITLE.startswith(rest.rstrip()) or _NAME_SO_FAR.fullmatch(rest) is not None
