"""One bullet of a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

StepKind: TypeAlias = Literal["note", "tool", "thinking", "agent"]
StepState: TypeAlias = Literal["running", "done", "failed", "cancelled"]


@dataclass(frozen=True, slots=True)
class Step:
    """One row.

    Attributes:
        id: Its place among all rows, from 0; it never changes.
        parent: The row that it belongs under: the tool call or the sub-agent inside which it happened.
        kind: `note` (plain words), `tool`, `thinking` or `agent` (a sub-agent).
        text: What it says, one line.
        tool: The tool's name.
        state: `running`, `done`, `failed` or `cancelled`.
        time: Seconds from the run's start to its own.
        ended: Seconds from the run's start to its end; None while it runs.
        detail: What came of it, in a few words.
        call_id: The tool call's id.
        arguments: The tool call's arguments.
        result: What the tool gave back.
        progress: The newest report of a tool that runs.
        content: The text of a stretch of thinking.
    """

    id: int
    text: str
    kind: StepKind = "note"
    parent: int | None = None
    tool: str | None = None
    state: StepState = "running"
    time: float = 0.0
    ended: float | None = None
    detail: str = ""
    call_id: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    result: Any = None
    progress: Any = None
    content: str = ""

    @property
    def elapsed_seconds(self) -> float | None:
        """How long it took; None while it runs."""
        return None if self.ended is None else self.ended - self.time
