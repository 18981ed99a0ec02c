"""Lines with `{{word}}` in them: one pass puts the values in, and a value is never looked at again."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_PLACEHOLDER = re.compile(r"\{\{([A-Za-z0-9_]+)\}\}")


def fill(template: str, values: Mapping[str, str]) -> str:
    """`template` with its placeholders replaced; one without a value becomes nothing."""
    return _PLACEHOLDER.sub(lambda match: values.get(match[1], ""), template)


def check(templates: Mapping[str, Any], *, required: Iterable[str], what: str) -> None:
    """Checks that every template is a string and that each of the `required` keys has a non-empty one.

    Raises:
        TypeError: a template is no string; names the key.
        ValueError: a required key is missing or empty; names it.
    """
    for key, template in templates.items():
        if not isinstance(key, str):
            raise TypeError(f"the key of a {what} template must be a string, not {key!r:.60} ({type(key).__name__})")
        if not isinstance(template, str):
            raise TypeError(f"the {what} template {key!r} must be a string, not {template!r:.60} ({type(template).__name__})")
    for key in required:
        if not templates.get(key):
            fault = "is empty" if key in templates else "is missing"
            raise ValueError(f"the {what} template {key!r} must be a non-empty string, but it {fault}: start from the defaults")
