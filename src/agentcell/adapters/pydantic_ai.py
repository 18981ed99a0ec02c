"""Listens to pydantic-ai: by a capability, which every agent run inside a block gets by itself, and others from `run.pydantic_ai()`."""

from __future__ import annotations

import functools
import json
import sys
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakValueDictionary

from agentcell.adapters.ambient import run_here
from agentcell.adapters.hearing import heard
from agentcell.adapters.ledger import Ledger
from agentcell.adapters.pydantic_ai_events import AgentRun, calls_of, tell_event, tell_waiting, thoughts_of, usage_of, words_of
from agentcell.events import TextDelta, ToolOffer

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentcell.run import Run

_calling: ContextVar[tuple[PydanticAIAdapter, AgentRun, str] | None] = ContextVar("agentcell_pydantic_ai_tool", default=None)
"""The tool call around this code: who hears it, of which agent run, under which id."""


class PydanticAIAdapter:
    """Hears all of pydantic-ai's agents in one run.

    A sub-agent is one that runs inside a tool of another; it is heard if it got the capability itself, as inside a block it does.
    """

    framework: ClassVar[str] = "pydantic-ai"

    def __init__(self, run: Run) -> None:
        self.run = run
        self.ledger = Ledger(run)
        self.capability = capability_class()(self)
        self._runs: dict[str, AgentRun] = {}  # those that go on, by their ids
        self._events: WeakValueDictionary[int, Any] = WeakValueDictionary()
        self._over = False

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
        around = _calling.get()
        if around is not None and around[0] is self and self.ledger.find(around[1].turn.key) is around[1].turn:
            _, outer, call_id = around
            name = getattr(ctx.agent, "name", None) or "agent"
            outer.turn.start_agent(ctx.run_id, name, agent=outer.agent, inside=call_id)
            self._runs[ctx.run_id] = AgentRun(outer.turn, ctx.run_id)
        else:
            self._runs[ctx.run_id] = AgentRun(self.ledger.turn(ctx.run_id))

    @heard
    def end_run(self, ctx: Any, *, result: Any = None, error: BaseException | None = None) -> None:
        """An agent has run to its end."""
        agent_run = self._runs.pop(ctx.run_id, None)
        if agent_run is None:
            return
        if agent_run.agent:
            agent_run.turn.end_agent(agent_run.agent, error=error)
            return
        tell_waiting(agent_run, getattr(result, "output", None))  # the major version before has no event for that
        agent_run.turn.close(error)
        if result is not None and not agent_run.said.strip():
            self._answer(result.output)

    def _answer(self, output: Any) -> None:
        """Writes an answer that no model has given in words."""
        if output is None or hasattr(output, "approvals"):  # deferred requests are no answer
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
            agent_run.outputs = frozenset(tool.name for tool in offered.output_tools)
            agent_run.model = key
            agent_run.turn.start_model(
                agent_run.model,
                agent=agent_run.agent,
                model=request.model.model_name,
                provider=request.model.system,
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
        if agent_run.streamed != agent_run.model and thoughts_of(response):  # no event has told of it
            agent_run.turn.reconcile(agent_run.model, thinking=words_of(response, "thinking"))
            agent_run.turn.end_thinking(agent_run.model, thoughts_of(response))
        agent_run.turn.end_model(
            agent_run.model,
            text=agent_run.said,
            thinking=words_of(response, "thinking"),
            usage=usage_of(response.usage),
            model=response.model_name,
            finish_reason=response.finish_reason,
            response_id=response.provider_response_id,
            tool_calls=calls_of(response),
        )

    @heard
    def begin_tool(self, ctx: Any, call: Any, arguments: Any) -> None:
        """A tool is about to run."""
        self.run.raise_if_stopping()
        agent_run = self._runs.get(ctx.run_id)
        if agent_run is not None and call.tool_name not in agent_run.outputs:
            agent_run.turn.start_tool(
                agent_run.key(call), call.tool_name, as_json(arguments), agent=agent_run.agent, model=agent_run.model
            )
            _calling.set((self, agent_run, agent_run.key(call)))

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


@functools.cache
def capability_class() -> Any:
    """The capability's class, which inherits from pydantic-ai's own."""
    from pydantic_ai.capabilities import AbstractCapability

    class AgentcellCapability(AbstractCapability[Any]):
        """Tells an agentcell run what the agent does, and changes nothing."""

        def __init__(self, adapter: PydanticAIAdapter, *, streams: bool = True) -> None:
            self._adapter = adapter
            self._streams = streams

        @property
        def has_on_event(self) -> bool:
            # It makes the framework stream each response, which not every model can.
            return self._streams

        async def for_run(self, ctx: Any) -> Any:
            return self if can_stream(ctx.model) else type(self)(self._adapter, streams=False)

        async def wrap_run(self, ctx: Any, *, handler: Any) -> Any:
            if self._adapter.knows(ctx.run_id):
                return await handler()
            self._adapter.begin_run(ctx)
            try:
                result = await handler()
            except BaseException as error:
                self._adapter.end_run(ctx, error=error)
                raise
            self._adapter.end_run(ctx, result=result)
            return result

        async def wrap_model_request(self, ctx: Any, *, request_context: Any, handler: Any) -> Any:
            self._adapter.begin_model(ctx, request_context)
            try:
                response = await handler(request_context)
            except Exception as error:
                self._adapter.end_model(ctx, error=error)
                raise  # what is cancelled here ends with its run, which knows why
            self._adapter.end_model(ctx, response=response)
            return response

        async def wrap_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any, handler: Any) -> Any:  # noqa: ARG002 - the framework's
            around = _calling.get()
            try:
                self._adapter.begin_tool(ctx, call, args)
                result = await handler(args)
            except BaseException as error:
                self._adapter.end_tool(ctx, call, error=error)
                raise
            finally:
                _calling.set(around)
            self._adapter.end_tool(ctx, call, result=result)
            return result

        async def on_event(self, ctx: Any, *, event: Any) -> None:
            self._adapter.hear(ctx, event)

    if hasattr(AbstractCapability, "on_event"):
        return AgentcellCapability

    class AgentcellCapabilityOf1(AgentcellCapability):
        """For pydantic-ai 1, where a capability hears events as they pass."""

        @property
        def has_wrap_run_event_stream(self) -> bool:
            return self._streams

        async def wrap_run_event_stream(self, ctx: Any, *, stream: Any) -> Any:
            async for event in stream:
                self._adapter.hear(ctx, event)
                yield event

    return AgentcellCapabilityOf1


def can_stream(model: Any) -> bool:
    """Whether a model can give its response piece by piece."""
    inner = getattr(model, "models", None) or [getattr(model, "wrapped", None)]
    if inner[0] is not None:
        return all(can_stream(one) for one in inner)
    if hasattr(model, "stream_function"):
        return model.stream_function is not None
    from pydantic_ai.models import Model

    return getattr(type(model), "request_stream", None) is not Model.request_stream


def attach() -> Callable[[], None]:
    """Lets every agent run inside a block have the capability of the block's run.

    pydantic-ai has no place for capabilities of all agents. What comes nearest is `Agent.iter`: all other ways to run an agent go
    through it, and it takes capabilities for one run.
    """
    from pydantic_ai import Agent

    original = Agent.iter

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
