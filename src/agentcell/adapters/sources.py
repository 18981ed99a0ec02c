"""Where a stream's events come from: a stream, its manager or its awaitable, opened, read and closed in one way."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from agentcell.errors import describe

SYNC_WAYS = ("__iter__", "__enter__")
ASYNC_WAYS = ("__aiter__", "__aenter__", "__await__")
AGENTS = frozenset(
    {"agentcell", "agents", "claude_agent_sdk", "dspy", "langchain_core", "langgraph", "pydantic_ai", "smolagents", "workflows"}
)
"""Packages of frameworks whose streams come without a handle, and ours, which goes around them."""


class Source:
    """What was given to be watched; a few are both sync and async, so both ways stand here, step by step the same.

    Attributes:
        stream: What was given, until a manager was entered or an awaitable awaited; then what that gave. Of a framework's handle, its
            `stream_events()`.
        handle: A framework's handle on the agent that it runs, if one was given.
        maker: That handle, also where only the generator that it made was given.
        is_agent: Whether this is a framework's stream of what its agent does, not a provider's of one model call.

    Raises:
        TypeError: What was given is no stream, for example a whole response.
    """

    def __init__(self, given: Any) -> None:
        streams = getattr(given, "stream_events", None)
        self.handle = given if callable(streams) else None
        self.stream = streams() if callable(streams) else given
        must_be_stream(self.stream, (*SYNC_WAYS, *ASYNC_WAYS))
        self.maker = self.handle or maker_of(self.stream)
        self.is_agent = self.handle is not None or origin(self.stream) in AGENTS
        self._manager: Any = None  # what was entered and has to be left
        self._iterator: Any = None
        self._read_out = False

    def enter(self) -> None:
        """Enters the stream or its manager, if it can be entered."""
        if hasattr(self.stream, "__enter__"):
            self._manager = self.stream
            self.stream = type(self._manager).__enter__(self._manager)

    def next(self) -> Any:
        """The next event; StopIteration after the last one."""
        if self._iterator is None:
            if not hasattr(self.stream, "__iter__"):
                self.enter()
            self._iterator = iter(self.stream)
        try:
            return next(self._iterator)
        except StopIteration:
            self._read_out = True
            raise

    def leave(self, *error: Any) -> bool | None:
        """Leaves what was entered; closes what was not read to its end and can be closed."""
        if self._manager is not None:
            return bool(type(self._manager).__exit__(self._manager, *error))
        for thing in () if self._read_out else (self._iterator, self.stream):
            close = getattr(thing, "close", None)
            if close is not None:
                close_wholly(thing, close)
        return None

    async def aenter(self) -> None:
        """Awaits an awaitable; enters the stream or its manager, if it can be entered."""
        await self._await()
        if hasattr(self.stream, "__aenter__"):
            self._manager = self.stream
            self.stream = await type(self._manager).__aenter__(self._manager)

    async def anext(self) -> Any:
        """The next event; StopAsyncIteration after the last one."""
        if self._iterator is None:
            await self._await()
            # What pydantic-ai 1 gives can be read without having been entered, which it warns about.
            unentered = self._manager is None and hasattr(self.stream, "__aenter__") and origin(self.stream) == "pydantic_ai"
            if unentered or not hasattr(self.stream, "__aiter__"):
                await self.aenter()
            self._iterator = self.stream.__aiter__()
        try:
            return await self._iterator.__anext__()
        except StopAsyncIteration:
            self._read_out = True
            raise

    async def aleave(self, *error: Any) -> bool | None:
        """Leaves what was entered; closes what was not read to its end and can be closed."""
        if self._manager is not None:
            return bool(await type(self._manager).__aexit__(self._manager, *error))
        for thing in () if self._read_out else (self._iterator, self.stream):
            close = getattr(thing, "aclose", None) or getattr(thing, "close", None)
            closing = close() if close is not None else None
            if inspect.isawaitable(closing):
                await closing
        return None

    async def _await(self) -> None:
        if not hasattr(self.stream, "__aiter__") and inspect.isawaitable(self.stream):
            self.stream = await self.stream
            must_be_stream(self.stream, ASYNC_WAYS[:2])

    def must_be_sync(self) -> None:
        """Raises TypeError when there is no sync way to read it."""
        if not any(hasattr(self.stream, way) for way in SYNC_WAYS):
            raise TypeError(f"this stream must be read with `async for`: it is a {type(self.stream).__name__}, which is async")

    def must_be_async(self) -> None:
        """Raises TypeError when there is no async way to read it."""
        if not any(hasattr(self.stream, way) for way in ASYNC_WAYS):
            raise TypeError(f"this stream must be read with `for`: it is a {type(self.stream).__name__}, which is not async")


def must_be_stream(given: Any, ways: tuple[str, ...]) -> None:
    """Raises TypeError unless `given` can be read in one of `ways`."""
    # A whole response of an SDK is a pydantic model, and these can be iterated too: over their fields.
    whole = isinstance(given, (str, bytes, Mapping)) or hasattr(given, "model_fields_set")
    if whole or not any(hasattr(given, way) for way in ways):
        raise TypeError(
            "run.stream() and run.consume() must be given a stream of events: something to iterate with `for` or `async for`, a stream "
            f"manager, or an async client's awaitable. It got {describe(given)}. Is stream=True missing in the call that made it?"
        )


def close_wholly(stream: Any, close: Callable[[], object]) -> None:
    """Closes a stream; a generator that gives out one thing more when it is closed, as that of smolagents does, is closed behind that."""
    try:
        close()
    except RuntimeError:
        if getattr(stream, "gi_frame", None) is None:
            raise
        close()


def origin(stream: Any) -> str:
    """The package whose code makes a stream, also where it is only a generator's or a context manager's."""
    frame = getattr(stream, "ag_frame", None) or getattr(stream, "gi_frame", None)
    module = frame.f_globals.get("__name__") if frame is not None else None
    return str(module or getattr(getattr(stream, "func", stream), "__module__", None) or "").partition(".")[0]


def maker_of(stream: Any) -> Any:
    """The framework's handle whose `stream_events()` a generator is; one that is no coroutine is its own. None for any other stream."""
    if hasattr(stream, "gi_frame"):
        return stream
    frame = getattr(stream, "ag_frame", None)
    maker = frame.f_locals.get("self") if frame is not None else None
    return maker if callable(getattr(maker, "stream_events", None)) else None
