"""A clock that moves when it is told to."""

from __future__ import annotations

from agentcell.errors import describe


class FakeClock:
    """Monotonic seconds for `agentcell.watch(clock=…)` and for a `Pacer` that is run by hand."""

    def __init__(self, now: float = 0.0) -> None:
        self._now = now

    def __call__(self) -> float:
        """The time now, in seconds."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Lets time pass.

        Raises:
            TypeError: `seconds` is no number.
            ValueError: `seconds` is negative: a monotonic clock never runs backwards.
        """
        if not isinstance(seconds, int | float):
            raise TypeError(f"seconds must be a number, not {describe(seconds)}")
        if seconds < 0:
            raise ValueError(f"seconds must be 0 or more, not {seconds}: a monotonic clock never runs backwards")
        self._now += seconds
