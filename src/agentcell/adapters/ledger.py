"""What a framework tells of its agents, brought into order: each start has one end, and nothing is told twice.

Hooks come from any thread, leave ends out, tell a thing as it streams and once more as a whole, and start a call again when somebody
has approved it. An adapter brings what it hears under the framework's own ids (its keys) to the ledger of its run, and the ledger
knows what of that the run has not been told yet.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from agentcell.adapters.turn_models import TurnModels
from agentcell.adapters.turn_state import ToolPart, verdict
from agentcell.adapters.turn_tools import TurnTools
from agentcell.events import AgentEnded, AgentStarted, PauseRequested, PauseResumed, ToolEnded

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from agentcell.run import Run

NO_END = "its end was not told"


class Ledger:
    """All turns of one framework in one run.

    Args:
        run: The run.
        shares: Whether somebody else may tell of the same tool calls; else an id that another framework used means another call there.
    """

    def __init__(self, run: Run, *, shares: bool = False) -> None:
        self.run = run
        self.shares = shares
        self.lock = threading.RLock()
        self.tools: dict[str, ToolPart] = {}
        self.ids: dict[str, str] = {}  # of tool calls by key, as their provider gave them, where that is not the key
        self.holders: dict[str, Turn] = {}  # by key of a tool call: the turn that has taken this key for itself
        self.pauses: dict[str, tuple[str, str | None]] = {}  # by key: the pause's id, and the key of the call that waits
        self.waiting_agents: dict[str, str] = {}  # ids by key, of sub-agents that wait on the person
        self._turns: dict[str, Turn] = {}
        self.model_ids: set[str] = set()  # by which the run knows the model calls that were told from here

    def turn(self, key: str, name: str | None = None) -> Turn:
        """The turn with this key, which begins if it has not; one that is over begins anew.

        With a `name`, be it "", it is an agent of that name that begins, or a model: made inside a tool call of another framework, or of
        the user's own code, it speaks to that tool, and its words are no answer to the person.
        """
        with self.lock:
            turn = self._turns.get(key)
            if turn is None:
                turn = self._turns[key] = Turn(self, key)
                around = None if name is None else self.call_here()
                if around is not None:
                    turn.begin_inside(around, name or "")
            return turn

    def find(self, key: str) -> Turn | None:
        """The turn with this key, as long as it goes on."""
        return self._turns.get(key)

    def drop(self, turn: Turn) -> None:
        """The turn is over."""
        self._turns.pop(turn.key, None)

    def asked(
        self, name: str, arguments: Mapping[str, Any], *, among: Collection[str] | None = None, besides: Collection[str] = ()
    ) -> str | None:
        """The key of a call of this name that was asked for, or waits, and that nobody runs yet; best with these arguments."""
        with self.lock:
            calls = [
                (key, call)
                for key in (self.tools if among is None else among)
                if (call := self.tools.get(key)) is not None
                and call.name == name
                and call.state in ("asked", "waiting")
                and key not in besides
            ]
            return next((key for key, call in calls if call.arguments == arguments), calls[0][0] if calls else None)

    def waiting(self, call_id: str) -> str | None:
        """The key of a call that a provider gave this id, and that waits on the person; None for one that does not."""
        keys = (key for _, key in self.pauses.values() if key and self.ids.get(key, key) == call_id)
        known = self.tools.get(call_id)
        return next(keys, call_id if known is not None and known.state == "waiting" else None)

    def call_here(self) -> str | None:
        """The run's id of the tool call that this code is in, which may be of another framework, or of the user's own code."""
        call_id = self.run.call_here()
        return None if call_id is None or self.run.is_over(call_id) else call_id

    def is_here(self, turn: Turn, key: str) -> bool:
        """Whether this code is in the tool call of the turn with this key, and in no other inside that."""
        if self.find(turn.key) is not turn:
            return False
        call_id, tool = self.run.call_here(), self.tools.get(key)
        return tool is not None and call_id in (None, tool.call_id)

    def close(self, error: BaseException | None = None) -> None:
        """The run's block is left: whatever still goes on is over with it."""
        for turn in tuple(self._turns.values()):
            turn.close(error)

    def resume(self, key: str, answer: Any = None) -> None:
        """The person has answered the question with this key; nothing happens when it is not open."""
        with self.lock:
            pause = self.pauses.pop(key, None)
            if pause is not None:
                self.run.record(PauseResumed(pause_id=pause[0], answer=answer))

    def resume_call(self, call_key: str) -> None:
        """The call goes on, so whoever was asked about it has answered."""
        for key, (_, waiting) in tuple(self.pauses.items()):
            if waiting == call_key:
                self.resume(key)


