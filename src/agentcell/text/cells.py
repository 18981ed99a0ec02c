"""How wide a text is in a terminal, in cells, and the beginning of it that fits.

It knows no more than `unicodedata` does: emoji that a terminal joins into one are counted one by one. So a text may be cut a little
early, but what fits here never runs over the edge.
"""

from __future__ import annotations

import unicodedata

from agentcell.text.graphemes import cut


def cell_width(text: str) -> int:
    """The cells that a text without controls takes: two for wide signs (East Asian, emoji), none for marks on others."""
    return len(text) if text.isascii() else sum(map(_width, text))


def fit(text: str, width: int) -> str:
    """The text if it is no wider than `width` cells, else a beginning of it, cut between two graphemes, and `…`."""
    if width < 1:
        return ""
    if len(text) <= width // 2 or cell_width(text) <= width:
        return text
    left, end = width - 1, 0
    for sign in text:
        left -= _width(sign)
        if left < 0:
            break
        end += 1
    # `cut` gives a part of a sign that alone is too wide.
    return (cut(text, end) if end else "").rstrip() + "…"


def _width(sign: str) -> int:
    if sign == "\ufe0f":  # what stands before it is shown as an emoji, which is wide
        return 1
    if (unicodedata.category(sign) in ("Mn", "Me", "Cf") and sign != "\xad") or "\u1160" <= sign <= "\u11ff":
        return 0  # marks, joiners, and the parts of a Hangul syllable behind its first
    return 2 if unicodedata.east_asian_width(sign) in "WF" else 1
