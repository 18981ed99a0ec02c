"""The one place, beside markdown, where text becomes HTML."""

from __future__ import annotations

import re
from html import escape

# What no page and no terminal should get: controls (NUL ends a page in some readers, ESC commands a terminal), but for line ends and
# tabs; and halves of a character, which cannot be written as UTF-8.
_UNSHOWABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff]")
_HALVES = re.compile("[\ud800-\udfff]")


def showable(text: str) -> str:
    """`text` as it can be shown everywhere: a control or half a character becomes U+FFFD, two halves become the character."""
    if _UNSHOWABLE.search(text) is None:
        return text
    return _UNSHOWABLE.sub("\ufffd", joined(text))


def joined(text: str) -> str:
    """`text` with each character that came in two halves (surrogates) whole; a half without its other stays."""
    if _HALVES.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def html_text(text: str) -> str:
    """`text` as HTML that shows just that text, in an element or in a quoted attribute."""
    return escape(showable(text), quote=True)


def html_words(text: str) -> str:
    """`text` as HTML, with what stands between backticks as code."""
    parts = html_text(text).split("`")
    if len(parts) % 2 == 0:  # one backtick has no partner: it is the last one, and stands for itself
        parts[-2:] = ["`".join(parts[-2:])]
    return "".join(f"<code>{part}</code>" if place % 2 else part for place, part in enumerate(parts))


def tag(name: str, *content: str, **attributes: str | bool | None) -> str:
    """An element as HTML.

    Args:
        name: The element's name; it is trusted.
        content: HTML that was made safe already; plain text goes through `html_text` first.
        attributes: Their plain text; `class_` for `class`; True for a bare attribute, None and False to leave it out.
    """
    parts = [name]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        label = key.rstrip("_").replace("_", "-")
        parts.append(label if value is True else f'{label}="{html_text(value)}"')
    return f"<{' '.join(parts)}>{''.join(content)}</{name}>"