class Turn(TurnModels, TurnTools):
    """One call of an agent by the user's code, from its start to its end, with all that happens in it.

    An `agent` is the key of a sub-agent that was started, "" for the agent itself. What was not started, or is over, is passed over,
    but for model calls, which begin with their first word.
    """

    # Sub-agents

    def begin_inside(self, call_id: str, name: str) -> None:
        """All of this turn happens inside the tool call that the run knows by this id, whoever runs that."""
        self._agents[""] = self.run.new_id()
        self._record(AgentStarted(agent_id=self._agents[""], name=name, parent_id=call_id))

    def start_agent(self, key: str, name: str, *, agent: str = "", inside: str | None = None, speaks: bool = False) -> None:
        """A sub-agent takes over, called by `agent`, or inside the tool call with the key `inside`; one that waited goes on.

        One that `speaks` was handed the conversation: what it writes is the answer, and not meant for another agent.
        """
        with self._ledger.lock:
            if key in self._open_agents:
                return
            tool = self._ledger.tools.get(inside) if inside else None
            parent = tool.call_id if tool is not None else self._agents.get(agent)
            self._open_agents[key] = agent
            if speaks and (not agent or agent in self._speakers):
                self._speakers.add(key)
            waited = self._ledger.waiting_agents.pop(key, None)
            self._agents[key] = waited or self.run.new_id()
            if waited is not None:
                return
            self._record(AgentStarted(agent_id=self._agents[key], name=name, parent_id=parent))

    def end_agent(self, key: str, *, error: BaseException | str | None = None) -> None:
        """A sub-agent comes back; what it left open is over."""
        with self._ledger.lock:
            if key not in self._open_agents:
                return
            for inner in [one for one, outer in self._open_agents.items() if outer == key]:
                self.end_agent(inner, error=error)
            self._end_calls(error, self._agents[key])
            del self._open_agents[key]
            outcome, said, _ = verdict(error)
            self._record(AgentEnded(agent_id=self._agents[key], outcome=outcome, error=said))

    def suspend_agent(self, key: str) -> None:
        """A sub-agent waits on the person; it goes on when it starts again under this key, in this turn or a later one."""
        with self._ledger.lock:
            if self._open_agents.pop(key, None) is not None:
                self._ledger.waiting_agents[key] = self._agents[key]

    # The person

    def pause(self, key: str, question: str, *, choices: Sequence[str] = (), call: str | None = None) -> None:
        """The agent waits on the person, who is asked whether the tool `call` may run, or something else; `resume` ends it."""
        with self._ledger.lock:
            tool = self._ledger.tools.get(call) if call else None
            if tool is not None:
                tool.state = "waiting"
            if key in self._ledger.pauses:
                return
            pause_id = self.run.new_id()
            self._ledger.pauses[key] = (pause_id, call)
            self._record(
                PauseRequested(
                    pause_id=pause_id,
                    question=question,
                    choices=tuple(choices),
                    call_id=None if tool is None else tool.call_id,
                )
            )

    # The end

    def close(self, error: BaseException | str | None = None) -> None:
        """The turn is over, also when its framework forgot to say so of its parts.

        A call that waits on the person goes on waiting. A call that a model has only asked for may still be run by the user's own code,
        unless the turn went wrong.
        """
        with self._ledger.lock:
            self._ledger.drop(self)
            self.over = True
            for key in [one for one, outer in self._open_agents.items() if outer not in self._open_agents]:
                self.end_agent(key, error=error)
            self._end_calls(error, self._agents.get(""))
            self._end_adopted(error)
            if self.is_inside:
                outcome, said, _ = verdict(error)
                self._record(AgentEnded(agent_id=self.voice, outcome=outcome, error=said))

    def _end_calls(self, error: BaseException | str | None, agent_id: str | None) -> None:
        """Ends the calls of one agent, or all."""
        for key, call in tuple(self._models.items()):
            if agent_id in (None, call.agent_id):
                self.end_model(key, error=error)
        over = ("running",) if error is None and agent_id is None else ("asked", "running")
        for tool in self._tools:
            if tool.turn is self and tool.state in over and agent_id in (None, tool.agent_id):
                tool.state = "over"
                said = verdict(error)[1] or NO_END
                if not self.run.is_over(tool.call_id):
                    self._record(ToolEnded(call_id=tool.call_id, agent_id=tool.agent_id, outcome="cancelled", error=said))
