"""The decorator that makes a function's calls visible in the run that they happen in."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast, overload

from agentcell.context import run_for_tool
from agentcell.errors import describe, must_be_text
from agentcell.tool_generators import recorded_async_generator, recorded_generator

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
R = TypeVar("R")


@overload
def tool(function: Callable[P, R], /) -> Callable[P, R]: ...
@overload
def tool(*, name: str | None = None) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def tool(function: Callable[P, R] | None = None, /, *, name: str | None = None) -> Any:
    """Records the calls of a function inside a run; outside it is just the function.

    Args:
        function: A plain or an `async` function, or a generator function of either kind: its call is done when nothing more comes
            of it, with what it gave as the result.
        name: What the call is called; the function's own name if not given.

    Raises:
        TypeError: what was decorated cannot be called, or the name is no string.
    """
    if name is not None:
        must_be_text("the name for @agentcell.tool", name)
    if function is None:
        return lambda wrapped: _recorded(wrapped, name)
    return _recorded(function, name)


def _recorded(function: Callable[P, R], name: str | None) -> Callable[P, R]:
    if not callable(function):
        raise TypeError(f"@agentcell.tool goes on a function, not on {describe(function)}")
    label = name or str(getattr(function, "__name__", type(function).__name__))
    arguments_of = _argument_reader(function)

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def recorded_async(*args: P.args, **kwargs: P.kwargs) -> Any:
            run = run_for_tool()
            if run is None:
                return await function(*args, **kwargs)
            with run.tool_call(label, arguments_of(args, kwargs)) as call:
                value = await function(*args, **kwargs)
                call.result(value)
                return value

        return cast("Callable[P, R]", recorded_async)

    if inspect.isasyncgenfunction(function):
        return cast("Callable[P, R]", recorded_async_generator(function, label, arguments_of))
    if inspect.isgeneratorfunction(function):
        return cast("Callable[P, R]", recorded_generator(function, label, arguments_of))

    @functools.wraps(function)
    def recorded(*args: P.args, **kwargs: P.kwargs) -> R:
        run = run_for_tool()
        if run is None:
            return function(*args, **kwargs)
        with run.tool_call(label, arguments_of(args, kwargs)) as call:
            value = function(*args, **kwargs)
            call.result(value)
            return value

    return recorded


def _argument_reader(function: Callable[..., Any]) -> Callable[[tuple[Any, ...], dict[str, Any]], dict[str, Any]]:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some built-in functions have none
        return lambda args, kwargs: {**{str(place): value for place, value in enumerate(args)}, **kwargs}

    def read(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        try:
            bound = signature.bind(*args, **kwargs).arguments
        except TypeError:  # the call itself will raise it, with the function's own words
            return dict(kwargs)
        return {name: value for name, value in bound.items() if name not in ("self", "cls")}

    return read
