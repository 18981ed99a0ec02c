"""Everything that a run shows, folded together from one log.

Text goes through a splitter on its way: many models send their reasoning inside it. What it divides becomes what the other
projections know already, thinking and text; so they need not know where it came from.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from agentcell.events import ModelEnded, RunEnded, RunStarted, TextDelta, ThinkingDelta, ToolStarted, TurnEnded
from agentcell.projections.life import LifeProjection
from agentcell.projections.splitting import Division, SourceSplitting
from agentcell.projections.status import StatusProjection, compose_templates, render_status_line
from agentcell.projections.steps import StepsProjection
from agentcell.projections.usage import UsageProjection
from agentcell.text.control_tokens import strip_control_tokens
from agentcell.text.think import split_reasoning

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agentcell.events import AnyEvent

    Source = tuple[str, str]  # agent_id and model_call_id


class RunProjection:
    """The life, the status, the steps and the usage of the events it was fed.

    Args:
        events: What has happened already.
        templates: Your own status lines, over the defaults key by key.
    """

    def __init__(self, events: Iterable[AnyEvent] = (), *, templates: Mapping[str, str] | None = None) -> None:
        self._templates = compose_templates(templates or {})
        self.life = LifeProjection()
        self.status = StatusProjection()
        self.steps = StepsProjection()
        self.usage = UsageProjection()
        self._splits = True
        self._shows_thinking = True
        self._splittings: dict[Source, SourceSplitting] = {}
        self._thinkers: set[Source] = set()  # sources with a channel of its own for reasoning: their text is taken literally
        for event in events:
            self.feed(event)

    def feed(self, event: AnyEvent) -> None:
        """Takes one event."""
        match event:
            case TextDelta():
                if self._splits and not self._is_over:
                    self._split(event)
                    return
            case ThinkingDelta():
                if (event.agent_id, event.model_call_id) not in self._splittings:
                    self._thinkers.add((event.agent_id, event.model_call_id))
            case RunStarted():
                self._splits = event.split == "auto"
                self._shows_thinking = event.thinking == "show"
            case ToolStarted() | ModelEnded() if event.model_call_id:
                self._finish((event.agent_id, event.model_call_id), event)
            case TurnEnded() if self._splits:
                event = replace(event, text=strip_control_tokens(split_reasoning(event.text).answer))
            case RunEnded():
                for source in tuple(self._splittings):
                    self._finish(source, event)
            case _:
                pass
        self._pass_on(event)

    @property
    def quiet_source(self) -> str | None:
        """The source (a `model_call_id`) whose text can now do nothing but make the answer grow; None for no source."""
        source = self.life.quiet_source
        if source is None or not (self.steps.indifferent_to(source) and self.status.indifferent_to(source)):
            return None
        return source

    def feed_text(self, text: str, time: float) -> None:
        """Takes more text of `quiet_source`, at a tenth of what `feed` costs."""
        model_call_id = self.life.quiet_source or ""
        splitting = self._splittings.get(("", model_call_id))
        if splitting is None:
            self.life.feed_text(text)
            return
        division = splitting.feed(text)
        if division.only_grows:
            self.life.feed_text(division.added)
        else:  # reasoning, in the middle of the answer
            self._apply(splitting, division, TextDelta(time=time, model_call_id=model_call_id))

    @property
    def status_line(self) -> str:
        """The one line of what goes on now; "" when there is nothing to say."""
        if self.life.status not in ("idle", "reasoning") and not self.life.waiting:
            return ""
        app_name = self.life.started.agent if self.life.started else ""
        return render_status_line(self.status.state, app_name=app_name, templates=self._templates) or ""

    @property
    def _is_over(self) -> bool:
        return self.life.status == "complete"

    def _pass_on(self, event: AnyEvent) -> None:
        self.life.feed(event)
        self.status.feed(event)
        self.steps.feed(event)
        self.usage.feed(event)

    def _split(self, event: TextDelta) -> None:
        source = event.agent_id, event.model_call_id
        if source in self._thinkers:
            self._pass_on(event)
            return
        splitting = self._splittings.get(source)
        if splitting is None:
            splitting = self._splittings[source] = SourceSplitting()
        self._apply(splitting, splitting.feed(event.text), event)

    def _finish(self, source: Source, event: AnyEvent) -> None:
        """No more text of this source: what was held back is text, and what follows is another message."""
        splitting = self._splittings.pop(source, None)
        if splitting is not None:
            agent_id, model_call_id = source
            last = TextDelta(time=event.time, agent_id=agent_id, model_call_id=model_call_id)
            self._apply(splitting, splitting.finish(), last)

    def _apply(self, splitting: SourceSplitting, division: Division, event: TextDelta) -> None:
        if division.answer is not None:
            self.life.retake_text(event, division.answer)
        if division.thoughts or division.gone is not None:
            self.life.feed(ThinkingDelta(time=event.time, agent_id=event.agent_id, model_call_id=event.model_call_id))
            if self._shows_thinking:
                self._show_thoughts(splitting, division, event)
        text = replace(event, text=division.answer if division.answer is not None else division.added)
        if text.text:
            if division.answer is None:
                self.life.feed(text)
            self.status.feed(text)
            self.steps.feed(text)

    def _show_thoughts(self, splitting: SourceSplitting, division: Division, event: TextDelta) -> None:
        rows = splitting.rows
        for thought in division.thoughts:
            known = rows[thought.place] if thought.place < len(rows) else None
            row = self.steps.take_thought(event, known, keep=thought.keep, added=thought.added)
            if known is None:
                rows.append(row)
        if division.gone is not None:
            for row in rows[division.gone :]:
                self.steps.take_back_thought(event, row)
            del rows[division.gone :]
