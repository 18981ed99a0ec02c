"""Every way out of a run leaves its last state in the page and in the file."""

from __future__ import annotations

import re
from typing import NamedTuple

from browser.kernels import Kernel
from browser.lab import Lab, expect
from browser.notebooks import notebook


class End(NamedTuple):
    """How a cell ends, and what is left of it."""

    code: str
    title: str
    sentence: str
    error: str


ENDS = (
    End(
        """\
with agentcell.watch("It fails") as run:
    with run.tool("metrics", route="/checkout"):
        wait_at("fails")
        raise TimeoutError("no answer in 1.5 s")
""",
        r"✕ Failed after [a-z0-9 ]+ · 1 tool",
        "TimeoutError: no answer in 1.5 s",
        "TimeoutError",
    ),
    End(
        """\
import sys
with agentcell.watch("It leaves the program") as run:
    run.step("Reading")
    wait_at("exits")
    sys.exit(3)
""",
        r"■ Stopped after [a-z0-9 ]+",
        "The program exited.",
        "SystemExit",
    ),
    End(
        """\
import asyncio
async with agentcell.watch("Its task is cancelled") as run:
    run.step("Reading")
    await asyncio.to_thread(wait_at, "cancels")
    asyncio.current_task().cancel()
    await asyncio.sleep(0)
""",
        r"■ Stopped after [a-z0-9 ]+",
        "Its task was cancelled.",
        "CancelledError",
    ),
    End(
        """\
with agentcell.watch("It is interrupted") as run:
    run.step("Reading")
    wait_at("gate that stays shut")
""",
        r"■ Stopped after [a-z0-9 ]+",
        "You interrupted it.",
        "KeyboardInterrupt",
    ),
    End(
        """\
async with agentcell.watch("It is interrupted while it awaits") as run:
    run.step("Reading")
    while True:  # ipykernel sees an interrupt only when something wakes its loop
        await asyncio.sleep(0.05)
""",
        r"■ Stopped after [a-z0-9 ]+",
        "Its task was cancelled.",
        "CancelledError",
    ),
)


def test_the_last_state_stays(jupyterlab: Lab, kernel: Kernel):
    page = jupyterlab.open(notebook(*(end.code for end in ENDS), kernel=kernel.name))
    page.run(0)
    for cell, end in enumerate(ENDS, start=1):
        page.start(cell)
        expect(page.output(cell).locator(".agentcell .ac-text")).to_have_count(1)
        if gate := re.search(r'wait_at\W+"([a-z]+)"', end.code):
            page.open_gate(gate[1])
        else:
            page.interrupt()
        page.finish(cell)
        kept = page.output(cell).locator(".agentcell-snapshot")
        expect(kept.locator("summary").first).to_have_text(re.compile(f"^{end.title}$"))
        expect(kept).to_contain_text(end.sentence)
        expect(page.output(cell).locator(".agentcell")).to_have_count(0)
    saved = page.save()
    for cell, end in zip(saved.cells[1:], ENDS, strict=True):
        shown, *others = cell.outputs
        assert set(shown.data) == {"text/html", "text/plain"}
        assert end.sentence in shown.data["text/html"]
        assert end.sentence in shown.data["text/plain"]
        assert [output.ename for output in others if output.output_type == "error"] == [end.error]
