"""What a run asks the person, and how the code waits for the answer."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import contextmanager
from typing import TYPE_CHECKING

from agentcell.errors import describe, must_be_flag, must_be_text
from agentcell.events import PauseRequested, PauseResumed
from agentcell.pause import Ask, Question, Questions, ask_console
from agentcell.reach import Reach
from agentcell.recorder import Recorder
from agentcell.tool_call import call_around

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from agentcell.options import RunOptions


class Asking(Recorder):
    """A recorder that can ask.

    Attributes:
        reach: The views that show the run and can be heard.
        questions: What the reader may answer in a view.
    """

    def __init__(self, options: RunOptions | None = None, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(options, clock=clock)
        self.reach = Reach(time.monotonic)
        self.questions = Questions(self.reach)

    def _heed_stop(self) -> None:
        super()._heed_stop()
        self.reach.wake()

    def call_here(self) -> str | None:
        """The id of the tool call that this code is in, the innermost; None outside."""
        return call_around(self)

    def pause(self, question: str, *, choices: Sequence[str] = (), words: bool = False, ask: Ask | None = None) -> str:
        """Waits on the person: shows the question, stops the clock, and returns the answer.

        Where a view of the run is in a page and can be heard while this thread waits, the question is answered there: by a button
        for each choice, or in a field. Where none can (a terminal, a host that hands on no clicks while a cell runs, a notebook that
        is run without a page), and where none has said within 3 seconds of its display that it is there, the console asks with
        `input`. Once the console asks, it alone takes the answer.

        Args:
            question: What to ask.
            choices: The answers to choose from; none for an answer in words.
            words: Whether an answer may also be in words when there are choices.
            ask: Asks in the place of all that: gets question and choices and returns the answer.

        Raises:
            TypeError: a question or a choice that is no string.
            RunStopped: the run was asked to stop, before or while it waits.
            EOFError: there is nobody at the console.
        """
        with self._asking(question, choices, words=words) as asked:
            if ask is not None:
                asked.answer = ask(question, asked.choices)
            elif self.questions.wait(asked, self.raise_if_stopping) is None:
                asked.answer = self._ask_console(question, asked)
        return asked.answer or ""

    async def pause_async(self, question: str, *, choices: Sequence[str] = (), words: bool = False) -> str:
        """As `pause`, for code in an asyncio event loop: while a view has the question, the loop's other tasks go on.

        Where the console asks, it asks in the loop's own thread and everything waits for it, because a thread that reads from the
        console could not be called back.

        Raises:
            TypeError: a question or a choice that is no string.
            RunStopped: the run was asked to stop, before or while it waits.
            EOFError: there is nobody at the console.
        """
        with self._asking(question, choices, words=words) as asked:
            if await self.questions.wait_async(asked, self.raise_if_stopping) is None:
                asked.answer = self._ask_console(question, asked)
        return asked.answer or ""

    def _ask_console(self, question: str, asked: Question) -> str:
        return ask_console(question, asked.choices, words=asked.words)

    @contextmanager
    def _asking(self, question: str, choices: Sequence[str], *, words: bool) -> Iterator[Question]:
        must_be_text("the question for run.pause", question)
        if isinstance(choices, str) or not isinstance(choices, Iterable):  # a string would be a choice for each letter
            raise TypeError(f"the choices for run.pause must be a sequence of strings, like ['yes'], not {describe(choices)}")
        offered = tuple(must_be_text("a choice for run.pause", choice) for choice in choices)
        must_be_flag("words", words)
        self.raise_if_stopping()
        shown = tuple(map(self._redact, offered))
        asked = Question(self.new_id(), self._redact(question), choices=offered, shown=shown, words=words or not offered)
        self.record(PauseRequested(pause_id=asked.id, question=question, choices=offered, call_id=self.call_here()))
        try:
            yield asked
        finally:
            self.record(PauseResumed(pause_id=asked.id, answer=asked.answer))
