"""What adapters call while an agent works: events come in here, with masked values, ids and faults seen to."""

from __future__ import annotations

import itertools
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agentcell.cleaning import cleaned
from agentcell.errors import AgentcellError, describe
from agentcell.events import RunStarted, TextDelta, ThinkingDelta, ThinkingEnded
from agentcell.faults import Faults
from agentcell.fields import checked
from agentcell.intake import Intake
from agentcell.options import RunOptions
from agentcell.redact import MASK, plain
from agentcell.requests import Requests
from agentcell.running import RunningCalls
from agentcell.stopping import Stopping
from agentcell.thinking import normalize_thinking

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from agentcell.events import AnyEvent, ThinkingFailed
    from agentcell.intake import Watcher
    from agentcell.projections.run import RunProjection
    from agentcell.requests import Conversation
    from agentcell.thinking import ThinkingHandler

_DELTAS = (TextDelta, ThinkingDelta)


class Recorder:
    """Records what happens in a run. It alone knows the clock, the ids and the locks.

    Attributes:
        options: What `watch` was asked for.
    """

    def __init__(self, options: RunOptions | None = None, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.options = options or RunOptions()
        self._faults = Faults()
        self._intake = Intake(clock, self._faults, clean=self._cleaned, templates=self.options.templates)
        self._requests = Requests()
        self._running = RunningCalls()
        self.answered = False  # whether an agent answered in words of its own: those of the next are another paragraph
        self._owners: dict[str, object] = {}  # who told of a tool call, by the call's id
        self._ids = itertools.count(1)
        self._stopping = Stopping(self, self._heed_stop)

    def record(self, event: AnyEvent, within: Conversation | None = None) -> None:
        """Appends an event; `seq` and `time` are set here, values are copied as plain JSON and secrets masked.

        A `ToolStarted` with an id that is known tells more about the same call. `RunStarted` is passed over, so that a log of another
        run can be watched: the block has begun this one, and says whose it is. What is no event, or holds what its fields do not
        allow, is reported as a fault and left out. `within` is whose event it is, where a framework runs several agents side by side.
        """
        if self._intake.start is None:
            raise not_entered()
        if (
            isinstance(event, _DELTAS)
            and type(event.text) is type(event.model_call_id) is type(event.agent_id) is str
            and (event.source_id is None or type(event.source_id) is str)
        ):
            if event.text:
                self._intake.add_delta(event)
            return
        if isinstance(event, RunStarted):
            return
        if isinstance(event, ThinkingDelta | ThinkingEnded) and self.options.thinking == "hide":
            return
        with self._faults.guarding("recording an event"):
            event = self._cleaned(event)
            with self._intake.lock:
                over = self._requests.follow(event, within)
                self._running.follow(event)
            self._intake.add(*over, event)

    def _cleaned(self, event: AnyEvent) -> AnyEvent:
        return checked(cleaned(event, self._redact))

    def _redact(self, text: str) -> str:
        """Masks with the user's function; when that fails, the whole text: what the masker could not read must not get through."""
        try:
            masked = self.options.redact(text)
            if isinstance(masked, str):
                return masked
            raise TypeError(f"redact must return a string, not {describe(masked)}")  # noqa: TRY301 - reported as what it raises is
        except Exception as error:  # noqa: BLE001 - somebody else's function, whatever it raises
            self._faults.report("masking secrets", error, so=f"the whole text becomes {MASK}")
            return MASK

    def record_thinking(
        self,
        provider: str,
        raw: Any,
        *,
        model_call_id: str = "",
        iteration: int = 0,
        handlers: Sequence[ThinkingHandler] = (),
    ) -> None:
        """Records the reasoning that a whole response brought along, for who has no stream to pass through `Run.stream`.

        A handler that raises costs the run that reasoning alone, and a row says so.

        Args:
            provider: As its framework names it (`anthropic`, `deepseek`, …); one that no handler knows brings nothing.
            raw: What its handler takes: for `anthropic` the message's content, for most others the message. None brings nothing.
            model_call_id: The model call that it belongs to, if its start was recorded.
            iteration: Which model call of the turn it was, so that a failure can be found again.
            handlers: Yours; they are asked before the shipped ones.
        """
        event: ThinkingEnded | ThinkingFailed | None = None
        with self._faults.guarding("reading a model's thinking"):
            event = None if raw is None else normalize_thinking(provider, raw, iteration=iteration, handlers=handlers)
        if isinstance(event, ThinkingEnded):
            event = replace(event, model_call_id=model_call_id) if event.blocks else None
        if event is not None:
            self.record(event)

    def stop(self) -> None:
        """Asks the run to stop, from any thread: what the agent's code does next in it, or in a run inside it, raises `RunStopped`.

        A run that is over is left alone. Events that adapters record do not raise.
        """
        self._stopping.ask()

    def _heed_stop(self) -> None:
        """The run was asked to stop: says so to those who watch."""
        self._intake.tell()

    @property
    def stopping(self) -> bool:
        """Whether the run, or one around it, was asked to stop. Code that does nothing in the run for long polls it."""
        return self._stopping.by is not None

    def raise_if_stopping(self) -> None:
        """Ends the code that calls it when the run was asked to stop and is not over.

        Raises:
            RunStopped: it was asked to.
        """
        self._stopping.check()

    def new_id(self) -> str:
        """An id that no other call of this run has."""
        return f"ac_{next(self._ids)}"

    def take_id(self, call_id: str, owner: object) -> bool:
        """Whether the id that a provider gave a tool call is, or now becomes, this owner's; another's call may have the same."""
        with self._intake.lock:
            return self._owners.setdefault(call_id, owner) is owner

    def claim_call(self, name: str, arguments: Mapping[str, Any], *, around: str | None = None) -> str:
        """The id of a call of this name that a model asked for, or a framework runs, and no code has claimed; else a new id.

        Best is the call `around` the code, then one with these arguments.
        """
        wanted = plain(arguments, redact=self._redact)
        with self._intake.lock:
            call_id = self._requests.claim(name, wanted, around) or self.new_id()
            self._requests.take(call_id)
            return call_id

    def is_over(self, call_id: str) -> bool:
        """Whether the tool call with this id has ended, as far as the run was told."""
        with self._intake.lock:
            return self._requests.is_over(call_id)

    def guarding(self, where: str) -> AbstractContextManager[None]:
        """Inside, what agentcell itself does wrong is counted, warned about once for each `where`, and goes no further."""
        return self._faults.guarding(where)

    def report_unknown(self, kind: str) -> None:
        """Counts an event of a shape that nobody knows, and warns about the first of its kind."""
        self._faults.report_unknown(kind)

    def subscribe(self, watcher: Watcher) -> None:
        """Tells `watcher` of news from now on."""
        self._intake.subscribe(watcher)

    @property
    def lock(self) -> threading.RLock:
        """Held while you read from the projection; the agent's thread may wait for it, so not for long."""
        return self._intake.lock

    @property
    def projection(self) -> RunProjection:
        """What is shown of the run, as far as it has been folded; `catch_up` folds the rest first."""
        return self._intake.projection

    def catch_up(self) -> RunProjection:
        """Folds what has come in and returns all that is shown.

        Hold `lock` while you read from it, but not while you call this: observers of the state may be called from here.
        """
        self._intake.fold()
        return self._intake.projection

    def now(self) -> float:
        """Seconds since the run's start."""
        return self._intake.now()


def not_entered() -> AgentcellError:
    """What a call outside of the block gets."""
    return AgentcellError("a run records inside its block only: use `with agentcell.watch(...) as run:`")
