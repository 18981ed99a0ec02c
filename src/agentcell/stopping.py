"""Whether a run was asked to stop: a flag that the agent's code meets in what it does next in the run.

A run whose block is inside another run's stops with that one, and then it is the outer block that ends the exception.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentcell.errors import RunStopped

if TYPE_CHECKING:
    from collections.abc import Callable


class Stopping:
    """The flag of one run.

    Attributes:
        by: The flag of the run that was asked: this run's, or that of one around it; None when nobody asked.
        over: Whether the run's block has been left; then nothing is stopped any more.
        run: The run.
        inner: The flags of the runs inside this one's block, by their `id`.
    """

    def __init__(self, run: object, heed: Callable[[], None]) -> None:
        self.by: Stopping | None = None
        self.over = False
        self.run = run
        self._heed = heed
        self._outer: Stopping | None = None
        self.inner: dict[int, Stopping] = {}

    def ask(self) -> None:
        """Asks the run to stop, from any thread; one that is over is left alone."""
        if not self.over:
            self.take(self)

    def take(self, by: Stopping) -> None:
        """`by` was asked to stop: this run is stopped, and all inside it."""
        self.by = by
        self._heed()
        for inner in tuple(self.inner.values()):
            inner.take(by)

    def enter(self, outer: Stopping) -> None:
        """The run's block is entered, inside that of `outer`."""
        self._outer = outer
        outer.inner[id(self)] = self
        self.by = outer.by or self.by

    def leave(self) -> None:
        """The run's block is left."""
        self.over = True
        if self._outer is not None:
            self._outer.inner.pop(id(self), None)

    def check(self) -> None:
        """Raises `RunStopped` when the run was asked to stop and is not over."""
        if self.by is not None and not self.over:
            raise RunStopped(self.by.run)

    def ends(self, error: BaseException | None) -> bool:
        """Whether an exception (of a group, each one in it) goes no further than this run's block."""
        group = getattr(error, "exceptions", None)
        if isinstance(group, tuple) and group:
            return all(map(self.ends, group))
        if not isinstance(error, RunStopped):
            return False
        # A run around this one that has been left already, as a task may outlive it, ends nothing any more.
        outlived = self.by is not None and self.by.over and error.run is self.by.run
        return error.run is self.run or outlived
