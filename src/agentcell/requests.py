"""The tool calls that code of the user's may be: those that a model has asked for, and those that a framework has started."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentcell.events import ModelStarted, PauseRequested, ToolEnded, ToolStarted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentcell.events import AnyEvent


class Requests:
    """Pairs what a model asked for, or a framework runs, with the code that does it. Not locked."""

    def __init__(self) -> None:
        self._asked: dict[str, ToolStarted] = {}
        self._started: dict[str, ToolStarted] = {}
        self._claimed: set[str] = set()
        self._over: set[str] = set()

    def follow(self, event: AnyEvent) -> tuple[ToolEnded, ...]:
        """Takes an event, and returns the ends of calls that are over with it.

        When the model is asked again it has got its results, from code that was not watched: those calls are over.
        """
        match event:
            case ToolStarted(requested=True) if event.call_id:
                self._over.discard(event.call_id)
                self._asked[event.call_id] = event
            case ToolStarted():
                self._over.discard(event.call_id)
                self._asked.pop(event.call_id, None)
                if event.call_id not in self._claimed:
                    self._started[event.call_id] = event
            case ToolEnded():
                self._over.add(event.call_id)
                self._claimed.discard(event.call_id)
                for calls in (self._asked, self._started):
                    calls.pop(event.call_id, None)
            case PauseRequested():  # it waits on the person, whoever is asked meanwhile
                self._asked.pop(event.call_id or "", None)
            case ModelStarted():
                over = [call for call in self._asked.values() if call.agent_id == event.agent_id]
                for call in over:
                    del self._asked[call.call_id]
                    self._over.add(call.call_id)
                return tuple(ToolEnded(call_id=call.call_id, agent_id=call.agent_id) for call in over)
            case _:
                pass
        return ()

    def claim(self, name: str, arguments: Mapping[str, Any], around: str | None) -> str | None:
        """The id of a call of this name that no code has claimed.

        Best is the one around the code that claims, then one with these arguments, and one that was only asked for before one that a
        framework has started.
        """
        free = [call for calls in (self._asked, self._started) for call in calls.values() if call.name == name]
        if not free:
            return None
        best = max(free, key=lambda call: (call.call_id == around, _likeness(call.arguments, arguments)))
        for calls in (self._asked, self._started):
            calls.pop(best.call_id, None)
        return best.call_id

    def take(self, call_id: str) -> None:
        """Code has this call for its own from now on."""
        self._claimed.add(call_id)

    def is_over(self, call_id: str) -> bool:
        """Whether the call with this id has ended, and has not begun again."""
        return call_id in self._over


def _likeness(asked: Mapping[str, Any], given: Mapping[str, Any]) -> int:
    """How well arguments fit: a framework may give more than the model did."""
    if asked == given:
        return 2
    return int(all(given.get(name) == value for name, value in asked.items()))
