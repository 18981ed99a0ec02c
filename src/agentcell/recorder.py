"""Run: what people and adapters call while an agent works; it alone knows the clock, the ids, the locks and the context.

The agent's thread only appends: it reads the clock and puts one small tuple into an inbox that needs no lock. Folding, rendering
and sending happen on the pacer's thread, or when somebody reads. Only what changes the run's state is folded at once, so that
`status` and `outcome` are true right after the call.
"""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections import deque
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

from agentcell.errors import AgentcellError, describe, describe_error, first_line, must_be_text, warn
from agentcell.events import (
    AnyEvent,
    ContextEvaluated,
    ModelStarted,
    Noted,
    Outcome,
    PauseRequested,
    PauseResumed,
    Reported,
    Routed,
    RunEnded,
    RunStarted,
    TextDelta,
    ThinkingDelta,
    ThinkingEnded,
    ToolEnded,
    ToolProgressed,
    ToolStarted,
    TurnEnded,
    Usage,
)
from agentcell.fields import checked
from agentcell.log import EventLog
from agentcell.pause import Ask, ask_console
from agentcell.projections.run import RunProjection
from agentcell.redact import Redact, mask_secrets, plain
from agentcell.tool_call import INTERRUPTIONS, ToolCall

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from types import TracebackType

    from typing_extensions import Self

    from agentcell.projections.life import Status
    from agentcell.projections.steps import Step
    from agentcell.projections.trace_shape import Trace
    from agentcell.view import ViewModel
    from agentcell.widget import AgentCell

INBOX_LIMIT = 4096
"""Deltas that wait to be folded while the views are busy; beyond it their writer folds them, so that memory stays bounded."""

_DELTAS = (TextDelta, ThinkingDelta)


@dataclass(slots=True)
class _Block:
    """The block of a run: the block around it, and the run as long as it has not been left."""

    run: Run | None
    around: _Block | None

    @classmethod
    def here(cls) -> _Block | None:
        """The innermost block around this code that has not been left."""
        block = _current.get()
        while block is not None and block.run is None:
            block = block.around
        return block

    @classmethod
    def disown_all(cls) -> None:
        """In a forked child: its copies of the runs around this code are shown by nobody, and it is outside of them."""
        block = _current.get()
        while block is not None:
            if block.run is not None:
                block.run.disown()
            block = block.around
        _current.set(None)


_current: ContextVar[_Block | None] = ContextVar("agentcell_block", default=None)

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_Block.disown_all)


