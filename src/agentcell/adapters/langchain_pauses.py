"""Where a LangGraph agent waits on the person: its interrupts, what they ask, and what was answered when it goes on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agentcell.adapters.fields import field, items_of, text_of

if TYPE_CHECKING:
    from agentcell.adapters.ledger import Ledger, Turn

_QUESTIONS = ("question", "message", "prompt", "text", "description")


class Pauses:
    """The interrupts of all graphs of a run. A graph raises them as if they were errors, and goes on by a call with a `Command`."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._open: dict[str, int] = {}  # by interrupt: how many pauses it is

    def hear(self, turn: Turn, error: BaseException | None, call: str | None = None) -> bool:
        """Records the pauses that `error` stands for, in the tool call `call`; whether it stands for any."""
        if not any(base.__name__ == "GraphInterrupt" for base in type(error).__mro__):
            return False
        interrupts = error.args[0] if error is not None and error.args else ()
        for interrupt in interrupts if isinstance(interrupts, list | tuple) else ():
            self._pause(turn, text_of(interrupt, "id", "interrupt_id"), field(interrupt, "value"), call)
        return True

    def resume(self, inputs: Any) -> None:
        """A graph is called: with a `Command` that says what the person answered, it goes on."""
        answers = field(inputs, "resume") if type(inputs).__name__ == "Command" else None
        if answers is None:
            return
        by_interrupt = isinstance(answers, Mapping) and set(answers) <= set(self._open)
        for interrupt, count in tuple(self._open.items()):
            if by_interrupt and interrupt not in answers:
                continue
            answer = answers[interrupt] if by_interrupt else answers
            decisions = items_of(answer, "decisions")
            for number in range(count):
                decided = decisions[number] if number < len(decisions) else answer
                self._ledger.resume(f"{interrupt}:{number}", _words_of(decided))
            del self._open[interrupt]

    def _pause(self, turn: Turn, interrupt: str, value: Any, call: str | None) -> None:
        actions = items_of(value, "action_requests") if isinstance(value, Mapping) else ()
        reviews = items_of(value, "review_configs") if actions else ()
        if not actions:
            turn.pause(f"{interrupt}:0", _question_of(value), call=call)
        taken: list[str] = []
        for number, action in enumerate(actions):
            name = text_of(action, "name", "action")
            asked = self._ledger.asked(name, field(action, "args", "arguments") or {}, besides=taken)
            taken += [asked] if asked else []
            review = next((one for one in reviews if text_of(one, "action_name") == name), None)
            choices = tuple(str(choice) for choice in items_of(review, "allowed_decisions"))
            turn.pause(f"{interrupt}:{number}", f"May {name} run?", choices=choices, call=asked or call)
        self._open[interrupt] = len(actions) or 1


def _question_of(value: Any) -> str:
    """What an interrupt asks, in words."""
    if isinstance(value, Mapping):
        value = next((value[name] for name in _QUESTIONS if isinstance(value.get(name), str)), value)
    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)


def _words_of(answer: Any) -> Any:
    """What the person answered: of a decision its kind, and what was said with it."""
    if not isinstance(answer, Mapping) or "type" not in answer:
        return answer
    return ": ".join(filter(None, (text_of(answer, "type"), text_of(answer, "message"))))
