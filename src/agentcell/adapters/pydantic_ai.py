"""Listens to pydantic-ai: by a capability, which every agent run inside a block gets by itself, and others from `run.pydantic_ai()`."""

from __future__ import annotations

import functools
import inspect
import json
import sys
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakValueDictionary

from agentcell.adapters.ambient import run_here
from agentcell.adapters.hearing import heard
from agentcell.adapters.ledger import Ledger
from agentcell.adapters.pydantic_ai_events import AgentRun, calls_of, tell_event, tell_requests, tell_thoughts, usage_of, words_of
from agentcell.events import TextDelta, ToolOffer

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentcell.adapters.ledger import Turn
    from agentcell.run import Run
    from agentcell.tool_call import FrameworkCall

CALLING: ContextVar[tuple[PydanticAIAdapter, AgentRun, str] | None] = ContextVar("agentcell_pydantic_ai_tool", default=None)
"""The tool call around this code: who hears it, of which agent run, under which id."""


class PydanticAIAdapter:
    """Hears all of pydantic-ai's agents in one run.

    A sub-agent is one that runs inside a tool of another; it is heard if it got the capability itself, as inside a block it does.
    """

    framework: ClassVar[str] = "pydantic-ai"

    def __init__(self, run: Run) -> None:
        self.run = run
        self.ledger = Ledger(run)
        self._runs: dict[str, AgentRun] = {}  # those that go on, by their ids
        self._events: WeakValueDictionary[int, Any] = WeakValueDictionary()
        self._over = False

    @functools.cached_property
    def capability(self) -> Any:
        """What an agent is given to be heard.

        Raises:
            ImportError: pydantic-ai is too old for capabilities; what its agents stream can be read then.
        """
        from agentcell.adapters.pydantic_ai_capability import capability_class

        return capability_class()(self)

    def close(self, error: BaseException | None = None) -> None:
        """The block is left; an agent that keeps the capability is not heard any more."""
        self._over = True
        self._runs.clear()
        self.ledger.close(error)

    def has_heard(self, event: Any) -> bool:
        """Whether this very event came by the capability."""
        return self._events.get(id(event)) is event

    def knows(self, run_id: str | None) -> bool:
        """Whether the agent run is heard already, or not to be heard: a second capability has nothing to add."""
        return self._over or run_id in self._runs

    @heard
    def begin_run(self, ctx: Any) -> None:
        """An agent begins to run."""
        around, name = CALLING.get(), getattr(ctx.agent, "name", None) or "agent"
        if around is not None and around[0] is self and self.ledger.is_here(around[1].turn, around[2]):
            _, outer, call_id = around
            outer.turn.start_agent(ctx.run_id, name, agent=outer.agent, inside=call_id)
            self._runs[ctx.run_id] = AgentRun(outer.turn, ctx.run_id)
        else:
            self._runs[ctx.run_id] = AgentRun(self.ledger.turn(ctx.run_id, name))

    @heard
    def end_run(self, ctx: Any, *, result: Any = None, error: BaseException | None = None) -> None:
        """An agent has run to its end."""
        agent_run = self._runs.pop(ctx.run_id, None)
        if agent_run is None:
            return
        tell_requests(agent_run, getattr(result, "output", None))
        if agent_run.agent:
            agent_run.turn.end_agent(agent_run.agent, error=error)
            return
        if result is not None and not agent_run.said.strip():
            self._answer(agent_run.turn, result.output)
        agent_run.turn.close(error)

    def _answer(self, turn: Turn, output: Any) -> None:
        """Writes an answer that no model has given in words."""
        if output is None or turn.is_inside or hasattr(output, "approvals"):  # deferred requests are no answer
            return
        words = json.dumps(as_json(output), indent=2, ensure_ascii=False)
        text = output if isinstance(output, str) else f"```json\n{words}\n```"
        self.run.record(TextDelta(text=f"\n\n{text}" if self.run.answer_text else text))

    @heard
    def begin_model(self, ctx: Any, request: Any) -> None:
        """A model is about to be asked."""
        agent_run = self._runs.get(ctx.run_id)
        key = f"{ctx.run_id}:{ctx.run_step}"
        if agent_run is not None and not agent_run.turn.is_asked(key):
            offered = request.model_request_parameters
            model = getattr(request, "model", ctx.model)  # early releases of 1 do not tell it there
            agent_run.outputs = frozenset(tool.name for tool in offered.output_tools)
            agent_run.model, agent_run.thought = key, False
            agent_run.turn.start_model(
                agent_run.model,
                agent=agent_run.agent,
                model=model.model_name,
                provider=model.system,
                tools=[ToolOffer(tool.name, tool.description or "") for tool in offered.function_tools],
            )
        self.run.raise_if_stopping()

    @heard
    def end_model(self, ctx: Any, *, response: Any = None, error: BaseException | None = None) -> None:
        """A model has answered, or not."""
        agent_run = self._runs.get(ctx.run_id)
        if agent_run is None:
            return
        if response is None:
            agent_run.turn.end_model(agent_run.model, error=error)
            return
        agent_run.said = words_of(response, "text")
        tell_thoughts(agent_run, response)
        agent_run.turn.end_model(
            agent_run.model,
            text=agent_run.said,
            usage=usage_of(response.usage),
            model=response.model_name,
            finish_reason=response.finish_reason,
            response_id=response.provider_response_id,
            tool_calls=calls_of(response),
        )

    @heard
    def begin_tool(self, ctx: Any, call: Any, arguments: Any) -> FrameworkCall | None:
        """A tool is about to run, in this code; what makes that a part of the call."""
        self.run.raise_if_stopping()
        agent_run = self._runs.get(ctx.run_id)
        if agent_run is not None and call.tool_name not in agent_run.outputs:
            agent_run.turn.start_tool(
                agent_run.key(call), call.tool_name, as_json(arguments), agent=agent_run.agent, model=agent_run.model
            )
            CALLING.set((self, agent_run, agent_run.key(call)))
            return agent_run.turn.enter_tool(agent_run.key(call))
        return None

    @heard
    def end_tool(self, ctx: Any, call: Any, *, result: Any = None, error: BaseException | None = None) -> None:
        """A tool has run. One that has to wait for the person is told by its event."""
        agent_run = self._runs.get(ctx.run_id)
        kind = type(error).__name__
        if agent_run is not None and kind not in ("ApprovalRequired", "CallDeferred"):
            told = result.return_value if type(result).__name__ == "ToolReturn" else result
            # These two are the framework's own, around what the tool has to say to the model.
            why = str(error) if kind in ("ToolRetryError", "ToolFailedError") else error
            agent_run.turn.end_tool(agent_run.key(call), result=as_json(told), error=why)

    @heard
    def hear(self, ctx: Any, event: Any) -> None:
        """An event of an agent."""
        agent_run = self._runs.get(ctx.run_id)
        if agent_run is not None and agent_run.newest is not event:
            agent_run.newest = event
            self._events[id(event)] = event
            tell_event(self.ledger, agent_run, event)
        self.run.raise_if_stopping()


