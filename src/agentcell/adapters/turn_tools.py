"""A turn's tool calls: asked for, waiting for the person, running, over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentcell.adapters.turn_state import ToolPart, TurnState, verdict
from agentcell.events import ToolEnded, ToolProgressed, ToolStarted
from agentcell.tool_call import FrameworkCall, payload_of

if TYPE_CHECKING:
    from collections.abc import Mapping


class TurnTools(TurnState):
    """Tells of the tool calls what the run has not been told."""

    def own_key(self, call_id: str, owner: str = "") -> str:
        """The key for a call that a provider gave this id: the id, but where another agent at work has used it already.

        Some servers number the calls of each response from nought. Agents of one turn are told apart by their `owner`. A call that waits
        on the person goes on in whichever turn.
        """
        with self._ledger.lock:
            key = self._own_keys.get((owner, call_id))
            if key is None:
                key = self._own_keys[owner, call_id] = self._free_key(call_id, owner)
                self._owners[key] = owner
                self._ledger.holders[key] = self  # type: ignore[assignment]  # only a Turn inherits from here
                if key != call_id:
                    self._ledger.ids[key] = call_id
            return key

    def _free_key(self, call_id: str, owner: str) -> str:
        waiting, known = self._ledger.waiting(call_id), self._ledger.tools.get(call_id)
        if waiting is not None:
            return waiting
        holder = self._ledger.holders.get(call_id, None if known is None else known.turn)
        if holder is self:
            taken = self._owners.get(call_id, owner) != owner
        else:
            taken = holder is not None and self._ledger.find(holder.key) is holder
        return f"{owner or self.key}:{call_id}" if taken else call_id

    def ask_tool(
        self, key: str, name: str, arguments: Mapping[str, Any] | None = None, *, agent: str = "", model: str = ""
    ) -> None:
        """A model (the call with the key `model`) asked for a tool; that this is told late, or again, is nothing new."""
        with self._ledger.lock:
            known = self._ledger.tools.get(key)
            if known is None or self._is_another(known, model):
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
        more). Under the id of one that was over before this turn, or that another model call asked for, it is another call.
        """
        with self._ledger.lock:
            known = self._ledger.tools.get(key)
            if known is None or self._is_another(known, model):
                known = self._new_tool(key, agent)
            elif known.state == "waiting":
                self._ledger.resume_call(key)
            elif known.state == "running" and (not arguments or known.arguments):
                return
            if known.turn is not self:
                known.turn = self  # type: ignore[assignment]  # only a Turn inherits from here
                self._tools.append(known)
            known.state = "running"
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
            outcome, said, kind = verdict(error)
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

    def _is_another(self, known: ToolPart, model: str) -> bool:
        """Whether a call with the key of one that is over is another: some servers number the calls of each response from nought."""
        asked_anew = bool(model and known.model and model != known.model)
        if known.state == "asked":
            return asked_anew and self.run.is_over(known.call_id)
        return known.state == "over" and (asked_anew or known.turn is not self)

    def _new_tool(self, key: str, agent: str) -> ToolPart:
        free = key and key not in self._ledger.tools and (self._ledger.shares or self.run.take_id(key, self._ledger))
        call_id = key if free else self.run.new_id()
        tool = self._ledger.tools[key] = ToolPart(call_id, self._agents.get(agent, ""), self)  # type: ignore[arg-type]  # the same
        self._tools.append(tool)
        return tool

    def _start_tool(
        self, tool: ToolPart, name: str, arguments: Mapping[str, Any] | None, *, model: str, parent: str | None
    ) -> None:
        tool.name, tool.arguments, tool.model = name or tool.name, arguments or tool.arguments, tool.model or model
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
            ),
            tool.model,
        )
