"""The tool calls that a model has asked for, until somebody is seen to run them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentcell.events import ModelStarted, PauseRequested, ToolEnded, ToolStarted

if TYPE_CHECKING:
    from agentcell.events import AnyEvent


class Requests:
    """Pairs what a model asked for with the code that runs it. Not locked."""

    def __init__(self) -> None:
        self._asked: dict[str, ToolStarted] = {}

    def follow(self, event: AnyEvent) -> tuple[ToolEnded, ...]:
        """Takes an event, and returns the ends of calls that are over with it.

        When the model is asked again it has got its results, from code that was not watched: those calls are over.
        """
        match event:
            case ToolStarted(requested=True) if event.call_id:
                self._asked[event.call_id] = event
            case ToolStarted() | ToolEnded():
                self._asked.pop(event.call_id, None)
            case PauseRequested():  # it waits on the person, whoever is asked meanwhile
                self._asked.pop(event.call_id or "", None)
            case ModelStarted():
                over = [call for call in self._asked.values() if call.agent_id == event.agent_id]
                for call in over:
                    del self._asked[call.call_id]
                return tuple(ToolEnded(call_id=call.call_id, agent_id=call.agent_id) for call in over)
            case _:
                pass
        return ()

    def claim(self, name: str, arguments: Any) -> str | None:
        """The id of a call of this name that was asked for and that nobody runs yet, best with these arguments."""
        asked = [call for call in self._asked.values() if call.name == name]
        if not asked:
            return None
        best = next((call for call in asked if call.arguments == arguments), asked[0])
        return self._asked.pop(best.call_id).call_id
