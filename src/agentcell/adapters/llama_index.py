"""Listens to LlamaIndex: to the spans of its agents' steps inside a block, or to the events that a workflow's handle streams."""

from __future__ import annotations

import functools
from asyncio import CancelledError
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from agentcell.adapters.ambient import run_here
from agentcell.adapters.fields import arguments_of, field, items_of, text_of
from agentcell.adapters.hearing import heard
from agentcell.adapters.ledger import Ledger
from agentcell.adapters.llama_index_usage import usage_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentcell.adapters.ledger import Turn
    from agentcell.run import Run


@dataclass(slots=True)
class Flow:
    """One run of one workflow.

    Attributes:
        turn: The turn that it belongs to.
        key: What its own things in the turn begin with.
        agent: The key of the agent that has the word; `root` for a workflow that runs inside another's tool, else "".
        root: The key of the workflow's own agent.
        name: The name of the agent that has the word, "" before the first.
        first: The name of the first.
        model: The key of the newest model call.
        count: How many model calls there were.
        tool: The key of the newest tool call.
        failed: Why its newest step failed; before LlamaIndex 0.14 the workflow itself does not say.
    """

    turn: Turn
    key: str
    agent: str = ""
    root: str = ""
    name: str = ""
    first: str = ""
    model: str = ""
    count: int = 0
    tool: str = ""
    failed: BaseException | None = None


class LlamaIndexAdapter:
    """Hears all of LlamaIndex's workflows in one run."""

    framework: ClassVar[str] = "LlamaIndex"

    def __init__(self, run: Run) -> None:
        self.run = run
        self.ledger = Ledger(run)
        self.heard_runs: set[str] = set()  # the framework's ids of the workflow runs that the spans tell of
        self.heard_contexts: dict[int, Any] = {}  # the same before those ids were told: the runs' contexts, by their `id`

    def has_heard(self, handle: Any) -> bool:
        """Whether the spans tell of the workflow run with this handle."""
        return text_of(handle, "run_id") in self.heard_runs or id(field(handle, "ctx")) in self.heard_contexts

    def close(self, error: BaseException | None = None) -> None:
        """The block is left."""
        self.ledger.close(error)

    def begin(self, key: str, *, outer: Flow | None = None, inside: str | None = None, name: str = "") -> Flow:
        """A workflow begins to run, if not by itself then in `outer`, in its tool call with the key `inside`."""
        if outer is None:
            return Flow(self.ledger.turn(key), key)
        outer.turn.start_agent(key, name, agent=outer.agent, inside=inside)
        return Flow(outer.turn, key, agent=key, root=key)

    @heard
    def end(self, flow: Flow, error: BaseException | None = None) -> None:
        """A workflow has run."""
        if flow.root:
            flow.turn.end_agent(flow.root, error=error)
        else:
            flow.turn.close(error)

    @heard
    def give_word(self, flow: Flow, name: str) -> None:
        """An agent of the workflow has the word now; one that it was handed to stands under the one that did."""
        if not name or name == flow.name:
            return
        flow.first = flow.first or name
        if name == flow.first:
            flow.agent = flow.root
        else:
            key = f"{flow.key}:{name}"
            flow.turn.start_agent(key, name, agent=flow.agent, speaks=True)
            flow.agent = key
        flow.name = name

    @heard
    def ask(self, flow: Flow, *, model: str | None = None) -> None:
        """A model is asked."""
        flow.count += 1
        flow.model = f"{flow.key}:{flow.count}"
        flow.turn.start_model(flow.model, agent=flow.agent, model=model)

    @heard
    def hear_output(self, flow: Flow, message: Any, raw: Any) -> None:
        """A model has answered with a whole message."""
        blocks = items_of(message, "blocks")
        calls = [block for block in blocks if text_of(block, "block_type") == "tool_call"]
        flow.turn.end_model(
            flow.model,
            text="".join(text_of(block, "text") for block in blocks if text_of(block, "block_type") == "text"),
            thinking="".join(text_of(block, "content") for block in blocks if text_of(block, "block_type") == "thinking"),
            usage=usage_of(raw),
            model=text_of(raw, "model") or None,
            response_id=text_of(raw, "id") or None,
            tool_calls=len(calls) or None,
        )

    @heard
    def hear_requests(self, flow: Flow, calls: Any) -> None:
        """The agent has read from the model's answer which tools it asks for."""
        for call in calls:
            arguments = arguments_of(field(call, "tool_kwargs"))
            flow.turn.ask_tool(tool_key(flow, call), text_of(call, "tool_name"), arguments, agent=flow.agent, model=flow.model)

    @heard
    def start_tool(self, flow: Flow, call: Any) -> None:
        """A tool begins to run, or its step is run again because what it waited for is there."""
        flow.tool = tool_key(flow, call)
        arguments = arguments_of(field(call, "tool_kwargs"))
        flow.turn.start_tool(flow.tool, text_of(call, "tool_name"), arguments, agent=flow.agent, model=flow.model)

    @heard
    def end_tool(self, flow: Flow, result: Any) -> None:
        """A tool has run."""
        output = field(result, "tool_output")
        if field(output, "is_error"):
            error = field(output, "exception") or text_of(output, "content")
            flow.turn.end_tool(tool_key(flow, result), error=error)
        else:
            flow.turn.end_tool(tool_key(flow, result), result=field(output, "raw_output"))

    @heard
    def pause(self, flow: Flow, event: Any, *, call: str | None) -> None:
        """The workflow waits on the person."""
        question = text_of(event, "prefix") or "The agent waits for an answer."
        flow.turn.pause(f"{flow.key}:{call or 'pause'}", question, call=call)


