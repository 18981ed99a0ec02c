"""No test leaves a process behind: what the tests start inherits a mark in its environment, and at the end nobody may carry it."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from frameworks.notes import pytest_terminal_summary

__all__ = ["pytest_terminal_summary"]  # a hook: what was tested with which packages is noted

MARK = "AGENTCELL_TESTS"
SECONDS = 20
"""How long a process may take to end; a kernel looks once a second whether who started it is still there."""

_ENDS_WITH_US = b"multiprocessing.resource_tracker"


@pytest.fixture(scope="session", autouse=True)
def _nothing_is_left() -> Iterator[None]:
    if not Path("/proc/self/environ").exists():  # only Linux tells what others were started with
        yield
        return
    os.environ[MARK] = mark = uuid.uuid4().hex
    yield
    end = time.monotonic() + SECONDS
    while (left := _marked(mark)) and time.monotonic() < end:
        time.sleep(0.05)
    assert left == [], "these processes were left behind"


def _marked(mark: str) -> list[str]:
    """The commands of the processes that carry the mark, this one left out."""
    commands = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes()
            carries = f"{MARK}={mark}".encode() in (folder / "environ").read_bytes()
        except OSError:  # it has just ended, or is somebody else's
            continue
        if carries and command and int(folder.name) != os.getpid() and _ENDS_WITH_US not in command:
            commands.append(command.replace(b"\0", b" ").decode(errors="replace"))
    return commands
