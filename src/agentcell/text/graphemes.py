"""Text cut to a length, but never inside a grapheme: what a reader takes for one character stays whole.

Kept whole: a letter with its combining marks, a conjunct behind a virama, emoji with variation selectors, skin tones or tags,
emoji joined by ZWJ, flags, Hangul syllables written in parts, CR LF. It knows no more than `unicodedata` does, so a few rare
clusters of UAX 29 may be cut: those with prepended signs, Thai and Lao AM, and old Hangul with several leading consonants.
"""

from __future__ import annotations

import unicodedata

_VIRAMA = 9  # canonical combining class


def cut(text: str, limit: int) -> str:
    """The longest beginning of `text` with at most `limit` code points that ends between two graphemes.

    A single grapheme that is longer than `limit` is cut all the same: better a broken sign than a line without end.
    """
    if len(text) <= limit:
        return text
    at = limit
    while at > 0 and _continues(text, at):
        at -= 1
    return text[: at or limit]


def _continues(text: str, at: int) -> bool:
    """Whether the character at `at` belongs to the same grapheme as the one before it."""
    before, after = text[at - 1], text[at]
    if _is_flag_half(after):
        start = at
        while start > 0 and _is_flag_half(text[start - 1]):
            start -= 1
        return (at - start) % 2 == 1
    return (
        unicodedata.category(after).startswith("M")
        or after in "\u200c\u200d"  # joiners
        or "\U0001f3fb" <= after <= "\U0001f3ff"  # skin tones
        or "\U000e0020" <= after <= "\U000e007f"  # tags, as in the flag of Scotland
        or "\u1160" <= after <= "\u11ff"  # Hangul vowels and final consonants
        or before == "\u200d"
        or (unicodedata.combining(before) == _VIRAMA and after.isalpha())
        or (before == "\r" and after == "\n")
    )


def _is_flag_half(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"
