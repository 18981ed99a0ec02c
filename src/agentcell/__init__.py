"""Watch an AI agent work, live, in the notebook cell that made it.

    with agentcell.watch("Why is checkout slow?") as run:
        ...

Names are imported when they are first used: `import agentcell` loads neither anywidget nor IPython nor any framework.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from agentcell.cells import unwatch_all, watch_all
    from agentcell.context import current_run
    from agentcell.display import watch
    from agentcell.errors import AgentcellError, AgentcellWarning, LoadError, RunStopped
    from agentcell.exchange import to_marker
    from agentcell.run import Run, load
    from agentcell.text.markers import parse_marker, strip_markers
    from agentcell.text.summaries import register_summary
    from agentcell.text.think import split_reasoning
    from agentcell.text.trace_lines import parse_trace
    from agentcell.tools import tool
    from agentcell.widget import AgentCell

__version__ = "0.1.0"

_HOME = {
    "AgentCell": "agentcell.widget",
    "AgentcellError": "agentcell.errors",
    "AgentcellWarning": "agentcell.errors",
    "LoadError": "agentcell.errors",
    "Run": "agentcell.run",
    "RunStopped": "agentcell.errors",
    "current_run": "agentcell.context",
    "load": "agentcell.run",
    "parse_marker": "agentcell.text.markers",
    "parse_trace": "agentcell.text.trace_lines",
    "register_summary": "agentcell.text.summaries",
    "split_reasoning": "agentcell.text.think",
    "strip_markers": "agentcell.text.markers",
    "to_marker": "agentcell.exchange",
    "tool": "agentcell.tools",
    "unwatch_all": "agentcell.cells",
    "watch": "agentcell.display",
    "watch_all": "agentcell.cells",
}

__all__ = [
    "AgentCell",
    "AgentcellError",
    "AgentcellWarning",
    "LoadError",
    "Run",
    "RunStopped",
    "current_run",
    "load",
    "parse_marker",
    "parse_trace",
    "register_summary",
    "split_reasoning",
    "strip_markers",
    "to_marker",
    "tool",
    "unwatch_all",
    "watch",
    "watch_all",
]


def load_ipython_extension(ipython: InteractiveShell) -> None:
    """`%load_ext agentcell`: makes `%watch` and `%%watch` known."""
    from agentcell.magic import load

    load(ipython)


def unload_ipython_extension(ipython: InteractiveShell) -> None:
    """`%unload_ext agentcell`: takes them away again."""
    from agentcell.magic import unload

    unload(ipython)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'agentcell' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
