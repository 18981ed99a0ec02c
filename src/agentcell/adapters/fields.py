"""Fields of a provider's event, the same way whether it is an SDK's object or a plain dict, present or not."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any


def field(source: Any, *names: str) -> Any:
    """The first of `names` that `source` has and that is not None; None when there is none."""
    for name in names:
        value = source.get(name) if isinstance(source, Mapping) else getattr(source, name, None)
        if value is not None:
            return value
    return None


def text_of(source: Any, *names: str) -> str:
    """A field that is text, or an enum whose value is; "" when it is missing or something else."""
    value = field(source, *names)
    if isinstance(value, Enum):
        value = value.value
    return value if isinstance(value, str) else ""


def items_of(source: Any, *names: str) -> Sequence[Any]:
    """A field that is a list; an empty one when it is missing or something else."""
    value = field(source, *names)
    return value if isinstance(value, (list, tuple)) else ()


def count_of(source: Any, *names: str) -> int:
    """A field that is a number of tokens; 0 when it is missing or something else."""
    value = field(source, *names)
    return int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else 0


def plain(value: Any) -> Any:
    """A value as plain JSON values: what an SDK's object says in its own `model_dump`, without what it left unset."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, Enum):
        return value.value
    dump = getattr(value, "model_dump", None)
    return dump(mode="json", exclude_unset=True, warnings=False) if callable(dump) else value


def arguments_of(value: Any) -> Mapping[str, Any]:
    """A tool call's arguments as a mapping.

    Args:
        value: JSON text, as most providers send it, or a mapping. No text at all means no arguments.

    Returns:
        The mapping; `{"arguments": value}` for anything that is none, so that what the model wrote is not lost.
    """
    parsed = value
    if isinstance(value, str):
        try:
            parsed = json.loads(value) if value.strip() else {}
        except ValueError:
            parsed = value
    elif value is None:
        parsed = {}
    parsed = plain(parsed)
    return parsed if isinstance(parsed, Mapping) else {"arguments": value if isinstance(value, str) else parsed}


def message_of(source: Any) -> str:
    """What an error says, in one line: text, `{message}`, or either of them under `error`."""
    error = field(source, "error")
    if error is not None:
        return message_of(error)
    if not isinstance(source, str):
        source = text_of(source, "message", "error_code", "code", "type") or json.dumps(plain(source), default=str)
    return next((line.strip() for line in source.splitlines() if line.strip()), "")
