"""Consoles that talk to a kernel: they show text, and nothing that is to be replaced by something later."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from browser.kernels import KERNELS, Kernel
from hosts.terminal import Terminal, script, terminal, untimed

RUN = """\
with agentcell.watch("Why is checkout slow?") as run:
    run.step("Reading the deploy log of Tuesday")
    wait_at("reading")
    with run.tool("search_notes", query="connection pool") as call:
        call.result(["Checkout p95", "Deploy 4121"])
    answer = run.pause("Roll it back?", choices=["yes", "no"])
    run.write(f"The answer was **{answer}**.")
    wait_at("written")
"""
STOPPED = """\
with agentcell.watch("It is stopped") as run:
    run.step("Reading")
    wait_at("gate that stays shut")
"""


def folders(folder: Path) -> dict[str, str]:
    """The person's own Jupyter configuration takes no part in it."""
    return {name: str(folder / name) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")}


@contextmanager
def console(folder: Path, kernel: Kernel) -> Iterator[Terminal]:
    """`jupyter console`, whose kernel knows agentcell and has the gates."""
    kernel.demand()
    script(folder, "")
    kernel.install(folder / "JUPYTER_DATA_DIR")
    command = ("-m", "jupyter_console", "--no-confirm-exit", f"--kernel={kernel.name}")
    environment = {**folders(folder), "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    with terminal(folder, *command, environment=environment) as shown:
        shown.until("In [1]:")
        shown.type("from script import *\r")
        shown.until("In [2]:")
        yield shown
        shown.type("exit\r")
        shown.finish()


def enter(shown: Terminal, code: str) -> None:
    """Types a line that runs this code as the cell's own."""
    (shown.folder / "cell.py").write_text(code, encoding="utf-8")
    shown.type("%run -i cell.py\r")


@pytest.mark.parametrize("kernel", [KERNELS[0], KERNELS[-1]], ids=lambda kernel: kernel.name)
def test_jupyter_console_shows_rows_as_they_come_and_the_answer(tmp_path: Path, kernel: Kernel):
    with console(tmp_path, kernel) as shown:
        enter(shown, RUN)
        shown.until("  • Reading the deploy log of Tuesday")
        assert "Searching" not in shown.text
        shown.open_gate("reading")
        shown.until("Roll it back? [yes / no]")
        assert "Found 2 relevant notes" in shown.text.split("Roll it back? [yes / no]")[0]  # it came before, and stands before
        shown.type("yes\r")
        shown.open_gate("written")
        shown.until("In [3]:")
        told = untimed(shown.text.split("%run -i cell.py\n")[1]).replace(" · N s\n", "\n")  # which rows have only if they took long
        assert told == (
            "  • Reading the deploy log of Tuesday\n"
            "  • Searching notes for “connection pool” — Found 2 relevant notes\n"
            "  • Waiting on you: Roll it back?\n"
            "Roll it back? [yes / no] yes\n"
            "  ✓ Waiting on you: Roll it back? — yes\n"
            "Thought for N s · 1 tool\n\nThe answer was **yes**.\n\nIn [3]:"
        )


def test_in_jupyter_console_an_interrupt_is_told(tmp_path: Path):
    with console(tmp_path, KERNELS[-1]) as shown:
        enter(shown, STOPPED)
        shown.until("  • Reading")
        shown.type("\x03")
        shown.until("KeyboardInterrupt", "In [3]:")
        assert "■ Stopped after N s\nYou interrupted it.\n" in untimed(shown.text)


def test_a_script_that_jupyter_run_runs_in_a_kernel_prints_its_run(tmp_path: Path):
    path = script(tmp_path, 'with agentcell.watch("x") as run:\n    run.step("First")\n    run.write("The **answer**.")\n')
    command = [sys.executable, "-m", "jupyter_client.runapp", path]
    environment = {**folders(tmp_path), "HOME": str(tmp_path)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, timeout=60, check=True)
    assert untimed(done.stdout.decode()) == "  • First\nThought for N s\n\nThe **answer**.\n"
