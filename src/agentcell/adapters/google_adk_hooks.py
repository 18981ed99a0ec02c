"""Hears Google's ADK inside a block without another word, or through a plugin that the user gives to a runner.

A runner takes its plugins when it is made, often long before the block. So the manager that calls them is wrapped, and the runner's own
`run_async`, whose exception is the only thing that tells of an invocation that was cancelled.
"""

from __future__ import annotations

import functools
import sys
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from agentcell.adapters.ambient import run_here
from agentcell.adapters.fields import text_of
from agentcell.adapters.google_adk import GoogleADKAdapter
from agentcell.adapters.wrapping import wrap

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from agentcell.run import Run


class RunnerCall:
    """A call of a runner inside a block, with ADK's id of the invocation that it becomes."""

    def __init__(self, run: Run) -> None:
        self.adapter = run.adapter(GoogleADKAdapter)
        self.invocation_id = ""


CALL: ContextVar[RunnerCall | None] = ContextVar("agentcell_google_adk_runner", default=None)


def attach() -> Callable[[], None]:
    """Wraps the methods; returns what gives them back."""
    manager, runner = sys.modules["google.adk.plugins.plugin_manager"].PluginManager, sys.modules["google.adk.runners"].Runner
    names = [name for name in ("_run_callbacks", "_run_notification_callbacks") if name in manager.__dict__]  # 1 has the first
    undo = [*(wrap(manager, name, _heard_callbacks) for name in names), wrap(runner, "run_async", _heard_runner)]

    def detach() -> None:
        for give_back in reversed(undo):
            give_back()

    return detach


def _heard_callbacks(original: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    async def run_callbacks(self: Any, callback_name: str, **told: Any) -> Any:
        call = CALL.get()
        if call is not None:
            call.invocation_id = call.invocation_id or text_of(told.get("invocation_context"), "invocation_id")
            if not _has_plugin(self, call.adapter):
                tell(call.adapter, callback_name, told)
        return await original(self, callback_name, **told)

    return run_callbacks


def _has_plugin(manager: Any, adapter: GoogleADKAdapter) -> bool:
    """Whether the user gave this runner the run's plugin, which hears the same."""
    return any(getattr(plugin, "agentcell_adapter", None) is adapter for plugin in manager.plugins)


def _heard_runner(original: Callable[..., AsyncIterator[Any]]) -> Callable[..., AsyncIterator[Any]]:
    async def run_async(self: Any, *args: Any, **options: Any) -> AsyncIterator[Any]:
        events: Any = original(self, *args, **options)
        run = run_here()
        call = None if run is None else RunnerCall(run)
        error: BaseException | None = None
        try:
            while True:
                token = CALL.set(call)
                try:
                    event = await anext(events)
                except StopAsyncIteration:
                    break
                finally:
                    CALL.reset(token)
                yield event
        except BaseException as raised:
            error = raised
            raise
        finally:
            await events.aclose()
            if call is not None:
                call.adapter.end_invocation(call.invocation_id, error)

    return run_async


def tell(adapter: GoogleADKAdapter, callback_name: str, told: dict[str, Any]) -> None:
    """Tells the adapter what a plugin is told."""
    hear = getattr(adapter, callback_name, None)
    if hear is not None:
        hear(**told)


def plugin_for(adapter: GoogleADKAdapter) -> Any:
    """The plugin of a run, the same each time."""
    if adapter.plugin is None:
        adapter.plugin = plugin_class()(adapter)
    return adapter.plugin


@functools.cache
def plugin_class() -> Any:
    """The class of a run's plugin, which inherits from ADK's own."""
    from google.adk.plugins.base_plugin import BasePlugin

    class AgentcellPlugin(BasePlugin):  # type: ignore[misc]  # ADK is not installed where types are checked
        """Hears a runner, and answers nothing."""

        def __init__(self, adapter: GoogleADKAdapter) -> None:
            super().__init__(name="agentcell")
            self.agentcell_adapter = adapter

    def callback(name: str) -> Callable[..., Awaitable[None]]:
        async def hear(self: Any, **told: Any) -> None:
            tell(self.agentcell_adapter, name, told)

        return hear

    for name in vars(GoogleADKAdapter):
        if name.endswith("_callback") and hasattr(BasePlugin, name):
            setattr(AgentcellPlugin, name, callback(name))
    return AgentcellPlugin
