"""The calls of the OpenAI Agents SDK's runner, and what the SDK's objects say."""

from __future__ import annotations

import sys
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from agentcell.adapters.fields import field, items_of, text_of
from agentcell.tool_call import call_around

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from weakref import ref

    from agentcell.adapters.ledger import Turn
    from agentcell.adapters.openai_responses import ResponsesReader
    from agentcell.events import Usage

FAILED = "An error occurred while running the tool. Please try again."
"""What the SDK gives to a model for a tool that raised, when the tool has no words of its own for that."""


class RunnerCall:
    """One call of the runner: the user's own, or that of an agent inside a tool.

    Attributes:
        key: Its own id.
        turn: Where it is told.
        root: Whether the user's code made it.
        agent: The key of the sub-agent that speaks now; "" for the run's own agent.
        started: How many model calls hooks have told to start.
        ended: How many of them they have told to end.
        read: How many have come to their end in the stream.
        reader: Reads the response that the stream brings now.
        spans: The span of each tool call that began to run, where the SDK traces.
        handed: The calls that handed the conversation over.
        over: Whether it has ended.
        max_turns: How many model calls it may make, None where nobody said.
        entered: The tool call of the user's own code, or of another framework, that it was made in.
        hold: Kept, so that its `id` stays its own.
    """

    def __init__(self, key: str, turn: Turn, *, agent: str = "", root: bool = True, hold: Any = None) -> None:
        self.key = key
        self.turn = turn
        self.root = root
        self.agent = self.first_agent = agent
        self.started = self.ended = self.read = 0
        self.reader: ResponsesReader | None = None
        self.spans: dict[str, Any] = {}
        self.handed: set[str] = set()
        self.over = False
        self.max_turns: int | None = None
        self.entered = call_around(turn.run)
        self.hold = hold

    def model(self, number: int) -> str:
        """The key of its n-th model call."""
        return f"{self.key}/{number}"

    def tool(self, call_id: str) -> str:
        """The key of a tool call: agents side by side may ask their models under the same ids."""
        return self.turn.own_key(call_id, self.first_agent)


CURRENT: ContextVar[ref[RunnerCall] | None] = ContextVar("agentcell_openai_agents", default=None)
"""The runner's call that this code is in; weakly, for the user may keep a task of the SDK's, and its context with it."""


def current() -> RunnerCall | None:
    """The runner's call that this code is in, where the ambient hook has seen it begin."""
    call = CURRENT.get()
    return None if call is None else call()


def model_of(agent: Any) -> str | None:
    """The name of an agent's model, as far as the agent says it."""
    model = field(agent, "model")
    return model if isinstance(model, str) else text_of(model, "model") or None


def known(usage: Usage) -> Usage | None:
    """A count of tokens, None when nothing was counted."""
    return usage if usage.total_tokens else None


def guardrail_in(error: BaseException | None) -> str | None:
    """The name of the guardrail that stopped an agent, None when none did."""
    if not type(error).__name__.endswith("GuardrailTripwireTriggered"):
        return None
    guardrail = field(field(error, "guardrail_result"), "guardrail") or field(error, "guardrail")
    name = getattr(guardrail, "get_name", None)
    return str(name()) if callable(name) else ""


def texts_of(items: Iterable[Any], kind: str, *names: str, between: str = "") -> str:
    """What the items of a kind say, in the parts under these names."""
    parts = (part for item in items if text_of(item, "type") == kind for name in names for part in items_of(item, name))
    return between.join(text_of(part, "text", "refusal") for part in parts)


def function_span() -> Any:
    """The SDK's span that this code is in, None where it does not trace."""
    current: Callable[[], Any] | None = getattr(sys.modules.get("agents"), "get_current_span", None)
    span = current() if current is not None else None
    return span if text_of(field(span, "span_data"), "type") == "function" else None
