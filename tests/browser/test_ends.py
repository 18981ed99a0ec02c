"""Every way out of a run leaves its last state in the page and in the file."""

from __future__ import annotations

import re

from browser.kernels import Kernel
from browser.lab import Lab, expect
from browser.notebooks import notebook

FAILS = """\
with agentcell.watch("It fails") as run:
    with run.tool("metrics", route="/checkout"):
        wait_at("gate")
        raise TimeoutError("no answer in 1.5 s")
"""
SLEEPS = """\
with agentcell.watch("It is stopped") as run:
    run.step("Reading")
    wait_at("gate that stays shut")
"""
AWAITS = """\
import asyncio
async with agentcell.watch("Its task is stopped") as run:
    run.step("Reading")
    while True:  # ipykernel sees an interrupt only when something wakes its loop
        await asyncio.sleep(0.05)
"""


ENDS = {
    FAILS: (r"✕ Failed after [a-z0-9 ]+ · 1 tool", "TimeoutError: no answer in 1.5 s", "TimeoutError"),
    SLEEPS: (r"■ Stopped after [a-z0-9 ]+", "You interrupted it.", "KeyboardInterrupt"),
    AWAITS: (r"■ Stopped after [a-z0-9 ]+", "Its task was cancelled.", "CancelledError"),
}
"""The title, the sentence and the exception of each way out."""


def test_an_error_and_interrupts_leave_the_last_state(jupyterlab: Lab, kernel: Kernel):
    page = jupyterlab.open(notebook(*ENDS, kernel=kernel.name))
    page.run(0)
    for cell, (code, (title, sentence, error)) in enumerate(ENDS.items(), start=1):
        page.start(cell)
        expect(page.output(cell).locator(".agentcell .ac-text")).to_have_count(1)
        if code is FAILS:
            page.open_gate("gate")
        else:
            page.interrupt()
        page.finish(cell)
        kept = page.output(cell).locator(".agentcell-snapshot")
        expect(kept.locator("summary").first).to_have_text(re.compile(f"^{title}$"))
        expect(kept).to_contain_text(sentence)
        shown, raised = page.save().cells[cell].outputs
        assert set(shown.data) == {"text/html", "text/plain"}
        assert sentence in shown.data["text/html"]
        assert sentence in shown.data["text/plain"]
        assert raised.ename == error
