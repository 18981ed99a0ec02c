"""Run: what people call while their agent works."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from agentcell.asking import Asking
from agentcell.cleaning import cleaned
from agentcell.context import Block, current_run
from agentcell.errors import AgentcellError, RunStopped, describe, first_line, must_be_text
from agentcell.events import (
    AnyEvent,
    Noted,
    Outcome,
    RunEnded,
    RunStarted,
    ThinkingDelta,
    ToolProgressed,
    TurnEnded,
)
from agentcell.frameworks import Frameworks
from agentcell.options import RunOptions
from agentcell.readings import Readings
from agentcell.recorder import not_entered
from agentcell.tool_call import ToolCall, is_interruption, payload_of

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator
    from types import TracebackType

    from typing_extensions import Self

    from agentcell import wire
    from agentcell.pause import Question
    from agentcell.view import ViewModel
    from agentcell.widget import AgentCell


class Surface(Protocol):
    """Where a run is seen."""

    def open(self, run: Run) -> None:
        """The block was entered: show it."""

    def close(self, run: Run) -> None:
        """The block was left: show, and leave behind, how it ended."""

    def before_asking(self) -> None:
        """The console is about to ask the person, in the calling thread: what happened before should stand before it."""


class Run(Asking, Readings, Frameworks):
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
        Asking.__init__(self, options, clock=clock)
        Frameworks.__init__(self)
        self.opened: dict[int | None, bool] = {}
        self._surface = surface
        self._block: Block | None = None
        self._making = threading.RLock()
        self._view: ViewModel | None = None
        self._cell: AgentCell | None = None

    @classmethod
    def of(cls, events: Iterable[AnyEvent]) -> Run:
        """A run that has happened already."""
        run = cls()
        run._intake.restore(events)
        started = run._intake.projection.life.started
        if started is not None:
            run.options = RunOptions(task=started.task, agent=started.agent, model=started.model, asker=started.asker)
        return run

    # The block

    def __enter__(self) -> Self:
        if self._intake.start is not None or len(self._intake.log):
            raise AgentcellError("a run is entered once: call agentcell.watch(...) again for another one")
        self._intake.begin()
        outer = current_run()
        self._block = Block.enter(self)
        if outer is not None:
            self._stopping.enter(outer._stopping)  # noqa: SLF001 - of the same class
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
        self._intake.add(started)
        if options.auto:
            with self.guarding("listening to frameworks"):
                from agentcell.adapters.ambient import AMBIENCE

                AMBIENCE.enter(self)
        if self._surface is not None:
            try:
                with self._faults.guarding("showing the run"):
                    self._surface.open(self)
            except BaseException as error:  # an interrupt: Python does not leave a block that it could not enter
                self.__exit__(type(error), error, error.__traceback__)
                raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> bool:
        if self._block is None:
            raise not_entered()
        if self._block.run is None:
            return False
        self._stopping.leave()
        try:
            if self.options.auto:
                with self.guarding("listening to frameworks"):
                    from agentcell.adapters.ambient import AMBIENCE

                    AMBIENCE.leave(self)
            self._close_adapters(error)
            with self._faults.guarding("ending the run"):
                self._end(error)
            if self._surface is not None:
                with self._faults.guarding("showing how the run ended"):
                    self._surface.close(self)
        finally:
            self._block.leave()
        return self._stopping.ends(error)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> bool:
        return self.__exit__(kind, error, trace)

    def disown(self) -> None:
        """In a forked child: lets go of what shows the run, and of locks that another thread may have held when it forked."""
        self._intake.disown()
        self._making = threading.RLock()
        self._surface = None

    # What happens

    def write(self, text: str) -> None:
        """Adds `text` (markdown) to the answer. Costs the calling thread about a microsecond and never waits.

        Raises:
            TypeError: `text` is not a string.
        """
        if type(text) is not str:
            text = must_be_text("the text for run.write", text)
        if self._intake.start is None:
            raise not_entered()
        if self._stopping.by is not None:
            self._stopping.check()
        self._intake.add_text(text)

    def answer(self, text: str) -> None:
        """Sets the whole answer (markdown): what was written before stays when `text` begins with it, else it is replaced."""
        must_be_text("the text for run.answer", text)
        self.raise_if_stopping()
        self.record(TurnEnded(text=text))

    def step(self, text: str, tool: str | None = None) -> None:
        """Adds a bullet; with the name of a `tool` it stands for a call that was made there."""
        if tool is not None:
            must_be_text("the tool for run.step", tool)
        must_be_text("the text for run.step", text)
        self.raise_if_stopping()
        self.record(Noted(text=text, tool=tool))

    def think(self, text: str) -> None:
        """Adds to the agent's thinking, which is shown apart from the answer."""
        must_be_text("the text for run.think", text)
        self.raise_if_stopping()
        self.record(ThinkingDelta(text=text))

    def tool(self, name: str, /, **arguments: Any) -> ToolCall:
        """A call of the tool `name`: a context manager with `progress`, `result` and `fail`."""
        return self.tool_call(name, arguments)

    def tool_call(self, name: str, arguments: Mapping[str, Any]) -> ToolCall:
        """As `tool`, with the arguments as a mapping."""
        if not isinstance(arguments, Mapping):
            raise TypeError(f"a tool's arguments must be a mapping, not {describe(arguments)}")
        return ToolCall(self, must_be_text("a tool's name", name), arguments)

    def call_here(self) -> str | None:
        """The id of the tool call that this code is in, the innermost; None outside, or where a framework does not say it."""
        return self.call_by_framework() or super().call_here()

    def running_call(self) -> str | None:
        """The id of the tool call that this code is in, as far as anybody can say; for adapters."""
        call_id = self.call_here()
        if call_id is None:
            with self.lock:
                call_id = self._running.here()
        return call_id

    def progress(self, payload: Any) -> None:
        """Reports that the tool goes on that runs this code, or the only one that runs: a text, or a mapping whose `message` is one."""
        self.raise_if_stopping()
        self.record(ToolProgressed(call_id=self.running_call() or "", payload=payload_of(payload)))

    def _ask_console(self, question: str, asked: Question) -> str:
        if self._surface is not None:
            with self._faults.guarding("showing the run"):
                self._surface.before_asking()
        return super()._ask_console(question, asked)

    @property
    def controls(self) -> wire.Controls:
        """What the reader can do about the run, as it crosses to the browser."""
        if self._block is None or self._stopping.over or not self.reach.seen:
            return {"stop": "none", "questions": []}
        questions: list[wire.Question] = [
            {"id": one.id, "text": one.text, "choices": list(one.shown), "words": one.words} for one in self.questions
        ]
        return {"stop": "stopping" if self.stopping else "ready", "questions": questions}

    def stream(self, source: Any) -> Any:
        """Passes a provider's stream through unchanged and records what it brings.

        `source` is what `openai`, `anthropic` or `google-genai` give for a streamed request, sync or async, what a framework gives for an
        agent that streams, or any iterable of the same events; the result is iterated in its place, with `for` or `async for`.

        Raises:
            TypeError: `source` cannot be iterated.
        """
        from agentcell.adapters.streams import watch_stream

        return watch_stream(self, source)

    async def consume(self, source: Any) -> Any:
        """Reads an agent's stream to its end, records what it brings, and returns the agent's result.

        `source` is what `stream` takes, if it is read with `async for`. The result is what a framework's handle gives when it is awaited,
        the handle itself where it holds the result, or the last event.

        Raises:
            TypeError: `source` cannot be read with `async for`.
        """
        from agentcell.adapters.streams import consume_stream

        return await consume_stream(self, source)

    # What shows it

    @property
    def view(self) -> ViewModel:
        """What is shown, as it crosses to the browser; made when it is asked for."""
        with self._making:
            if self._view is None:
                from agentcell.view import ViewModel

                self._view = ViewModel(self, images=self.options.images, expand_trace=self.options.expand_trace)
            return self._view

    @property
    def cell(self) -> AgentCell:
        """The widget; made when it is asked for, and only then anywidget is imported."""
        with self._making:
            if self._cell is None:
                from agentcell.widget import AgentCell

                self._cell = AgentCell(self)
            return self._cell

    def __eq__(self, other: object) -> bool:
        return self.events == other.events if isinstance(other, Run) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # equal runs may still grow apart

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a run cannot be pickled or copied, because it may still go on: use run.save(path) and agentcell.load(path)"
        )

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

    def to_ag_ui(self) -> Iterator[dict[str, Any]]:
        """What has happened so far as events of the AG-UI protocol: dicts, ready for JSON, one after the other."""
        from agentcell.adapters.ag_ui_out import to_ag_ui

        return to_ag_ui(self.events)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes all events to a file, one line of JSON each; `agentcell.load` reads it back. What was in the file is replaced."""
        from agentcell.jsonl import write_events

        write_events(self.events, path)

    def _end(self, error: BaseException | None) -> None:
        life = self.catch_up().life
        if life.status == "complete":  # an adapter knew it first
            return
        outcome: Outcome = "answered"
        error_type = line = None
        if error is not None:
            outcome = "cancelled" if is_interruption(error) else "failed"
            error_type, line = type(error).__name__, first_line(error)
        elif life.limit is not None:
            outcome = "limited"
        # Code that polls has left by itself, and an interrupted `await` is a cancelled task: the reader has stopped both.
        if self.stopping and (error is None or isinstance(error, asyncio.CancelledError)):
            outcome, error_type = "cancelled", RunStopped.__name__
        ended = RunEnded(outcome=outcome, error_type=error_type, error=line)
        self._intake.add(cleaned(ended, self._redact))


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
        events = (*events, RunEnded(time=last, outcome="cancelled", error="It was saved before it had ended."))
    return Run.of(events)
