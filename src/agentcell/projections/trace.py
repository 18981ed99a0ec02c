"""A run in beats: the prompt, what the model asks for, what returns, the answer.

A beat's `brain` is the model's own text, or the commentary's sentence where it wrote none. A model call's cost, thinking and
tools go to its first ask, or to its answer. What was said about routing leads the next beat, once. The rules are those of
agentfootprint's recorder (`agentThinkingTrace`, 9.113), with what it gets wrong put right: thinking belongs to one model call,
the task is the first thing that was asked, calls without a return and the error that ended the run are named, and a run that a
limit cut short still shows its answer.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from agentcell.events import (
    ContextEvaluated,
    Event,
    ModelEnded,
    ModelStarted,
    PauseResumed,
    Reported,
    Routed,
    RunEnded,
    RunStarted,
    TextDelta,
    ThinkingDelta,
    ThinkingEnded,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from agentcell.projections.beats import Answer, Cost, Prompt, Step
from agentcell.projections.commentary import NAMELESS_TOOL, Commentary
from agentcell.projections.model_calls import ModelCall, ModelCalls, paragraphs
from agentcell.projections.tool_beats import OpenAsk, ask_beat, return_beat
from agentcell.projections.trace_shape import Trace
from agentcell.text.control_tokens import strip_control_tokens
from agentcell.text.fields import text_at
from agentcell.text.think import split_reasoning
from agentcell.text.trace_start import begins_trace

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

DEFAULT_MODEL = "model"
"""What the model is called when nobody named it."""


class TraceProjection:
    """Makes the beats event by event; an event costs the same however long the run is.

    Args:
        agent: Who answers; None for what the run itself says.
        model: The model's name, likewise.
        asker: Who asks, likewise.
        sentences: Your own sentences for the commentary, key by key.
    """

    def __init__(
        self,
        *,
        agent: str | None = None,
        model: str | None = None,
        asker: str | None = None,
        sentences: Mapping[str, str] | None = None,
    ) -> None:
        self._agent, self._model, self._asker = agent, model, asker
        self._sentences = sentences
        self._begin(RunStarted())

    def clear(self) -> None:
        """Forgets everything, as another `RunStarted` does."""
        self._begin(RunStarted())

    def _begin(self, run: RunStarted) -> None:
        self._agent_name = run.agent if self._agent is None else self._agent
        self._model_name = (run.model or DEFAULT_MODEL) if self._model is None else self._model
        self._asker_name = run.asker if self._asker is None else self._asker
        self._commentary = Commentary(app_name=self._agent_name, sentences=self._sentences)
        self._task = run.task
        self._splits, self._hides_thinking = run.split == "auto", run.thinking == "hide"
        self._error: str | None = None
        self._steps: list[Step] = []
        self._lead: list[str] = []
        self._last_route = ""
        self._splits = run.split == "auto"
        self._calls = ModelCalls(splits=self._splits)
        self._withheld: ModelCall | None = None
        self._written: list[str] = []
        self._answered = False
        self._asked_by: dict[str, str] = {}
        self._requested: dict[str, tuple[ToolStarted, str]] = {}
        self._open: dict[str, OpenAsk] = {}
        self._unanswered: dict[int, str] = {}
        self._paused: frozenset[str] = frozenset()

    def feed(self, event: Event) -> None:
        """Takes the next event; kinds that make no beat are passed over."""
        if isinstance(event, RunStarted):
            self._begin(event)
        remark = self._commentary.tell(event).text
        match event:
            case TextDelta(model_call_id=""):
                self._written.append(event.text)
            case TextDelta() | ThinkingDelta():
                self._calls.stream(event, thought=isinstance(event, ThinkingDelta))
            case ThinkingEnded():
                self._end_thinking(event)
            case ModelStarted():
                self._withheld = None
                self._calls.start(event)
            case ModelEnded():
                self._end_model(event)
            case ToolStarted():
                self._start_tool(event, remark)
            case ToolEnded():
                self._end_tool(event, remark)
            case Routed():
                self._lead.append(remark)
            case ContextEvaluated() if remark and remark != self._last_route and remark not in self._lead:
                self._lead.append(remark)
                self._last_route = remark
            case PauseResumed():
                self._paused = frozenset(self._open)
            case TurnStarted():
                self._task = self._task or event.text
                self._answered = False
            case TurnEnded():
                self._end_turn(event)
            case Reported(name="error.fatal"):
                self._error = text_at(event.evidence, "error") or remark
            case RunEnded():
                self._end_run(event)
            case _:
                pass

    def trace(
        self,
        *,
        task: str | None = None,
        title: str | None = None,
        agent: str | None = None,
        model: str | None = None,
        asker: str | None = None,
    ) -> Trace:
        """The beats so far, the prompt before them; what is given here stands in place of what the run said."""
        task = self._task if task is None else task
        return Trace(
            task,
            self._agent_name if agent is None else agent,
            self._model_name if model is None else model,
            self._asker_name if asker is None else asker,
            (Prompt(brain=task), *self._steps),
            title or None,
            tuple(self._unanswered.values()),
            self._error,
        )

    def _end_thinking(self, event: ThinkingEnded) -> None:
        late, text = self._calls.end_thinking(event)
        last = self._steps[-1] if self._steps else None
        if late and self._withheld is not None:
            self._withheld.thinking = text
        elif text and isinstance(last, Answer):
            self._steps[-1] = replace(last, thinking=text)

    def _end_model(self, event: ModelEnded) -> None:
        call, wants_tools = self._calls.end(event)
        if event.outcome != "done":
            return
        if call.first_ask is not None:
            # It asked before it was over, and only now says what it cost.
            self._steps[call.first_ask] = replace(self._steps[call.first_ask], cost=call.cost)
        if wants_tools:
            return
        if event.withheld:
            self._withheld = call
            return
        call.answer = len(self._steps)
        self._answer(event, call.take_text(), call)

    def _end_turn(self, event: TurnEnded) -> None:
        withheld, self._withheld = self._withheld, None
        if not event.refused and (withheld is not None or (event.text and not self._answered)):
            self._answer(event, event.text, withheld)
        self._answered = False

    def _end_run(self, event: RunEnded) -> None:
        for request in list(self._requested.values()):
            self._ask(*request)
        written = "".join(self._written)
        answer, _ = self._divided(written, None)
        if answer and not any(isinstance(step, Answer) and step.text == answer for step in self._steps):
            self._answer(event, written, None)
        if event.outcome != "answered":
            self._error = event.error or event.error_type or event.outcome

    def _answer(self, event: Event, text: str, call: ModelCall | None) -> None:
        first = call is not None and call.first_ask is None
        text, thoughts = self._divided(text, call)
        self._steps.append(
            Answer(
                brain=self._led(text),
                cost=call.cost if call and first else Cost(),
                at=event.source_id,
                to=self._asker_name,
                text=text,
                thinking=thoughts or (call.thinking if call and first else None),
                tools_seen=call.tools if call and first else (),
            )
        )
        self._answered = True

    def _start_tool(self, event: ToolStarted, remark: str) -> None:
        if event.model_call_id:
            self._asked_by[event.call_id] = event.model_call_id
            self._calls.find(event.model_call_id).waiting.add(event.call_id)
        asked = self._requested.get(event.call_id)
        if asked is not None:  # a second start says more about the same call
            event = replace(event, name=event.name or asked[0].name, arguments=event.arguments or asked[0].arguments)
        if event.requested:
            self._requested[event.call_id] = event, remark
            return
        ask = self._open.get(event.call_id)
        if ask is not None and event.call_id in self._paused and ask.tool_name == (event.name or NAMELESS_TOOL):
            # After the person's answer the same call is run again; it was asked for once.
            self._paused -= {event.call_id}
        elif event.call_id:
            self._ask(event, remark)

    def _ask(self, event: ToolStarted, remark: str) -> None:
        self._requested.pop(event.call_id, None)
        asked_by = self._asked_by.get(event.call_id, "")
        self._take_back_answer(self._calls.asker(asked_by))
        index = len(self._steps)
        claim = self._calls.claim(asked_by, index)
        text, thoughts = self._divided(claim.text, self._calls.asker(asked_by))
        claim = replace(claim, text=text, thinking=thoughts or claim.thinking)
        ask = OpenAsk.of(event, index)
        self._steps.append(ask_beat(event, ask, claim, self._led(claim.text or remark)))
        self._open[event.call_id] = ask
        self._unanswered[index] = event.call_id

    def _take_back_answer(self, call: ModelCall) -> None:
        # Some frameworks tell only by running a tool that what the model wrote before was no answer.
        if call.answer is None or call.answer != len(self._steps) - 1:
            return
        answer = self._steps.pop()
        if isinstance(answer, Answer):
            call.give_back(answer.text)
            self._lead = [answer.brain.removesuffix(answer.text).removesuffix("\n\n")]
        call.answer = None
        self._answered = False

    def _end_tool(self, event: ToolEnded, remark: str) -> None:
        asked_by = self._asked_by.get(event.call_id)
        if asked_by:
            self._calls.find(asked_by).waiting.discard(event.call_id)
        request = self._requested.pop(event.call_id, None)
        if request is not None and event.outcome != "cancelled":
            self._ask(*request)
        ask = self._open.pop(event.call_id, None)
        if ask is None:
            return
        del self._unanswered[ask.index]
        self._steps.append(return_beat(event, ask, remark))

    def _divided(self, text: str, call: ModelCall | None) -> tuple[str, str | None]:
        """The answer in a text, and the thinking in it without tool traces, which are events of their own."""
        if not self._splits or not text or (call is not None and call.thinks_apart):
            return text, None
        said = split_reasoning(text)
        thoughts = paragraphs(block for block in said.reasoning if not begins_trace(block, finished=True))
        return strip_control_tokens(said.answer), None if self._hides_thinking else thoughts

    def _led(self, brain: str) -> str:
        lines = [line for line in self._lead if line]
        self._lead.clear()
        return "\n\n".join([*lines, brain])


def project_trace(
    events: Iterable[Event],
    *,
    agent: str | None = None,
    model: str | None = None,
    asker: str | None = None,
    task: str | None = None,
    sentences: Mapping[str, str] | None = None,
) -> Trace:
    """The trace of `events`; of several runs in one log, that of the last. Names left out are what the run says."""
    projection = TraceProjection(agent=agent, model=model, asker=asker, sentences=sentences)
    for event in events:
        projection.feed(event)
    return projection.trace(task=task)
