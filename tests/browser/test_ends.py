"""Every way out of a run leaves its last state in the page and in the file."""

from __future__ import annotations

import re

import pytest

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


@pytest.mark.parametrize(
    ("code", "title", "sentence", "error"),
    [
        pytest.param(FAILS, r"✕ Failed after [a-z0-9 ]+ · 1 tool", "TimeoutError: no answer in 1.5 s", "TimeoutError", id="error"),
        pytest.param(SLEEPS, r"■ Stopped after [a-z0-9 ]+", "You interrupted it.", "KeyboardInterrupt", id="interrupt"),
        pytest.param(
            AWAITS, r"■ Stopped after [a-z0-9 ]+", "Its task was cancelled.", "CancelledError", id="interrupt while awaiting"
        ),
    ],
)
def test_the_last_state_stays(jupyterlab: Lab, code: str, title: str, sentence: str, error: str):
    page = jupyterlab.open(notebook(code))
    page.run(0)
    page.start(1)
    expect(page.output(1).locator(".agentcell .ac-text")).to_have_count(1)
    if code is FAILS:
        page.open_gate("gate")
    else:
        page.interrupt()
    page.finish(1)
    kept = page.output(1).locator(".agentcell-snapshot")
    expect(kept.locator("summary").first).to_have_text(re.compile(f"^{title}$"))
    expect(kept).to_contain_text(sentence)
    shown, raised = page.save().cells[1].outputs
    assert set(shown.data) == {"text/html", "text/plain"}
    assert sentence in shown.data["text/html"]
    assert sentence in shown.data["text/plain"]
    assert raised.ename == error
