"""The log of a run: events in the order in which they happened, appended and never edited.

A model streams a token in a few bytes, but an object for it takes a few hundred. So consecutive deltas of one source are kept
as one text with the times and lengths of its pieces, and become events again when somebody reads them.
"""

from __future__ import annotations

from array import array
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from agentcell.events import AnyEvent, TextDelta, ThinkingDelta
from agentcell.text.growing import GrowingText

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Delta: TypeAlias = TextDelta | ThinkingDelta


class _DeltaRun:
    """Consecutive deltas of one kind, one agent, one place and one model call: 12 bytes and their letters each."""

    __slots__ = ("agent_id", "first_seq", "kind", "lengths", "model_call_id", "source_id", "text", "times")

    def __init__(self, first_seq: int, kind: type[Delta], agent_id: str, model_call_id: str, source_id: str | None) -> None:
        self.first_seq = first_seq
        self.kind = kind
        self.agent_id = agent_id
        self.model_call_id = model_call_id
        self.source_id = source_id
        self.times = array("d")
        self.lengths = array("I")
        self.text = GrowingText()

    def takes(self, kind: type[Delta], agent_id: str, model_call_id: str, source_id: str | None) -> bool:
        return (
            kind is self.kind and model_call_id == self.model_call_id and agent_id == self.agent_id and source_id == self.source_id
        )

    def append(self, time: float, text: str) -> None:
        self.times.append(time)
        self.lengths.append(len(text))
        self.text.append(text)

    def __iter__(self) -> Iterator[Delta]:
        # A copy of the counts: the run may still grow in another thread while somebody reads.
        text, position = str(self.text), 0
        for offset, (time, length) in enumerate(zip(self.times[:], self.lengths[:], strict=False)):
            piece = text[position : position + length]
            position += length
            yield self.kind(
                seq=self.first_seq + offset,
                time=time,
                agent_id=self.agent_id,
                source_id=self.source_id,
                text=piece,
                model_call_id=self.model_call_id,
            )


class EventLog:
    """An append-only list of events. Not locked: the recorder, which alone appends, has the lock."""

    def __init__(self, events: Iterable[AnyEvent] = ()) -> None:
        self._items: list[AnyEvent | _DeltaRun] = []
        self._open: _DeltaRun | None = None
        self._length = 0
        self._time = 0.0
        for event in events:
            self.append(event)

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[AnyEvent]:
        for item in tuple(self._items):
            if isinstance(item, _DeltaRun):
                yield from item
            else:
                yield item

    @property
    def time(self) -> float:
        """Seconds from the run's start to the newest event."""
        return self._time

    def append(self, event: AnyEvent) -> AnyEvent:
        """Adds `event` at the end and returns it as it is kept: with its place as `seq`, and a time that never runs backwards."""
        event = replace(event, seq=self._length, time=max(self._time, float(event.time)))
        if isinstance(event, TextDelta | ThinkingDelta):
            self.append_delta(type(event), event.time, event.text, event.agent_id, event.model_call_id, source_id=event.source_id)
        else:
            self._items.append(event)
            self._open = None
            self._length += 1
            self._time = event.time
        return event

    def append_delta(
        self,
        kind: type[Delta],
        time: float,
        text: str,
        agent_id: str = "",
        model_call_id: str = "",
        *,
        source_id: str | None = None,
    ) -> None:
        """Adds a delta without making an object for it."""
        run = self._open
        if run is None or not run.takes(kind, agent_id, model_call_id, source_id):
            run = self._open = _DeltaRun(self._length, kind, agent_id, model_call_id, source_id)
            self._items.append(run)
        self._time = max(self._time, time)
        run.append(self._time, text)
        self._length += 1
