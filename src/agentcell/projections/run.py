"""Everything that a run shows, folded together from one log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentcell.projections.life import LifeProjection
from agentcell.projections.status import StatusProjection, render_status_line
from agentcell.projections.steps import StepsProjection
from agentcell.projections.usage import UsageProjection

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentcell.events import AnyEvent


class RunProjection:
    """The life, the status, the steps and the usage of the events it was fed."""

    def __init__(self, events: Iterable[AnyEvent] = ()) -> None:
        self.life = LifeProjection()
        self.status = StatusProjection()
        self.steps = StepsProjection()
        self.usage = UsageProjection()
        for event in events:
            self.feed(event)

    def feed(self, event: AnyEvent) -> None:
        """Takes one event."""
        self.life.feed(event)
        self.status.feed(event)
        self.steps.feed(event)
        self.usage.feed(event)

    @property
    def quiet_source(self) -> str | None:
        """The source (a `model_call_id`) whose text can now do nothing but make the answer grow; None for no source."""
        source = self.life.quiet_source
        if source is None or not (self.steps.indifferent_to(source) and self.status.indifferent_to(source)):
            return None
        return source

    def feed_text(self, text: str) -> None:
        """Takes more text of `quiet_source`, at a tenth of what `feed` costs."""
        self.life.feed_text(text)

    @property
    def status_line(self) -> str:
        """The one line of what goes on now; "" when there is nothing to say."""
        if self.life.status not in ("idle", "reasoning"):
            return ""
        app_name = self.life.started.agent if self.life.started else ""
        return render_status_line(self.status.state, app_name=app_name) or ""
