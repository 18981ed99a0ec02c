"""What a framework tells of its agents, brought into order: each start has one end, and nothing is told twice.

Hooks come from any thread, leave ends out, tell a thing as it streams and once more as a whole, and start a call again when somebody
has approved it. An adapter brings what it hears under the framework's own ids (its keys) to the ledger of its run, and the ledger
knows what of that the run has not been told yet.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from agentcell.errors import first_line
from agentcell.events import (
    AgentEnded,
    AgentStarted,
    AnyEvent,
    CallOutcome,
    ModelEnded,
    ModelStarted,
    PauseRequested,
    PauseResumed,
    TextDelta,
    ThinkingBlock,
    ThinkingDelta,
    ThinkingEnded,
    ToolEnded,
    ToolOffer,
    ToolProgressed,
    ToolStarted,
    TurnEnded,
    Usage,
)
from agentcell.tool_call import FrameworkCall, call_around, is_interruption, payload_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from agentcell.adapters.model_call import ModelCall
    from agentcell.run import Run

NO_END = "its end was not told"


@dataclass(slots=True)
class _Model:
    """A model call that goes on, under the id that the run knows it by, with the pieces that were told.

    `voice` is the agent whose words they are: the run's own also for a sub-agent that speaks to the person.
    """

    call_id: str
    agent_id: str
    voice: str
    text: list[str] = field(default_factory=list)
    thought: list[str] = field(default_factory=list)
    thinks_from: int | None = None  # the first piece of the stretch of reasoning that goes on


@dataclass(slots=True)
class _Tool:
    """A tool call; `waiting` is one that a person has to approve first."""

    call_id: str
    agent_id: str
    turn: Turn
    name: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    state: Literal["asked", "running", "waiting", "over"] = "asked"


class Ledger:
    """All turns of one framework in one run."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.lock = threading.RLock()
        self.tools: dict[str, _Tool] = {}
        self.pauses: dict[str, tuple[str, str | None]] = {}  # by key: the pause's id, and the key of the call that waits
        self.waiting_agents: dict[str, str] = {}  # ids by key, of sub-agents that wait on the person
        self.answered = False  # whether a turn answered in words of its own: those of the next are another paragraph
        self._turns: dict[str, Turn] = {}
        self.model_ids: set[str] = set()  # by which the run knows the model calls that were told from here

    def turn(self, key: str) -> Turn:
        """The turn with this key, which begins if it has not; one that is over begins anew."""
        with self.lock:
            return self._turns.setdefault(key, Turn(self, key))

    def find(self, key: str) -> Turn | None:
        """The turn with this key, as long as it goes on."""
        return self._turns.get(key)

    def drop(self, turn: Turn) -> None:
        """The turn is over."""
        self._turns.pop(turn.key, None)

    def asked(self, name: str, arguments: Mapping[str, Any], *, besides: Collection[str] = ()) -> str | None:
        """The key of a call of this name that was asked for, or waits, and that nobody runs yet; best with these arguments."""
        with self.lock:
            calls = [
                (key, call)
                for key, call in self.tools.items()
                if call.name == name and call.state in ("asked", "waiting") and key not in besides
            ]
            return next((key for key, call in calls if call.arguments == arguments), calls[0][0] if calls else None)

    def call_here(self) -> str | None:
        """The run's id of the tool call that this code is in, which may be of another framework, or of the user's own code."""
        call_id = call_around(self.run)
        return None if call_id is None or self.run.is_over(call_id) else call_id

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


