"""The calls of DSPy that go on: which turn each belongs to, and what it is called in.

Each of them has an id of DSPy's, and knows the one around it by `ACTIVE_CALL_ID`, a context variable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentcell.adapters.dspy_answer import Answer
from agentcell.adapters.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentcell.adapters.ledger import Turn
    from agentcell.run import Run
    from agentcell.tool_call import FrameworkCall


@dataclass(slots=True)
class Call:
    """One call that goes on.

    Attributes:
        id: DSPy's.
        turn: The turn that it belongs to.
        answer: That turn's answer, as far as it is known.
        parent: The call around it, None for the outermost.
        instance: What is called.
        agent: The key of the sub-agent that it belongs to; "" is the agent itself.
        tool: The key of the tool call that it is, or is made in; None when an agent stands between.
        inside: Of a tool, what makes its own code a part of it.
        thought: Of a predictor, what its model has told of its own accord.
    """

    id: str
    turn: Turn
    answer: Answer
    parent: Call | None
    instance: Any
    agent: str = ""
    tool: str | None = None
    inside: FrameworkCall | None = None
    thought: str = ""

    @property
    def kind(self) -> str:
        """The class of what is called."""
        return type(self.instance).__name__

    @property
    def is_for_a_tool(self) -> bool:
        """Whether a tool waits for what it gives."""
        if self.parent is None:
            return bool(self.tool or self.agent or self.turn.is_inside)
        return self.tool is not None or self.parent.is_for_a_tool


class Calls:
    """Those of one run.

    Args:
        run: The run that hears of them.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self.ledger = Ledger(run)
        self._calls: dict[str, Call] = {}
        self._many: list[Call] = []  # evaluations and optimizers at work, the innermost last

    def close(self, error: BaseException | None = None) -> None:
        """The run's block is left."""
        self.ledger.close(error)
        self._calls.clear()
        self._many.clear()

    def begin(self, call_id: str, instance: Any, *, one_of_many: bool = False) -> Call | None:
        """A call begins; None for one that is known (whoever gave the callback twice is told once), or is one of too many."""
        if call_id in self._calls:
            return None
        parent = self.around()
        if self._many and (parent is None or parent is self._many[-1]):
            if not one_of_many and not type(instance).__name__.startswith("Evaluate"):
                return None
            parent = self._many[-1]
        if parent is None:
            turn = self.ledger.turn(call_id, type(instance).__name__)
            call = Call(call_id, turn, Answer(turn), None, instance)
        else:
            call = Call(call_id, parent.turn, parent.answer, parent, instance, parent.agent, parent.tool)
        self._calls[call_id] = call
        return call

    def begin_many(self, call_id: str, instance: Any) -> None:
        """A program is about to be called for many examples."""
        call = self.begin(call_id, instance)
        if call is not None:
            call.turn.start_agent(call_id, call.kind, agent=call.agent, inside=call.tool)
            call.agent, call.tool = call_id, None
            self._many.append(call)

    def start_tool(self, call_id: str, instance: Any, name: str, arguments: Mapping[str, Any]) -> None:
        """A tool begins to run."""
        call = self.begin(call_id, instance)
        if call is not None:
            call.turn.start_tool(call_id, name, arguments, agent=call.agent, inside=call.tool)
            call.tool, call.inside = call_id, call.turn.enter_tool(call_id)

    def around(self) -> Call | None:
        """The call that this code is in."""
        from dspy.utils.callback import ACTIVE_CALL_ID

        return self._calls.get(ACTIVE_CALL_ID.get() or "")

    def newest_of(self, instance: Any) -> Call | None:
        """The call of this very object that began last and goes on."""
        return next((call for call in reversed(self._calls.values()) if call.instance is instance), None)

    def named(self, name: str) -> Any:
        """The predictor that a program at work knows by this name."""
        for call in tuple(self._calls.values()):
            predictors = getattr(call.instance, "named_predictors", None)
            found = None if predictors is None else dict(predictors()).get(name)
            if found is not None:
                return found
        return None

    def take(self, call_id: str) -> Call | None:
        """The call is over; None for one that nobody knows."""
        call = self._calls.pop(call_id, None)
        if call is not None and call in self._many:
            self._many.remove(call)
        return call

    def leave(self, call: Call, error: BaseException | None) -> None:
        """All that was to be said of a call that is over is said."""
        if call.agent == call.id:
            call.turn.end_agent(call.id, error=error)
        if call.parent is None:
            call.turn.close(error)
            for call_id in [call_id for call_id, one in self._calls.items() if one.turn is call.turn]:
                del self._calls[call_id]
