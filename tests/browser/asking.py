"""A run that asks, goes on until it is stopped, and waits at nothing else: what the reader does with it in each host."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from browser.lab import expect

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Locator, Page

BLOCKS = """\
with agentcell.watch("Why is checkout slow?") as run:
    with run.tool("metrics", route="/checkout") as call:
        call.result({"points": 24})
    answer = run.pause("Roll it back?", choices=["Approve", "Reject"])
    run.step(f"The answer was {answer}")
    while True:
        time.sleep(0.02)
        run.write("")
"""
AWAITS = """\
import asyncio
async with agentcell.watch("Why is checkout slow?") as run:
    with run.tool("metrics", route="/checkout") as call:
        call.result({"points": 24})
    answer = await run.pause_async("Roll it back?", choices=["Approve", "Reject"])
    run.step(f"The answer was {answer}")
    while True:
        await asyncio.sleep(0.02)
        run.write("")
"""


def approve_and_stop(place: Locator | Page, *, is_running: Callable[[], bool], finish: Callable[[], None]) -> None:
    """Opens a row, answers and stops, all while the code runs; then the HTML shows what came of it."""
    cell = place.locator(".agentcell")
    expect(cell.locator(".ac-title")).to_have_text("Waiting on you")
    expect(cell.locator("legend")).to_have_text("Roll it back?")
    cell.get_by_role("button", name="metrics").click()
    expect(cell.locator(".ac-body")).to_contain_text("24")
    cell.get_by_role("button", name="Approve").click()
    expect(cell.locator(".ac-text").last).to_have_text("The answer was Approve")
    expect(cell.get_by_role("button", name="Approve")).to_have_count(0)
    assert is_running()
    cell.get_by_role("button", name="Stop the run").click()
    finish()
    kept = place.locator(".agentcell-snapshot")
    expect(kept.locator("summary").first).to_have_text(re.compile("^■ Stopped after [a-z0-9 ]+ · 1 tool$"))
    expect(kept.locator("li > details[open]:visible")).to_contain_text("24")
    expect(kept).to_contain_text("The answer was Approve")
    expect(cell).to_have_count(0)