class Turn:
    """One call of an agent by the user's code, from its start to its end, with all that happens in it.

    An `agent` is the key of a sub-agent that was started, "" for the agent itself. What was not started, or is over, is passed over,
    but for model calls, which begin with their first word.
    """

    def __init__(self, ledger: Ledger, key: str) -> None:
        self.key = key
        self.run = ledger.run
        self._ledger = ledger
        self._agents: dict[str, str] = {}  # ids by key
        self._open_agents: dict[str, str] = {}  # agent that each was started by, by key
        self._speakers: set[str] = set()  # keys
        self._models: dict[str, _Model] = {}
        self._ended_models: dict[str, str] = {}  # ids by key
        self._adopted = ""
        self._spoken: list[str] = []  # what was said last in the agent's own name
        self._answered: list[str] = []  # the same, as far as no model call of the agent's said it

    def adopt(self, call: ModelCall) -> None:
        """The first model call of this turn is one that was begun already; one that comes too late for that is over."""
        self._end_adopted(None)
        self._adopted = call.hand_over()
        if self._models or self._ended_models:
            self._end_adopted(None)

    # Sub-agents

    def start_agent(
        self, key: str, name: str, *, agent: str = "", inside: str | None = None, around: str | None = None, speaks: bool = False
    ) -> None:
        """A sub-agent takes over, called by `agent`, or inside the tool call with the key `inside`; one that waited goes on.

        `around` is the run's id of a call inside which a whole turn runs, whoever runs that call: `Ledger.call_here`. One that
        `speaks` was handed the conversation: what it writes is the answer, and not meant for another agent.
        """
        with self._ledger.lock:
            if key in self._open_agents:
                return
            tool = self._ledger.tools.get(inside) if inside else None
            parent = tool.call_id if tool is not None else around or self._agents.get(agent)
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
            outcome, said, _ = _verdict(error)
            self._record(AgentEnded(agent_id=self._agents[key], outcome=outcome, error=said))

    def suspend_agent(self, key: str) -> None:
        """A sub-agent waits on the person; it goes on when it starts again under this key, in this turn or a later one."""
        with self._ledger.lock:
            if self._open_agents.pop(key, None) is not None:
                self._ledger.waiting_agents[key] = self._agents[key]

    # Model calls

    def start_model(
        self,
        key: str,
        *,
        agent: str = "",
        model: str | None = None,
        provider: str | None = None,
        tools: Iterable[ToolOffer] = (),
    ) -> None:
        """A model is asked. A second start with the same key tells more about the same call."""
        with self._ledger.lock:
            known = self._models.get(key)
            if known is None:
                self._ended_models.pop(key, None)
                agent_id = self._agents.get(agent, "")
                voice = "" if agent in self._speakers else agent_id
                known = self._models[key] = _Model(self._adopted or self.run.new_id(), agent_id, voice)
                self._adopted = ""
                self._ledger.model_ids.add(known.call_id)
            self._record(
                ModelStarted(
                    model_call_id=known.call_id, agent_id=known.agent_id, model=model, provider=provider, tools=tuple(tools)
                )
            )

    def write(self, key: str, text: str, *, agent: str = "") -> None:
        """More text of a model call."""
        with self._ledger.lock:
            call = self._speaking(key, agent) if text else None
            if call is not None:
                self._end_thinking(call)
                call.text.append(text)
                self._spoken = self._spoken if call.voice else call.text
                self._record(TextDelta(text=text, model_call_id=call.call_id, agent_id=call.voice))

    def think(self, key: str, text: str, *, agent: str = "") -> None:
        """More of a model's reasoning."""
        with self._ledger.lock:
            call = self._speaking(key, agent) if text else None
            if call is not None:
                if call.thinks_from is None:
                    call.thinks_from = len(call.thought)
                call.thought.append(text)
                self._record(ThinkingDelta(text=text, model_call_id=call.call_id, agent_id=call.agent_id))

    def reconcile(self, key: str, *, text: str | None = None, thinking: str | None = None, agent: str = "") -> None:
        """All that a model call has said so far, in words or in its reasoning: of that only what no delta has told is new."""
        with self._ledger.lock:
            call = self._speaking(key, agent)
            if call is not None:
                self.think(key, _missing(call.thought, thinking))
                self.write(key, _missing(call.text, text))

    def end_thinking(self, key: str, blocks: Sequence[ThinkingBlock] = ()) -> None:
        """A stretch of reasoning is complete: `blocks` as the provider gave them, or what was told of it."""
        with self._ledger.lock:
            call = self._models.get(key)
            if call is not None:
                self._end_thinking(call, blocks)

    def end_model(
        self,
        key: str,
        *,
        text: str | None = None,
        thinking: str | None = None,
        usage: Usage | None = None,
        model: str | None = None,
        finish_reason: str | None = None,
        response_id: str | None = None,
        tool_calls: int | None = None,
        error: BaseException | str | None = None,
        duration: float | None = None,
        cost: float | None = None,
    ) -> None:
        """A model call is over. Of `text` and `thinking`, which are whole, only what no delta has told is new.

        Args:
            key: The call.
            text: All that the model wrote, None where the deltas are all there is.
            thinking: All of its reasoning, likewise.
            usage: Its tokens.
            model: The model's name.
            finish_reason: The provider's word.
            response_id: The provider's id of the response.
            tool_calls: How many tools it asked for.
            error: Why it failed or was cancelled.
            duration: Seconds, as the framework measured them.
            cost: US dollars, as the framework told them.
        """
        with self._ledger.lock:
            if key in self._ended_models:
                return
            call = self._models.get(key)
            if call is None:
                self.start_model(key)
                call = self._models[key]
            self.reconcile(key, text=text, thinking=thinking)
            self._end_thinking(call)
            del self._models[key]
            self._ended_models[key] = call.call_id
            outcome, said, _ = _verdict(error)
            self._record(
                ModelEnded(
                    model_call_id=call.call_id,
                    agent_id=call.voice,
                    model=model,
                    usage=usage,
                    finish_reason=finish_reason,
                    outcome=outcome,
                    error=said,
                    response_id=response_id,
                    tool_calls=tool_calls,
                    duration=duration,
                    cost=cost,
                )
            )

    def charge(self, cost: float) -> None:
        """The framework says what the turn cost so far, in US dollars, all of its model calls together."""
        with self._ledger.lock:
            calls = (*self._ended_models.values(), *(call.call_id for call in self._models.values()))
            self._record(TurnEnded(cost=cost, model_call_ids=calls))

    def is_asked(self, key: str) -> bool:
        """Whether a model call with this key goes on."""
        return key in self._models

    def answer(self, text: str) -> None:
        """What the agent answers as a whole; of words that it said last itself, or one that `speaks` for it, nothing is told again.

        The words may be another's all the same: those of a sub-agent, of a tool, or of the agent's code.
        """
        with self._ledger.lock:
            if not "".join(self._spoken).strip().endswith(text.strip()):
                self._say(text, new=self._ledger.answered)

    def speak(self, text: str) -> None:
        """More of an answer in words that no model call of the agent's said."""
        with self._ledger.lock:
            if text:
                self._say(text, new=self._ledger.answered and not self._answered)

    def _say(self, text: str, *, new: bool) -> None:
        if self._spoken is not self._answered:
            self._answered = self._spoken = []
        self._answered.append(text)
        self._ledger.answered = True
        self._record(TextDelta(text="\n\n" * new + text))

    def tell_thought(self, text: str, *, agent: str = "") -> None:
        """Reasoning that comes whole, behind the end of the model call that thought."""
        if text:
            blocks = (ThinkingBlock(content=text),)
            self._record(ThinkingEnded(model_call_id=self.run.new_id(), agent_id=self._agents.get(agent, ""), blocks=blocks))

    def is_over(self, key: str) -> bool:
        """Whether a model call with this key has ended."""
        return key in self._ended_models

    # Tool calls

    def own_key(self, call_id: str) -> str:
        """The key for a call that a provider gave this id: the id, but where a call of another turn that goes on has it already.

        Some servers number the calls of each response from nought.
        """
        known = self._ledger.tools.get(call_id)
        if known is None or known.turn is self or known.state not in ("asked", "running"):
            return call_id
        return f"{self.key}:{call_id}" if self._ledger.find(known.turn.key) is known.turn else call_id

    def ask_tool(
        self, key: str, name: str, arguments: Mapping[str, Any] | None = None, *, agent: str = "", model: str = ""
    ) -> None:
        """A model (the call with the key `model`) asked for a tool; that this is told late, or again, is nothing new."""
        with self._ledger.lock:
            known = self._ledger.tools.get(key)
            if known is None or (known.state == "over" and known.turn is not self):
                known = self._new_tool(key, agent)
            elif known.state != "asked" or (known.name == name and known.arguments == (arguments or {})):
                return
            self._start_tool(known, name, arguments, model=model, parent=None)

    def start_tool(
        self,
        key: str,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        agent: str = "",
        model: str = "",
        inside: str | None = None,
    ) -> None:
        """A tool begins to run; `inside` is the key of the tool call that it was called from.

        A call that starts again is the same call when it was waiting for the person, or when the turn is the same (it is tried once
        more). Under the id of one that was over before this turn, it is another call: scripted models give the same ids again.
        """
        with self._ledger.lock:
            known = self._ledger.tools.get(key)
            if known is None or (known.state == "over" and known.turn is not self):
                known = self._new_tool(key, agent)
            elif known.state == "waiting":
                self._ledger.resume_call(key)
            elif known.state == "running" and (not arguments or known.arguments):
                return
            known.state, known.turn = "running", self
            outer = self._ledger.tools.get(inside) if inside else None
            self._start_tool(known, name, arguments, model=model, parent=None if outer is None else outer.call_id)

    def enter_tool(self, key: str) -> FrameworkCall | None:
        """The code that calls this is the tool's own, up to `leave` of what it gets: what it does in the run is done inside the call."""
        known = self._ledger.tools.get(key)
        return None if known is None else FrameworkCall(self.run, known.call_id)

    def progress(self, key: str, payload: Any) -> None:
        """A tool that runs reports something."""
        with self._ledger.lock:
            known = self._ledger.tools.get(key)
            if known is not None and known.state == "running":
                self._record(ToolProgressed(call_id=known.call_id, agent_id=known.agent_id, payload=payload_of(payload)))

    def end_tool(
        self, key: str, *, result: Any = None, error: BaseException | str | None = None, duration: float | None = None
    ) -> None:
        """A tool call is over, with its result or its error; the first end that is told counts."""
        with self._ledger.lock:
            known = self._ledger.tools.get(key)
            if known is None or known.state == "over":
                return
            self._ledger.resume_call(key)
            known.state = "over"
            if self.run.is_over(known.call_id):  # the tool's own code has told it
                return
            outcome, said, kind = _verdict(error)
            self._record(
                ToolEnded(
                    call_id=known.call_id,
                    agent_id=known.agent_id,
                    outcome=outcome,
                    result=result,
                    error=said,
                    error_type=kind,
                    duration=duration,
                )
            )

    def suspend_tool(self, key: str) -> None:
        """What runs inside a tool call waits on the person, and the call with it; it goes on when it starts again."""
        with self._ledger.lock:
            known = self._ledger.tools.get(key)
            if known is not None and known.state == "running":
                known.state = "waiting"

    def refuse_tool(self, key: str, reason: str) -> None:
        """The person does not let a tool call run: it is over, and no failure."""
        with self._ledger.lock:
            known = self._ledger.tools.get(key)
            if known is None or known.state == "over":
                return
            self._ledger.resume_call(key)
            known.state = "over"
            self._record(ToolEnded(call_id=known.call_id, agent_id=known.agent_id, outcome="cancelled", error=reason))

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
            for key in [one for one, outer in self._open_agents.items() if outer not in self._open_agents]:
                self.end_agent(key, error=error)
            self._end_calls(error, None)
            self._end_adopted(error)

    def _end_adopted(self, error: BaseException | str | None) -> None:
        if self._adopted:
            outcome, said, _ = _verdict(error)
            self._record(ModelEnded(model_call_id=self._adopted, outcome=outcome, error=said))
            self._adopted = ""

    def _end_calls(self, error: BaseException | str | None, agent_id: str | None) -> None:
        """Ends the calls of one agent, or all."""
        for key, call in tuple(self._models.items()):
            if agent_id in (None, call.agent_id):
                self.end_model(key, error=error)
        over = ("running",) if error is None and agent_id is None else ("asked", "running")
        for tool in tuple(self._ledger.tools.values()):
            if tool.turn is self and tool.state in over and agent_id in (None, tool.agent_id):
                tool.state = "over"
                said = _verdict(error)[1] or NO_END
                if not self.run.is_over(tool.call_id):
                    self._record(ToolEnded(call_id=tool.call_id, agent_id=tool.agent_id, outcome="cancelled", error=said))

    def _speaking(self, key: str, agent: str) -> _Model | None:
        """The model call that says something; it begins with that, and is None when it is over."""
        if key in self._ended_models:
            return None
        if key not in self._models:
            self.start_model(key, agent=agent)
        return self._models[key]

    def _end_thinking(self, call: _Model, blocks: Sequence[ThinkingBlock] = ()) -> None:
        if call.thinks_from is not None or blocks:
            given = tuple(blocks) or (ThinkingBlock(content="".join(call.thought[call.thinks_from :])),)
            call.thinks_from = None
            self._record(ThinkingEnded(model_call_id=call.call_id, agent_id=call.agent_id, blocks=given))

    def _new_tool(self, key: str, agent: str) -> _Tool:
        call_id = key if key and key not in self._ledger.tools else self.run.new_id()
        tool = self._ledger.tools[key] = _Tool(call_id, self._agents.get(agent, ""), self)
        return tool

    def _start_tool(self, tool: _Tool, name: str, arguments: Mapping[str, Any] | None, *, model: str, parent: str | None) -> None:
        tool.name, tool.arguments = name or tool.name, arguments or tool.arguments
        asking = self._models.get(model)
        self._record(
            ToolStarted(
                call_id=tool.call_id,
                agent_id=tool.agent_id,
                name=tool.name,
                arguments=tool.arguments,
                parent_id=parent,
                model_call_id=self._ended_models.get(model, "") if asking is None else asking.call_id,
                requested=tool.state == "asked",
            )
        )

    def _record(self, event: AnyEvent) -> None:
        self.run.record(event)


def _verdict(error: BaseException | str | None) -> tuple[CallOutcome, str | None, str | None]:
    """How something ended: the outcome, what the error says in one line, and its class."""
    if error is None:
        return "done", None, None
    if isinstance(error, str):
        return "failed", error, None
    return ("cancelled" if is_interruption(error) else "failed"), first_line(error), type(error).__name__


def _missing(told: Sequence[str], whole: str | None) -> str:
    """What of the whole has not been told: its tail, nothing when the pieces say something else."""
    if not whole:
        return ""
    so_far = "".join(told)
    return whole[len(so_far) :] if whole.startswith(so_far) else ""
