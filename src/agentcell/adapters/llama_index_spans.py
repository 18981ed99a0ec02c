"""Listens to the spans of LlamaIndex's workflows and to the events of its models, which its root dispatcher tells of."""

from __future__ import annotations

import asyncio
import functools
from asyncio import CancelledError
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentcell.adapters.ambient import run_here
from agentcell.adapters.fields import field, items_of, text_of
from agentcell.adapters.llama_index import Flow, LlamaIndexAdapter, blocks_of
from agentcell.adapters.llama_index_events import is_a
from agentcell.errors import RunStopped

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentcell.run import Run
    from agentcell.tool_call import FrameworkCall

WHERE = "listening to LlamaIndex"


@dataclass(slots=True)
class Span:
    """A span that goes on.

    Attributes:
        adapter: Who is told.
        flow: The workflow that it is in.
        whole: Whether it is the workflow's own.
        alone: Whether it is that of a model that was asked outside of all workflows.
        tool: The key of the tool call that it is in.
        inside: What makes the code of a tool's own step a part of its call.
    """

    adapter: LlamaIndexAdapter
    flow: Flow
    whole: bool = False
    alone: bool = False
    tool: str = ""
    inside: FrameworkCall | None = None

    @property
    def run(self) -> Run:
        """The run that hears of it."""
        return self.adapter.run


@dataclass(slots=True)
class Asked:
    """A model that is asked: in which span, the key of the call, and how many blocks of reasoning were there."""

    span: Span
    key: str
    thoughts: int = 0


class Ears:
    """What is heard, for all runs: a span belongs to the workflow of the span around it.

    Attributes:
        spans: Those that go on, by their ids.
    """

    def __init__(self) -> None:
        self.spans: dict[str, Span] = {}
        self._models: dict[str, Asked] = {}  # by the ids of their spans
        self._inner: set[str] = set()  # ids of spans inside a model's: one of its ways to be asked goes through another
        self._telling: set[asyncio.Future[None]] = set()

    def enter(self, span_id: str, arguments: Any, instance: Any, parent_id: str | None, tags: Any) -> None:
        """A span begins."""
        if parent_id in self._models or parent_id in self._inner:
            self._inner.add(span_id)
        parent = self.spans.get(parent_id or "")
        run = parent.run if parent is not None else run_here() if "start_event" in arguments else None
        if run is None:
            return
        with run.guarding(WHERE):
            if "start_event" in arguments:
                self.spans[span_id] = self._begin(run, span_id, instance, parent)
            elif parent is not None:
                self.spans[span_id] = self._step(Span(parent.adapter, parent.flow, tool=parent.tool), arguments, tags)

    def _begin(self, run: Run, span_id: str, instance: Any, parent: Span | None) -> Span:
        adapter = run.adapter(LlamaIndexAdapter)
        name = text_of(instance, "name") or type(instance).__name__
        if parent is None:
            return Span(adapter, adapter.begin(span_id, name=name), whole=True)
        return Span(adapter, adapter.begin(span_id, outer=parent.flow, inside=parent.tool, name=name), whole=True)

    def _step(self, span: Span, arguments: Any, tags: Any) -> Span:
        run_id = (tags or {}).get("llamaindex.run_id")
        if run_id:
            span.adapter.heard_runs.add(run_id)
        elif arguments.get("ctx") is not None:
            span.adapter.heard_contexts[id(arguments["ctx"])] = arguments["ctx"]
        event = next((value for value in arguments.values() if is_a(value, "Event")), None)
        if type(event).__name__ == "ToolCall":
            span.adapter.start_tool(span.flow, event)
            span.tool = span.flow.tool_key(event)
            span.inside = span.flow.turn.enter_tool(span.tool)
        elif is_a(event, "HumanResponseEvent"):
            span.adapter.resume(span.flow, event, call=None)
        elif event is not None:
            span.adapter.give_word(span.flow, text_of(event, "current_agent_name"))
        return span

    def leave(self, span_id: str, instance: Any, *, result: Any = None, error: BaseException | None = None) -> None:
        """A span is over."""
        self._inner.discard(span_id)
        if error is not None:
            self._fail(span_id, error)
        span = self.spans.pop(span_id, None)
        if span is None:
            return
        with span.run.guarding(WHERE):
            if span.inside is not None:
                span.inside.leave()
            if span.whole:
                self._end(span, instance, result, error)
            elif type(result).__name__ == "AgentOutput":
                span.adapter.hear_requests(span.flow, items_of(result, "tool_calls"))
            elif type(result).__name__ == "ToolCallResult":
                span.adapter.end_tool(span.flow, result)
            elif is_a(result, "InputRequiredEvent"):
                span.adapter.pause(span.flow, result, call=span.tool or None)

    def _end(self, span: Span, workflow: Any, result: Any, error: BaseException | None) -> None:
        for key in [key for key, one in tuple(self._models.items()) if one.span.flow is span.flow]:
            self._models.pop(key, None)  # in place: another thread may be adding to them
        if result is None and error is None:
            error = CancelledError("the workflow was cancelled")
        span.adapter.end(span.flow, error)
        if isinstance(error, RunStopped) and hasattr(workflow, "runtime"):
            # Such an end is none that the framework would tell those who read its stream: they would wait for ever.
            from workflows.events import WorkflowCancelledEvent

            told = workflow.runtime.get_internal_adapter(workflow).write_to_event_stream(WorkflowCancelledEvent())
            telling = asyncio.ensure_future(told)
            self._telling.add(telling)
            telling.add_done_callback(self._telling.discard)

    def hear(self, event: Any) -> None:
        """A model was asked, says something, or has said all."""
        kind, span_id = type(event).__name__, event.span_id
        if kind in ("LLMChatStartEvent", "LLMCompletionStartEvent"):
            if span_id not in self._inner and span_id not in self._models:
                self._ask(span_id, event)
            return
        if kind == "ExceptionEvent":
            self._fail(span_id, event.exception)
            return
        asked = self._models.get(span_id)
        if asked is None:
            return
        if kind in ("LLMChatInProgressEvent", "LLMCompletionInProgressEvent"):
            self._hear_piece(asked, event.response)
        elif kind in ("LLMChatEndEvent", "LLMCompletionEndEvent"):
            self._models.pop(span_id, None)
            adapter, flow = asked.span.adapter, asked.span.flow
            adapter.hear_output(flow, asked.key, event.response, field(event.response, "raw"))
            if asked.span.alone:
                adapter.end(flow)

    def _hear_piece(self, asked: Asked, response: Any) -> None:
        thoughts = blocks_of(field(response, "message"), "thinking")
        told, asked.thoughts = asked.thoughts, len(thoughts)
        asked.span.adapter.hear_piece(
            asked.span.flow,
            asked.key,
            text=text_of(response, "delta"),
            thinking=text_of(field(response, "additional_kwargs"), "thinking_delta"),
            thoughts=thoughts if told < len(thoughts) else (),
        )

    def forget(self) -> None:
        """Nobody listens any more."""
        self.spans.clear()
        self._models.clear()
        self._inner.clear()

    def _ask(self, span_id: str, event: Any) -> None:
        span = self.spans.get(span_id)
        run = span.run if span is not None else run_here()
        if run is None:
            return
        with run.guarding(WHERE):
            model = text_of(field(event, "model_dict"), "model", "model_name") or None
            if span is None:
                adapter = run.adapter(LlamaIndexAdapter)
                span = Span(adapter, adapter.begin(span_id, name=model or "Model"), alone=True)
            self._models[span_id] = Asked(span, span.adapter.ask(span.flow, model=model))

    def _fail(self, span_id: str, error: BaseException) -> None:
        asked = self._models.pop(span_id, None)
        if asked is not None:
            adapter, flow = asked.span.adapter, asked.span.flow
            adapter.hear_failure(flow, asked.key, error)
            if asked.span.alone:
                adapter.end(flow, error)


