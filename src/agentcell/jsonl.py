"""A log as lines of JSON, out and back in.

The first line says what the file is, each further line is one event: its kind under `event` and its fields by their names; fields
that have their default are left out. Consecutive deltas of one source are one line with the times and lengths of their pieces.
Thinking signatures are not written: they are credentials of a kind, and only the provider can use them.
"""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from agentcell.errors import LoadError, describe
from agentcell.events import EVENT_TYPES, AnyEvent, TextDelta, ThinkingBlock, ThinkingDelta, Usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

FORMAT = "agentcell.run"
VERSION = 1

_Json: TypeAlias = dict[str, Any]


def write_events(events: Iterable[AnyEvent], path: str | os.PathLike[str]) -> None:
    """Writes a log; a file of that name is replaced at once when the new one is complete, and left alone when writing fails."""
    target = Path(path)
    draft = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with draft.open("w", encoding="ascii", newline="\n") as file:
            for line in _lines(events):
                # ASCII with escapes: lone surrogates and U+2028 come back as they were, whatever reads the file in between.
                file.write(json.dumps(line, ensure_ascii=True, allow_nan=False, separators=(",", ":")) + "\n")
        draft.replace(target)
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
    with Path(path).open(encoding="utf-8", errors="strict") as file:
        try:
            for number, line in enumerate(file, 1):
                if number == 1:
                    _check_header(name, line)
                elif line.strip():
                    events.extend(_read_line(f"{name}, line {number}", line, len(events)))
        except UnicodeDecodeError as error:
            raise LoadError(f"{name} is not a saved run: it is not text ({error.reason})") from error
    if not events:
        raise LoadError(f"{name} holds no events: a saved run has a header and at least one event")
    return tuple(events)


def _lines(events: Iterable[AnyEvent]) -> Iterator[_Json]:
    yield {"format": FORMAT, "version": VERSION}
    group: list[TextDelta | ThinkingDelta] = []
    for event in events:
        if isinstance(event, TextDelta | ThinkingDelta):
            if group and _source(group[0]) != _source(event):
                yield _delta_line(group)
                group = []
            group.append(event)
            continue
        if group:
            yield _delta_line(group)
            group = []
        yield {"event": type(event).__name__, **_fields(event)}
    if group:
        yield _delta_line(group)


def _source(event: TextDelta | ThinkingDelta) -> tuple[object, ...]:
    return type(event), event.agent_id, event.model_call_id


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


def _check_header(name: str, line: str) -> None:
    try:
        header = json.loads(line)
    except ValueError:
        header = None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise LoadError(f'{name} is not a saved run: its first line must be {{"format": "{FORMAT}", …}}, not {describe(line[:80])}')
    version = header.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise LoadError(f"{name} was written by a newer agentcell (format {version!r}, this one reads {VERSION}): update agentcell")


def _read_line(where: str, line: str, seq: int) -> Iterator[AnyEvent]:
    try:
        values = json.loads(line)
    except ValueError as error:
        raise LoadError(f"{where}: not JSON ({error}); the file may have been cut") from error
    if not isinstance(values, dict):
        raise LoadError(f"{where}: a line must be an object, not {describe(values)}")
    kind = EVENT_TYPES.get(values.pop("event", ""))
    if kind is None:
        raise LoadError(f"{where}: an event of a kind that this agentcell does not know")
    times, lengths = values.pop("times", None), values.pop("lengths", None)
    try:
        event = kind(seq=seq, **_restored(values))
        if isinstance(event, TextDelta | ThinkingDelta) and times is not None:
            yield from _pieces(event, times, lengths)
        else:
            yield event
    except (TypeError, ValueError, AttributeError) as error:
        raise LoadError(f"{where}: a {kind.__name__} that does not fit: {error}") from error


def _restored(values: _Json) -> _Json:
    if isinstance(values.get("usage"), dict):
        values["usage"] = Usage(**values["usage"])
    if isinstance(values.get("blocks"), list):
        values["blocks"] = tuple(ThinkingBlock(**block) for block in values["blocks"])
    for name in ("choices", "parts"):
        if isinstance(values.get(name), list):
            values[name] = tuple(values[name])
    return values


def _pieces(whole: TextDelta | ThinkingDelta, times: list[float], lengths: list[int]) -> Iterator[AnyEvent]:
    if sum(lengths) != len(whole.text):
        raise ValueError(f"the lengths of its pieces make {sum(lengths)} characters, its text has {len(whole.text)}")
    position = 0
    for offset, (time, length) in enumerate(zip(times, lengths, strict=True)):
        text = whole.text[position : position + length]
        position += length
        yield dataclasses.replace(whole, seq=whole.seq + offset, time=time, text=text)
