"""Hears what frameworks do inside a block without another word, as far as they can be heard that way.

A framework's hook is put in place when the first block is entered, or when the framework is imported inside one, and taken away when
the last block is left. It is the same hook for all runs: each thing that it hears goes to the run that `run_here` tells, the one
in whose block the agent was called; so runs side by side never hear each other.
"""

from __future__ import annotations

import sys
import threading
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from agentcell.adapters.imports import ImportWatch, is_in_the_making
from agentcell.context import Block

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentcell.run import Run


@dataclass(frozen=True, slots=True)
class Framework:
    """A framework that can be heard without being told.

    Attributes:
        module: What has been imported where it is in use; the hook needs nothing that is not there by then.
        adapter: Our module for it, whose `attach()` puts the hook in place and returns what takes it away.
        name: As people write it.
    """

    module: str
    adapter: str
    name: str = ""


FRAMEWORKS: tuple[Framework, ...] = (
    Framework("agents.run", "agentcell.adapters.openai_agents_hooks", "the OpenAI Agents SDK"),
    Framework("dspy", "agentcell.adapters.dspy", "DSPy"),
    Framework("google.adk.runners", "agentcell.adapters.google_adk_hooks", "Google ADK"),
    Framework("langchain_core.tracers.context", "agentcell.adapters.langchain", "LangChain"),
    Framework("llama_index_instrumentation", "agentcell.adapters.llama_index_spans", "LlamaIndex"),
    Framework("opentelemetry.sdk.trace", "agentcell.adapters.opentelemetry", "OpenTelemetry"),
    Framework("pydantic_ai", "agentcell.adapters.pydantic_ai", "pydantic-ai"),
    Framework("smolagents.agents", "agentcell.adapters.smolagents_hooks", "smolagents"),
    Framework("workflows.context", "agentcell.adapters.llama_index_steps", "LlamaIndex"),
)
"""All of them."""


def run_here() -> Run | None:
    """The run that hears what frameworks do here: the innermost block's, unless it was asked not to.

    Ask only when there is something to tell: a block that waits for that begins here.
    """
    block = Block.here(waiting=True)
    run = None if block is None else block.start()
    return run if run is not None and run.options.auto else None


class Ambience:
    """The hooks of this process, in place as long as a block is open."""

    def __init__(self, frameworks: Sequence[Framework] = ()) -> None:
        self._frameworks = frameworks
        self._lock = threading.RLock()
        self._blocks: list[Run] = []
        self._detach: dict[Framework, Callable[[], None]] = {}
        self._imports: ImportWatch | None = None

    def enter(self, run: Run) -> None:
        """A block was entered."""
        with self._lock:
            self._blocks.append(run)
            if len(self._blocks) > 1:
                return
            self._imports = ImportWatch([one.module for one in self._frameworks], self._imported)
            self._imports.start()
            for framework in self._frameworks:
                if _is_imported(framework.module):
                    self._attach(framework)

    def leave(self, run: Run) -> None:
        """A block was left."""
        with self._lock:
            self._blocks = [one for one in self._blocks if one is not run]
            if self._blocks:
                return
            if self._imports is not None:
                self._imports.stop()
                self._imports = None
            while self._detach:
                framework, detach = self._detach.popitem()
                with run.guarding(f"letting go of {framework.module}"):
                    detach()

    def hears(self, name: str) -> bool:
        """Whether the hook of the framework that people call so is in place."""
        return any(framework.name == name for framework in tuple(self._detach))

    def _imported(self, module: str) -> None:
        with self._lock:
            for framework in self._frameworks:
                if framework.module == module:
                    self._attach(framework)

    def _attach(self, framework: Framework) -> None:
        if framework not in self._detach and self._blocks:
            with self._blocks[-1].guarding(f"listening to {framework.module}"):
                attach: Callable[[], Callable[[], None]] = import_module(framework.adapter).attach
                self._detach[framework] = attach()


def _is_imported(module: str) -> bool:
    """Whether the module has been imported, and wholly so: another thread may be at it."""
    found = sys.modules.get(module)
    return found is not None and not is_in_the_making(getattr(found, "__spec__", None))


AMBIENCE = Ambience(FRAMEWORKS)
"""The process's one."""
