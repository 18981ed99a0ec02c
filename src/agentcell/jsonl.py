"""A log as lines of JSON, out and back in.

The first line says what the file is, each further line is one event: its kind under `event` and its fields by their names; fields
that have their default are left out. Consecutive deltas of one source are one line with the times and lengths of their pieces.
Thinking signatures are not written: they are credentials of a kind, and only the provider can use them.
"""

from __future__ import annotations

import codecs
import dataclasses
import json
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from agentcell.errors import LoadError, describe
from agentcell.events import EVENT_TYPES, AnyEvent, TextDelta, ThinkingDelta
from agentcell.fields import checked, restored

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

FORMAT = "agentcell.run"
VERSION = 1

_Json: TypeAlias = dict[str, Any]


def write_events(events: Iterable[AnyEvent], path: str | os.PathLike[str]) -> None:
    """Writes a log; a file of that name is replaced at once when the new one is complete, and left alone when writing fails."""
    target = Path(path)
    draft = target.with_name(f".{target.name}.{os.getpid()}.{threading.get_ident()}.tmp")
    try:
        with draft.open("w", encoding="ascii", newline="\n") as file:
            for line in _lines(events):
                # ASCII with escapes: lone surrogates and U+2028 come back as they were, whatever reads the file in between.
                file.write(json.dumps(line, ensure_ascii=True, allow_nan=False, separators=(",", ":")) + "\n")
        draft.replace(target)
    except OSError as error:
        # Of the draft nobody knows.
        raise type(error)(error.errno, error.strerror, str(target)) from error
    finally:
        draft.unlink(missing_ok=True)


def read_events(path: str | os.PathLike[str]) -> tuple[AnyEvent, ...]:
    """Reads what `write_events` wrote.

    Raises:
        LoadError: the file is not such a file, or a line of it is broken.
        OSError: the file cannot be read.
    """
    name = os.fspath(path)
    events: list[AnyEvent] = []
    with Path(path).open("rb") as file:
        for number, line in enumerate(file, 1):
            where = f"{name}, line {number}"
            if number == 1:  # some editors begin a text with a mark of its encoding
                header = line.removeprefix(codecs.BOM_UTF8)
                _check_header(where, _parsed(where, header) if header.strip() else None)
            elif line.strip():
                events.extend(_read_line(where, _parsed(where, line), len(events)))
    if not events:
        raise LoadError(f"{name} holds no events: a saved run has a header and at least one event")
    return tuple(events)


def _lines(events: Iterable[AnyEvent]) -> Iterator[_Json]:
    yield {"format": FORMAT, "version": VERSION}
    group: list[TextDelta | ThinkingDelta] = []
    half = False  # the group ends in the first half of a character that a source counting in UTF-16 has split
    for event in events:
        if not isinstance(event, TextDelta | ThinkingDelta):
            if group:
                yield _delta_line(group)
                group = []
            yield {"event": type(event).__name__, **_fields(event)}
            continue
        # Both halves in one line would come back as the one character that they are.
        if group and (_source(group[0]) != _source(event) or (half and "\udc00" <= event.text[:1] <= "\udfff")):
            yield _delta_line(group)
            group = []
        group.append(event)
        if event.text:
            half = "\ud800" <= event.text[-1] <= "\udbff"
    if group:
        yield _delta_line(group)


def _source(event: TextDelta | ThinkingDelta) -> tuple[object, ...]:
    return type(event), event.agent_id, event.model_call_id, event.source_id


def _delta_line(group: list[TextDelta | ThinkingDelta]) -> _Json:
    first = dataclasses.replace(group[0], text="".join(event.text for event in group))
    line = {"event": type(first).__name__, **_fields(first)}
    if len(group) > 1:
        line["times"] = [event.time for event in group]
        line["lengths"] = [len(event.text) for event in group]
    return line


def _fields(record: Any) -> _Json:
    found: _Json = {}
    for item in dataclasses.fields(record):
        value = getattr(record, item.name)
        if item.name in ("seq", "signature") or value == item.default:
            continue
        if dataclasses.is_dataclass(value):
            value = _fields(value)
        elif isinstance(value, tuple):
            value = [_fields(one) if dataclasses.is_dataclass(one) else one for one in value]
        found[item.name] = value
    return found


def _parsed(where: str, line: bytes) -> Any:
    """A line's JSON."""
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        raise LoadError(f"{where}: not text ({error.reason}), so not a saved run") from error
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise LoadError(f"{where}: not JSON ({error}); the file may have been cut, or is not a saved run") from error


def _check_header(where: str, header: Any) -> None:
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise LoadError(f'{where}: a saved run begins with {{"format": "{FORMAT}", …}}, not with {describe(header)}')
    version = header.get("version")
    if version != VERSION:
        raise LoadError(f"{where}: this agentcell reads format {VERSION}, not {describe(version)}; a newer agentcell may read it")


def _read_line(where: str, values: Any, seq: int) -> Iterator[AnyEvent]:
    if not isinstance(values, dict):
        raise LoadError(f"{where}: a line must be an object, not {describe(values)}")
    name = values.pop("event", None)
    kind = EVENT_TYPES.get(name) if isinstance(name, str) else None
    if kind is None:
        raise LoadError(f"{where}: an event of a kind that this agentcell does not know: {describe(name)}")
    try:
        if issubclass(kind, TextDelta | ThinkingDelta) and "times" in values:
            times, lengths = values.pop("times"), values.pop("lengths", None)
            yield from _pieces(checked(restored(kind, {**values, "seq": seq})), times, lengths)
        else:
            yield checked(restored(kind, {**values, "seq": seq}))
    except (TypeError, ValueError) as error:
        raise LoadError(f"{where}: a {kind.__name__} that does not fit: {error}") from error


def _pieces(whole: Any, times: Any, lengths: Any) -> Iterator[AnyEvent]:
    if not isinstance(times, list) or not isinstance(lengths, list) or len(times) != len(lengths):
        raise ValueError("times and lengths must be two lists of the same length")
    if not all(type(length) is int and length >= 0 for length in lengths) or sum(lengths) != len(whole.text):
        raise ValueError(f"the lengths of its pieces must be whole numbers that make {len(whole.text)} together")
    position = 0
    for offset, (time, length) in enumerate(zip(times, lengths, strict=True)):
        text = whole.text[position : position + length]
        position += length
        yield checked(dataclasses.replace(whole, seq=whole.seq + offset, time=time, text=text))
