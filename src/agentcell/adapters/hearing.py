"""A framework's callback that listens for a run, and does no harm: it never raises into the framework, but for a run that was stopped."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar, cast

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
