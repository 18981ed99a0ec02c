"""One stretch of a model's reasoning: ordinary thinking to be shown as such, or a tool trace that tells of events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentcell.projections.told_events import ToldEvents
from agentcell.text.trace_start import begins_trace

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentcell.events import AnyEvent


class ReasoningStretch:
    """A block that was found inside text, or what a model streams on a channel for reasoning.

    Args:
        new_id: Gives ids for the calls of a trace.
        is_trace: It is known from the start that it is one.
        hidden: Nobody is to see it; a trace tells its events all the same.

    Attributes:
        hidden: As given.
        is_trace: None as long as only more text will tell.
        row: Where it is shown as thinking; for whoever shows it.
        found: Events that a trace told and nobody has taken yet; they have neither time nor agent.
    """

    __slots__ = ("_events", "_held", "_length", "found", "hidden", "is_trace", "row")

    def __init__(self, new_id: Callable[[], str], *, is_trace: bool = False, hidden: bool = False) -> None:
        self.hidden = hidden
        self.is_trace: bool | None = is_trace or None
        self.row: int | None = None
        self.found: list[AnyEvent] = []
        self._held = ""
        self._length = 0
        self._events = ToldEvents(new_id)

    def grow(self, text: str) -> str:
        """Goes on with `text`; returns what is to be shown as thinking now."""
        shown = self.change(self._length, text)
        return shown[1] if shown else ""

    def change(self, keep: int, added: str) -> tuple[int, str] | None:
        """Its text has `added` behind its first `keep` characters now; returns what of that is to be shown as thinking."""
        self._length = keep + len(added)
        if self.is_trace is None:
            keep, added = 0, self._held[:keep] + added
            self.is_trace = begins_trace(added)
            self._held = added if self.is_trace is None else ""
        if self.is_trace:
            self.found += self._events.feed(keep, added)
        return (keep, added) if self.is_trace is False else None

    def end_lines(self) -> None:
        """Nothing more can come, but what is open stays open."""
        if self.is_trace:
            self.found += self._events.end_lines()

    def finish(self, *, broken_off: bool = False) -> str:
        """It is over; returns what was held back of it and is to be shown as thinking."""
        held, self._held = self._held, ""
        if self.is_trace is None:
            self.is_trace = begins_trace(held, finished=True)
        if not self.is_trace:
            return held
        self.found += [*self._events.feed(0, held), *self._events.finish(broken_off=broken_off)]
        return ""
