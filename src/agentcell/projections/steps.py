"""The bullets of a run: one row for each tool call, note, stretch of thinking and sub-agent, in the order of their starts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agentcell.events import (
    AgentEnded,
    AgentStarted,
    AnyEvent,
    LimitReached,
    ModelEnded,
    ModelStarted,
    Noted,
    PauseRequested,
    PauseResumed,
    Routed,
    RunEnded,
    TextDelta,
    ThinkingDelta,
    ThinkingEnded,
    ThinkingFailed,
    ToolEnded,
    ToolProgressed,
    ToolStarted,
    TurnEnded,
)
from agentcell.projections.bullets import Bullets
from agentcell.projections.step import Step
from agentcell.text.growing import GrowingText
from agentcell.text.summaries import summarize_call, summarize_result

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentcell.projections.step import StepState


class StepsProjection:
    """The rows after the events it was fed.

    `changed` holds the ids of rows that are new or other than they were, in order, until the one who shows them clears it. `grown`
    does the same for stretches of thinking that gained text: `thinking_text` tells what is new there. `thoughts` holds the ids of the
    rows of thinking by the model call that thought.
    """

    def __init__(self) -> None:
        self.changed: dict[int, None] = {}
        self.grown: dict[int, None] = {}
        self.thoughts: dict[str, list[int]] = {}
        self.tools = 0
        self._rows: list[Step] = []
        self._calls: dict[str, int] = {}
        self._agents: dict[str, int] = {}
        self._pauses: dict[str, int] = {}
        self._thinking: dict[str, int] = {}
        self._thoughts: dict[int, GrowingText] = {}
        self._told: set[str] = set()
        self._asked: set[int] = set()
        self._bullets = Bullets()
        self._running: dict[int, None] = {}
        self._open_note: dict[int | None, int] = {}
        self._over = False

    def __len__(self) -> int:
        return len(self._rows)

    def row(self, step_id: int) -> Step:
        """The row with this id; a stretch of thinking with its text so far."""
        step = self._rows[step_id]
        thought = self._thoughts.get(step_id)
        return step if thought is None else replace(step, content=str(thought))

    def agent_row(self, agent_id: str) -> int | None:
        """The row of a sub-agent, the newest under this id; None for the run's own agent and for one that nobody saw start."""
        return self._agents.get(agent_id) if agent_id else None

    def thinking_text(self, step_id: int) -> GrowingText | None:
        """The text of a stretch of thinking; None for any other row."""
        return self._thoughts.get(step_id)

    @property
    def rows(self) -> tuple[Step, ...]:
        """All rows."""
        return tuple(self.row(step.id) for step in self._rows)

    def feed(self, event: AnyEvent) -> None:
        """Takes one event. After the end nothing changes any more."""
        if self._over:
            return
        match event:
            case ThinkingDelta():
                self._think(event)
            case TextDelta():
                self._draft(event)
            case ToolStarted():
                self._start_call(event)
            case ToolProgressed():
                self._report(event)
            case ToolEnded():
                self._end_call(event)
            case Noted() if event.text.strip() or event.tool:
                self._note(event, event.text.strip() or str(event.tool), tool=event.tool)
            case AgentStarted() | AgentEnded():
                self._agent(event)
            case ModelStarted() | ModelEnded() | ThinkingEnded() | ThinkingFailed():
                self._model(event)
            case PauseRequested() | PauseResumed():
                self._pause(event)
            case Routed() if event.route:
                sure = "" if event.confidence is None else f" ({event.confidence:.0%})"
                self._note(event, f"Routed to {event.route}{sure}", detail=event.reason)
            case LimitReached():
                self._note(event, f"Reached the limit of {event.kind or 'this run'}")
            case TurnEnded():
                self._close_notes(event.time)
            case RunEnded():
                self._end(event)
            case _:
                pass

    def indifferent_to(self, model_call_id: str) -> bool:
        """Whether more text of this source ("" is the user's own code) changes no row, neither now nor when a tool call follows."""
        if self._open_note or model_call_id in self._thinking:
            return False
        return not model_call_id or self._bullets.is_known(model_call_id)

    def forget_text(self, model_call_id: str) -> None:
        """What this model call wrote so far is told anew."""
        self._bullets.take(model_call_id)

    def is_told(self, model_call_id: str) -> None:
        """The thinking of this model call is shown some other way."""
        self._told.add(model_call_id)

    def take_thought(self, event: AnyEvent, row: int | None, *, keep: int, added: str) -> int:
        """Shows reasoning that came inside text: in a row of its own (None) or behind the first `keep` characters of a known one."""
        if row is None:
            row = self._add_thought(event, getattr(event, "model_call_id", ""))
            self._thoughts[row] = GrowingText()
        elif row not in self._running and not self._over:
            self._running[row] = None
            self._change(row, state="running", ended=None)
        thought = self._thoughts[row]
        if keep < len(thought):
            thought = self._thoughts[row] = GrowingText(str(thought)[:keep])
            self.changed[row] = None
        thought.append(added)
        self.grown[row] = None
        if isinstance(event, TextDelta):
            self._thinking[event.model_call_id] = row
        return row

    def take_back_thought(self, event: AnyEvent, row: int) -> None:
        """What this row showed was no reasoning after all; the row stays, for rows never go, but it is empty."""
        self._thoughts[row] = GrowingText()
        self._finish(row, event.time)
        self._change(row, text="Thinking that was part of the answer")

    def _add(self, event: AnyEvent, text: str, **values: Any) -> int:
        """Appends a row; the note that was the newest of its level is over with it."""
        parent = values.pop("parent", None)
        if parent is None:
            parent = self.agent_row(event.agent_id)
        self._close_note(parent, event.time)
        step = Step(len(self._rows), " ".join(text.split()), parent=parent, time=event.time, **values)
        self._rows.append(step)
        self.changed[step.id] = None
        if step.state == "running":
            self._running[step.id] = None
        return step.id

    def _change(self, step_id: int | None, **values: Any) -> None:
        if step_id is None:
            return
        self._rows[step_id] = replace(self._rows[step_id], **values)
        self.changed[step_id] = None

    def _finish(self, step_id: int | None, time: float, state: StepState = "done", **values: Any) -> None:
        if step_id is not None and step_id in self._running:
            del self._running[step_id]
            self._change(step_id, state=state, ended=time, **values)

    def _note(self, event: AnyEvent, text: str, *, tool: str | None = None, detail: str = "") -> int:
        step_id = self._add(event, text, tool=tool, detail=detail)
        self._open_note[self._rows[step_id].parent] = step_id
        self.tools += tool is not None
        return step_id

    def _close_note(self, parent: int | None, time: float) -> None:
        self._finish(self._open_note.pop(parent, None), time)

    def _close_notes(self, time: float) -> None:
        for parent in tuple(self._open_note):
            self._close_note(parent, time)

    def _add_thought(self, event: AnyEvent, model_call_id: str, text: str = "Thinking", **values: Any) -> int:
        step_id = self._add(event, text, kind="thinking", **values)
        self.thoughts.setdefault(model_call_id, []).append(step_id)
        return step_id

    def _think(self, event: ThinkingDelta) -> None:
        step_id = self._thinking.get(event.model_call_id)
        if step_id is None:
            step_id = self._thinking[event.model_call_id] = self._add_thought(event, event.model_call_id)
            self._thoughts[step_id] = GrowingText()
            self._told.add(event.model_call_id)
        self._thoughts[step_id].append(event.text)
        self.grown[step_id] = None

    def _end_thinking(self, model_call_id: str, time: float) -> None:
        self._finish(self._thinking.pop(model_call_id, None), time)

    def _draft(self, event: TextDelta) -> None:
        self._end_thinking(event.model_call_id, event.time)
        self._close_notes(event.time)
        if not event.model_call_id:
            return
        self._bullets.add(event.model_call_id, event.text)

    def _start_call(self, event: ToolStarted) -> None:
        self._end_thinking(event.model_call_id, event.time)
        self._tell_bullet(event)
        known = self._calls.get(event.call_id)
        if known is None:
            parent = self._calls.get(event.parent_id) if event.parent_id else None
            values: dict[str, Any] = {"tool": event.name, "arguments": event.arguments, "call_id": event.call_id or None}
            step_id = self._add(event, summarize_call(event.name, event.arguments), kind="tool", parent=parent, **values)
            self.tools += 1
            if event.call_id:
                self._calls[event.call_id] = step_id
        else:
            self._tell_more(known, event)
            step_id = known
        if event.requested:
            self._asked.add(step_id)
        else:
            self._asked.discard(step_id)

    def _tell_bullet(self, event: ToolStarted | ModelEnded) -> None:
        """What a model wrote before it asked for a tool was no answer: its first line becomes a bullet."""
        bullet = self._bullets.take(event.model_call_id)
        if bullet:
            self._add(event, bullet, state="done", ended=event.time)

    def _tell_more(self, step_id: int, event: ToolStarted) -> None:
        """A second start: what it says is added, and a call that was over runs again."""
        more: dict[str, Any] = {}
        if event.name:
            more |= {"tool": event.name}
        if event.arguments:
            more |= {"arguments": event.arguments}
        if more:
            row = self._rows[step_id]
            more |= {"text": summarize_call(event.name or row.tool or "", event.arguments or row.arguments)}
        if step_id in self._asked:  # it begins to run only now: until then nobody but the model had named it
            more |= {"time": event.time}
        if step_id not in self._running:
            self._running[step_id] = None
            more |= {"state": "running", "ended": None, "detail": "", "result": None, "progress": None}
        self._change(step_id, **more)

    def _call(self, call_id: str) -> int | None:
        """The row of a call. Without an id: the newest that has none, or the only one that runs."""
        if call_id:
            return self._calls.get(call_id)
        running = [step_id for step_id in self._running if self._rows[step_id].kind == "tool"]
        nameless = [step_id for step_id in running if self._rows[step_id].call_id is None]
        if nameless:
            return nameless[-1]
        return running[0] if len(running) == 1 else None

    def _report(self, event: ToolProgressed) -> None:
        step_id = self._call(event.call_id)
        if step_id in self._running:
            self._change(step_id, progress=event.payload)

    def _end_call(self, event: ToolEnded) -> None:
        step_id = self._call(event.call_id)
        if step_id is None:
            return
        row = self._rows[step_id]
        if event.outcome == "failed":
            detail = ": ".join(part for part in (event.error_type, event.error) if part)
        else:
            detail = summarize_result(row.tool or "", row.arguments, event.result) or ""
        self._finish(step_id, event.time, event.outcome, result=event.result, detail=detail)

    def _agent(self, event: AgentStarted | AgentEnded) -> None:
        if isinstance(event, AgentEnded):
            self._finish(self._agents.get(event.agent_id), event.time, event.outcome, detail=event.error or "")
        elif not event.agent_id or self._agents.get(event.agent_id) not in self._running:
            parent = self._agents.get(event.parent_id, self._calls.get(event.parent_id)) if event.parent_id else None
            self._agents.pop(event.agent_id, None)  # what an earlier call of the same agent left does not stand above this one
            self._agents[event.agent_id] = self._add(event, event.name or "Sub-agent", kind="agent", parent=parent)

    def _model(self, event: ModelStarted | ModelEnded | ThinkingEnded | ThinkingFailed) -> None:
        match event:
            case ModelStarted():
                self._bullets.take(event.model_call_id)
            case ThinkingEnded():
                self._end_thinking(event.model_call_id, event.time)
                self._tell_blocks(event)
            case ThinkingFailed():
                self._add(event, "The model's thinking could not be read", state="failed", ended=event.time, detail=event.error)
            case ModelEnded():
                self._end_thinking(event.model_call_id, event.time)
                if event.withheld:
                    self._bullets.take(event.model_call_id)
                elif event.tool_calls:
                    self._tell_bullet(event)
                if event.outcome == "failed":
                    self._add(event, "Model call failed", state="failed", ended=event.time, detail=event.error or "")
                elif event.outcome == "cancelled" and event.error:
                    self._add(event, "Model call broke off", state="cancelled", ended=event.time, detail=event.error)

    def _tell_blocks(self, event: ThinkingEnded) -> None:
        """Shows what no delta has told: a provider that gives its thinking whole, or keeps it to itself."""
        if event.model_call_id in self._told:
            return
        content = "\n\n".join(block.content for block in event.blocks if block.content)
        if content:
            step_id = self._add_thought(event, event.model_call_id, state="done", ended=event.time)
            self._thoughts[step_id] = GrowingText(content)
        elif any(block.type == "redacted_thinking" for block in event.blocks):
            private = "Thinking, kept private by the provider"
            self._add_thought(event, event.model_call_id, private, state="done", ended=event.time)

    def _pause(self, event: PauseRequested | PauseResumed) -> None:
        if isinstance(event, PauseRequested):
            parent = self._calls.get(event.call_id) if event.call_id else None
            self._pauses[event.pause_id] = self._add(event, f"Waiting on you: {event.question}", parent=parent)
        else:
            detail = "" if event.answer is None else str(event.answer)
            self._finish(self._pauses.pop(event.pause_id, None), event.time, detail=detail)

    def _end(self, event: RunEnded) -> None:
        self._close_notes(event.time)
        for model_call_id in tuple(self._thinking):
            self._end_thinking(model_call_id, event.time)
        for step_id in tuple(self._running):
            # What a model only asked for has not failed: nobody has run it.
            failed = event.outcome == "failed" and step_id not in self._asked
            self._finish(step_id, event.time, "failed" if failed else "cancelled")
        self._over = True


def project_steps(events: Iterable[AnyEvent]) -> tuple[Step, ...]:
    """The rows of a whole log."""
    projection = StepsProjection()
    for event in events:
        projection.feed(event)
    return projection.rows
