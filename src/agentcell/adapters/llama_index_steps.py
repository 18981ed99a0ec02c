"""Listens to what the steps of LlamaIndex's workflows tell their context: that they wait on the person, and what they stream.

No span tells of that, and a hook of spans cannot end a step. Here a run that was asked to stop ends the workflow, as its tools can.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from agentcell.adapters.llama_index_events import is_a, is_own
from agentcell.adapters.llama_index_spans import EARS, WHERE, Span

if TYPE_CHECKING:
    from collections.abc import Callable

ENDS = ("AgentOutput", "ToolCallResult")
"""What an agent streams when it has done something: that is told, and only what it does next is stopped."""


def span_here() -> Span | None:
    """The span that this code is in, if it is heard."""
    from llama_index_instrumentation.span import active_span_id

    return EARS.spans.get(active_span_id.get() or "")


def hear_written(event: Any) -> None:
    """A step streams an event.

    Raises:
        RunStopped: The run was asked to stop.
    """
    span = span_here()
    if span is None:
        return
    if type(event).__name__ not in ENDS:
        span.run.raise_if_stopping()
    with span.run.guarding(WHERE):
        if is_a(event, "InputRequiredEvent"):
            span.adapter.pause(span.flow, event, call=span.tool or None)
        elif is_own(event):
            span.adapter.note(event)


def hear_wait(error: BaseException) -> None:
    """A step has left off: because it waits for an event, or because it waited for too long."""
    span = span_here()
    if span is None:
        return
    with span.run.guarding(WHERE):
        if type(error).__name__ != "WaitingForEvent":
            span.adapter.resume(span.flow, call=span.tool or None)
            return
        asked: Any = error
        awaited = getattr(asked.add, "event_type", None)
        of_the_person = isinstance(awaited, type) and any(one.__name__ == "HumanResponseEvent" for one in awaited.__mro__)
        if of_the_person or is_a(asked.add.waiter_event, "InputRequiredEvent"):
            span.adapter.pause(span.flow, asked.add.waiter_event, call=span.tool or None)


def hear_answer(event: Any) -> None:
    """The event that a step waited for is there."""
    span = span_here()
    if span is not None:
        span.adapter.resume(span.flow, event, call=span.tool or None)


def attach() -> Callable[[], None]:
    """Listens at the two methods of `Context`."""
    from workflows.context import Context

    write, wait = Context.write_event_to_stream, Context.wait_for_event

    @functools.wraps(write)
    def heard_write(self: Any, ev: Any) -> None:
        hear_written(ev)
        write(self, ev)

    @functools.wraps(wait)
    async def heard_wait(self: Any, *args: Any, **options: Any) -> Any:
        try:
            event = await wait(self, *args, **options)
        except Exception as error:
            hear_wait(error)
            raise
        hear_answer(event)
        return event

    ours = {"write_event_to_stream": heard_write, "wait_for_event": heard_wait}
    for name, method in ours.items():
        setattr(Context, name, method)

    def detach() -> None:
        for name, original in (("write_event_to_stream", write), ("wait_for_event", wait)):
            if getattr(Context, name) is ours[name]:  # else somebody has wrapped it meanwhile, and ours listens to nobody
                setattr(Context, name, original)

    return detach
