"""A method of a framework that has no hook where it would be needed, wrapped in its class as long as it takes."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def wrap(owner: Any, name: str, around: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Callable[[], None]:
    """Puts `around` the method in its place; returns what gives the method back, unless somebody has wrapped it again."""
    original = owner.__dict__[name]
    wrapped = functools.wraps(original)(around(original))
    setattr(owner, name, wrapped)

    def give_back() -> None:
        if owner.__dict__.get(name) is wrapped:
            setattr(owner, name, original)

    return give_back
