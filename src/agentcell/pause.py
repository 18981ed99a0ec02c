"""Asking the person: by buttons and a field in a view that can be heard, else at the console."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentcell.reach import Reach

Ask: TypeAlias = Callable[[str, Sequence[str]], str]
"""Puts a question with its choices (none: an answer in words) to the person, and returns the answer."""

_LOOK = 1.0
"""Seconds after which one who waits looks around: an interrupt does not come through into one long wait of a thread on Windows,
nor into one of a kernel's event loop, which notices it with the next thing that it does."""


@dataclass(slots=True, eq=False)
class Question:
    """A question that waits for its answer.

    Attributes:
        id: Its id.
        text: The question, without secrets.
        choices: The answers to choose from.
        shown: The same without secrets.
        words: Whether the answer may be one that is no choice.
        answer: None as long as there is none.
    """

    id: str
    text: str
    choices: tuple[str, ...]
    shown: tuple[str, ...]
    words: bool
    answer: str | None = None


class Questions:
    """The questions of one run that its views may answer."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach
        self._open: dict[str, Question] = {}

    def __iter__(self) -> Iterator[Question]:
        return iter(tuple(self._open.values()))

    def answer(self, question_id: str, choice: int | None, text: str) -> None:
        """The reader's answer: the number of a choice, or else words. A second one, or one that is none, changes nothing."""
        question = self._open.get(question_id)
        if question is None or question.answer is not None:
            return
        if choice is not None and 0 <= choice < len(question.choices):
            question.answer = question.choices[choice]
        elif choice is None and question.words and text.strip():
            question.answer = text.strip()
        self._reach.wake()

    def wait(self, question: Question, check: Callable[[], None]) -> str | None:
        """Waits, in the calling thread, for the answer of a view; None when no view can be heard.

        `check` is called whenever something may be different, and may raise.
        """
        woken = threading.Event()
        with self._put(question, woken.set):
            while True:
                woken.clear()
                check()
                patience = self._reach.patience(awaiting=False)
                if question.answer is not None or patience == 0.0:
                    return question.answer
                woken.wait(_LOOK if patience is None else min(patience, _LOOK))

    async def wait_async(self, question: Question, check: Callable[[], None]) -> str | None:
        """As `wait`, while the event loop goes on with its other tasks."""
        loop, woken = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            with suppress(RuntimeError):  # the loop was closed before the coroutine was
                loop.call_soon_threadsafe(woken.set)

        with self._put(question, wake):
            while True:
                woken.clear()
                check()
                patience = self._reach.patience(awaiting=True)
                if question.answer is not None or patience == 0.0:
                    return question.answer
                with suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(woken.wait(), _LOOK if patience is None else min(patience, _LOOK))

    @contextmanager
    def _put(self, question: Question, wake: Callable[[], None]) -> Iterator[None]:
        self._open[question.id] = question
        try:
            with self._reach.waking(wake):
                yield
        finally:
            del self._open[question.id]


def ask_console(question: str, choices: Sequence[str], *, words: bool = False) -> str:
    """Asks with `input`, in a notebook too, until the answer is one of the choices, or with `words` any; capitals do not matter.

    Raises:
        EOFError: there is nobody to ask.
    """
    known = {choice.casefold(): choice for choice in choices}
    prompt = f"{question} [{' / '.join(choices)}] " if choices else f"{question} "
    while True:
        try:
            answer = input(prompt).strip()
        except NotImplementedError as error:  # a kernel's, when it runs a notebook for a program
            raise EOFError(f"nobody is there to answer {question!r}: give run.pause an `ask=` that answers for them") from error
        if answer.casefold() in known:
            return known[answer.casefold()]
        if words or not known:
            return answer
        prompt = f"Please answer {' or '.join(choices)}: "
