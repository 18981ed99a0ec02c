"""The edge at which agentcell's own faults stop: showing a run never breaks the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentcell.errors import describe_error, warn

if TYPE_CHECKING:
    from types import TracebackType


class Faults:
    """What went wrong while one run was shown: counted, and warned about once.

    Attributes:
        counts: How often, by place.
        unknown: How many events of which unknown shape passed through.
    """

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.unknown: dict[str, int] = {}
        self._warned: set[str] = set()

    def report(self, where: str, error: BaseException, *, so: str = "the run goes on without it") -> None:
        """Counts a fault, and warns about the first of its place, and of what follows from it."""
        self.counts[where] = self.counts.get(where, 0) + 1
        self.warn_once(f"{where} failed, and {so}: {describe_error(error)}", key=where)

    def report_unknown(self, kind: str) -> None:
        """Counts an event of a shape that nobody knows, and warns about the first of its kind."""
        self.unknown[kind] = self.unknown.get(kind, 0) + 1
        self.warn_once(f"events of this shape pass through but are not shown, because agentcell does not know it: {kind}", key=kind)

    def guarding(self, where: str) -> Guard:
        """Inside, an exception is reported and goes no further; interrupts do."""
        return Guard(self, where)

    def warn_once(self, message: str, *, key: str) -> None:
        """Warns, unless it was warned about `key` before."""
        if key not in self._warned:
            self._warned.add(key)
            warn(message)


class Guard:
    """See `Faults.guarding`."""

    __slots__ = ("_faults", "_where")

    def __init__(self, faults: Faults, where: str) -> None:
        self._faults = faults
        self._where = where

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> bool:
        if isinstance(error, Exception):
            self._faults.report(self._where, error)
            return True
        return False
