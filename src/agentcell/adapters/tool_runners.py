"""Watches the tool runner of Anthropic's SDK: each turn's answer, streamed or whole, and what the tools gave that it ran in between."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from agentcell.adapters.anthropic_messages import message_events, readable
from agentcell.adapters.fields import field, items_of, text_of
from agentcell.adapters.reading import Reading
from agentcell.adapters.sources import Source
from agentcell.adapters.watched_stream import WatchedStream
from agentcell.events import ToolEnded

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

    from agentcell.run import Run


def is_tool_runner(given: Any) -> bool:
    """Whether this is a tool runner, `client.beta.messages.tool_runner(…)`."""
    return callable(getattr(given, "generate_tool_call_response", None)) and callable(getattr(given, "until_done", None))


class WatchedRunner:
    """A tool runner that is watched; use it as you would use the runner itself, whose own everything else is.

    It gives the runner's streams watched, or its messages as they are. A turn's stream that you leave early is read to its end before the
    next turn, as the runner does. A model is asked when the runner begins, and when it has run its tools.
    """

    def __init__(self, run: Run, runner: Any) -> None:
        self.watched_by = run
        self._runner = runner
        self._edge = run.guarding("stream")
        self._stream: WatchedStream | None = None  # of the newest turn
        self._reading: Reading | None = None  # of a turn that was asked for and has not come
        self._begun = False

    def __iter__(self) -> Iterator[Any]:
        while True:
            try:
                item = next(self)
            except StopIteration:
                return
            yield item

    def __next__(self) -> Any:
        if self._stream is not None:
            for _ in self._stream:
                pass
        self._begin()
        try:
            return self._hear(next(self._runner))
        except BaseException as error:
            self._end(error)
            raise

    async def __aiter__(self) -> AsyncIterator[Any]:
        while True:
            try:
                item = await self.__anext__()
            except StopAsyncIteration:
                return
            yield item

    async def __anext__(self) -> Any:
        if self._stream is not None:
            async for _ in self._stream:
                pass
        self._begin()
        try:
            return self._hear(await self._runner.__anext__())
        except BaseException as error:
            self._end(error)
            raise

    def until_done(self) -> Any:
        """Reads the runner to its end; returns its last message, of an async runner when it is awaited."""
        if hasattr(self._runner, "__anext__"):
            return self._auntil_done()
        for _ in self:
            pass
        return self._runner.until_done()

    async def _auntil_done(self) -> Any:
        async for _ in self:
            pass
        return await self._runner.until_done()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # copying and inspecting ask an object that is not made yet
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self._runner, name)

    def _begin(self) -> None:
        if self._begun:
            return
        self._begun = True
        self._ask()
        with self._edge:  # the runner calls this itself, and so may the user
            run_tools = self._runner.generate_tool_call_response
            heard = self._hear_async_tools if inspect.iscoroutinefunction(run_tools) else self._hear_tools
            self._runner.generate_tool_call_response = heard(run_tools)

    def _ask(self) -> None:
        self._reading = Reading(self.watched_by)
        self._reading.begin()

    def _hear(self, item: Any) -> Any:
        reading, self._reading, self._stream = self._reading or Reading(self.watched_by), None, None
        if hasattr(item, "content"):
            for event in message_events(item):
                reading.read(event)
            reading.finish()
            return item
        self._stream = WatchedStream(self.watched_by, Source(item), reading)
        return self._stream

    def _end(self, error: BaseException) -> None:
        reading, self._reading = self._reading, None
        if isinstance(error, StopIteration | StopAsyncIteration):
            with self._edge:
                vars(self._runner).pop("generate_tool_call_response", None)
            if reading is not None:
                reading.withdraw()
        elif reading is not None:
            reading.finish(error)

    def _hear_tools(self, run_tools: Callable[[], Any]) -> Callable[[], Any]:
        def run_and_tell() -> Any:
            response = run_tools()
            self._tell(response)
            self.watched_by.raise_if_stopping()  # the model is not asked again
            return response

        return run_and_tell

    def _hear_async_tools(self, run_tools: Callable[[], Awaitable[Any]]) -> Callable[[], Awaitable[Any]]:
        async def run_and_tell() -> Any:
            response = await run_tools()
            self._tell(response)
            self.watched_by.raise_if_stopping()
            return response

        return run_and_tell

    def _tell(self, response: Any) -> None:
        """What the tools gave; told again where they were asked for again."""
        results = items_of(response, "content")
        with self._edge:
            for result in results:
                content = readable(field(result, "content"))
                failed = field(result, "is_error") is True
                self.watched_by.record(
                    ToolEnded(
                        call_id=text_of(result, "tool_use_id"),
                        outcome="failed" if failed else "done",
                        result=content,
                        error=(content if isinstance(content, str) else "the tool failed") if failed else None,
                    )
                )
        if results and self._reading is None:
            self._ask()
