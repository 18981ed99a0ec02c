"""A run that only keeps what it is told, so that a test can look at it."""

from __future__ import annotations

from dataclasses import dataclass, field

from agentcell.events import Event, ModelEnded, TextDelta, ThinkingDelta, ThinkingEnded, ToolEnded, ToolStarted


@dataclass
class Guard:
    faults: list[BaseException]

    def __enter__(self):
        pass

    def __exit__(self, kind, error, trace):
        if not isinstance(error, Exception):
            return False
        self.faults.append(error)
        return True


@dataclass
class Collector:
    events: list[Event] = field(default_factory=list)
    faults: list[BaseException] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    ids: int = 0
    answered: bool = False
    adapters: dict[type, object] = field(default_factory=dict)

    def record(self, event, within=None):
        self.events.append(event)

    def take_id(self, call_id, owner):
        return True

    def call_here(self):
        return None

    def raise_if_stopping(self):
        pass

    def new_id(self):
        self.ids += 1
        return f"id-{self.ids}"

    def guarding(self, where):
        return Guard(self.faults)

    def report_unknown(self, kind):
        self.unknown.append(kind)

    def adapter(self, kind):
        return self.adapters.setdefault(kind, kind(self))

    def of(self, *kinds):
        return [event for event in self.events if isinstance(event, kinds)]

    @property
    def text(self):
        return "".join(event.text for event in self.of(TextDelta))

    @property
    def thinking(self):
        return "".join(event.text for event in self.of(ThinkingDelta))

    @property
    def blocks(self):
        return [block for event in self.of(ThinkingEnded) for block in event.blocks]

    @property
    def asked(self):
        return [(event.call_id, event.name, event.arguments) for event in self.of(ToolStarted) if event.requested]

    @property
    def hosted(self):
        """Tools that the provider ran: id -> (name, arguments, outcome, result), each as it was told last."""
        told = {event.call_id: (event.name, event.arguments) for event in self.of(ToolStarted) if not event.requested}
        ends = {event.call_id: (event.outcome, event.result) for event in self.of(ToolEnded)}
        return {call_id: (*start, *ends.get(call_id, (None, None))) for call_id, start in told.items()}

    @property
    def end(self):
        (end,) = self.of(ModelEnded)
        return end
