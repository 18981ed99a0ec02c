"""The one line for each framework: what a run gives it, so that it is heard where it is not heard by itself."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from typing_extensions import Self

    from agentcell.run import Run


class Adapter(Protocol):
    """Listens to one framework for one run.

    Attributes:
        framework: Its name, as people write it.
    """

    framework: ClassVar[str]

    def __init__(self, run: Run, /) -> None: ...

    def close(self, error: BaseException | None = None) -> None:
        """The run's block is left: what the framework left open is over."""


A = TypeVar("A", bound=Adapter)


class Frameworks:
    """What a `Run` offers for each framework; each adapter is made when it is first asked for, and is one for the whole run."""

    def __init__(self) -> None:
        self._adapters: dict[type[Adapter], Adapter] = {}
        self._adapting = threading.Lock()

    def adapter(self: Self, kind: type[A]) -> A:
        """This run's adapter of a kind, for adapters themselves: so a framework that is heard in two ways is told once."""
        with self._adapting:
            found = self._adapters.get(kind)
            if found is None:
                found = self._adapters[kind] = kind(self)  # type: ignore[arg-type]  # only a Run inherits from here
            return found  # type: ignore[return-value]  # it was put there under its own class

    def has_adapter(self: Self, name: str) -> bool:
        """Whether this run has an adapter for the framework that people call so."""
        with self._adapting:
            return any(kind.framework == name for kind in self._adapters)

    def call_by_framework(self: Self) -> str | None:
        """The id of the tool call that this code is in, where its framework runs tools elsewhere than it tells of them."""
        with self._adapting:
            asked = [getattr(adapter, "call_here", None) for adapter in self._adapters.values()]
        for call_here in filter(None, asked):
            with self.guarding("looking for the tool call"):  # type: ignore[attr-defined]  # only a Run inherits from here
                call_id: str | None = call_here()
                if call_id is not None:
                    return call_id
        return None

    def mcp_progress(self: Self) -> Callable[[float, float | None, str | None], Awaitable[None]]:
        """What an MCP server says of its progress: `await client.call_tool(…, progress_callback=run.mcp_progress())`.

        Asked for inside a tool's code, it brings that to the row of this tool's call. Given to a whole client instead, it brings
        it to the call that runs, if only one does.
        """
        from agentcell.adapters.mcp import progress_of

        return progress_of(self)  # type: ignore[arg-type]  # only a Run inherits from here

    def opentelemetry(self: Self) -> Any:
        """A span processor: `provider.add_span_processor(run.opentelemetry())`.

        It hears agents that are instrumented by OpenTelemetry's GenAI conventions or by OpenInference. A global provider that was set
        before the block is heard by itself.

        Raises:
            ModuleNotFoundError: OpenTelemetry's SDK is not installed.
        """
        from agentcell.adapters.opentelemetry import processor_for

        return processor_for(self)  # type: ignore[arg-type]  # only a Run inherits from here

    def dspy(self: Self) -> Any:
        """The callback for DSPy: `with dspy.context(callbacks=[run.dspy()]): program(question="…")`.

        Inside the block it is not needed. It is the same callback each time, and what it hears twice is told once.

        Raises:
            ModuleNotFoundError: DSPy is not installed.
        """
        from agentcell.adapters.dspy import callback_class

        return self.adapter(callback_class())

    def google_adk(self: Self) -> Any:
        """A plugin for Google's ADK: `InMemoryRunner(agent=agent, app_name="app", plugins=[run.google_adk()])`.

        Inside the block every runner is heard anyway, and a cancelled one sooner; this is for `auto=False`. It is the same plugin each
        time.

        Raises:
            ModuleNotFoundError: The ADK is not installed.
        """
        from agentcell.adapters.google_adk import GoogleADKAdapter
        from agentcell.adapters.google_adk_hooks import plugin_for

        return plugin_for(self.adapter(GoogleADKAdapter))

    def langchain(self: Self) -> Any:
        """The callback handler for LangChain, LangGraph and deepagents: `agent.invoke(..., config={"callbacks": [run.langchain()]})`.

        Inside the block, and in threads and tasks that know their context, it is not needed. It is the same handler each time, and
        what it hears twice is told once. Text streams where the model does: with `agent.stream`, or with `streaming=True`.

        Raises:
            ModuleNotFoundError: LangChain is not installed.
        """
        from agentcell.adapters.langchain import handler_class

        return self.adapter(handler_class())

    def openai_agents(self: Self) -> Any:
        """Hooks for the OpenAI Agents SDK: `await Runner.run(agent, "…", hooks=run.openai_agents())`.

        Inside the block every agent is heard anyway; this is for `auto=False`.

        Raises:
            ModuleNotFoundError: The SDK is not installed.
        """
        from agentcell.adapters.openai_agents import OpenAIAgentsAdapter
        from agentcell.adapters.openai_agents_hooks import beside

        return beside(self.adapter(OpenAIAgentsAdapter), None)

    def pydantic_ai(self: Self) -> Any:
        """A capability for pydantic-ai: `await agent.run("…", capabilities=[run.pydantic_ai()])`, or `Agent(capabilities=[…])`.

        Inside the block every agent has it anyway; this is for `auto=False`. It hears as long as the block lasts, and is the same each
        time.

        Raises:
            ImportError: pydantic-ai is not installed, or too old for capabilities; `run.stream` reads what its agents stream then.
        """
        from agentcell.adapters.pydantic_ai import PydanticAIAdapter

        return self.adapter(PydanticAIAdapter).capability

    def smolagents(self: Self) -> Any:
        """A step callback for smolagents: `CodeAgent(…, step_callbacks=[run.smolagents()])`, and one for each managed agent.

        Inside the block every agent is heard anyway, and sooner; this is for `auto=False`, where `run.stream(agent.run("…", stream=True))`
        tells more.
        """
        from agentcell.adapters.smolagents import SmolagentsAdapter

        return self.adapter(SmolagentsAdapter).on_step

    def _close_adapters(self: Self, error: BaseException | None) -> None:
        """Ends what the frameworks have left open."""
        with self._adapting:
            adapters = tuple(self._adapters.values())
        for adapter in adapters:
            with self.guarding("ending what a framework left open"):  # type: ignore[attr-defined]  # only a Run inherits from here
                adapter.close(error)
