"""Everything that a run shows, folded together from one log.

Text goes through a splitter on its way: many models send their reasoning inside it. What it divides becomes what the other
projections know already, thinking and text; so they need not know where it came from.

Reasoning may be a tool trace. What a trace tells are events like any others, and they belong into the log: `found` holds them for
the one who appends and then feeds them. In a log that was kept they stand already, so there what is found again is passed over.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from agentcell.events import (
    ModelEnded,
    ModelStarted,
    Noted,
    RunEnded,
    RunStarted,
    TextDelta,
    ThinkingDelta,
    ThinkingEnded,
    ToolStarted,
    TurnEnded,
)
from agentcell.projections.calls import CallsProjection
from agentcell.projections.life import LifeProjection
from agentcell.projections.reasoning import ReasoningStretch
from agentcell.projections.splitting import Division, SourceSplitting
from agentcell.projections.status import StatusProjection, compose_templates, render_status_line
from agentcell.projections.steps import StepsProjection
from agentcell.projections.told_events import ToldIds
from agentcell.projections.usage import UsageProjection
from agentcell.text.control_tokens import strip_control_tokens
from agentcell.text.think import split_reasoning

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agentcell.events import AnyEvent

    Source = tuple[str, str]  # agent_id and model_call_id


class RunProjection:
    """The life, the status, the steps, the model calls and the usage of the events it was fed.

    Attributes:
        found: The events that a tool trace told in what was fed last, with their time.


    Args:
        events: What has happened already.
        templates: Your own status lines, over the defaults key by key.
    """

    def __init__(self, events: Iterable[AnyEvent] = (), *, templates: Mapping[str, str] | None = None) -> None:
        self._templates = compose_templates(templates or {})
        self.life = LifeProjection()
        self.status = StatusProjection()
        self.steps = StepsProjection()
        self.calls = CallsProjection(self.steps)
        self.usage = UsageProjection()
        self.found: list[AnyEvent] = []
        self._splits = True
        self._shows_thinking = True
        self._splittings: dict[Source, SourceSplitting] = {}
        self._streams: dict[Source, ReasoningStretch] = {}  # what comes on a channel for reasoning
        self._thinkers: set[Source] = set()  # sources with such a channel before any text: their text is taken literally
        self._ids = ToldIds()
        for event in events:
            self.feed(event)

    def feed(self, event: AnyEvent) -> None:
        """Takes one event."""
        if self.found:
            self.found = []
        match event:
            case TextDelta() if not self._is_over:
                if self._streams:
                    self._end_stream((event.agent_id, event.model_call_id), event)
                if self._splits:
                    self._split(event)
                    return
            case ThinkingDelta() if not self._is_over:
                self._think(event)
                return
            case RunStarted():
                self._splits = event.split == "auto"
                self._shows_thinking = event.thinking == "show"
            case ToolStarted() if not ToldIds.is_one(event.call_id):
                self._end_stream((event.agent_id, event.model_call_id), event)
                if event.model_call_id:
                    self._finish((event.agent_id, event.model_call_id), event)
            case ModelEnded() | ModelStarted() | ThinkingEnded():
                self._end_stream((event.agent_id, event.model_call_id), event)
                if isinstance(event, ModelEnded) and event.model_call_id:
                    self._finish((event.agent_id, event.model_call_id), event)
            case TurnEnded() if self._splits:
                event = replace(event, text=strip_control_tokens(split_reasoning(event.text).answer))
                if event.text and not event.agent_id:  # the whole answer takes the place of all that its sources wrote
                    self._finish_all(event, agent_id="")
            case RunEnded():
                for source in tuple(self._streams):
                    self._end_stream(source, event)
                self._finish_all(event)
                self.found = []  # `wind_up` told what there was to tell
            case _:
                pass
        self._pass_on(event)

    def feed_hidden(self, event: ThinkingDelta) -> None:
        """Takes reasoning that nobody is to see and that no log holds: only the events that a trace in it tells are `found`."""
        self.found = []
        if not self._is_over:
            source = event.agent_id, event.model_call_id
            self._stream(source, hidden=True).grow(event.text)
            self._collect(self._streams[source], event)

    def wind_up(self, time: float) -> None:
        """Nothing but the end of the run will follow: the last lines of open traces are told."""
        self.found = []
        if self._is_over:
            return
        blocks = {source: splitting.blocks[-1] for source, splitting in self._splittings.items() if splitting.blocks}
        for open_ones in (self._streams, blocks):
            for (agent_id, _), stretch in open_ones.items():
                stretch.end_lines()
                self._collect(stretch, RunEnded(time=time, agent_id=agent_id))

    @property
    def hides_thinking(self) -> bool:
        """Whether reasoning is to be hidden."""
        return not self._shows_thinking

    @property
    def quiet_source(self) -> str | None:
        """The source (a `model_call_id`) whose text now only makes the answer grow, unless reasoning shows up in it; None for no source."""
        source = self.life.quiet_source
        if source is None or not (self.steps.indifferent_to(source) and self.status.indifferent_to(source)):
            return None
        return None if ("", source) in self._streams else source

    @property
    def is_settled(self) -> bool:
        """Whether text of the quiet source in which `may_divide` finds nothing can do nothing else."""
        splitting = self._splittings.get(("", self.life.quiet_source or ""))
        return splitting is None or splitting.is_settled

    def feed_text(self, text: str, time: float) -> None:
        """Takes more text of `quiet_source`, at a tenth of what `feed` costs."""
        self.found = []
        model_call_id = self.life.quiet_source or ""
        splitting = self._splittings.get(("", model_call_id))
        if splitting is None:
            self.life.feed_text(text)
            self.calls.feed_text(model_call_id, text)
            return
        division = splitting.feed(text)
        if division.only_grows and splitting.over == len(splitting.blocks):
            self.life.feed_text(division.added)
            self.calls.feed_text(model_call_id, division.added)
        else:
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
        if not (isinstance(event, ToolStarted) and ToldIds.moved_the_run(event.call_id)):
            self.life.feed(event)
        self.status.feed(event)
        self.steps.feed(event)
        self.calls.feed(event)
        self.usage.feed(event)

    def _collect(self, stretch: ReasoningStretch, event: AnyEvent) -> None:
        """Takes what a trace has told, as if it had happened at `event`."""
        for found in stretch.found:
            if not (isinstance(found, Noted) and self.hides_thinking):  # a note in a trace is what the model thinks
                self.found.append(replace(found, time=event.time, agent_id=event.agent_id))
        stretch.found.clear()

    # A channel for reasoning

    def _stream(self, source: Source, *, hidden: bool = False) -> ReasoningStretch:
        stretch = self._streams.get(source)
        if stretch is None:
            new_id = self._ids.new_apart if hidden else self._ids.new
            stretch = self._streams[source] = ReasoningStretch(new_id, hidden=hidden)
        return stretch

    def _think(self, event: ThinkingDelta) -> None:
        source = event.agent_id, event.model_call_id
        if source not in self._splittings:
            self._thinkers.add(source)
        stretch = self._stream(source)
        if stretch.is_trace is False:
            self._pass_on(event)
            return
        self.life.feed(event)
        shown = stretch.grow(event.text)
        if shown:
            self.steps.feed(replace(event, text=shown))
        elif stretch.is_trace:
            self.steps.is_told(event.model_call_id)
            self._collect(stretch, event)

    def _end_stream(self, source: Source, event: AnyEvent) -> None:
        stretch = self._streams.pop(source, None)
        if stretch is None:
            return
        held = stretch.finish()
        if held and not stretch.hidden:
            agent_id, model_call_id = source
            self.steps.feed(ThinkingDelta(time=event.time, agent_id=agent_id, model_call_id=model_call_id, text=held))
        self._collect(stretch, replace(event, agent_id=source[0]))

    # Reasoning inside text

    def _split(self, event: TextDelta) -> None:
        source = event.agent_id, event.model_call_id
        if source in self._thinkers:
            self._pass_on(event)
            return
        splitting = self._splittings.get(source)
        gone_on = not event.agent_id and self.life.begins_anew(event.model_call_id)  # the answer has, without this source
        if splitting is not None and gone_on and splitting.has_answer and not splitting.in_reasoning:
            self._finish(source, event)
            splitting = None  # its text is another message
        if splitting is None:
            splitting = self._splittings[source] = SourceSplitting()
        self._apply(splitting, splitting.feed(event.text), event)

    def _finish_all(self, event: AnyEvent, *, agent_id: str | None = None) -> None:
        for source in tuple(self._splittings):
            if agent_id is None or source[0] == agent_id:
                self._finish(source, event)

    def _finish(self, source: Source, event: AnyEvent) -> None:
        """No more text of this source: what was held back is text, and what follows is another message."""
        splitting = self._splittings.pop(source, None)
        if splitting is not None:
            agent_id, model_call_id = source
            last = TextDelta(time=event.time, agent_id=agent_id, model_call_id=model_call_id)
            broken_off = splitting.in_reasoning
            self._apply(splitting, splitting.finish(), last, broken_off=broken_off)

    def _apply(self, splitting: SourceSplitting, division: Division, event: TextDelta, *, broken_off: bool = False) -> None:
        """Shows what a piece of text brought, in the order in which it ends: with reasoning, or with the answer."""
        if division.in_reasoning:
            self._take_answer(division, event)
        if division.thoughts or division.gone is not None:
            self.life.feed(ThinkingDelta(time=event.time, agent_id=event.agent_id, model_call_id=event.model_call_id))
            self._take_thoughts(splitting, division, event)
        last = len(splitting.blocks) - division.in_reasoning
        for block in splitting.blocks[splitting.over : last]:
            held = block.finish(broken_off=broken_off)
            if held:
                self._show(block, event, 0, held)
            self._collect(block, event)
        splitting.over = max(splitting.over, last)
        if not division.in_reasoning:
            self._take_answer(division, event)

    def _take_answer(self, division: Division, event: TextDelta) -> None:
        text = replace(event, text=division.added if division.answer is None else division.answer)
        if division.answer is not None:
            self.life.retake_text(event, division.answer)
            self.status.forget_text(event.model_call_id)
            self.steps.forget_text(event.model_call_id)
            self.calls.drop_text(event.model_call_id)
        elif text.text:
            self.life.feed(text)
        if text.text:
            self.status.feed(text)
            self.steps.feed(text)
            self.calls.feed(text)

    def _take_thoughts(self, splitting: SourceSplitting, division: Division, event: TextDelta) -> None:
        blocks = splitting.blocks
        for thought in division.thoughts:
            if thought.place == len(blocks):
                blocks.append(ReasoningStretch(self._ids.new, is_trace=thought.is_trace, hidden=self.hides_thinking))
            block = blocks[thought.place]
            splitting.over = min(splitting.over, thought.place)
            shown = block.change(thought.keep, thought.added)
            if shown is not None:
                self._show(block, event, *shown)
            self._collect(block, event)
        if division.gone is not None:
            for block in blocks[division.gone :]:
                block.finish(broken_off=True)
                self._collect(block, event)
                if block.row is not None:
                    self.steps.take_back_thought(event, block.row)
            del blocks[division.gone :]
            splitting.over = min(splitting.over, division.gone)

    def _show(self, block: ReasoningStretch, event: TextDelta, keep: int, added: str) -> None:
        """Shows a block of ordinary thinking, unless it is hidden or still blank."""
        if not block.hidden and (added or block.row is not None):
            block.row = self.steps.take_thought(event, block.row, keep=keep, added=added)
