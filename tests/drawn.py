"""Events drawn at random: any kind, any field, whatever its annotation allows."""

import dataclasses
import types
from collections.abc import Mapping
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

from agentcell.events import EVENT_TYPES, AnyEvent

LARGEST = 2**63 - 1


def whole(text: str) -> str:
    """`text` with each two halves of a character made the one that they are: JSON cannot tell them apart."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


letters = st.characters(exclude_categories=["Cs"]) | st.sampled_from(["\0", "\n", "\r", "\x85", "\u2028", "<", "\ud83d", "\ude00"])
texts = st.lists(letters, max_size=12).map("".join).map(whole)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-LARGEST, LARGEST) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=4,
)

_PLAIN = {
    Any: json_values,
    types.NoneType: st.none(),
    str: texts,
    bool: st.booleans(),
    int: st.integers(-LARGEST, LARGEST),
    float: st.floats(allow_nan=False, allow_infinity=False) | st.integers(-LARGEST, LARGEST),
    Mapping: st.dictionaries(texts, json_values, max_size=3),
}


def values_of(hint: Any) -> st.SearchStrategy[Any]:
    """Values that an annotation allows."""
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return st.one_of(*(values_of(option) for option in args))
    if origin is Literal:
        return st.sampled_from(args)
    if origin is tuple:
        return st.lists(values_of(args[0]), max_size=3).map(tuple)
    if dataclasses.is_dataclass(hint):
        return events_of(hint)
    return _PLAIN[origin or hint]


def events_of(kind: Any, **fixed: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Events, or records inside one, of a kind; each field is drawn, or left at its default."""
    hints = get_type_hints(kind, localns={"Mapping": Mapping})
    fields = dataclasses.fields(kind)
    drawn = {item.name: values_of(hints[item.name]) for item in fields} | fixed
    needed = [item.name for item in fields if item.default is item.default_factory is dataclasses.MISSING]
    return st.fixed_dictionaries(
        {name: drawn[name] for name in needed}, optional={name: values for name, values in drawn.items() if name not in needed}
    ).map(lambda values: kind(**values))


any_event: st.SearchStrategy[AnyEvent] = st.one_of(*(events_of(kind) for kind in EVENT_TYPES.values()))