def tool_key(flow: Flow, call: Any) -> str:
    """The key of a tool call: workflows side by side may use the same ids."""
    call_id = text_of(call, "tool_id")
    return f"{flow.root}:{call_id}" if flow.root else call_id


@dataclass(slots=True)
class _Span:
    """A span that goes on: in which flow it is, told to whom, and which tool call's it is.

    `whole` is that of a workflow, `alone` that of a model that was asked outside of all workflows.
    """

    adapter: LlamaIndexAdapter
    flow: Flow
    whole: bool = False
    alone: bool = False
    tool: str = ""


class Ears:
    """What LlamaIndex's dispatcher tells of spans and model calls, for all runs: a span belongs to the flow of the span around it."""

    def __init__(self) -> None:
        self.spans: dict[str, _Span] = {}
        self._models: dict[str, _Span] = {}

    def enter(self, span_id: str, arguments: Any, instance: Any, parent_id: str | None, tags: Any) -> None:
        """A span begins."""
        parent = self.spans.get(parent_id or "")
        if "start_event" in arguments:
            self._begin(span_id, instance, parent)
            return
        if parent is None:
            return
        span = self.spans[span_id] = _Span(parent.adapter, parent.flow, tool=parent.tool)
        run_id = (tags or {}).get("llamaindex.run_id")
        if run_id:
            span.adapter.heard_runs.add(run_id)
        elif arguments.get("ctx") is not None:
            span.adapter.heard_contexts[id(arguments["ctx"])] = arguments["ctx"]
        event = arguments.get("ev")
        if type(event).__name__ == "ToolCall":
            span.adapter.start_tool(span.flow, event)
            span.tool = tool_key(span.flow, event)
        elif event is not None:
            span.adapter.give_word(span.flow, text_of(event, "current_agent_name"))

    def _begin(self, span_id: str, instance: Any, parent: _Span | None) -> None:
        run = parent.adapter.run if parent is not None else run_here()
        if run is not None:
            with run.guarding("listening to LlamaIndex"):
                adapter = run.adapter(LlamaIndexAdapter)
                name = text_of(instance, "name") or type(instance).__name__
                outer = None if parent is None else parent.flow
                flow = adapter.begin(span_id, outer=outer, inside=None if parent is None else parent.tool, name=name)
                self.spans[span_id] = _Span(adapter, flow, whole=True)

    def leave(self, span_id: str, result: Any = None, error: BaseException | None = None) -> None:
        """A span is over."""
        span = self.spans.pop(span_id, None)
        if span is None:
            return
        kind = type(result).__name__
        if not span.whole:
            span.flow.failed = error
        if span.whole:
            self._models = {key: one for key, one in self._models.items() if one.flow is not span.flow}
            # A workflow that was cancelled has no result and no error.
            silent = span.flow.failed or CancelledError("the workflow was cancelled")
            span.adapter.end(span.flow, error or (None if result is not None else silent))
        elif kind == "AgentOutput":
            span.adapter.hear_requests(span.flow, items_of(result, "tool_calls"))
        elif kind == "ToolCallResult":
            span.adapter.end_tool(span.flow, result)
        elif type(error).__name__ == "WaitingForEvent":
            span.adapter.pause(span.flow, field(field(error, "add"), "waiter_event"), call=span.tool or None)

    def hear(self, event: Any) -> None:
        """A model was asked, says something, or has said all."""
        kind = type(event).__name__
        span = self._asked(event) if kind == "LLMChatStartEvent" else self._models.get(event.span_id)
        if span is None:
            return
        if kind == "LLMChatStartEvent":
            self._models[event.span_id] = span
            span.adapter.ask(span.flow, model=text_of(field(event, "model_dict"), "model") or None)
        elif kind == "LLMChatInProgressEvent":
            self._write(span, event.response)
        elif kind == "LLMChatEndEvent":
            del self._models[event.span_id]
            response = event.response
            span.adapter.hear_output(span.flow, field(response, "message"), field(response, "raw"))
            if span.alone:
                span.adapter.end(span.flow)

    def _asked(self, event: Any) -> _Span | None:
        """The span in which a model is asked; outside of all workflows it is a flow of its own."""
        known = self.spans.get(event.span_id)
        run = run_here() if known is None else None
        if run is None:
            return known
        adapter = run.adapter(LlamaIndexAdapter)
        return _Span(adapter, adapter.begin(event.span_id), alone=True)

    def _write(self, span: _Span, response: Any) -> None:
        turn, flow = span.flow.turn, span.flow
        with span.adapter.run.guarding("listening to LlamaIndex"):
            turn.think(flow.model, text_of(field(response, "additional_kwargs"), "thinking_delta"), agent=flow.agent)
            turn.write(flow.model, text_of(response, "delta"), agent=flow.agent)


