"""What an object read from JSON holds under a key, or a `LoadError` that says what must be there; missing and null are the same."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

from agentcell.errors import LoadError, describe

LARGEST = 2**53
"""The largest number that every reader of JSON takes as it is."""


def fault(what: str, must_be: str, value: object) -> LoadError:
    """The error for a part that does not fit."""
    return LoadError(f"{what} must be {must_be}, not {describe(value)}")


def object_of(what: str, value: object) -> Mapping[str, Any]:
    """`value`, which must be an object."""
    if not isinstance(value, Mapping):
        raise fault(what, "an object", value)
    return value


def object_in(where: str, mapping: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """The object there; an empty one when there is nothing."""
    value = mapping.get(key)
    return {} if value is None else object_of(f"{key} of {where}", value)


def list_in(where: str, mapping: Mapping[str, Any], key: str) -> list[Any]:
    """The list there; an empty one when there is nothing."""
    value = mapping.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise fault(f"{key} of {where}", "a list", value)
    return value


def text_in(where: str, mapping: Mapping[str, Any], key: str, default: str = "") -> str:
    """The string there; `default` when there is nothing."""
    value = mapping.get(key)
    if value is None:
        return default
    if not isinstance(value, str):
        raise fault(f"{key} of {where}", "a string", value)
    return value


def number_in(where: str, mapping: Mapping[str, Any], key: str) -> float | None:
    """The number there, 0 or more; None when there is nothing."""
    value = mapping.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not isfinite(value) or not 0 <= value <= LARGEST:
        raise fault(f"{key} of {where}", "a number from 0 to 2**53", value)
    return value
