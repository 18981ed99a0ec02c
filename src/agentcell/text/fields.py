"""What a mapping from elsewhere holds under a key, if it is of the kind that is looked for, else nothing."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def text_at(mapping: Mapping[str, Any], key: str) -> str | None:
    """The string there, None for anything else."""
    value = mapping.get(key)
    return value if isinstance(value, str) else None


def number_at(mapping: Mapping[str, Any], key: str) -> float | None:
    """The finite number there, None for anything else; True and False are no numbers."""
    value = mapping.get(key)
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not isfinite(value):
        return None
    return value


def object_at(mapping: Mapping[str, Any], key: str) -> dict[str, Any]:
    """The object there, an empty one for anything else."""
    value = mapping.get(key)
    return value if isinstance(value, dict) else {}


def list_at(mapping: Mapping[str, Any], key: str) -> list[Any]:
    """The list there, an empty one for anything else."""
    value = mapping.get(key)
    return value if isinstance(value, list) else []


def objects_at(mapping: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    """The objects in the list there."""
    return [item for item in list_at(mapping, key) if isinstance(item, dict)]
