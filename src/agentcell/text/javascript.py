"""Text as JavaScript measures it: how long it is, where it may be cut, what its ends lose.

agentfootprint counts UTF-16 units and trims ECMAScript's white space. The same log has to give the same line here, and Python's
`len` and `str.strip` differ: an emoji has length 1, U+FEFF stays, U+0085 goes.
"""

from __future__ import annotations

WHITE_SPACE = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
)
"""WhiteSpace and LineTerminator of ECMA-262 (sections 12.2 and 12.3), what `String.prototype.trim` takes away."""

_ENCODING = "utf-16-le"


def trim(text: str) -> str:
    """`text` without white space at its two ends."""
    return text.strip(WHITE_SPACE)


def units(text: str) -> int:
    """The length of `text` in UTF-16 units."""
    if text.isascii():
        return len(text)
    return len(text.encode(_ENCODING, "surrogatepass")) // 2


def first_units(text: str, limit: int) -> str:
    """The first `limit` UTF-16 units of `text`, one fewer where the cut would go through a character."""
    if 2 * len(text) <= limit or (text.isascii() and len(text) <= limit):
        return text
    # No code point is less than one unit, so what lies past the first `limit` code points cannot matter.
    encoded = text[: limit + 1].encode(_ENCODING, "surrogatepass")
    if _is_pair(encoded[2 * limit - 2 : 2 * limit + 2]):
        limit -= 1
    return encoded[: 2 * limit].decode(_ENCODING, "surrogatepass")


def _is_pair(two_units: bytes) -> bool:
    return len(two_units) == 4 and 0xD8 <= two_units[1] <= 0xDB and 0xDC <= two_units[3] <= 0xDF
