"""A whole run in beats: what it holds, its JSON, and how it prints in a terminal."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from agentcell.projections.beats import Answer, Ask, Json, Prompt, Return, Step, told
from agentcell.text.duration import short_duration_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentcell.projections.beats import Cost

_LINE = 100
"""How many characters of somebody else's text a line of the tree shows."""

_Node: TypeAlias = tuple[str, list[str]]


@dataclass(frozen=True, slots=True)
class Trace:
    """A whole run in beats; `print(trace)` shows it as a tree.

    Attributes:
        task: What was asked.
        agent: Who answered.
        model: The model's name.
        asker: Who asked.
        steps: The beats, the prompt first.
        title: A name for it.
        open: The ids of the calls that were asked for and never returned.
        error: What ended the run, when it did not end well.
    """

    task: str
    agent: str
    model: str
    asker: str
    steps: tuple[Step, ...]
    title: str | None = None
    open: tuple[str, ...] = ()
    error: str | None = None

    @property
    def at(self) -> tuple[str | None, ...]:
        """The framework's id for the place of each beat; several beats may have the same."""
        return tuple(step.at for step in self.steps)

    def to_dict(self) -> Json:
        """The JSON of it; `title`, `open` and `error` are there when they say something."""
        return {
            "task": self.task,
            **told({"title": self.title}),
            "agent": self.agent,
            "model": self.model,
            "asker": self.asker,
            "steps": [step.to_dict() for step in self.steps],
            "at": list(self.at),
            **told({"open": list(self.open) or None, "error": self.error}),
        }

    def __str__(self) -> str:
        nodes = list(_nodes(self))
        lines = [f"{self.agent} ({self.model})", f"{self.asker}: {_short(self.task)}"]
        for n, (head, below) in enumerate(nodes, start=1):
            last = n == len(nodes)
            lines.append(f"{'└─' if last else '├─'} {head}")
            lines += [f"{'   ' if last else '│  '}{line}".rstrip() for line in below]
        return "\n".join(lines)


def _nodes(trace: Trace) -> Iterator[_Node]:
    nodes: list[_Node] = []
    waiting: dict[str, list[str]] = {}
    for step in trace.steps:
        match step:
            case Ask():
                below = [f"thought: {_short(step.thinking)}"] if step.thinking else []
                below.append(_short(step.brain))
                waiting[step.call_id] = below
                nodes.append((f"{step.tool} {_json(step.input)}{_facts(step.cost)}", below))
            case Return():
                reply = f"failed: {_short(step.error)}" if step.error else f"→ {_json(step.output)}"
                waiting.pop(step.call_id, []).append(reply + _facts(step.cost))
            case Answer():
                below = [f"thought: {_short(step.thinking)}"] if step.thinking else []
                nodes.append((f"answer{_facts(step.cost)}", [*below, *step.text.splitlines()]))
            case Prompt():
                pass
    for below in waiting.values():
        below.append("did not return")
    yield from nodes
    if trace.error:
        yield (f"ended: {_short(trace.error)}", [])


def _facts(cost: Cost) -> str:
    tokens = f"{cost.tokens:,} tokens" if cost.tokens else ""
    return "".join(f" · {fact}" for fact in (short_duration_text(cost.ms / 1000), tokens) if fact)


def _json(value: object) -> str:
    return _short(json.dumps(value, ensure_ascii=False, default=str))


def _short(text: str | None) -> str:
    # The line is cut before it is tidied: a body may be megabytes.
    line = " ".join((text or "")[: 4 * _LINE].split())
    return line if len(line) <= _LINE else line[: _LINE - 1] + "…"
