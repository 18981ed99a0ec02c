"""Calls of a remote MCP server that OpenAI makes only when the person approves them: it asks in one response, and goes on in the next.

What the person has decided goes out with the request for that next response, so the pause ends where its first event comes in. A call that
this response does not make was refused (https://platform.openai.com/docs/guides/tools-connectors-mcp, "Approvals").
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from agentcell.adapters.fields import field, text_of
from agentcell.adapters.openai_responses import call_id_of, name_of
from agentcell.events import PauseRequested, PauseResumed, ToolEnded

if TYPE_CHECKING:
    from agentcell.run import Run

ENDS = frozenset({"response.completed", "response.incomplete", "response.failed"})


class Approvals:
    """The questions of one run, each under the id of the call that it is about."""

    framework: ClassVar[str] = "OpenAI"

    def __init__(self, run: Run) -> None:
        self._run = run
        self._pauses: dict[str, str] = {}  # those that are open: the pause's id
        self._decided: dict[str, None] = {}  # calls that the response which comes in now makes, or that were refused

    def close(self, error: BaseException | None = None) -> None:
        """The run's block is left; what waits on the person may go on in another run."""

    def begin(self) -> None:
        """Another response comes in: what was asked has been answered."""
        while self._pauses:
            call_id, pause_id = self._pauses.popitem()
            self._decided[call_id] = None
            self._run.record(PauseResumed(pause_id=pause_id))

    def hear(self, event: Any) -> None:
        """Takes an event that has been read."""
        item, kind = field(event, "item"), text_of(event, "type")
        match text_of(item, "type"):
            case "mcp_approval_request" if kind == "response.output_item.done":
                self._ask(call_id_of(item), name_of(item, "mcp_approval_request"))
            case "mcp_call":
                self._decided.pop(call_id_of(item), None)
        if kind in ENDS:
            for call_id in self._decided:
                self._run.record(ToolEnded(call_id=call_id, outcome="cancelled", error="it was not approved"))
            self._decided = {}

    def _ask(self, call_id: str, name: str) -> None:
        if call_id not in self._pauses:
            pause_id = self._pauses[call_id] = self._run.new_id()
            question, choices = f"May `{name}` run?", ("approve", "reject")
            self._run.record(PauseRequested(pause_id=pause_id, question=question, choices=choices, call_id=call_id))
