"""What the fields of an event may hold, read from their annotations: checked where events come in from adapters and from files."""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Union, cast, get_args, get_origin, get_type_hints

from agentcell.errors import describe
from agentcell.events import EVENT_TYPES, AnyEvent

if TYPE_CHECKING:
    from collections.abc import Callable

_Test: TypeAlias = "Callable[[Any], bool]"

_KINDS: frozenset[Any] = frozenset(EVENT_TYPES.values())
_LARGEST = 2**63 - 1  # What every reader of a file can hold; far more tokens than there are.


def checked(event: Any) -> AnyEvent:
    """Returns `event` when every field holds what its annotation says.

    A number that is none (NaN, an infinity) becomes None where None may stand: nobody knows it, and JSON does not either.

    Raises:
        TypeError: no event, or a field that does not fit: says what it must be and what it was.
    """
    kind: Any = type(event)
    if kind not in _KINDS:
        raise TypeError(f"an event must be one of those in agentcell.events, not {describe(event)}")
    unknown: dict[str, Any] = {}
    for name, fits, words in _rules(kind):
        value = getattr(event, name)
        if fits(value):
            continue
        if isinstance(value, float) and fits(None):
            unknown[name] = None
        else:
            raise TypeError(f"{kind.__name__}.{name} must be {words}, not {describe(value)}")
    return cast("AnyEvent", dataclasses.replace(event, **unknown) if unknown else event)


def restored(kind: Any, values: Mapping[str, Any]) -> Any:
    """An event, or a record inside one, from what JSON made of it: lists become tuples and objects records where those belong.

    Raises:
        TypeError: a field that `kind` does not have.
    """
    hints = _hints(kind)
    return kind(**{name: _restored(hints.get(name), value) for name, value in values.items()})


def _restored(hint: Any, value: Any) -> Any:
    if get_origin(hint) is tuple and isinstance(value, list):
        return tuple(_restored(get_args(hint)[0], item) for item in value)
    if isinstance(hint, type) and dataclasses.is_dataclass(hint) and isinstance(value, dict):
        return restored(hint, value)
    for option in get_args(hint) if get_origin(hint) in (Union, types.UnionType) else ():
        value = _restored(option, value)
    return value


@cache
def _hints(kind: Any) -> Mapping[str, Any]:
    return get_type_hints(kind, localns={"Mapping": Mapping})


@cache
def _rules(kind: Any) -> tuple[tuple[str, _Test, str], ...]:
    hints = _hints(kind)
    return tuple((item.name, *_rule(hints[item.name])) for item in dataclasses.fields(kind))


def _rule(hint: Any) -> tuple[_Test, str]:
    """A test for one annotation, and the words for what passes it."""
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        options = [_rule(option) for option in args]
        return lambda value: any(fits(value) for fits, _ in options), " or ".join(words for _, words in options)
    if origin is Literal:
        return lambda value: isinstance(value, str) and value in args, f"one of {', '.join(map(repr, args))}"
    if origin is tuple:
        fits_item, words = _rule(args[0])
        return lambda value: isinstance(value, tuple) and all(map(fits_item, value)), f"a tuple, each item {words}"
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        rules = _rules(hint)
        return (
            lambda value: isinstance(value, hint) and all(fits(getattr(value, name)) for name, fits, _ in rules),
            f"a sound {hint.__name__}",
        )
    return _PLAIN[origin or hint]


_PLAIN: Mapping[Any, tuple[_Test, str]] = {
    Any: (lambda _: True, "anything"),
    types.NoneType: (lambda value: value is None, "None"),
    str: (lambda value: isinstance(value, str), "a string"),
    bool: (lambda value: isinstance(value, bool), "True or False"),
    int: (lambda value: type(value) is int and abs(value) <= _LARGEST, "a whole number of at most 64 bits"),
    float: (lambda value: type(value) in (int, float) and abs(value) <= _LARGEST and math.isfinite(value), "a finite number"),
    Mapping: (lambda value: isinstance(value, Mapping), "a mapping"),
}
