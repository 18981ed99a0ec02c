"""Tokens of a run: each model call counts once, whatever the number of times its usage was told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentcell.events import AnyEvent, ModelEnded, ModelStarted, RunEnded, TurnEnded, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

UNKNOWN_MODEL = "unknown"


@dataclass(frozen=True, slots=True)
class Spent:
    """What one model call took.

    Attributes:
        model: The model's name, `UNKNOWN_MODEL` when nobody said.
        provider: Its provider's, None when nobody said.
        usage: Its tokens, None when nobody said.
        time: When it ended, in seconds from the run's start.
        cost: US dollars, as the provider or the framework told; None when they did not.
    """

    model: str
    provider: str | None
    usage: Usage | None
    time: float
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class Bill:
    """What a run is to be charged for.

    Attributes:
        charged: US dollars that were told for whole turns, one after the other.
        calls: The model calls that none of these sums holds.
    """

    charged: tuple[float, ...] = ()
    calls: tuple[Spent, ...] = ()


class UsageProjection:
    """The tokens of the events it was fed, in all and by model.

    Attributes:
        version: Another number whenever something changed.
    """

    def __init__(self) -> None:
        self.version = 0
        self._charged: list[float] = []
        self._started: dict[str, ModelStarted] = {}
        self._calls: dict[object, Spent] = {}
        self._key_of: dict[str, object] = {}
        self._in_turns: set[object] = set()
        self._total = Usage()
        self._over = False

    def feed(self, event: AnyEvent) -> None:
        """Takes one event. After the end nothing changes any more."""
        if self._over:
            return
        match event:
            case RunEnded():
                self._over = True
            case ModelStarted():
                self._start(event)
            case ModelEnded():
                self._end(event)
            case TurnEnded(cost=float() | int() as cost):
                self.version += 1
                self._charged.append(float(cost))
                self._in_turns.update(self._key_of.get(one, one) for one in event.model_call_ids)
            case _:
                pass

    @property
    def total(self) -> Usage:
        """All model calls together."""
        return self._total

    @property
    def by_model(self) -> Mapping[str, Usage]:
        """The same by the model's name."""
        found: dict[str, Usage] = {}
        for call in self._calls.values():
            if call.usage is not None:
                found[call.model] = found.get(call.model, Usage()) + call.usage
        return found

    @property
    def bill(self) -> Bill:
        """What there is to be charged."""
        calls = (call for key, call in self._calls.items() if key not in self._in_turns)
        return Bill(tuple(self._charged), tuple(calls))

    def _start(self, event: ModelStarted) -> None:
        known = self._started.get(event.model_call_id)
        if known is None or event.model or event.provider:  # a second start tells more about the same call
            self._started[event.model_call_id] = event

    def _end(self, event: ModelEnded) -> None:
        # The last word on a response counts: providers repeat a usage, and let it grow.
        # One that nobody can tell from others is a call of its own.
        key = event.response_id or event.model_call_id or object()
        before = self._calls.get(key)
        if before is not None and event.usage is None and event.cost is None:
            return
        self.version += 1
        self._key_of[event.model_call_id] = key
        start = self._started.get(event.model_call_id)
        model = event.model or (start.model if start is not None else None)
        provider = start.provider if start is not None else None
        usage, cost = event.usage, event.cost
        if before is not None:
            if event.usage is not None and before.usage is not None:
                self._total = self._total + _negative(before.usage)
            usage = event.usage or before.usage
            cost = before.cost if event.cost is None else event.cost
            model, provider = model or before.model, provider or before.provider
        if event.usage is not None:
            self._total = self._total + event.usage
        self._calls[key] = Spent(model or UNKNOWN_MODEL, provider, usage, event.time, cost)


def _negative(usage: Usage) -> Usage:
    return Usage(
        -usage.input_tokens,
        -usage.output_tokens,
        -usage.cache_read_tokens,
        -usage.cache_write_tokens,
        -usage.reasoning_tokens,
    )
