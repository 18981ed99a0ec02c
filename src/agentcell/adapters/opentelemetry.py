"""OpenTelemetry: the spans of whatever is instrumented by the GenAI conventions or by OpenInference, as a run's steps.

A span tells its beginning and its end, no words between. It is good for what goes on, for the tools, the sub-agents and the tokens; a
framework that has an adapter of its own is left to that, and so is a model call whose stream the run reads itself.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from agentcell.adapters import spans
from agentcell.adapters.ambient import AMBIENCE, run_here
from agentcell.adapters.fields import text_of
from agentcell.adapters.hearing import heard
from agentcell.adapters.ledger import Ledger
from agentcell.context import current_run
from agentcell.events import TurnEnded

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentcell.adapters.ledger import Turn
    from agentcell.run import Run

# Who emits spans (the beginning of a scope's name), and the framework that has an adapter which hears it without spans.
_ADAPTERS = {
    "pydantic-ai": "pydantic-ai",
    "gcp.vertex.agent": "Google ADK",
    "openinference.instrumentation.langchain": "LangChain",
    "openinference.instrumentation.openai_agents": "the OpenAI Agents SDK",
    "openinference.instrumentation.pydantic_ai": "pydantic-ai",
    "openinference.instrumentation.google_adk": "Google ADK",
    "openinference.instrumentation.smolagents": "smolagents",
    "openinference.instrumentation.dspy": "DSPy",
    "openinference.instrumentation.llama_index": "LlamaIndex",
    "openinference.instrumentation.claude_agent_sdk": "the Claude Agent SDK",
}
_REMEMBERED = 10_000  # spans whose run is kept in mind; one that never ends must not stay for ever


@dataclass(slots=True)
class _Span:
    """A span that goes on.

    Attributes:
        key: Its id, and, for a tool call, the provider's where the span has that.
        kind: What it is about; `other` for everything that only lies between.
        name: The tool's or the agent's name.
        around: The span that it was started in.
        turn: What the outermost span began.
        started: Seconds of the run.
        hushed: It is told elsewhere.
        spoke: A model was heard that speaks for this agent.
    """

    key: str
    kind: spans.Kind
    name: str
    around: _Span | None
    turn: Turn
    started: float
    hushed: bool = False
    spoke: bool = False

    def find(self, *kinds: spans.Kind, hushed: bool = False) -> _Span | None:
        """The innermost span around this one that is of one of these kinds and told; with `hushed` also one that is not."""
        span = self.around
        while span is not None and (span.kind not in kinds or (span.hushed and not hushed)):
            span = span.around
        return span

    @property
    def agent(self) -> str:
        """The key of the sub-agent that it belongs to; "" for the outermost agent."""
        agent = self.find("agent")
        return agent.key if agent is not None and agent.find("agent") is not None else ""

    @property
    def tool(self) -> str | None:
        """The key of the tool call that it was made from."""
        near = self.find("agent", "tool")
        return near.key if near is not None and near.kind == "tool" else None

    @property
    def is_alone(self) -> bool:
        """Whether it is a model call that nobody but the user's own code has made."""
        return self.kind == "model" and self.find("agent", "tool") is None


