"""A line that does not flicker: one that is shown stays long enough to be read."""

from __future__ import annotations

STAY = 0.3
"""Seconds that a line stays, unless something urgent takes its place."""

_GRACE = 0.001  # seconds: a clock that was set to come back in 0.3 s may read a rounding less


class CalmLine:
    """What is shown of a line that changes as it likes.

    Attributes:
        held: Whether something else is shown than the newest line.
    """

    def __init__(self) -> None:
        self.held = False
        self._shown = ""
        self._since = 0.0

    def show(self, line: str, now: float, *, urgent: bool) -> str:
        """What to show at `now` (seconds), when the line would be `line`; what is urgent is shown at once."""
        stays = self._shown != "" and now - self._since < STAY - _GRACE
        self.held = line != self._shown and stays and not urgent
        if line != self._shown and not self.held:
            self._shown, self._since = line, now
        return self._shown

    def wait(self, now: float) -> float:
        """Seconds from `now` until another line may be shown."""
        return max(0.0, self._since + STAY - now)
