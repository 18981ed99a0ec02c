"""The capability by which a pydantic-ai agent is heard: it changes nothing."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from agentcell.adapters.pydantic_ai import CALLING

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator

    from agentcell.adapters.pydantic_ai import PydanticAIAdapter


@functools.cache
def capability_class() -> Any:
    """The capability's class, which inherits from pydantic-ai's own."""
    from pydantic_ai.capabilities import AbstractCapability

    class AgentcellCapability(AbstractCapability[Any]):
        """Tells an agentcell run what the agent does, and changes nothing."""

        def __init__(self, adapter: PydanticAIAdapter, *, streams: bool = True) -> None:
            self._adapter = adapter
            self._streams = streams

        @property
        def has_on_event(self) -> bool:
            # It makes the framework stream each response, which not every model can.
            return self._streams

        async def for_run(self, ctx: Any) -> Any:
            streams = False
            with self._adapter.run.guarding(f"listening to {self._adapter.framework}"):
                streams = can_stream(ctx.model)
            return self if streams else type(self)(self._adapter, streams=False)

        async def wrap_run(self, ctx: Any, *, handler: Any) -> Any:
            if self._adapter.knows(ctx.run_id):
                return await handler()
            self._adapter.begin_run(ctx)
            try:
                result = await handler()
            except BaseException as error:
                self._adapter.end_run(ctx, error=error)
                raise
            self._adapter.end_run(ctx, result=result)
            return result

        async def wrap_model_request(self, ctx: Any, *, request_context: Any, handler: Any) -> Any:
            self._adapter.begin_model(ctx, request_context)
            try:
                response = await handler(request_context)
            except Exception as error:
                self._adapter.end_model(ctx, error=error)
                raise  # what is cancelled here ends with its run, which knows why
            self._adapter.end_model(ctx, response=response)
            return response

        async def wrap_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any, handler: Any) -> Any:  # noqa: ARG002 - the framework's
            around, inside = CALLING.get(), None
            try:
                inside = self._adapter.begin_tool(ctx, call, args)
                result = await handler(args)
            except BaseException as error:
                self._adapter.end_tool(ctx, call, error=error)
                raise
            finally:
                CALLING.set(around)
                if inside is not None:
                    inside.leave()
            self._adapter.end_tool(ctx, call, result=result)
            return result

        async def on_event(self, ctx: Any, *, event: Any) -> None:
            self._adapter.hear(ctx, event)

    if hasattr(AbstractCapability, "on_event"):
        return AgentcellCapability

    class StreamCapability(AgentcellCapability):
        """For the major version before, which shows its events only to who passes them on."""

        @property
        def has_wrap_run_event_stream(self) -> bool:
            return self._streams

        async def wrap_run_event_stream(self, ctx: Any, *, stream: AsyncIterable[Any]) -> AsyncIterator[Any]:
            async for event in stream:
                self._adapter.hear(ctx, event)
                yield event

    return StreamCapability


def can_stream(model: Any) -> bool:
    """Whether a model can give its response piece by piece."""
    inner = getattr(model, "models", None) or [getattr(model, "wrapped", None)]
    if inner[0] is not None:
        return all(can_stream(one) for one in inner)
    if hasattr(model, "stream_function"):
        return model.stream_function is not None
    from pydantic_ai.models import Model

    return getattr(type(model), "request_stream", None) is not Model.request_stream
