"""What happens, told in the third person, one sentence for each event that a reader cares about.

An event has a sentence, or is left out on purpose, or is of a kind that nobody has written a sentence for; then its name is
told, because a reader who sees a strange word can ask, and one who sees nothing cannot.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from agentcell.events import (
    AgentEnded,
    AgentStarted,
    ContextEvaluated,
    Event,
    LimitReached,
    ModelEnded,
    ModelStarted,
    Noted,
    PauseRequested,
    PauseResumed,
    Reported,
    Routed,
    RunEnded,
    RunStarted,
    TextDelta,
    ThinkingDelta,
    ThinkingEnded,
    ThinkingFailed,
    ToolEnded,
    ToolProgressed,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from agentcell.projections.commentary_reports import choose_report
from agentcell.projections.commentary_routing import Sentence, choose_context, choose_route
from agentcell.projections.sentences import DEFAULT_SENTENCES
from agentcell.text.templates import fill

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentcell.projections.commentary_routing import Choice

NAMELESS_TOOL = "(tool)"
"""What a tool is called whose name nobody told."""

_NOUNS = {
    "max_iterations": "iterations",
    "max_cost": "cost",
    "max_tokens": "tokens",
    "max_wallclock": "time",
}


@dataclass(frozen=True, slots=True)
class Remark:
    """What the commentary makes of an event.

    Attributes:
        kind: `text`; `silent` when there is nothing to say; `unknown` when nobody has written a sentence for it.
        text: The sentence, "", or the event's name.
    """

    kind: Literal["text", "silent", "unknown"]
    text: str = ""


class Commentary:
    """Tells a run event by event; it remembers the names that later events leave out.

    Args:
        app_name: Who runs; also the name of the agent that has none of its own.
        sentences: Your own sentences, key by key over `DEFAULT_SENTENCES`.
    """

    def __init__(self, *, app_name: str, sentences: Mapping[str, str] | None = None) -> None:
        self._app_name = app_name
        self._sentences = {**DEFAULT_SENTENCES, **(sentences or {})}
        self._agents: dict[str, str] = {}
        self._tools: dict[str, str] = {}
        self._descriptions: dict[str, str] = {}
        self._asked: set[str] = set()
        self._task = ""

    def tell(self, event: Event) -> Remark:
        """The remark on the next event of the run."""
        choice = self._choose(event)
        if choice == "silent":
            return Remark("silent")
        if choice == "unknown":
            return Remark("unknown", event.name if isinstance(event, Reported) else type(event).__name__)
        agent = event.agent_id
        names = {"appName": self._app_name, "agentName": self._agents.get(agent, agent) or self._app_name}
        return Remark("text", self._clause(choice.key, {**names, **choice.values}))

    def _clause(self, key: str, values: Mapping[str, str]) -> str:
        return fill(self._sentences[key], values)

    def _choose(self, event: Event) -> Choice:
        match event:
            case TextDelta() | ThinkingDelta() | ThinkingEnded():
                return "silent"
            case RunStarted() | TurnStarted():
                return self._choose_question(event)
            case RunEnded():
                return "silent" if event.outcome == "answered" else Sentence(f"run.{event.outcome}", {})
            case TurnEnded():
                return Sentence("agent.turn_end.refused", {}) if event.refused else "silent"
            case AgentStarted():
                if event.name:
                    self._agents[event.agent_id] = event.name
                return Sentence("agent.started", {})
            case AgentEnded():
                return Sentence(_by_outcome("agent.ended", event.outcome), {})
            case ModelStarted() | ModelEnded():
                return self._choose_model(event)
            case ThinkingFailed():
                return Sentence("agent.thinking_parse_failed", {})
            case ToolStarted() | ToolProgressed() | ToolEnded():
                return self._choose_tool(event)
            case PauseRequested():
                return Sentence("pause.request", {})
            case PauseResumed():
                return Sentence("pause.resume", {})
            case Routed():
                return choose_route(event, self._clause)
            case ContextEvaluated():
                return choose_context(event, self._clause)
            case Noted():
                return Sentence("noted", {"text": event.text})
            case LimitReached():
                noun = _NOUNS.get(event.kind, event.kind) or "the run"
                return Sentence("cost.limit_hit" if event.stops else "cost.limit_hit.warned", {"noun": noun})
            case Reported():
                return choose_report(event, self._clause)
            case _:
                return "unknown"

    def _choose_question(self, event: RunStarted | TurnStarted) -> Choice:
        self._asked.clear()
        # The first turn's question is mostly the task itself, which has been told.
        told, self._task = self._task, event.task if isinstance(event, RunStarted) else ""
        text = event.task if isinstance(event, RunStarted) else event.text
        if not text or (isinstance(event, TurnStarted) and text == told):
            return "silent"
        return Sentence("agent.turn_start", {"userPrompt": text})

    def _choose_model(self, event: ModelStarted | ModelEnded) -> Choice:
        if isinstance(event, ModelStarted):
            self._descriptions.update((tool.name, tool.description) for tool in event.tools)
            first = event.agent_id not in self._asked
            self._asked.add(event.agent_id)
            return Sentence("stream.llm_start.iter1" if first else "stream.llm_start.iterN", {})
        if event.outcome != "done":
            return Sentence(f"stream.llm_end.{event.outcome}", {})
        return Sentence("stream.llm_end.tools" if event.tool_calls else "stream.llm_end.terminal", {})

    def _choose_tool(self, event: ToolStarted | ToolProgressed | ToolEnded) -> Choice:
        if not isinstance(event, ToolStarted):
            name = self._tools.get(event.call_id) or NAMELESS_TOOL
            if isinstance(event, ToolProgressed):
                return Sentence("stream.tool_progress", {"toolName": name})
            self._tools.pop(event.call_id, None)
            return Sentence(_by_outcome("stream.tool_end", event.outcome), {"toolName": name})
        tool = self._tools[event.call_id] = event.name or self._tools.get(event.call_id, "")
        # Descriptions are written for models and may be long; their first line is for people too.
        description = self._descriptions.get(tool, "").strip().split("\n", 1)[0].rstrip(".")
        key = "stream.tool_start.desc" if description else "stream.tool_start.noDesc"
        described = self._clause(key, {"description": description})
        key = "stream.tool_start.requested" if event.requested else "stream.tool_start"
        return Sentence(key, {"toolName": tool or NAMELESS_TOOL, "descClause": described})


def _by_outcome(key: str, outcome: str) -> str:
    return key if outcome == "done" else f"{key}.{outcome}"
