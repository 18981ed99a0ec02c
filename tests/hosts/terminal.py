"""A real program in a real terminal: its screen as a person sees it, and what they type."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyte

SECONDS = 40
"""How long a program may take for what a test waits for; two cores that others use too are slow."""

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"

GATES = '''\
import pathlib, time

import agentcell


def wait_at(gate):
    """Blocks, as an agent's call would, until the test opens the gate."""
    end = time.monotonic() + 40
    while not pathlib.Path(gate).exists():
        if time.monotonic() > end:
            raise TimeoutError(f"nobody opened the gate {gate}")
        time.sleep(0.02)
'''
"""The beginning of every script. A gate is a file beside it."""


LAUNCH = "import os, sys; os.close(os.open(os.ttyname(0), os.O_RDWR)); os.execv(sys.argv[1], sys.argv[1:])"
"""Makes the terminal the one that Ctrl-C goes to, and becomes the program."""


class Terminal:
    """A terminal in which a program runs.

    Attributes:
        folder: The program's working directory.
        raw: All that it wrote.
        frames: The screen after each piece of it; of the text no more than what is in sight.
    """

    def __init__(self, process: subprocess.Popen[bytes], file: int, folder: Path, columns: int, rows: int) -> None:
        self.folder = folder
        self.raw = b""
        self.frames: list[str] = []
        self._process = process
        self._file = file
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self._screen.write_process_input = lambda data: os.write(file, data.encode())  # prompt_toolkit asks where the cursor is
        self.resize(columns, rows)

    @property
    def text(self) -> str:
        """What is on the screen now."""
        return "\n".join(line.rstrip() for line in self._screen.display).rstrip()

    def until(self, *texts: str) -> None:
        """Reads until all these texts are on the screen."""
        self.wait(lambda: all(text in self.text for text in texts), f"{texts} stand there")

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        """Reads until a condition holds."""
        end = time.monotonic() + SECONDS
        while not condition():
            assert self._read(end), f"the program ended, or {SECONDS} s went by, before {what}:\n{self.text}"

    def open_gate(self, gate: str) -> None:
        """Lets the script go on."""
        (self.folder / gate).touch()

    def type(self, keys: str) -> None:
        """What a person types; `\\x03` is Ctrl-C."""
        os.write(self._file, keys.encode())

    def resize(self, columns: int, rows: int) -> None:
        """Makes the window another size."""
        fcntl.ioctl(self._file, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self._screen.resize(rows, columns)

    def finish(self) -> int:
        """Reads to the end and returns the exit code."""
        end = time.monotonic() + SECONDS
        while self._read(end):
            pass
        assert time.monotonic() < end, f"the program did not end:\n{self.text}"
        return self._process.wait()

    def close(self) -> None:
        """Ends the program if it still runs, and the programs that it started with it."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        os.close(self._file)

    def _read(self, end: float) -> bool:
        ready, _, _ = select.select([self._file], [], [], max(0.0, end - time.monotonic()))
        if not ready:
            return False
        try:
            data = os.read(self._file, 65536)
        except OSError:  # that is how Linux says that nobody holds the other end any more
            return False
        self.raw += data
        self._stream.feed(data)
        if data and (not self.frames or self.frames[-1] != self.text):
            self.frames.append(self.text)
        return bool(data)


@contextmanager
def terminal(
    folder: Path, *command: str, columns: int = 100, rows: int = 40, environment: Mapping[str, str] = {}
) -> Iterator[Terminal]:
    """Runs a command of this Python in a terminal of its own."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    file, there = pty.openpty()
    names = {"TERM": "xterm-256color", "HOME": str(home), "IPYTHONDIR": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    names["AGENTCELL_TESTS"] = os.environ.get("AGENTCELL_TESTS", "")  # by which conftest.py sees what is left
    process = subprocess.Popen(
        [sys.executable, "-c", LAUNCH, sys.executable, *command],
        cwd=folder,
        env={**names, **environment},
        stdin=there,
        stdout=there,
        stderr=there,
        start_new_session=True,
    )
    os.close(there)
    opened = Terminal(process, file, folder, columns, rows)
    try:
        yield opened
    finally:
        opened.close()


def script(folder: Path, code: str) -> str:
    """Writes a script and returns its path."""
    path = folder / "script.py"
    path.write_text(GATES + code, encoding="utf-8")
    return str(path)


def untimed(text: str) -> str:
    """`text` with the time that things took, which is this machine's business, as `N s`."""
    return re.sub(r"less than a second|\b\d+(\.\d)?s\b", "N s", text)


def check_line_is_alone(shown: Terminal) -> None:
    """In every frame there was at most one live line, below everything else, and nothing was left of it in other lines."""
    for frame in shown.frames:
        lines = frame.splitlines()
        at = [place for place, line in enumerate(lines) if any(sign in line for sign in SPINNER)]
        assert at in ([], [len(lines) - 1]), frame