def attach() -> Callable[[], None]:
    """Lets every agent run inside a block have the capability of the block's run.

    pydantic-ai has no place for capabilities of all agents. What comes nearest is `Agent.iter`: all other ways to run an agent go
    through it, and it takes capabilities for one run.
    """
    from pydantic_ai import Agent

    original = Agent.iter
    if "capabilities" not in inspect.signature(original).parameters:  # early releases of 1: what their agents stream can be read
        return lambda: None

    @functools.wraps(original)
    def iter_with_capability(self: Any, *args: Any, **options: Any) -> Any:
        run = run_here()
        if run is not None:
            with run.guarding("listening to pydantic-ai"):
                if not _is_durable(self):
                    capability = run.adapter(PydanticAIAdapter).capability
                    options = {**options, "capabilities": [*(options.get("capabilities") or ()), capability]}
        return original(self, *args, **options)

    Agent.iter = iter_with_capability  # type: ignore[method-assign]

    def detach() -> None:
        if Agent.iter is iter_with_capability:  # else somebody has wrapped it meanwhile, and ours listens to nobody
            Agent.iter = original  # type: ignore[method-assign]

    return detach


def _is_durable(agent: Any) -> bool:
    """Whether the agent runs under an engine that replays it, which allows no capability for one run."""
    if not any(name.startswith("pydantic_ai.durable_exec.") for name in sys.modules):
        return False
    from pydantic_ai.capabilities.abstract import leaf_capabilities

    return any(type(one).__module__.startswith("pydantic_ai.durable_exec.") for one in leaf_capabilities(agent.root_capability))


def as_json(value: Any) -> Any:
    """A value as JSON values, by what pydantic knows of its type."""
    from pydantic_core import to_jsonable_python

    return to_jsonable_python(value, fallback=repr)