class OpenTelemetryAdapter:
    """Hears the spans that are emitted in one run."""

    framework: ClassVar[str] = "OpenTelemetry"

    def __init__(self, run: Run) -> None:
        self.run = run
        self._ledger = Ledger(run, shares=True)
        self._lock = threading.RLock()
        self._open: dict[int, _Span] = {}

    def knows(self, span_id: int) -> bool:
        """Whether a span with this id goes on in this run."""
        return span_id in self._open

    @heard
    def start(self, span: Any) -> None:
        """A span was started."""
        span_id, kind = span.context.span_id, spans.kind_of(span)
        # Only before a model is asked: what is raised where a tool's span begins, a framework may take for that tool's failure.
        if kind == "model":
            self.run.raise_if_stopping()
        with self._lock:
            if span_id in self._open:
                return
            around = self._open.get(span.parent.span_id) if span.parent is not None else None
            key = f"{span_id:016x}"
            turn = self._ledger.turn(key) if around is None else around.turn
            if kind == "tool":
                key = text_of(spans.attributes_of(span), "gen_ai.tool.call.id") or key
            told = self._open[span_id] = _Span(key, kind, spans.name_of(span), around, turn, self.run.now())
            told.hushed = self._is_told_elsewhere(told, span)
            if not told.hushed and not told.is_alone:
                self._tell_start(told, span)

    @heard
    def end(self, span: Any) -> None:
        """A span has ended."""
        with self._lock:
            told = self._open.pop(span.context.span_id, None)
            if told is None:
                return
            late = told.kind == "other" and spans.kind_of(span) in ("model", "tool")  # only its end says what it was
            if late:
                told.kind, told.name = spans.kind_of(span), spans.name_of(span)
                told.hushed = self._is_told_elsewhere(told, span)
            if told.is_alone:
                told.hushed = told.hushed or self._is_read(told)
            if not told.hushed:
                if late or told.is_alone:
                    self._tell_start(told, span)
                self._tell_end(told, span)
            if told.around is None:
                told.turn.close(spans.error_in(span))

    def close(self, error: BaseException | None = None) -> None:
        """The run's block is left."""
        with self._lock:
            self._open.clear()
            self._ledger.close(error)

    def _is_told_elsewhere(self, told: _Span, span: Any) -> bool:
        """Whether a span says what somebody else tells: a span around it, or an adapter that hears the framework itself."""
        if told.kind == "model":
            twice = told.find("model", hushed=True) is not None
        else:
            near = told.find("agent", "tool")
            twice = near is not None and (near.kind, near.name) == (told.kind, told.name)
        return twice or self._has_adapter(spans.scope_of(span))

    def _has_adapter(self, scope: str) -> bool:
        framework = next((framework for name, framework in _ADAPTERS.items() if scope.startswith(name)), None)
        if framework is None:
            return False
        return (self.run.options.auto and AMBIENCE.hears(framework)) or self.run.has_adapter(framework)

    def _is_read(self, told: _Span) -> bool:
        """Whether the run has heard of a model call in another way while this one went on."""
        models = self.run.catch_up().calls.models
        with self.run.lock:
            return any(row.id not in self._ledger.model_ids and (row.ended is None or row.ended >= told.started) for row in models)

    def _tell_start(self, told: _Span, span: Any) -> None:
        match told.kind:
            case "agent" if told.find("agent") is not None:
                told.turn.start_agent(told.key, told.name, agent=told.agent, inside=told.tool)
            case "model":
                attributes = spans.attributes_of(span)
                told.turn.start_model(
                    told.key,
                    agent=told.agent,
                    model=text_of(attributes, "gen_ai.request.model", "llm.model_name") or None,
                    provider=text_of(attributes, "gen_ai.provider.name", "gen_ai.system", "llm.provider") or None,
                )
            case "tool":
                told.turn.start_tool(told.key, told.name, spans.arguments_in(span), agent=told.agent, inside=told.tool)
            case _:
                pass

    def _tell_end(self, told: _Span, span: Any) -> None:
        error, seconds = spans.error_in(span), (span.end_time - span.start_time) / 1e9
        match told.kind:
            case "agent" if told.find("agent") is not None:
                told.turn.end_agent(told.key, error=error)
            case "agent" if not told.spoke and spans.output_in(span):
                self.run.record(TurnEnded(text=spans.output_in(span)))
            case "model":
                self._end_model(told, span, error, seconds)
            case "tool":
                told.turn.start_tool(told.key, told.name, spans.arguments_in(span), agent=told.agent)  # they may come late
                told.turn.end_tool(told.key, result=spans.result_in(span), error=error, duration=seconds)
            case _:
                pass

    def _end_model(self, told: _Span, span: Any, error: BaseException | str | None, seconds: float) -> None:
        attributes, reply = spans.attributes_of(span), spans.reply_in(span)
        self._tell_start(told, span)  # the model's name may come late
        told.turn.end_model(
            told.key,
            text=reply.text,
            thinking=reply.thinking,
            usage=spans.usage_in(span),
            model=text_of(attributes, "gen_ai.response.model") or None,
            finish_reason=spans.finish_in(span),
            response_id=text_of(attributes, "gen_ai.response.id") or None,
            tool_calls=reply.tool_calls,
            error=error,
            duration=seconds,
            cost=spans.cost_in(span),
        )
        agent = told.find("agent")
        if agent is not None and reply.text:
            agent.spoke = True


def processor_for(run: Run) -> Any:
    """A span processor that hears what is emitted in one run; for a provider that is the user's own."""
    adapter = run.adapter(OpenTelemetryAdapter)

    def find(_span: Any) -> OpenTelemetryAdapter | None:
        here = current_run()
        if here is None:  # a thread without its context, as those of a pool may be; or somebody else, before or behind the block
            return adapter if run.status not in ("idle", "complete") else None
        return adapter if here is run else None

    return _processor_class()(find)


def attach() -> Callable[[], None]:
    """Hears the spans of the process's provider, each for the run in which it was started; nothing where there is no such provider."""
    from opentelemetry import trace

    provider = trace.get_tracer_provider()
    add: Callable[[Any], None] | None = getattr(provider, "add_span_processor", None)
    if add is None:
        return lambda: None

    def find(_span: Any) -> OpenTelemetryAdapter | None:
        run = run_here()
        return None if run is None else run.adapter(OpenTelemetryAdapter)

    processor = _processor_class()(find)
    add(processor)
    return lambda: _remove(provider, processor)


def _remove(provider: Any, processor: Any) -> None:
    """Takes a processor out of a provider, which has no way of its own for that; where it has changed inside, it stays there, deaf."""
    processor.find = lambda _span: None
    inner = getattr(provider, "provider", provider)  # Logfire's wraps one
    every: Any = getattr(inner, "_active_span_processor", None)
    if hasattr(every, "_lock") and isinstance(getattr(every, "_span_processors", None), tuple):
        with every._lock:  # noqa: SLF001 - see above
            every._span_processors = tuple(one for one in every._span_processors if one is not processor)  # noqa: SLF001


@cache
def _processor_class() -> type[Any]:
    from opentelemetry.sdk.trace import SpanProcessor

    class AgentSpans(SpanProcessor):
        """Brings each span that is about an agent, and those inside it, to the adapter that is to hear it."""

        def __init__(self, find: Callable[[Any], OpenTelemetryAdapter | None]) -> None:
            self.find = find
            self._of: OrderedDict[int, OpenTelemetryAdapter] = OrderedDict()

        def on_start(self, span: Any, parent_context: Any = None) -> None:  # noqa: ARG002 - OpenTelemetry's own
            adapter = None if span.parent is None else self._of.get(span.parent.span_id)
            if adapter is None and (spans.kind_of(span) != "other" or spans.scope_of(span).startswith("openinference.")):
                adapter = self.find(span)
            if adapter is not None:
                self._of[span.context.span_id] = adapter
                if len(self._of) > _REMEMBERED:
                    self._of.popitem(last=False)
                adapter.start(span)

        def on_end(self, span: Any) -> None:
            adapter = self._of.pop(span.context.span_id, None)
            if adapter is not None:
                adapter.end(span)

    return AgentSpans
