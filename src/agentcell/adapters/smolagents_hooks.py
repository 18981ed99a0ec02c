"""Hears smolagents inside a block without another word: around an agent's generator and around its tools, as long as a block is open.

The package has no hook of that kind, so three of its methods are wrapped in their classes, and given back as they were.
"""

from __future__ import annotations

import functools
import sys
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from agentcell.adapters.ambient import run_here
from agentcell.adapters.fields import plain
from agentcell.adapters.smolagents import AgentRun, SmolagentsAdapter
from agentcell.adapters.smolagents_stream import local
from agentcell.adapters.wrapping import wrap
from agentcell.errors import RunStopped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agentcell.run import Run

INSIDE: ContextVar[tuple[AgentRun, str] | None] = ContextVar("agentcell_smolagents", default=None)
"""The agent, and the key of the tool call of it, that this code is in."""

RUNNING: ContextVar[AgentRun | None] = ContextVar("agentcell_smolagents_agent", default=None)
"""The agent whose tools are executed here."""

OWNERS: dict[int, list[AgentRun]] = {}
"""Who runs the code that may call a tool or a managed agent, by its `id`: that code runs in a thread that knows nothing of its caller."""


def attach() -> Callable[[], None]:
    """Wraps the methods; returns what gives them back."""
    agents, tools = sys.modules["smolagents.agents"], sys.modules["smolagents.tools"]
    undo = [
        wrap(agents.MultiStepAgent, "_run_stream", _heard_generator),
        wrap(agents.ToolCallingAgent, "execute_tool_call", _heard_execution),
        wrap(tools.Tool, "__call__", _heard_call),
    ]

    def detach() -> None:
        for give_back in reversed(undo):
            give_back()

    return detach


def _heard_generator(original: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
    def _run_stream(self: Any, *args: Any, **options: Any) -> Iterator[Any]:
        events, around, run = original(self, *args, **options), _around(self), run_here()
        if around is not None and run is not None and around[0].turn.run is not run:
            around = None  # a block of its own inside a tool
        run = around[0].turn.run if around is not None else run
        return events if run is None else _hear(run, self, events, around)

    return _run_stream


def _around(agent: Any) -> tuple[AgentRun, str] | None:
    """The agent and its tool call in which this agent is called."""
    inside = INSIDE.get()
    if inside is not None and not inside[0].over:
        return inside
    owners = [owner for owner in OWNERS.get(id(agent), ()) if owner.code]
    return (owners[-1], owners[-1].code) if owners else None


def _hear(run: Run, agent: Any, events: Iterator[Any], around: tuple[AgentRun, str] | None) -> Iterator[Any]:
    """Passes the agent's events on and tells them."""
    guarding = functools.partial(run.guarding, f"listening to {SmolagentsAdapter.framework}")
    adapter = run.adapter(SmolagentsAdapter)
    told = adapter.begin(agent, around, sees_tools=True)
    adapter.heard[id(agent)] = adapter.heard.get(id(agent), 0) + 1
    _own(told, add=True)
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
        raise
    finally:
        with guarding():
            told.finish()
            adapter.heard[id(agent)] -= 1
            _own(told, add=False)


def _stop(run: Run, events: Any) -> Any:
    """Ends the agent where it is; it may still give out the step that it is at."""
    try:
        run.raise_if_stopping()
    except RunStopped as stopped:
        return events.throw(stopped)


def _own(told: AgentRun, *, add: bool) -> None:
    agent = told.of
    if not hasattr(agent, "python_executor"):
        return
    for one in (*agent.tools.values(), *agent.managed_agents.values()):
        if add:
            OWNERS.setdefault(id(one), []).append(told)
            continue
        OWNERS[id(one)].remove(told)
        if not OWNERS[id(one)]:
            del OWNERS[id(one)]


def _heard_execution(original: Callable[..., Any]) -> Callable[..., Any]:
    def execute_tool_call(self: Any, tool_name: str, arguments: Any) -> Any:
        told = RUNNING.get()
        if told is None or told.of is not self or told.over:
            return original(self, tool_name, arguments)
        return _tell(told, lambda: told.run_tool(tool_name, arguments), lambda: original(self, tool_name, arguments))

    return execute_tool_call


def _heard_call(original: Callable[..., Any]) -> Callable[..., Any]:
    def __call__(self: Any, *args: Any, **options: Any) -> Any:  # noqa: N807 - it stands for that method
        owners, inside = [owner for owner in OWNERS.get(id(self), ()) if owner.code], INSIDE.get()
        if not owners or (inside is not None and not inside[0].code):  # the tool of an agent that writes no code is told as such
            return original(self, *args, **options)
        named = dict(zip(self.inputs, args, strict=False)) | options
        named.pop("sanitize_inputs_outputs", None)
        return _tell(owners[-1], lambda: owners[-1].call_tool(self.name, named), lambda: original(self, *args, **options))

    return __call__


def _tell(told: AgentRun, begin: Callable[[], str | None], call: Callable[[], Any]) -> Any:
    """Calls a tool and tells how that went."""
    guarding = functools.partial(told.turn.run.guarding, f"listening to {SmolagentsAdapter.framework}")
    key: str | None = None
    with guarding():
        key = begin()
    if key is None:
        return call()
    token = INSIDE.set((told, key))
    try:
        result = call()
    except BaseException as error:
        with guarding():
            told.turn.end_tool(key, error=error.__cause__ or error)
        raise
    finally:
        INSIDE.reset(token)
    with guarding():
        told.turn.end_tool(key, result=plain(result))
    return result
