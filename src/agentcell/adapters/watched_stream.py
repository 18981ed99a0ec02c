"""A provider's stream while it is read: every event passes through untouched, and the run learns what it says."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from agentcell.adapters.fields import field, text_of
from agentcell.adapters.reading import Reading
from agentcell.errors import RunStopped

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator

    from typing_extensions import Self

    from agentcell.adapters.sources import Source
    from agentcell.run import Run


class WatchedStream:
    """A stream that is watched; use it as you would use the stream itself.

    The model call starts when the iteration does, or when a `with` block is entered: a manager, an awaitable and a generator
    send their request only then, so the wait for the first event counts as the model's. (A sync client's `create` has sent it
    a moment before, to have something to give.) A wrapper that nobody reads records nothing.

    Outside a `with` block, to leave the loop early closes the source. Inside one a loop may be left and another may go on, and
    the end of the block closes the source. What is closed before its end counts as cancelled.

    Everything else is the source's own. What would read the source past this wrapper (`text_stream`, `until_done()`,
    `get_final_message()` and its kin) reads through it instead, so that the run hears it.

    Args:
        run: The run that hears of it.
        source: The stream.
        reading: One that has begun already, of a stream that somebody else closes.

    Attributes:
        watched_by: The run.
        source: The stream.
    """

    def __init__(self, run: Run, source: Source, reading: Reading | None = None) -> None:
        self.watched_by = run
        self.source = source
        self._edge = run.guarding("stream")
        self._reading = reading or Reading(run, source.maker)
        self._begun = self._in_block = reading is not None
        self._over = False

    def __iter__(self) -> Iterator[Any]:
        self.source.must_be_sync()
        return self._loop()

    def _loop(self) -> Iterator[Any]:
        try:
            while True:
                try:
                    event = next(self)
                except StopIteration:
                    return
                yield event
        finally:
            self._leave_loop()
            if not self._in_block:
                with self._edge:  # to close was our idea: nobody waits for what it raises
                    self.source.leave(None, None, None)

    def __next__(self) -> Any:
        self._begin()
        try:
            event = self.source.next()
        except StopIteration:
            self._end()
            raise
        except BaseException as error:
            self._end(error)
            raise
        return self._hear(event)

    def __enter__(self) -> Self:
        self.source.must_be_sync()
        self._begin()
        self._in_block = True
        try:
            self.source.enter()
        except BaseException as error:
            self._end(error)
            raise
        return self

    def __exit__(self, *error: object) -> bool | None:
        self._end(closed=True)
        return self.source.leave(*error)

    def __aiter__(self) -> AsyncIterator[Any]:
        self.source.must_be_async()
        return AsyncLoop(self._aloop(), self._leave_loop)

    async def _aloop(self) -> AsyncGenerator[Any, None]:
        try:
            while True:
                try:
                    event = await self.__anext__()
                except StopAsyncIteration:
                    return
                yield event
        finally:
            self._leave_loop()
            if not self._in_block:
                with self._edge:  # to close was our idea: nobody waits for what it raises
                    await self.source.aleave(None, None, None)

    async def __anext__(self) -> Any:
        self._begin()
        try:
            event = await self.source.anext()
        except StopAsyncIteration:
            self._end()
            raise
        except BaseException as error:
            self._end(error)
            raise
        return self._hear(event)

    async def __aenter__(self) -> Self:
        self.source.must_be_async()
        self._begin()
        self._in_block = True
        try:
            await self.source.aenter()
        except BaseException as error:
            self._end(error)
            raise
        return self

    async def __aexit__(self, *error: object) -> bool | None:
        self._end(closed=True)
        return await self.source.aleave(*error)

    def _begin(self) -> None:
        try:
            self.watched_by.raise_if_stopping()
        except RunStopped as error:
            if self._begun:
                self._end(error)
            raise
        if not self._begun:
            self._begun = True
            if not self.source.is_agent:  # an agent says itself when it asks a model
                self._reading.begin()

    def _hear(self, event: Any) -> Any:
        # What is still read behind the end belongs to no call; of an agent that is heard by itself, what it says in words alone or in
        # AG-UI is told already.
        told = self.source.is_agent and self.watched_by.options.auto and says_again(event)
        if not self._over and not told:
            self._reading.read(event)
        return event

    def _end(self, error: BaseException | None = None, *, closed: bool = False) -> None:
        if not self._over:
            self._over = True
            self._reading.finish(error, closed=closed)

    def _leave_loop(self) -> None:
        if not self._in_block:
            self._end(closed=True)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # copying and inspecting ask an object that is not made yet
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        value = getattr(self.source.stream if self.source.handle is None else self.source.handle, name)
        if name == "text_stream":
            return self._atexts() if hasattr(value, "__aiter__") else self._texts()
        if name == "until_done" or name.startswith("get_final_"):
            return self._areading_first(value) if inspect.iscoroutinefunction(value) else self._reading_first(value)
        if name in ("close", "aclose"):
            return self._ending_first(value)
        return value

    def _texts(self) -> Iterator[str]:
        for event in self:
            if is_text(event):
                yield event.delta.text

    async def _atexts(self) -> AsyncIterator[str]:
        async for event in self:
            if is_text(event):
                yield event.delta.text

    def _reading_first(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def read_and_call(*args: Any, **options: Any) -> Any:
            for _ in self:
                pass
            return method(*args, **options)

        return read_and_call

    def _areading_first(self, method: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def read_and_call(*args: Any, **options: Any) -> Any:
            async for _ in self:
                pass
            return await method(*args, **options)

        return read_and_call

    def _ending_first(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def end_and_call(*args: Any, **options: Any) -> Any:
            self._end(closed=True)
            return method(*args, **options)

        return end_and_call


class AsyncLoop:
    """One `async for` over a watched stream; that it was left is told at once, the event loop closes the source later."""

    def __init__(self, events: AsyncGenerator[Any, None], left: Callable[[], None]) -> None:
        self._events = events
        self._left = left

    def __aiter__(self) -> Self:
        return self

    def __anext__(self) -> Awaitable[Any]:
        return self._events.__anext__()

    def aclose(self) -> Awaitable[None]:
        """Leaves the loop now."""
        return self._events.aclose()

    def __del__(self) -> None:
        self._left()


def says_again(event: Any) -> bool:
    """Whether an event of an agent's stream is in none of its framework's own words."""
    return isinstance(event, str) or type(event).__module__.startswith("ag_ui.")


def is_text(event: Any) -> bool:
    """Whether an event of Anthropic's helper carries a piece of text: what its own `text_stream` gives."""
    return text_of(event, "type") == "content_block_delta" and text_of(field(event, "delta"), "type") == "text_delta"