EARS = Ears()
"""The process's ones, for the hooks of this package and of `workflows`."""


@functools.cache
def handler_classes() -> tuple[Any, Any]:
    """The classes of a span handler and of an event handler, which inherit from LlamaIndex's own."""
    from llama_index_instrumentation.event_handlers import BaseEventHandler
    from llama_index_instrumentation.span_handlers import BaseSpanHandler

    class SpanEars(BaseSpanHandler[Any]):
        def new_span(
            self, id_: str, bound_args: Any, instance: Any = None, parent_span_id: Any = None, tags: Any = None, **_: Any
        ) -> None:
            EARS.enter(id_, bound_args.arguments, instance, parent_span_id, tags)

        def prepare_to_exit_span(self, id_: str, bound_args: Any, instance: Any = None, result: Any = None, **_: Any) -> None:  # noqa: ARG002 - the framework's
            EARS.leave(id_, instance, result=result)

        def prepare_to_drop_span(self, id_: str, bound_args: Any, instance: Any = None, err: Any = None, **_: Any) -> None:  # noqa: ARG002 - the framework's
            EARS.leave(id_, instance, error=err)

    class EventEars(BaseEventHandler):
        @classmethod
        def class_name(cls) -> str:
            return "AgentcellEventHandler"

        def handle(self, event: Any, **_: Any) -> None:
            EARS.hear(event)

    return SpanEars, EventEars


def attach() -> Callable[[], None]:
    """Adds handlers to the root dispatcher, which all spans and events of LlamaIndex come to."""
    from llama_index_instrumentation import get_dispatcher

    dispatcher = get_dispatcher()
    spans, events = (kind() for kind in handler_classes())
    dispatcher.add_span_handler(spans)
    dispatcher.add_event_handler(events)

    def detach() -> None:
        dispatcher.span_handlers[:] = [one for one in dispatcher.span_handlers if one is not spans]
        dispatcher.event_handlers[:] = [one for one in dispatcher.event_handlers if one is not events]
        EARS.forget()

    return detach
