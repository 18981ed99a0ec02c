"""Hears smolagents inside a block without another word: around an agent's generator and around its tools, as long as a block is open.

The package has no hook of that kind, so two of its methods are wrapped in their classes, and given back as they were. An agent's code
runs in a thread that knows nothing of its caller, so what it may call is wrapped where that agent has it in hand, as long as it runs.
"""

from __future__ import annotations

import functools
import sys
from contextlib import nullcontext
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from agentcell.adapters.ambient import run_here
from agentcell.adapters.fields import plain
from agentcell.adapters.smolagents import AgentRun, SmolagentsAdapter
from agentcell.adapters.smolagents_stream import local
from agentcell.adapters.wrapping import wrap
from agentcell.context import Block
from agentcell.errors import RunStopped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agentcell.run import Run

INSIDE: ContextVar[tuple[AgentRun, str] | None] = ContextVar("agentcell_smolagents", default=None)
"""The agent, and the key of the tool call of it, that this code is in."""

RUNNING: ContextVar[AgentRun | None] = ContextVar("agentcell_smolagents_agent", default=None)
"""The agent whose tools are executed here."""


def attach() -> Callable[[], None]:
    """Wraps the methods; returns what gives them back."""
    agents = sys.modules["smolagents.agents"]
    undo = [
        wrap(agents.MultiStepAgent, "_run_stream", _heard_generator),
        wrap(agents.ToolCallingAgent, "execute_tool_call", _heard_execution),
    ]

    def detach() -> None:
        for give_back in reversed(undo):
            give_back()

    return detach


def _heard_generator(original: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
    def _run_stream(self: Any, *args: Any, **options: Any) -> Iterator[Any]:
        events, around, run = original(self, *args, **options), INSIDE.get(), run_here()
        if around is not None and (around[0].over or (run is not None and around[0].turn.run is not run)):
            around = None  # a block of its own inside a tool
        run = around[0].turn.run if around is not None else run
        return events if run is None else _hear(run, self, events, around)

    return _run_stream


def _hear(run: Run, agent: Any, events: Iterator[Any], around: tuple[AgentRun, str] | None) -> Iterator[Any]:
    """Passes the agent's events on and tells them."""
    guarding = functools.partial(run.guarding, f"listening to {SmolagentsAdapter.framework}")
    adapter, told = run.adapter(SmolagentsAdapter), None
    with guarding():
        told = adapter.begin(agent, around, sees_tools=True)
        adapter.heard[id(agent)] = adapter.heard.get(id(agent), 0) + 1
        give_back = _hand_out(told)
    if told is None:  # what is guarded may end early
        yield from events  # type: ignore[unreachable]
        return
    try:
        while True:
            token = RUNNING.set(told)
            try:
                event = next(events) if not run.stopping else _stop(run, events)
            except StopIteration:
                break
            finally:
                RUNNING.reset(token)
            with guarding():
                adapter.events.append(event)
                told.hear(event, local(events, "action_step"))
            yield event
    except BaseException as error:
        with guarding():
            told.finish(error)
        if isinstance(error, GeneratorExit):
            events.close()  # type: ignore[attr-defined]  # it is a generator, and may not bear to be closed, as without us
        raise
    finally:
        with guarding():
            told.finish()
            adapter.heard[id(agent)] -= 1
            give_back()


def _stop(run: Run, events: Any) -> Any:
    """Ends the agent where it is; it may still give out the step that it is at."""
    try:
        run.raise_if_stopping()
    except RunStopped as stopped:
        return events.throw(stopped)


def _hand_out(told: AgentRun) -> Callable[[], None]:
    """Gives an agent's code its tools and its managed agents as such that are told of; returns what takes them back."""
    agent = told.of
    executor: Any = getattr(agent, "python_executor", None)
    before = getattr(executor, "static_tools", None)
    if not isinstance(before, dict):  # the agent writes no code, or has it run elsewhere
        return lambda: None
    tools, managed = [{id(one) for one in hands.values()} for hands in (agent.tools, agent.managed_agents)]
    block = Block.here()
    given = {
        name: InCode(told, one, managed=id(one) in managed, block=block) if id(one) in tools | managed else one
        for name, one in before.items()
    }
    executor.static_tools = given

    def give_back() -> None:
        if executor.static_tools is given:
            executor.static_tools = before

    return give_back


class InCode:
    """A tool, or a managed agent, as the code of one agent calls it; all else of it is its own."""

    def __init__(self, told: AgentRun, inner: Any, *, managed: bool, block: Block | None) -> None:
        self._told = told
        self._block = block
        self._inner = inner
        self._managed = managed

    def __getattr__(self, name: str) -> Any:
        if name == "_inner":  # copying asks an object that is not made yet
            raise AttributeError(name)
        return getattr(self._inner, name)

    def __call__(self, *args: Any, **options: Any) -> Any:
        """What calling it does."""
        with nullcontext() if self._block is None else self._block.around_here():
            return self._call(*args, **options)

    def _call(self, *args: Any, **options: Any) -> Any:
        told = self._told
        if self._managed:  # it is told as an agent
            token = INSIDE.set((told, told.code))
            try:
                return self._inner(*args, **options)
            finally:
                INSIDE.reset(token)
        return _tell(told, lambda: self._begin(args, options), lambda: self._inner(*args, **options))

    def _begin(self, args: tuple[Any, ...], options: dict[str, Any]) -> str | None:
        named = dict(zip(self._inner.inputs, args, strict=False)) | options
        named.pop("sanitize_inputs_outputs", None)
        return self._told.call_tool(self._inner.name, named)


def _heard_execution(original: Callable[..., Any]) -> Callable[..., Any]:
    def execute_tool_call(self: Any, tool_name: str, arguments: Any) -> Any:
        told = RUNNING.get()
        if told is None or told.of is not self or told.over:
            return original(self, tool_name, arguments)
        return _tell(told, lambda: told.run_tool(tool_name, arguments), lambda: original(self, tool_name, arguments))

    return execute_tool_call


def _tell(told: AgentRun, begin: Callable[[], str | None], call: Callable[[], Any]) -> Any:
    """Calls a tool and tells how that went."""
    guarding = functools.partial(told.turn.run.guarding, f"listening to {SmolagentsAdapter.framework}")
    key: str | None = None
    with guarding():
        key = begin()
    if key is None:
        return call()
    token, inside = INSIDE.set((told, key)), told.turn.enter_tool(key)
    try:
        result = call()
    except BaseException as error:
        with guarding():
            told.turn.end_tool(key, error=error.__cause__ or error)
        raise
    finally:
        INSIDE.reset(token)
        if inside is not None:
            inside.leave()
    with guarding():
        told.turn.end_tool(key, result=plain(result))
    return result
