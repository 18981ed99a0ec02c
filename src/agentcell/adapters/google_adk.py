"""Google's Agent Development Kit: a plugin that hears every agent, model call and tool of a runner.

A tool that waits for the person's word has come back, as far as ADK is concerned, and the question is a tool call of its own beside it;
here it is the tool's own call that waits, and goes on when its invocation does. An agent that runs inside a tool has an invocation of
its own, which is found by the context that the tool runs in.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from agentcell.adapters import google_adk_parts as parts
from agentcell.adapters.fields import items_of, text_of
from agentcell.adapters.fields import field as field_of
from agentcell.adapters.hearing import heard
from agentcell.adapters.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentcell.adapters.ledger import Turn
    from agentcell.run import Run

_tool: ContextVar[str | None] = ContextVar("agentcell_google_adk_tool", default=None)


@dataclass(slots=True)
class _Invocation:
    """One call of a runner.

    Attributes:
        turn: The user's call that it belongs to.
        plugin: The one of our plugins that is heard in it.
        own: The key of its agent in that turn; "" when the user called it.
        agents: The keys of the agents that go on, by name.
        models: The key of the newest model call of each agent, by the agent's name.
        asked: The calls that wait on the person or on something outside, with their questions, until it is over.
    """

    turn: Turn
    plugin: object
    own: str
    agents: dict[str, str] = field(default_factory=dict)
    models: dict[str, str] = field(default_factory=dict)
    asked: dict[str, str] = field(default_factory=dict)


class GoogleADKAdapter:
    """Hears the runners that were given its plugin, for one run."""

    framework: ClassVar[str] = "Google ADK"

    def __init__(self, run: Run) -> None:
        self.run = run
        self._ledger = Ledger(run)
        self._invocations: dict[str, _Invocation] = {}
        self._count = 0
        self._over = False

    def close(self, error: BaseException | None = None) -> None:
        """The run's block is left: what comes later belongs to nobody."""
        self._over = True
        self._invocations.clear()
        self._ledger.close(error)

    # Invocations

    @heard
    def hear_user(self, plugin: object, context: Any, message: Any) -> None:
        """Somebody calls the runner; the message may answer what a call waits for."""
        if self._over or context.invocation_id in self._invocations:
            return
        for answer in parts.responses_of(message):
            self._ledger.resume(answer.id, parts.answer_of(answer))
            if not parts.is_request(answer.name):  # the result of a tool that runs outside
                self._ledger.turn(context.invocation_id).end_tool(answer.id, result=answer.response)
        inside = _tool.get()
        outer = self._outer()
        if outer is None:
            self._invocations[context.invocation_id] = _Invocation(self._ledger.turn(context.invocation_id), plugin, "")
            return
        own = self._new_key()
        outer.turn.start_agent(own, context.agent.name, agent=outer.agents.get(text_of(context, "agent_name"), outer.own), inside=inside)
        self._invocations[context.invocation_id] = _Invocation(outer.turn, plugin, own)

    def _outer(self) -> _Invocation | None:
        """The invocation in whose tool this code runs."""
        inside = _tool.get()
        return None if inside is None else next((one for one in self._invocations.values() if inside in one.models), None)
