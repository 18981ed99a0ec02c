"""The tool calls that code of the user's may be: those that a model has asked for, and those that a framework has started."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from agentcell.events import ModelStarted, PauseRequested, ToolEnded, ToolStarted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentcell.events import AnyEvent


class Conversation(Protocol):
    """What a framework knows of one agent at work, whose models get the results of what they asked for, and of nothing else."""

    @property
    def over(self) -> bool:
        """Whether it has ended; what it left open may then be anybody's."""


class Requests:
    """Pairs what a model asked for, or a framework runs, with the code that does it. Not locked."""

    def __init__(self) -> None:
        self._asked: dict[str, ToolStarted] = {}
        self._within: dict[str, Conversation] = {}  # by the id of a call that was asked for
        self._started: dict[str, ToolStarted] = {}
        self._claimed: set[str] = set()
        self._over: set[str] = set()

    def follow(self, event: AnyEvent, within: Conversation | None = None) -> tuple[ToolEnded, ...]:
        """Takes an event, which a framework may know to be of one conversation, and returns the ends of calls that are over with it.

        When the model is asked again it has got its results, from code that was not watched: those calls are over. That says nothing of
        another conversation that goes on beside it.
        """
        match event:
            case ToolStarted(requested=True) if event.call_id:
                self._over.discard(event.call_id)
                self._asked[event.call_id] = event
                if within is not None:
                    self._within[event.call_id] = within
            case ToolStarted():
                self._over.discard(event.call_id)
                self._asked.pop(event.call_id, None)
                self._within.pop(event.call_id, None)
                if event.call_id not in self._claimed:
                    self._started[event.call_id] = event
            case ToolEnded():
                self._over.add(event.call_id)
                self._claimed.discard(event.call_id)
                for calls in (self._asked, self._started, self._within):
                    calls.pop(event.call_id, None)
            case PauseRequested():  # it waits on the person, whoever is asked meanwhile
                self._asked.pop(event.call_id or "", None)
            case ModelStarted():
                over = [call for call in self._asked.values() if call.agent_id == event.agent_id and self._may_end(call, within)]
                for call in over:
                    del self._asked[call.call_id]
                    self._within.pop(call.call_id, None)
                    self._over.add(call.call_id)
                return tuple(ToolEnded(call_id=call.call_id, agent_id=call.agent_id) for call in over)
            case _:
                pass
        return ()

    def _may_end(self, call: ToolStarted, within: Conversation | None) -> bool:
        asked_in = self._within.get(call.call_id)
        return asked_in is None or asked_in is within or asked_in.over

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
