"""The answer of a DSPy program: its fields stream in, where they are listened to, and the prediction of the outermost module holds it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentcell.adapters.dspy_predictions import answer_fields_of, answer_in
from agentcell.events import TurnEnded

if TYPE_CHECKING:
    from agentcell.adapters.ledger import Turn


class Answer:
    """That of one turn. What streamed last counts, until the prediction says what the answer is.

    Args:
        turn: Where it is told.
    """

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._before: str | None = None  # what earlier turns answered, once something has streamed
        self._call = ""  # the call whose fields stream
        self._fields: list[str] = []  # those of its fields that have streamed, the newest last
        self._told = ""

    def hear(self, call_id: str, predict: Any, name: str, text: str) -> None:
        """A piece of a field of this call."""
        names = answer_fields_of(predict)
        if not text or name not in names:
            return
        if self._before is None:
            self._before = self._turn.run.answer_text
        if self._call != call_id:
            anew, self._call, self._fields = bool(self._told), call_id, [name]
            text = _label(name, names) + text
            self._told = ""
            if anew:
                self._replace(text)
                return
        elif name not in self._fields:
            self._fields.append(name)
            text = "\n\n" + _label(name, names) + text
        self._told += text
        self._turn.speak(text)

    def end(self, prediction: Any) -> None:
        """The whole answer: of that only what has not streamed is new."""
        whole = answer_in(prediction)
        if whole.startswith(self._told):
            self._turn.speak(whole[len(self._told) :])
        elif whole and whole != self._told.rstrip():
            self._replace(whole)

    def _replace(self, text: str) -> None:
        self._told = text
        before = self._before or ""
        self._turn.run.record(TurnEnded(text=f"{before}\n\n{text}" if before else text))


def _label(name: str, names: tuple[str, ...]) -> str:
    return f"**{name}:** " if len(names) > 1 else ""