@functools.cache
def handler_classes() -> tuple[Any, Any]:
    """The classes of a span handler and of an event handler, which inherit from LlamaIndex's own."""
    from llama_index.core.instrumentation.event_handlers import BaseEventHandler
    from llama_index.core.instrumentation.span_handlers import BaseSpanHandler

    class SpanEars(BaseSpanHandler[Any]):
        ears: Any = None

        def new_span(
            self, id_: str, bound_args: Any, instance: Any = None, parent_span_id: Any = None, tags: Any = None, **_: Any
        ) -> None:
            self.ears.enter(id_, bound_args.arguments, instance, parent_span_id, tags)

        def prepare_to_exit_span(self, id_: str, bound_args: Any, instance: Any = None, result: Any = None, **_: Any) -> None:  # noqa: ARG002 - the framework's
            self.ears.leave(id_, result)

        def prepare_to_drop_span(self, id_: str, bound_args: Any, instance: Any = None, err: Any = None, **_: Any) -> None:  # noqa: ARG002 - the framework's
            self.ears.leave(id_, error=err)

    class EventEars(BaseEventHandler):
        ears: Any = None

        @classmethod
        def class_name(cls) -> str:
            return "AgentcellEventHandler"

        def handle(self, event: Any, **_: Any) -> None:
            self.ears.hear(event)

    return SpanEars, EventEars


def attach() -> Callable[[], None]:
    """Adds handlers to the root dispatcher, which all spans and events of LlamaIndex come to."""
    from llama_index.core.instrumentation import get_dispatcher  # type: ignore[attr-defined]  # it is documented to be there

    dispatcher, ears = get_dispatcher(), Ears()
    spans, events = (kind() for kind in handler_classes())
    spans.ears = events.ears = ears
    dispatcher.add_span_handler(spans)
    dispatcher.add_event_handler(events)

    def detach() -> None:
        dispatcher.span_handlers[:] = [one for one in dispatcher.span_handlers if one is not spans]
        dispatcher.event_handlers[:] = [one for one in dispatcher.event_handlers if one is not events]

    return detach
