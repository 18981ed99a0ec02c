"""Watches what is given to `run.stream` and `run.consume`: a provider's stream, a framework's, or a tool runner."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from agentcell.adapters.sources import Source
from agentcell.adapters.tool_runners import WatchedRunner, is_tool_runner
from agentcell.adapters.watched_stream import WatchedStream

if TYPE_CHECKING:
    from agentcell.run import Run


def watch_stream(run: Run, source: Any) -> WatchedStream | WatchedRunner:
    """Wraps a stream of a model provider's events; one that this run watches already stays as it is.

    Args:
        run: The run that learns what the stream says.
        source: An iterable or async iterable of events, the SDK's objects or plain dicts; or what gives one: a stream manager
            (`client.messages.stream(...)`), or the awaitable of an async client's `create(..., stream=True)`; or Anthropic's tool
            runner, which gives a stream a turn.

    Raises:
        TypeError: `source` is no such thing, for example a whole response.
    """
    if isinstance(source, (WatchedStream, WatchedRunner)) and source.watched_by is run:
        return source
    return WatchedRunner(run, source) if is_tool_runner(source) else WatchedStream(run, Source(source))


async def consume_stream(run: Run, source: Any) -> Any:
    """Reads a stream to its end; returns what its handle gives when it is awaited, the handle itself if it cannot be, or the last event.

    Raises:
        TypeError: `source` is no such thing, or can only be read with `for`.
    """
    stream = watch_stream(run, source)
    if isinstance(stream, WatchedRunner):
        last_message = stream.until_done()
        return await last_message if inspect.isawaitable(last_message) else last_message
    last = None
    async for event in stream:
        last = event
    if stream.source.handle is None:
        return last
    return await stream.source.handle if inspect.isawaitable(stream.source.handle) else stream.source.handle
