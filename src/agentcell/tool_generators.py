"""Generator functions whose calls are recorded: a call lasts from the first value that is asked for until nothing more comes.

Between two values the caller's code runs, and what that does is no part of the call.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from agentcell.context import run_for_tool

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator, Mapping
    from types import TracebackType
    from typing import TypeAlias

    from typing_extensions import Self

    from agentcell.run import Run
    from agentcell.tool_call import ToolCall

    ReadArguments: TypeAlias = Callable[[tuple[Any, ...], dict[str, Any]], Mapping[str, Any]]

KEPT = 1_000
"""Values of a generator that are kept as the call's result; of the others it is said how many there were."""


def recorded_generator(
    function: Callable[..., Generator[Any, Any, Any]], name: str, arguments_of: ReadArguments
) -> Callable[..., Generator[Any, Any, Any]]:
    """The same generator function, with its calls recorded."""

    @functools.wraps(function)
    def recorded(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        run = run_for_tool()
        generator = function(*args, **kwargs)
        if run is None:
            return (yield from generator)
        step: Callable[[], Any] = generator.__next__
        with _Call(run, name, arguments_of(args, kwargs)) as call:
            while True:
                try:
                    value = step()
                except StopIteration as end:
                    call.end(end.value)
                    return end.value
                call.give(value)
                try:
                    sent = yield value
                except GeneratorExit:
                    call.take_back()
                    generator.close()
                    raise
                except BaseException as error:  # noqa: BLE001 - it is handed on
                    step = functools.partial(generator.throw, error)
                else:
                    step = functools.partial(generator.send, sent)
                call.take_back()

    return recorded


def recorded_async_generator(
    function: Callable[..., AsyncGenerator[Any, Any]], name: str, arguments_of: ReadArguments
) -> Callable[..., AsyncGenerator[Any, Any]]:
    """The same async generator function, with its calls recorded."""

    @functools.wraps(function)
    async def recorded(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        generator = function(*args, **kwargs)
        step: Callable[[], Any] = generator.__anext__
        with _Call(run_for_tool(), name, arguments_of(args, kwargs)) as call:
            while True:
                try:
                    value = await step()
                except StopAsyncIteration:
                    call.end(None)
                    return
                call.give(value)
                try:
                    sent = yield value
                except GeneratorExit:
                    call.take_back()
                    await generator.aclose()
                    raise
                except BaseException as error:  # noqa: BLE001 - it is handed on
                    step = functools.partial(generator.athrow, error)
                else:
                    step = functools.partial(generator.asend, sent)
                call.take_back()

    return recorded


class _Call:
    """The recorded call of a generator, if there is a run to record it in."""

    def __init__(self, run: Run | None, name: str, arguments: Mapping[str, Any]) -> None:
        self._call: ToolCall | None = None if run is None else run.tool_call(name, arguments)
        self._values: list[Any] = []
        self._count = 0

    def __enter__(self) -> Self:
        if self._call is not None:
            self._call.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        call = self._call
        # A generator that somebody kept is closed at any time later: then its run has ended, and the call with it.
        if call is not None and not (kind is GeneratorExit and call.run.status == "complete"):
            call.__exit__(kind, error, trace)

    def give(self, value: Any) -> None:
        """A value goes out to the caller."""
        if self._call is not None:
            self._count += 1
            if self._count <= KEPT:
                self._values.append(value)
            self._call.suspend()

    def take_back(self) -> None:
        """The caller asks for more."""
        if self._call is not None:
            self._call.resume()

    def end(self, returned: Any) -> None:
        """Nothing more comes."""
        if self._call is not None:
            more = [f"… {self._count - KEPT:,} more"] if self._count > KEPT else []
            self._call.result([*self._values, *more] if returned is None else returned)
