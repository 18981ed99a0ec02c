"""The hooks of the OpenAI Agents SDK that tell a run, and the runner that puts them in place inside a block."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any
from weakref import ref

from agentcell.adapters.ambient import run_here
from agentcell.adapters.openai_agents import OpenAIAgentsAdapter
from agentcell.adapters.openai_agents_calls import CURRENT, RunnerCall
from agentcell.adapters.openai_agents_stream import hear

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from typing_extensions import Self


def attach() -> Callable[[], None]:
    """Puts a runner that is heard in the place of the SDK's default one; returns what puts that back."""
    module = sys.modules["agents.run"]
    if not hasattr(module, "set_default_agent_runner"):  # somebody's own package of this name
        return lambda: None
    before = module.get_default_agent_runner()
    heard = HeardRunner(before)
    module.set_default_agent_runner(heard)

    def detach() -> None:
        if module.get_default_agent_runner() is heard:
            module.set_default_agent_runner(before)

    return detach


class HeardRunner:
    """Runs agents as the runner does that it stands for, and tells the run in whose block that happens.

    It is told of through the SDK's own hooks, beside those of the user; and because agents that are called as tools go through the
    default runner as well, they are heard where the user's hooks are silent.
    """

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def run(self, agent: Any, given: Any, **options: Any) -> Any:
        """What `Runner.run` does."""
        with _Hearing(agent, given, options) as hearing:
            return hearing.returned(await self._inner.run(agent, given, **options))

    def run_sync(self, agent: Any, given: Any, **options: Any) -> Any:
        """What `Runner.run_sync` does."""
        with _Hearing(agent, given, options) as hearing:
            return hearing.returned(self._inner.run_sync(agent, given, **options))

    def run_streamed(self, agent: Any, given: Any, **options: Any) -> Any:
        """What `Runner.run_streamed` does; its stream is heard while the user reads it."""
        with _Hearing(agent, given, options) as hearing:
            return hearing.streams(self._inner.run_streamed(agent, given, **options))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class _Hearing:
    """Around one call of the runner: adds the hooks, and tells its beginning and its end."""

    def __init__(self, agent: Any, given: Any, options: dict[str, Any]) -> None:
        self._run = run_here()
        self._adapter: OpenAIAgentsAdapter | None = None
        self._call: RunnerCall | None = None
        self._streams = False
        if self._run is not None:
            with self._guarding():
                self._adapter = self._run.adapter(OpenAIAgentsAdapter)
                options["hooks"] = beside(self._adapter, options.get("hooks"))
                self._call = self._adapter.begin(agent, given, options.get("context"))
                self._call.max_turns = options.get("max_turns")

    def __enter__(self) -> Self:
        self._token = CURRENT.set(None if self._call is None else ref(self._call))
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        CURRENT.reset(self._token)
        if error is not None:
            self._finish(error=error)

    def returned(self, result: Any) -> Any:
        """The runner returned."""
        self._finish(result)
        return result

    def streams(self, result: Any) -> Any:
        """The runner goes on in a task of its own."""
        call, adapter = self._call, self._adapter
        stream_events, run_task = getattr(result, "stream_events", None), getattr(result, "run_loop_task", None)
        if call is None or adapter is None or stream_events is None or run_task is None:  # somebody's own runner may give anything
            return result
        # The user may keep the result for longer than the run, so it holds the run weakly; as long as the block is open the adapter has it.
        adapter.streaming.append(call)
        hearer, about = ref(adapter), ref(call)

        async def heard_events(self: Any = result) -> AsyncIterator[Any]:
            events = stream_events()
            try:
                async for event in events:
                    _tell(hearer(), about(), hear, event)
                    yield event
            except Exception as error:
                _tell(hearer(), about(), OpenAIAgentsAdapter.finish, self, error)
                raise
            finally:
                await events.aclose()

        def through(task: Any) -> None:
            error = None if task.cancelled() else task.exception()
            self._finish(result, error or getattr(result, "_stored_exception", None) or _cancelled(task, result))

        with self._guarding():
            result.stream_events = heard_events
            result.agentcell_call = about
            run_task.add_done_callback(through)
        return result

    def _finish(self, result: Any = None, error: BaseException | None = None) -> None:
        if self._call is not None and self._adapter is not None:
            with self._guarding():
                self._adapter.finish(self._call, result, error)

    def _guarding(self) -> Any:
        assert self._run is not None  # noqa: S101 - for the type checker: asked only where there is a run
        return self._run.guarding(f"listening to {OpenAIAgentsAdapter.framework}")


def _tell(adapter: OpenAIAgentsAdapter | None, call: RunnerCall | None, tell: Callable[..., None], *told: Any) -> None:
    """Tells what a stream brought, to who still listens."""
    if adapter is not None and call is not None:
        with adapter.run.guarding(f"listening to {adapter.framework}"):
            tell(adapter, call, *told)


def _cancelled(task: Any, result: Any) -> BaseException | None:
    from asyncio import CancelledError

    stopped = task.cancelled() or getattr(result, "_cancel_mode", "none") != "none"
    return CancelledError("it was cancelled") if stopped else None


def beside(adapter: OpenAIAgentsAdapter, theirs: Any) -> Any:
    """Hooks that tell a run what they are told, and `theirs` too; what is no such hooks stays as it is, for the SDK to refuse."""
    kind = _hooks_class()
    if isinstance(theirs, kind) and theirs.adapter is adapter:
        return theirs
    base = kind.__mro__[1]
    return kind(adapter, theirs) if theirs is None or isinstance(theirs, base) else theirs


@functools.cache
def _hooks_class() -> Any:
    """The class of our hooks; it needs the SDK's own."""
    from agents.lifecycle import RunHooksBase

    def forwarding(name: str) -> Callable[..., Any]:
        async def hook(self: Any, *told: Any, **named: Any) -> None:
            tell = getattr(self.adapter, name, None)
            if tell is not None:
                tell(*told, **named)
            if self.theirs is not None:
                await getattr(self.theirs, name)(*told, **named)

        return hook

    def begin(self: Any, adapter: OpenAIAgentsAdapter, theirs: Any = None) -> None:
        self.adapter, self.theirs = adapter, theirs

    hooks = {name: forwarding(name) for name in dir(RunHooksBase) if name.startswith("on_")}
    return type("RunHooks", (RunHooksBase,), {"__init__": begin, **hooks})
