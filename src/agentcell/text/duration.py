"""Seconds as people say them: `9s`, `1m 5s`, `1h 2m`."""

from __future__ import annotations

import math

MINUTE = 60
HOUR = 3600


def clock_text(seconds: float) -> str:
    """A running clock: whole seconds, never rounded up. `0s`, `9s`, `1m 0s`, `1h 2m`."""
    whole = 0 if math.isnan(seconds) else max(0, int(seconds))
    if whole < MINUTE:
        return f"{whole}s"
    if whole < HOUR:
        return f"{whole // MINUTE}m {whole % MINUTE}s"
    return f"{whole // HOUR}h {whole % HOUR // MINUTE}m"


def duration_text(seconds: float) -> str:
    """A finished stretch of time: as the clock shows it, but never `0s`."""
    return clock_text(seconds) if seconds >= 1 else "less than a second"


def short_duration_text(seconds: float) -> str:
    """The time behind a row: tenths below ten seconds (`0.8s`), then as the clock shows it."""
    if math.isnan(seconds) or seconds < 0.05:
        return ""
    return f"{seconds:.1f}s" if seconds < 9.95 else clock_text(seconds)
