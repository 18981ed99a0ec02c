"""The calls of LangChain that go on: each has an id there, and that of the call around it.

The outermost call is a turn. A graph that runs inside another call is a sub-agent: what it writes is its own, not the answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from agentcell.adapters.langchain_messages import tool_end_of
from agentcell.adapters.langchain_pauses import Pauses
from agentcell.adapters.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

    from agentcell.adapters.langchain_hosted import HostedTools
    from agentcell.adapters.ledger import Turn
    from agentcell.run import Run
    from agentcell.tool_call import FrameworkCall


@dataclass(slots=True)
class Call:
    """One call that goes on.

    Attributes:
        turn: The turn that it belongs to.
        parent: The call around it, None for the outermost.
        name: Its name there.
        agent: The key of the sub-agent that it belongs to; "" is the agent itself.
        tool: The key of the tool call that it is, or is made in; None when an agent stands between.
        place: The node of a graph that it belongs to.
        key: What the ledger knows it by.
        thinks_at: Of a model, the place in its message of the reasoning that was heard last.
        hosted: Of a model, the tools that its provider runs.
        structured: Of a model, whether it was asked for an object, by way of a tool that nobody runs.
        models: Of the outermost, how many models were asked.
        said: Of the outermost, what models of its own wrote that may be the answer.
        inside: Of a tool, what makes its own code a part of it.
        asked: Of a tool, the id that the model gave the call; None when the user's own code called it.
    """

    turn: Turn
    parent: Call | None
    name: str
    agent: str
    tool: str | None
    place: str
    key: str
    thinks_at: Any = None
    hosted: HostedTools | None = None
    structured: bool = False
    models: int = 0
    said: list[str] = field(default_factory=list)
    inside: FrameworkCall | None = None
    asked: str | None = None

    @property
    def root(self) -> Call:
        """The outermost of the calls around it."""
        call = self
        while call.parent is not None:
            call = call.parent
        return call


class Calls:
    """Those of one run.

    Args:
        run: The run that hears of them.

    Attributes:
        ledger: What the run was told.
        pauses: Where a graph waits on the person.
        open: The calls by LangChain's ids.
    """

    def __init__(self, run: Run) -> None:
        self.ledger = Ledger(run)
        self.pauses = Pauses(self.ledger)
        self.open: dict[UUID, Call] = {}
        self._keys: dict[tuple[str, str], str] = {}  # of tool calls, by agent and id
        self._owners: dict[str, str] = {}  # agents by the id of a call, the first that used it
        self._own: dict[tuple[str, str], str] = {}  # of tool calls, by turn and the key that they have in their agent

    def begin(
        self,
        run_id: UUID,
        parent_run_id: UUID | None,
        name: str,
        metadata: Mapping[str, Any] | None,
        *,
        agent: str | None = None,
    ) -> Call | None:
        """A call begins; None for one that is known: whoever gave the handler twice is told once.

        `agent` is what the outermost call is called if it is an agent, or a model.
        """
        if run_id in self.open:
            return None
        parent = self.open.get(parent_run_id) if parent_run_id is not None else None
        key, place = str(run_id), str((metadata or {}).get("langgraph_node") or "")
        if parent is None:
            call = Call(self.ledger.turn(key, agent), None, name, "", None, place, key)
        else:
            call = Call(parent.turn, parent, name, parent.agent, parent.tool, place, key)
        self.open[run_id] = call
        return call

    def end_turn(self, call: Call, error: BaseException | None) -> None:
        """An outermost call is over, and with it whatever LangChain has not ended in it."""
        call.turn.close(error)
        for run_id in [run_id for run_id, one in self.open.items() if one.turn is call.turn]:
            del self.open[run_id]
        for place in [place for place in self._own if place[0] == call.turn.key]:
            del self._own[place]

    def become_agent(self, call: Call) -> None:
        """A call turns out to be a graph inside another call: a sub-agent, if it is not known as one."""
        if call.agent == call.key:
            return
        named = call.name if call.name != "LangGraph" else (call.place if call.tool is None else "")
        key = f"{call.tool or call.agent}/{named}"  # the same when it goes on after a pause, as a call with another id
        while any(one.key == key for one in self.open.values()):
            key += "/"
        call.turn.start_agent(key, named, agent=call.agent, inside=call.tool)
        call.agent, call.tool, call.key = key, None, key

    def start_tool(
        self,
        run_id: UUID,
        parent_run_id: UUID | None,
        name: str,
        arguments: Mapping[str, Any],
        *,
        asked: str | None = None,
        metadata: Mapping[str, Any] | None,
    ) -> None:
        """A tool begins to run; `asked` is the id that the model gave its call, if it asked for it."""
        call = self.begin(run_id, parent_run_id, name, metadata)
        if call is not None:
            call.asked = asked
            outer, call.key = (
                call.tool,
                (self.key_of(call, asked) if asked else self.ledger.asked(name, arguments)) or call.key,
            )
            call.turn.start_tool(call.key, name, arguments, agent=call.agent, inside=outer)
            call.tool = call.key
            call.inside = call.turn.enter_tool(call.key)  # the tool runs in a copy of this context

    def ask_tool(self, call: Call, asked: str) -> str:
        """What the ledger shall know a tool call by that this model asks for.

        Small models and scripted ones number their calls, so agents that work at the same time may use one id for two calls.
        """
        taken = self._owners.setdefault(asked, call.agent) != call.agent
        key = self._keys.setdefault((call.agent, asked), f"{call.agent}/{asked}" if taken else asked)
        return self._own.setdefault((call.turn.key, key), call.turn.own_key(key))

    def key_of(self, call: Call, asked: str) -> str:
        """What the ledger knows a tool call by that runs where `call` does, or is over."""
        key = self._keys.get((call.agent, asked), asked)
        return self._own.get((call.turn.key, key), key)

    def end_tool(self, run_id: UUID, output: Any, error: BaseException | None = None) -> None:
        """A tool is over, or waits on the person: LangGraph says so by an error."""
        with self.ledger.lock:
            call = self.open.pop(run_id, None)
            if call is None:
                return
            if call.inside is not None:
                call.inside.leave()
            if self.pauses.hear(call.turn, error, call.key):
                call.turn.suspend_tool(call.key)
            else:
                result, failure = tool_end_of(output, call.asked)
                call.turn.end_tool(call.key, result=result, error=failure if is_no_failure(error) else error)
            if call.parent is None:
                self.end_turn(call, None if is_no_failure(error) else error)


class Callbacks:
    """What all callbacks share. They are plain functions that run where they are called: a word of a model must not change threads.

    Attributes:
        run: The run that hears.
        calls: What goes on.
        framework: As people write it.
        run_inline: LangChain calls them in its event loop's own thread.
        raise_error: LangChain reports what they raise, and goes on.
    """

    framework: ClassVar[str] = "LangChain"
    run_inline: bool = True
    raise_error: bool = False

    def __init__(self, run: Run) -> None:
        self.run = run
        self.calls = Calls(run)


def is_no_failure(error: BaseException | None) -> bool:
    """Whether a graph ended so by intent: it waits on the person, or hands over to the graph around it."""
    return error is None or any(base.__name__ == "GraphBubbleUp" for base in type(error).__mro__)
