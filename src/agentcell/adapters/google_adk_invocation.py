"""One call of an ADK runner: its agents, its model calls, and the tool calls that code is in."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agentcell.adapters.fields import field as field_of
from agentcell.adapters.fields import text_of

if TYPE_CHECKING:
    from agentcell.adapters.ledger import Turn
    from agentcell.tool_call import FrameworkCall


@dataclass(slots=True)
class Invocation:
    """One call of a runner.

    Attributes:
        turn: The user's call that it belongs to.
        own: The key of its agent in that turn; "" when the user called it.
        first: The name of that agent.
        before: An exception that was under way when it began, so none of its own.
        agents: The keys of the agents that were started, by name.
        models: The key of the newest model call of each agent, by the agent's name and branch.
        count: How many model calls there were.
        calls: The tool calls that run here, by ADK's id.
        over: Whether it has ended.
    """

    turn: Turn
    own: str = ""
    first: str = ""
    before: BaseException | None = None
    agents: dict[str, str] = field(default_factory=dict)
    models: dict[tuple[str, str], str] = field(default_factory=dict)
    count: int = 0
    calls: dict[str, Inside] = field(default_factory=dict)
    over: bool = False

    def key(self, call_id: str | None) -> str:
        """The key of a tool call: agents one inside the other, or side by side, may use the same ids."""
        return f"{self.own}:{call_id}" if self.own else self.turn.own_key(call_id or "")

    def agent(self, name: str) -> str:
        """The key of an agent that was started."""
        return self.agents.get(name, self.own)


@dataclass(slots=True, eq=False)
class Inside:
    """A tool call that this code is in."""

    invocation: Invocation
    agent: str
    key: str
    call: FrameworkCall | None
    around: Inside | None


INSIDE: ContextVar[Inside | None] = ContextVar("agentcell_google_adk", default=None)


def speaker_of(context: Any) -> tuple[str, str]:
    """The agent whose context this is, by its name and, where agents run side by side, its branch."""
    return text_of(context, "agent_name"), text_of(field_of(context, "_invocation_context"), "branch")


def leave(inside: Inside | None) -> None:
    """The tool's code is left."""
    if inside is None:
        return
    if inside.call is not None:
        inside.call.leave()
    if INSIDE.get() is inside:
        INSIDE.set(inside.around)
