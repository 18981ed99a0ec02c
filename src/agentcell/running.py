"""The tool calls that run now, and which of them some code is in."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

from agentcell.events import ToolEnded, ToolStarted

if TYPE_CHECKING:
    from agentcell.events import AnyEvent


class RunningCalls:
    """Knows for each call that runs the task, or the thread, in which its start was told. Not locked."""

    def __init__(self) -> None:
        self._places: dict[str, object] = {}

    def follow(self, event: AnyEvent) -> None:
        """Takes an event."""
        match event:
            case ToolStarted(requested=False):
                self._places.setdefault(event.call_id, _here())
            case ToolEnded():
                self._places.pop(event.call_id, None)
            case _:
                pass

    def here(self) -> str | None:
        """The call that this code is in: the newest of its task or thread, else the only one; None where nobody can say."""
        here = _here()
        mine = [call_id for call_id, place in self._places.items() if place == here]
        if mine:
            return mine[-1]
        return next(iter(self._places)) if len(self._places) == 1 else None


def _here() -> object:
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no event loop runs in this thread
        task = None
    return ("thread", threading.get_ident()) if task is None else ("task", id(task))
