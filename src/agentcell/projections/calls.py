"""The model calls of a run, each with its time, tokens, text and tools; and the routes that were taken.

The tool calls, sub-agents and thoughts between them are rows of `StepsProjection`; a model call knows its place among these.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agentcell.events import (
    AnyEvent,
    ModelEnded,
    ModelStarted,
    Routed,
    RunEnded,
    TextDelta,
    ToolOffer,
    ToolStarted,
    TurnEnded,
    Usage,
)
from agentcell.projections.usage import UNKNOWN_MODEL, Spent

if TYPE_CHECKING:
    from agentcell.projections.step import StepState
    from agentcell.projections.steps import StepsProjection

TEXT_LIMIT = 6_000
"""Characters that are kept of what a model wrote in one call; the events hold all of it."""


@dataclass(slots=True)
class Beginning:
    """The first `TEXT_LIMIT` characters of a text that grows, and the length of the whole."""

    length: int = 0
    _pieces: list[str] = field(default_factory=list)

    def append(self, piece: str) -> None:
        """Adds `piece` at the end."""
        if self.length < TEXT_LIMIT:
            self._pieces.append(piece[: TEXT_LIMIT - self.length])
        self.length += len(piece)

    def __str__(self) -> str:
        return "".join(self._pieces)


@dataclass(slots=True)
class ModelRow:
    """One model call.

    Attributes:
        id: Its id, which a later call may have again.
        parent: The row of the sub-agent that called; None for the run's own agent.
        place: How many rows there were before it.
        started: Seconds from the run's start to its own.
        ended: Seconds from the run's start to its end; None while it runs.
        state: `running`, `done`, `failed` or `cancelled`.
        model: The model's name; "" when nobody said.
        provider: Its provider's; None when nobody said.
        tools: What it could ask for.
        asked: How many tools it asked for; None when that was not said at its end.
        seen: How many tool calls named it as the one that asked.
        usage: Its tokens; None when the provider did not say.
        cost: US dollars, as the provider or the framework told; None when they did not.
        charged: Its cost is in a sum that was told for its whole turn.
        response_id: The provider's id of the response: two rows that share one cost what one costs.
        error: Why it failed.
        text: What it wrote; nothing when that was withheld.
    """

    id: str
    parent: int | None
    place: int
    started: float
    ended: float | None = None
    state: StepState = "running"
    model: str = ""
    provider: str | None = None
    tools: tuple[ToolOffer, ...] = ()
    asked: int | None = None
    seen: int = 0
    usage: Usage | None = None
    cost: float | None = None
    charged: bool = False
    response_id: str | None = None
    error: str = ""
    text: Beginning = field(default_factory=Beginning)

    @property
    def spent(self) -> Spent:
        """What it took."""
        return Spent(self.model or UNKNOWN_MODEL, self.provider, self.usage, self.ended or self.started, self.cost)


class CallsProjection:
    """The model calls and routes of the events it was fed.

    Args:
        steps: The rows of the same events; it is fed each event first.

    Attributes:
        models: The model calls in the order in which they were seen first.
        routes: Each agent or skill that was chosen, and how sure that was (0 to 1, None for nobody said).
        ended: Seconds from the run's start to its end; None while it runs.
    """

    def __init__(self, steps: StepsProjection) -> None:
        self.models: list[ModelRow] = []
        self.routes: dict[str, float | None] = {}
        self.ended: float | None = None
        self._steps = steps
        self._by_id: dict[str, ModelRow] = {}
        self._asked: set[str] = set()

    def feed(self, event: AnyEvent) -> None:
        """Takes one event. After the end nothing changes any more."""
        if self.ended is not None:
            return
        match event:
            case TextDelta():
                self.feed_text(event.model_call_id, event.text)
            case ModelStarted():
                self._start(event)
            case ModelEnded():
                self._end(event)
            case ToolStarted():
                self._ask(event)
            case Routed() if event.route:
                self.routes[event.route] = event.confidence
            case TurnEnded() if event.cost is not None:
                for row in map(self._by_id.get, event.model_call_ids):
                    if row is not None:
                        row.charged = True
            case RunEnded():
                self._end_run(event)
            case _:
                pass

    def feed_text(self, model_call_id: str, text: str) -> None:
        """Takes more text of a model call; text by anybody else is passed over."""
        row = self._by_id.get(model_call_id)
        if row is not None:
            row.text.append(text)

    def drop_text(self, model_call_id: str) -> None:
        """Forgets the text of a model call: it was read in another way, and comes again."""
        row = self._by_id.get(model_call_id)
        if row is not None:
            row.text = Beginning()

    def _start(self, event: ModelStarted) -> None:
        row = self._by_id.get(event.model_call_id)
        if row is None or row.state != "running":
            row = self._add(event)
        row.model = event.model or row.model
        row.provider = event.provider or row.provider
        row.tools = event.tools or row.tools

    def _add(self, event: ModelStarted | ModelEnded) -> ModelRow:
        row = ModelRow(event.model_call_id, self._steps.agent_row(event.agent_id), len(self._steps), event.time)
        self.models.append(row)
        self._by_id[event.model_call_id] = row
        return row

    def _ask(self, event: ToolStarted) -> None:
        row = self._by_id.get(event.model_call_id)
        if row is not None and event.call_id not in self._asked:
            self._asked.add(event.call_id)
            row.seen += 1

    def _end(self, event: ModelEnded) -> None:
        row = self._by_id.get(event.model_call_id) or self._add(event)
        row.ended, row.state, row.error = event.time, event.outcome, event.error or ""
        if event.duration is not None:  # a framework that tells of a call only afterwards
            row.started = min(row.started, event.time - event.duration)
        row.model = event.model or row.model
        row.usage = event.usage or row.usage
        row.cost = row.cost if event.cost is None else event.cost
        row.response_id = event.response_id or row.response_id
        row.asked = event.tool_calls if event.tool_calls is not None else row.asked
        if event.withheld:
            row.text = Beginning()

    def _end_run(self, event: RunEnded) -> None:
        self.ended = event.time
        for row in self.models:
            if row.state == "running":
                row.ended, row.state = event.time, "failed" if event.outcome == "failed" else "cancelled"
