"""The one place, beside markdown, where text becomes HTML."""

from __future__ import annotations

from html import escape

# A lone surrogate cannot be sent or written as UTF-8, and NUL ends a page in some readers; both are shown as the replacement sign.
_UNSHOWABLE = {0: "\ufffd", **dict.fromkeys(range(0xD800, 0xE000), "\ufffd")}


def showable(text: str) -> str:
    """`text` with what no page can hold (NUL, lone surrogates) replaced by U+FFFD."""
    # Both checks run at C speed and mostly say no; translate() is slow and mostly not needed.
    if "\0" not in text:
        try:
            text.encode()
        except UnicodeEncodeError:
            pass
        else:
            return text
    return text.translate(_UNSHOWABLE)


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
