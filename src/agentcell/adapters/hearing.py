"""A framework's callback that listens for a run, and does no harm: it never raises into the framework, but for a run that was stopped."""

from __future__ import annotations

import functools
import inspect
import sys
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar, cast

from agentcell.tool_call import is_interruption

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentcell.run import Run

F = TypeVar("F", bound="Callable[..., Any]")


class Hearer(Protocol):
    """Whoever has callbacks.

    Attributes:
        framework: Its name, as people write it.
        run: The run that hears of it.
    """

    framework: ClassVar[str]
    run: Run


def heard(callback: F) -> F:
    """Makes a method of a `Hearer`, plain or `async`, a callback that can be given to a framework.

    What fails in it is reported as a fault of ours, and it returns None: most frameworks take what a hook raises for a failure of the
    agent, and what it returns for an order.
    """
    if inspect.iscoroutinefunction(callback):

        @functools.wraps(callback)
        async def hear_async(self: Hearer, *args: Any, **options: Any) -> Any:
            with self.run.guarding(f"listening to {self.framework}"):
                return await callback(self, *args, **options)

        return cast("F", hear_async)

    @functools.wraps(callback)
    def hear(self: Hearer, *args: Any, **options: Any) -> Any:
        with self.run.guarding(f"listening to {self.framework}"):
            return callback(self, *args, **options)

    return cast("F", hear)


def interruption(before: BaseException | None = None) -> BaseException | None:
    """What cuts off from outside the code that a callback is called from; None when it simply comes back.

    Frameworks that call back in a `finally` often tell the same of both.

    Args:
        before: What was under way when that code began, so nothing that ends it.
    """
    error = sys.exc_info()[1]
    return error if error is not None and error is not before and is_interruption(error) else None
