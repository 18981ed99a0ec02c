"""What agentcell raises and warns, and the checks that say so in words."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection
    from types import FrameType


class AgentcellError(Exception):
    """Something that agentcell itself refuses; every other exception comes from your own code."""


class LoadError(AgentcellError, ValueError):
    """A saved run that cannot be read back: says which file, which line and what is wrong there."""


class RunStopped(BaseException):
    """The person asked the run to stop; raised in the agent's code, and ended quietly by the run's block.

    Like an interrupt it is no `Exception`: an agent that tries again, or that turns a tool's failure into words for its model, must not
    mistake it for a failure.

    Attributes:
        run: The run that was asked to stop; its block ends this, and no block inside it.
    """

    def __init__(self, run: object = None) -> None:
        super().__init__("the run was asked to stop")
        self.run = run


class AgentcellWarning(UserWarning):
    """A fault that agentcell met while it showed a run; the run itself went on unharmed."""


def warn(message: str) -> None:
    """Warns of a fault, at the line of the code that called agentcell.

    Where warnings are errors, it is said on stderr instead: showing a run never breaks the run.
    """
    try:
        warnings.warn(message, AgentcellWarning, stacklevel=_levels_to_caller())
    except AgentcellWarning:
        sys.stderr.write(f"agentcell: {message}\n")


def _levels_to_caller() -> int:
    """How far up from `warn` the code stands that is not ours; one too far where there is only a thread of ours."""
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - as `warnings` does it
    level = 1
    while frame is not None and frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back
        level += 1
    return level


# With what may stand between us and our caller.
_OURS = (os.path.dirname(__file__) + os.sep, threading.__file__, contextlib.__file__)  # noqa: PTH120 - as frames have it


def must_be_text(option: str, value: object) -> str:
    """Returns `value` if it is a string.

    Raises:
        TypeError: names the option, what it must be and what it was.
    """
    if not isinstance(value, str):
        raise TypeError(f"{option} must be a string, not {describe(value)}")
    return value


def must_be_one_of(option: str, value: object, choices: Collection[str]) -> str:
    """Returns `value` if it is one of `choices`.

    Raises:
        TypeError: not a string.
        ValueError: a string that is no choice.
    """
    names = ", ".join(repr(choice) for choice in choices)
    if not isinstance(value, str):
        raise TypeError(f"{option} must be one of {names}, not {describe(value)}")
    if value not in choices:
        raise ValueError(f"{option} must be one of {names}, not {describe(value)}")
    return value


def must_be_flag(option: str, value: object) -> bool:
    """Returns `value` if it is True or False.

    Raises:
        TypeError: anything else, 0 and 1 included, because they mostly are mistakes.
    """
    if not isinstance(value, bool):
        raise TypeError(f"{option} must be True or False, not {describe(value)}")
    return value


def must_be_count(option: str, value: object, *, at_least: int = 0) -> int:
    """Returns `value` if it is a whole number that is large enough.

    Raises:
        TypeError: not an int (bool does not count).
        ValueError: below `at_least`.
    """
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{option} must be a whole number, not {describe(value)}")
    if value < at_least:
        raise ValueError(f"{option} must be {at_least} or more, not {value}")
    return value


def describe(value: object) -> str:
    """A value in an error message: its type and the beginning of its repr, never more than a line."""
    try:
        shown = repr(value)
    except Exception:  # noqa: BLE001 - a broken __repr__ must not hide the error that is being reported
        shown = "…"
    shown = " ".join(shown.split())
    return f"{shown if len(shown) <= 60 else shown[:59] + '…'} ({type(value).__name__})"


def first_line(error: BaseException) -> str:
    """What an exception says, its first line; "" when it says nothing."""
    try:
        lines = str(error).strip().splitlines()
    except Exception:  # noqa: BLE001 - a broken __str__
        return ""
    return lines[0].rstrip() if lines else ""


def describe_error(error: BaseException) -> str:
    """An exception in one line: its type, and what it says if it says something."""
    return ": ".join(part for part in (type(error).__name__, first_line(error)) if part)