def current_run() -> Run | None:
    """The run whose block this code is in; None outside, and when that block has been left meanwhile.

    It is found through `contextvars`: nested functions, asyncio tasks and threads that copy the context see the same run, and two
    runs side by side never see each other.
    """
    block = _Block.here()
    return None if block is None else block.run


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What `watch` was asked for; checked there."""

    task: str = ""
    agent: str = "Agent"
    model: str | None = None
    asker: str = "you"
    live_steps: int = 4
    expand: Literal["auto", "open", "closed"] = "auto"
    thinking: Literal["show", "hide"] = "show"
    split: Literal["auto", "off"] = "auto"
    images: Literal["link", "all"] = "link"
    persist: Literal["snapshot", "widget"] = "snapshot"
    redact: Redact = field(default=mask_secrets, compare=False)


class Surface(Protocol):
    """Where a run is seen."""

    def open(self, run: Run) -> None:
        """The block was entered: show it."""

    def close(self, run: Run) -> None:
        """The block was left: show, and leave behind, how it ended."""


class Watcher(Protocol):
    """Something that shows a run and wants to hear of news; neither call may block."""

    def state_changed(self) -> None:
        """`status` or `outcome` is another one now."""

    def has_news(self) -> None:
        """There is something to show. Told once, until somebody has folded what there was."""


class Run:
    """A run of an agent: records what happens in it, and tells how far it is.

    Use it as a context manager, once. `agentcell.watch` makes one; `agentcell.load` gives a finished one back. Two runs are equal
    when their events are.

    Attributes:
        options: What `watch` was asked for.
        opened: Which rows (by id; None is the whole block) the reader has opened or closed.
    """

    def __init__(
        self,
        options: RunOptions | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        surface: Surface | None = None,
    ) -> None:
        self.options = options or RunOptions()
        self.projection = RunProjection()
        self.lock = threading.RLock()
        self._making = threading.RLock()
        self._clock = clock
        self._surface = surface
        self._start: float | None = None
        self.opened: dict[int | None, bool] = {}
        self._log = EventLog()
        self._inbox: deque[tuple[float, str | AnyEvent]] = deque()
        self._watchers: list[Watcher] = []
        self._told = False
        self._quiet_source: str | None = None
        self._requested: dict[str, ToolStarted] = {}
        self._ids = itertools.count(1)
        self._block: _Block | None = None
        self._view: ViewModel | None = None
        self._cell: AgentCell | None = None
        self._faults: dict[str, int] = {}
        self._unknown: dict[str, int] = {}
        self._warned: set[str] = set()

    @classmethod
    def of(cls, events: Iterable[AnyEvent]) -> Run:
        """A run that has happened already."""
        run = cls()
        for event in events:
            run.projection.feed(run._log.append(event))
        started = run.projection.life.started
        if started is not None:
            run.options = RunOptions(task=started.task, agent=started.agent, model=started.model, asker=started.asker)
        return run

    # The block

    def __enter__(self) -> Self:
        if self._start is not None or len(self._log):
            raise AgentcellError("a run is entered once: call agentcell.watch(...) again for another one")
        self._start = self._clock()
        self._block = _Block(self, _Block.here())
        _current.set(self._block)
        options = self.options
        started = RunStarted(
            task=options.task,
            agent=options.agent,
            model=options.model,
            asker=options.asker,
            started_at=time.time(),
            thinking=options.thinking,
            split=options.split,
        )
        self._put(started)
        if self._surface is not None:
            try:
                with self._guarding("showing the run"):
                    self._surface.open(self)
            except BaseException as error:  # an interrupt: Python does not leave a block that it could not enter
                self.__exit__(type(error), error, error.__traceback__)
                raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._block is None:
            raise self._not_entered()
        if self._block.run is None:
            return
        try:
            with self._guarding("ending the run"):
                self._end(error)
            if self._surface is not None:
                with self._guarding("showing how the run ended"):
                    self._surface.close(self)
        finally:
            self._block.run = None
            # In another context than the one that was entered, as a generator may be, there may be nothing to clear away.
            if _current.get() is self._block:
                _current.set(_Block.here())

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.__exit__(kind, error, trace)

    # What happens

    def write(self, text: str) -> None:
        """Adds `text` (markdown) to the answer. Costs the calling thread about a microsecond and never waits.

        Raises:
            TypeError: `text` is not a string.
        """
        if type(text) is not str:
            text = must_be_text("the text for run.write", text)
        if self._start is None:
            raise self._not_entered()
        self._inbox.append((self._clock(), text))
        self._take_in(quietly=self._quiet_source == "")

    def answer(self, text: str) -> None:
        """Sets the whole answer (markdown): what was written before stays when `text` begins with it, else it is replaced."""
        self.record(TurnEnded(text=must_be_text("the text for run.answer", text)))

    def step(self, text: str, tool: str | None = None) -> None:
        """Adds a bullet; with the name of a `tool` it stands for a call that was made there."""
        if tool is not None:
            must_be_text("the tool for run.step", tool)
        self.record(Noted(text=must_be_text("the text for run.step", text), tool=tool))

    def think(self, text: str) -> None:
        """Adds to the agent's thinking, which is shown apart from the answer."""
        self.record(ThinkingDelta(text=must_be_text("the text for run.think", text)))

    def tool(self, name: str, /, **arguments: Any) -> ToolCall:
        """A call of the tool `name`: a context manager with `progress`, `result` and `fail`."""
        return self.tool_call(name, arguments)

    def tool_call(self, name: str, arguments: Mapping[str, Any]) -> ToolCall:
        """As `tool`, with the arguments as a mapping."""
        if not isinstance(arguments, Mapping):
            raise TypeError(f"a tool's arguments must be a mapping, not {describe(arguments)}")
        return ToolCall(self, must_be_text("a tool's name", name), arguments)

    def pause(self, question: str, *, choices: Sequence[str] = (), ask: Ask = ask_console) -> str:
        """Waits on the person: shows the question, stops the clock, and returns the answer.

        Args:
            question: What to ask.
            choices: The answers to choose from; none for an answer in words.
            ask: Gets question and choices and returns the answer; by default the console's `input` does.

        Raises:
            TypeError: a question or a choice that is no string.
            EOFError: there is nobody at the console.
        """
        must_be_text("the question for run.pause", question)
        offered = tuple(must_be_text("a choice for run.pause", choice) for choice in choices)
        pause_id = self.new_id()
        self.record(PauseRequested(pause_id=pause_id, question=question, choices=offered))
        answer: str | None = None
        try:
            answer = ask(question, offered)
        finally:
            self.record(PauseResumed(pause_id=pause_id, answer=answer))
        return answer

    def trace(self) -> Trace:
        """The run as beats: what was asked of the model and the tools, what came back, what it cost. Prints as a tree."""
        from agentcell.projections.trace import project_trace

        return project_trace(self.events)

    def stream(self, source: Any) -> Any:
        """Passes a provider's stream through unchanged and records what it brings.

        `source` is what `openai`, `anthropic` or `google-genai` give for a streamed request, sync or async, or any iterable of the
        same events; the result is iterated in its place, with `for` or `async for`.

        Raises:
            TypeError: `source` cannot be iterated.
        """
        from agentcell.adapters.streams import watch_stream

        return watch_stream(self, source)

    # What adapters call

    def record(self, event: AnyEvent) -> None:
        """Appends an event; `seq` and `time` are set here, values are copied as plain JSON and secrets masked.

        A `ToolStarted` with an id that is known tells more about the same call. What is no event, or holds what its fields do not
        allow, is reported as a fault and left out.
        """
        if self._start is None:
            raise self._not_entered()
        if (
            isinstance(event, _DELTAS)
            and type(event.text) is type(event.model_call_id) is type(event.agent_id) is str
            and (event.source_id is None or type(event.source_id) is str)
        ):
            is_text = isinstance(event, TextDelta)
            if not event.text or not (is_text or self.options.thinking == "show"):
                return
            self._inbox.append((self._clock(), event))
            self._take_in(quietly=self._quiet_source == event.model_call_id and is_text)
            return
        if isinstance(event, ThinkingDelta | ThinkingEnded) and self.options.thinking == "hide":
            return
        with self._guarding("recording an event"):
            event = checked(self._cleaned(event))
            with self.lock:
                self._follow_requests(event)
            self._put(event)

    def new_id(self) -> str:
        """An id that no other call of this run has."""
        return f"ac_{next(self._ids)}"

    def claim_call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """The id of a call of this name that a model asked for and nobody runs yet, best with these arguments; else a new id."""
        with self.lock:
            asked = [call for call in self._requested.values() if call.name == name]
            if not asked:
                return self.new_id()
            wanted = plain(arguments, redact=self.options.redact)
            best = next((call for call in asked if call.arguments == wanted), asked[0])
            return self._requested.pop(best.call_id).call_id

    def report_fault(self, where: str, error: BaseException) -> None:
        """Counts a fault of agentcell's own, and warns about the first of its kind; the agent goes on."""
        self._faults[where] = self._faults.get(where, 0) + 1
        self._warn_once(f"{where} failed, and the run goes on without it: {describe_error(error)}", key=where)

    def report_unknown(self, kind: str) -> None:
        """Counts an event of a shape that nobody knows, and warns about the first of its kind."""
        self._unknown[kind] = self._unknown.get(kind, 0) + 1
        self._warn_once(
            f"events of this shape pass through but are not shown, because agentcell does not know it: {kind}", key=kind
        )

    def subscribe(self, watcher: Watcher) -> None:
        """Tells `watcher` of news from now on."""
        self._watchers.append(watcher)

    def catch_up(self) -> RunProjection:
        """Folds what has come in and returns all that is shown.

        Hold `lock` while you read from it, but not while you call this: observers of the state may be called from here.
        """
        self._fold()
        return self.projection

    def disown(self) -> None:
        """In a forked child: lets go of what shows the run, and of locks that another thread may have held when it forked."""
        self.lock = threading.RLock()
        self._making = threading.RLock()
        self._watchers = []
        self._surface = None

    # What can be read

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
            return str(run.life.answer)

    @property
    def usage(self) -> Usage:
        """The tokens of all model calls so far."""
        run = self.catch_up()
        with self.lock:
            return run.usage.total

    @property
    def events(self) -> tuple[AnyEvent, ...]:
        """Everything that happened so far."""
        self._fold()
        with self.lock:
            return tuple(self._log)

    @property
    def faults(self) -> Mapping[str, int]:
        """How often showing this run went wrong, by place."""
        return dict(self._faults)

    @property
    def unknown_events(self) -> Mapping[str, int]:
        """How many events of which unknown shape passed through `stream`."""
        return dict(self._unknown)

    @property
    def view(self) -> ViewModel:
        """What is shown, as it crosses to the browser; made when it is asked for."""
        with self._making:
            if self._view is None:
                from agentcell.view import ViewModel

                self._view = ViewModel(self, images=self.options.images)
            return self._view

    @property
    def cell(self) -> AgentCell:
        """The widget; made when it is asked for, and only then anywidget is imported."""
        with self._making:
            if self._cell is None:
                from agentcell.widget import AgentCell

                self._cell = AgentCell(self)
            return self._cell

    def now(self) -> float:
        """Seconds since the run's start."""
        return self._log.time if self._start is None else self._clock() - self._start

    def __eq__(self, other: object) -> bool:
        return self.events == other.events if isinstance(other, Run) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # equal runs may still grow apart

    def __repr__(self) -> str:
        state = self.outcome or self.status
        return f"<agentcell.Run {self.options.task!r}: {state}, {len(self.steps)} steps>"

    def _repr_mimebundle_(self, **_options: Any) -> dict[str, str]:
        return {"text/plain": self.to_text(), "text/html": self.to_html()}

    # What can be kept

    def to_html(self, *, standalone: bool = False) -> str:
        """The run as HTML without scripts: readable without kernel, widget or style; with `standalone` a whole page."""
        from agentcell.snapshot import snapshot_html

        return snapshot_html(self, standalone=standalone)

    def to_text(self) -> str:
        """The run as plain text."""
        from agentcell.snapshot import snapshot_text

        return snapshot_text(self)

    def to_markdown(self) -> str:
        """The run as markdown."""
        from agentcell.snapshot import snapshot_markdown

        return snapshot_markdown(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes all events to a file, one line of JSON each; `agentcell.load` reads it back. What was in the file is replaced."""
        from agentcell.jsonl import write_events

        write_events(self.events, path)

    # Inside

    def _put(self, event: AnyEvent) -> None:
        self._inbox.append((self._clock(), event))
        self._settle()

    def _take_in(self, *, quietly: bool) -> None:
        """Sees to a delta that has just come in; `quietly` when it can change nothing but the answer."""
        if not quietly:
            self._settle()
        elif not self._told:
            self._tell()
        elif len(self._inbox) > INBOX_LIMIT:
            self._fold(wait=False)

    def _settle(self) -> None:
        """Folds at once, because the state may be another one now, and tells those who watch."""
        self._fold()
        if not self._told:
            self._tell()

    def _tell(self) -> None:
        self._told = True
        for watcher in self._watchers:
            with self._guarding("telling a view"):
                watcher.has_news()

    def _fold(self, *, wait: bool = True) -> None:
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
            changed = before != (life.status, life.outcome)
        finally:
            self.lock.release()
        if changed:
            for watcher in self._watchers:
                with self._guarding("telling a view"):
                    watcher.state_changed()

    def _drain(self) -> None:
        take, log, projection = self._inbox.popleft, self._log, self.projection
        start = self._start or 0.0
        quiet = projection.quiet_source
        pieces: list[str] = []
        for _ in range(len(self._inbox)):  # not until it is empty: somebody may write faster than this folds
            moment, what = take()
            if isinstance(what, str):
                if quiet == "":
                    log.append_delta(TextDelta, moment - start, what)
                    pieces.append(what)
                    continue
                if not what:
                    continue
                what = TextDelta(text=what)
            elif quiet is not None and isinstance(what, TextDelta) and what.model_call_id == quiet and not what.agent_id:
                log.append_delta(TextDelta, moment - start, what.text, "", quiet, source_id=what.source_id)
                pieces.append(what.text)
                continue
            if pieces:
                self._feed_pieces(pieces, log.time)
            if projection.life.status == "complete":
                self._warn_once("the run has ended: what came after is kept in run.events but not shown", key="late")
            event = log.append(replace(what, time=moment - start))
            with self._guarding("following the run"):
                projection.feed(event)
            quiet = projection.quiet_source
        if pieces:
            self._feed_pieces(pieces, log.time)
        self._quiet_source = projection.quiet_source

    def _feed_pieces(self, pieces: list[str], time: float) -> None:
        """Folds text that can only make the answer grow: all pieces as one, for reading them together costs less."""
        with self._guarding("following the run"):
            self.projection.feed_text("".join(pieces), time)
        pieces.clear()

    def _end(self, error: BaseException | None) -> None:
        life = self.catch_up().life
        if life.status == "complete":  # an adapter knew it first
            return
        outcome: Outcome = "answered"
        error_type = line = None
        if error is not None:
            outcome = "cancelled" if isinstance(error, INTERRUPTIONS) else "failed"
            error_type, line = type(error).__name__, first_line(error)
        elif life.limit is not None:
            outcome = "limited"
        ended = RunEnded(outcome=outcome, error_type=error_type, error=line)
        self._put(self._cleaned(ended))

    def _cleaned(self, event: AnyEvent) -> AnyEvent:
        """The event with its values as plain JSON and without secrets."""
        redact = self.options.redact
        match event:
            case ToolStarted():
                return replace(event, arguments=_mapping("arguments", plain(event.arguments, redact=redact)))
            case Routed() | ContextEvaluated() | Reported():
                return replace(event, evidence=_mapping("evidence", plain(event.evidence, redact=redact)))
            case ToolProgressed():
                return replace(event, payload=plain(event.payload, redact=redact))
            case ToolEnded():
                return replace(event, result=plain(event.result, redact=redact), error=plain(event.error, redact=redact))
            case Noted():
                return replace(event, text=plain(event.text, redact=redact))
            case PauseResumed():
                return replace(event, answer=plain(event.answer, redact=redact))
            case _:
                return replace(event, error=plain(event.error, redact=redact)) if hasattr(event, "error") else event

    def _follow_requests(self, event: AnyEvent) -> None:
        """Keeps the calls that a model asked for until somebody is seen to run them.

        When the model is asked again it has got its results, from code that was not watched: those calls are over.
        """
        match event:
            case ToolStarted(requested=True) if event.call_id:
                self._requested[event.call_id] = event
            case ToolStarted() | ToolEnded():
                self._requested.pop(event.call_id, None)
            case ModelStarted():
                for call in [one for one in self._requested.values() if one.agent_id == event.agent_id]:
                    del self._requested[call.call_id]
                    self._inbox.append((self._clock(), ToolEnded(call_id=call.call_id, agent_id=call.agent_id)))
            case _:
                pass

    def _guarding(self, where: str) -> _Guard:
        return _Guard(self, where)

    def _warn_once(self, message: str, *, key: str) -> None:
        if key in self._warned:
            return
        self._warned.add(key)
        warn(message, stacklevel=4)

    def _not_entered(self) -> AgentcellError:
        return AgentcellError("a run records inside its block only: use `with agentcell.watch(...) as run:`")


def _mapping(name: str, value: Any) -> dict[str, Any]:
    """`value` where a mapping belongs: a model may have asked with something else than what a tool takes."""
    return value if isinstance(value, dict) else {name: value}


class _Guard:
    """The edge at which agentcell's own faults stop: `Exception` is reported, interrupts go on."""

    __slots__ = ("_run", "_where")

    def __init__(self, run: Run, where: str) -> None:
        self._run = run
        self._where = where

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> bool:
        if isinstance(error, Exception):
            self._run.report_fault(self._where, error)
            return True
        return False


def load(path: str | os.PathLike[str]) -> Run:
    """Reads a run that `Run.save` wrote: finished, and equal to the one that was saved.

    A file that was saved before its run had ended gives a run that was cancelled.

    Raises:
        LoadError: the file is not such a file, or a line of it is broken: says which and why.
        OSError: the file cannot be read.
    """
    from agentcell.jsonl import read_events

    events = read_events(path)
    if not any(isinstance(event, RunEnded) for event in events):
        last = events[-1].time if events else 0.0
        events = (*events, RunEnded(time=last, outcome="cancelled", error="it was saved before it had ended"))
    return Run.of(events)
