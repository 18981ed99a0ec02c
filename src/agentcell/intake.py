"""What happens in a run comes in here, from any thread, and is folded when it is due or when somebody looks.

Whoever brings something only appends: it reads the clock and puts one small tuple into an inbox that needs no lock. Folding happens
on the pacer's thread, or when somebody reads. Only what changes the run's state is folded at once, so that `status` and `outcome`
are true right after the call.
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from agentcell.events import RunEnded, TextDelta, ThinkingDelta
from agentcell.log import EventLog
from agentcell.projections.run import RunProjection
from agentcell.text.think import may_divide

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from agentcell.events import AnyEvent
    from agentcell.faults import Faults

INBOX_LIMIT = 4096
"""Deltas that wait to be folded while the views are busy; beyond it their writer folds them, so that memory stays bounded."""


class Watcher(Protocol):
    """Something that shows a run and wants to hear of news; neither call may block."""

    def state_changed(self) -> None:
        """`status` or `outcome` is another one now."""

    def has_news(self) -> None:
        """There is something to show. Told once, until somebody has folded what there was."""


class Intake:
    """The inbox, the log and the projection of one run.

    Attributes:
        log: What has been folded. Hold `lock` while you read it.
        projection: What is shown of it. Hold `lock` while you read it.
        lock: Held while folding.
        quiet_source: The source (a `model_call_id`) whose text can wait to be folded, for it now only makes the answer grow, unless
            reasoning shows up in it; None for no source.

    Args:
        clock: Gives the time.
        faults: Takes what goes wrong.
        clean: Masks the secrets in an event that was found in text.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        faults: Faults,
        *,
        clean: Callable[[AnyEvent], AnyEvent],
        templates: Mapping[str, str] | None = None,
    ) -> None:
        self.log = EventLog()
        self.projection = RunProjection(templates=templates)
        self.lock = threading.RLock()
        self.quiet_source: str | None = None
        self.start: float | None = None
        self._clock = clock
        self._faults = faults
        self._clean = clean
        self._inbox: deque[tuple[float, str | AnyEvent]] = deque()
        self._watchers: list[Watcher] = []
        self._told = False
        self._thinks = False  # whether the state is what thinking makes it, so that more of it changes no state

    def begin(self) -> None:
        """The run starts now."""
        self.start = self._clock()

    def now(self) -> float:
        """Seconds since the run's start; of a run that was loaded, its length."""
        return self.log.time if self.start is None else self._clock() - self.start

    def restore(self, events: Iterable[AnyEvent]) -> None:
        """Takes what has happened already."""
        for event in events:
            self.projection.feed(self.log.append(event))  # what a trace told stands in `events` already

    def subscribe(self, watcher: Watcher) -> None:
        """Tells `watcher` of news from now on."""
        self._watchers.append(watcher)

    def disown(self) -> None:
        """In a forked child: lets go of what shows the run, and of a lock that another thread may have held when it forked."""
        self.lock = threading.RLock()
        self._watchers = []

    def add_text(self, text: str) -> None:
        """More answer text by the user's own code. Costs about a microsecond and never waits."""
        self._inbox.append((self._clock(), text))
        self._take_in(quietly=self.quiet_source == "")

    def add_delta(self, event: TextDelta | ThinkingDelta) -> None:
        """More text or thinking. Costs little more than `add_text`."""
        self._inbox.append((self._clock(), event))
        is_text = isinstance(event, TextDelta)
        self._take_in(quietly=event.model_call_id == self.quiet_source if is_text else self._thinks)

    def add(self, *events: AnyEvent) -> None:
        """Anything else; it is folded at once."""
        for event in events:
            self._inbox.append((self._clock(), event))
        self._settle()

    def _take_in(self, *, quietly: bool) -> None:
        """Sees to a delta that has just come in; `quietly` when it can change nothing but the answer."""
        if not quietly:
            self._settle()
        elif not self._told:
            self._tell()
        elif len(self._inbox) > INBOX_LIMIT:
            self.fold(wait=False)

    def _settle(self) -> None:
        """Folds at once, because the state may be another one now, and tells those who watch."""
        self.fold()
        self.tell()

    def tell(self) -> None:
        """Something is shown otherwise although nothing happened: says so to those who watch."""
        if not self._told:
            self._tell()

    def _tell(self) -> None:
        self._told = True
        for watcher in self._watchers:
            with self._faults.guarding("telling a view"):
                watcher.has_news()

    def fold(self, *, wait: bool = True) -> None:
        """Moves the inbox into the log and the projections; without `wait` only when nobody else is at it."""
        # First of all: what comes in from here on is news again, also when there is nothing to fold now.
        self._told = False
        if not self._inbox:
            return
        if not self.lock.acquire(blocking=wait):
            return
        try:
            life = self.projection.life
            before = life.status, life.outcome
            self._drain()
            self._thinks = life.status == "reasoning"
            changed = before != (life.status, life.outcome)
        finally:
            self.lock.release()
        if changed:
            for watcher in self._watchers:
                with self._faults.guarding("telling a view"):
                    watcher.state_changed()

    def _drain(self) -> None:
        take, log, projection = self._inbox.popleft, self.log, self.projection
        start = self.start or 0.0
        quiet, settled = projection.quiet_source, projection.is_settled
        pieces: list[str] = []
        for _ in range(len(self._inbox)):  # not until it is empty: somebody may write faster than this folds
            moment, what = take()
            text: str | None = None
            if isinstance(what, str):
                if quiet == "":
                    text = what
                    log.append_delta(TextDelta, moment - start, text)
            elif quiet is not None and isinstance(what, TextDelta) and what.model_call_id == quiet and not what.agent_id:
                text = what.text
                log.append_delta(TextDelta, moment - start, text, "", quiet, source_id=what.source_id)
            if text is not None:
                if settled and not may_divide(text):
                    pieces.append(text)
                    continue
                self._feed_pieces(pieces)
                with self._faults.guarding("following the run"):
                    projection.feed_text(text, log.time)  # alone, with its own time: reasoning may show up in it
                    self._add_found()
            elif what:
                self._feed_pieces(pieces)
                self._fold(TextDelta(text=what) if isinstance(what, str) else what, moment - start)
            quiet, settled = projection.quiet_source, projection.is_settled
        self._feed_pieces(pieces)
        self.quiet_source = projection.quiet_source

    def _fold(self, event: AnyEvent, time: float) -> None:
        """Moves one event into the log and the projections."""
        projection = self.projection
        guard = self._faults.guarding("following the run")
        if isinstance(event, ThinkingDelta) and projection.hides_thinking:
            with guard:
                projection.feed_hidden(replace(event, time=time))
                self._add_found()
            return
        if isinstance(event, RunEnded):
            with guard:
                projection.wind_up(time)
                self._add_found()
        if projection.life.status == "complete":
            self._faults.warn_once("the run has ended: what came after is kept in run.events but not shown", key="late")
        event = self.log.append(replace(event, time=time))
        with guard:
            projection.feed(event)
            self._add_found()

    def _add_found(self) -> None:
        """Appends what a tool trace told in the text that was folded last, right behind that text."""
        for event in self.projection.found:
            self.projection.feed(self.log.append(self._clean(event)))

    def _feed_pieces(self, pieces: list[str]) -> None:
        """Folds text that can only make the answer grow: all pieces as one, for reading them together costs less."""
        if pieces:
            with self._faults.guarding("following the run"):
                self.projection.feed_text("".join(pieces), self.log.time)
            pieces.clear()
