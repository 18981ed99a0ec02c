"""What people read of a run, while it goes on and later."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentcell.events import AnyEvent, ModelEnded, ModelStarted, Outcome, Usage
from agentcell.markup import joined
from agentcell.recorder import Recorder

if TYPE_CHECKING:
    from collections.abc import Mapping
    from decimal import Decimal

    from agentcell.cost import Cost
    from agentcell.projections.life import Status
    from agentcell.projections.step import Step
    from agentcell.projections.trace_shape import Trace


class Readings(Recorder):
    """What a recorder knows by now, as values of this moment."""

    @property
    def status(self) -> Status:
        """`idle` before the block, then `reasoning`, `collapsed` while the answer is written, `complete` after the end."""
        run = self.catch_up()
        with self.lock:  # another thread may have taken the newest event and be about to fold it
            return run.life.status

    @property
    def outcome(self) -> Outcome | None:
        """`answered`, `failed`, `cancelled` or `limited`; None before the end."""
        run = self.catch_up()
        with self.lock:
            return run.life.outcome

    @property
    def elapsed_seconds(self) -> float:
        """Seconds spent reasoning; they stand still while the answer is written, while the run waits on you and after the end."""
        run = self.catch_up()
        with self.lock:
            return run.life.elapsed_seconds(self.now())

    @property
    def steps(self) -> tuple[Step, ...]:
        """All bullets so far."""
        run = self.catch_up()
        with self.lock:
            return run.steps.rows

    @property
    def status_line(self) -> str:
        """The one line of what goes on now; "" when there is nothing to say."""
        run = self.catch_up()
        with self.lock:
            return run.status_line

    @property
    def answer_text(self) -> str:
        """The answer so far, as markdown."""
        run = self.catch_up()
        with self.lock:
            return joined(str(run.life.answer))

    @property
    def usage(self) -> Usage:
        """The tokens of all model calls so far."""
        run = self.catch_up()
        with self.lock:
            return run.usage.total

    @property
    def usage_by_model(self) -> Mapping[str, Usage]:
        """The same by the model's name; `unknown` where nobody said the name."""
        run = self.catch_up()
        with self.lock:
            return run.usage.by_model

    @property
    def cost(self) -> Decimal | None:
        """US dollars of all model calls so far whose cost is known; None when there is none.

        It is what a framework or a provider told, else what the list of genai-prices says (`pip install agentcell[cost]`) for the model's
        name. `unpriced_calls` tells how many calls are not in it.
        """
        known = self._cost()
        return None if known is None else known.amount

    @property
    def unpriced_calls(self) -> int:
        """How many model calls are not in `cost`, because nobody knows what they cost; all of them where `cost` is None."""
        known = self._cost()
        if known is not None:
            return known.unpriced
        with self.lock:
            return len(self.projection.usage.bill.calls)

    def _cost(self) -> Cost | None:
        from agentcell.cost import PRICES, cost_of, needs_prices

        run = self.catch_up()
        with self.lock:
            bill, started_at = run.usage.bill, run.life.started_at
        if needs_prices(bill):
            PRICES.load()
        return cost_of(bill, started_at)

    @property
    def events(self) -> tuple[AnyEvent, ...]:
        """Everything that happened so far."""
        self._intake.fold()
        with self.lock:
            return tuple(self._intake.log)

    @property
    def faults(self) -> Mapping[str, int]:
        """How often showing this run went wrong, by place."""
        return dict(self._faults.counts)

    @property
    def unknown_events(self) -> Mapping[str, int]:
        """How many events of which unknown shape passed through `stream`."""
        return dict(self._faults.unknown)

    def trace(self) -> Trace:
        """The run as beats: what was asked of the model and the tools, what came back, what it cost. Prints as a tree."""
        from agentcell.projections.trace import project_trace

        events = self.events
        named = (event.model for event in events if isinstance(event, ModelStarted | ModelEnded))
        return project_trace(events, model=self.options.model or next(filter(None, named), None))
