"""Runs that ask and go on until they are stopped, and what the reader does with them in each host while the cell runs."""

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
    reason = run.pause("And why?", choices=["No reason"], words=True)
    run.step(f"The answer was {answer}: {reason}")
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
    reason = await run.pause_async("And why?", choices=["No reason"], words=True)
    run.step(f"The answer was {answer}: {reason}")
    while True:
        await asyncio.sleep(0.02)
        run.write("")
"""
STUCK = """\
with agentcell.watch("It does not listen") as run:
    run.step("Reading")
    time.sleep(600)
"""
STUCK_AWAITS = """\
import asyncio
async with agentcell.watch("Its task does not listen") as run:
    run.step("Reading")
    await asyncio.sleep(600)
"""


def approve_and_stop(place: Locator | Page, *, is_running: Callable[[], bool], finish: Callable[[], None]) -> None:
    """Opens a row, answers by a button and in words, and stops, all while the code runs; then the HTML shows what came of it."""
    cell = place.locator(".agentcell")
    expect(cell.locator(".ac-title")).to_have_text("Waiting on you")
    expect(cell.locator("legend")).to_have_text("Roll it back?")
    cell.get_by_role("button", name="metrics").click()
    expect(cell.locator(".ac-body")).to_contain_text("24")
    cell.get_by_role("button", name="Approve").click()
    expect(cell.locator("legend")).to_have_text("And why?")
    expect(cell.get_by_role("button", name="Approve")).to_have_count(0)
    cell.get_by_label("Answer in words").fill("The pool is too small")
    cell.get_by_label("Answer in words").press("Enter")
    expect(cell.locator(".ac-text").last).to_have_text("The answer was Approve: The pool is too small")
    expect(cell.locator("legend")).to_have_count(0)
    assert is_running()
    cell.get_by_role("button", name="Stop the run").click()
    finish()
    kept = place.locator(".agentcell-snapshot")
    expect(kept.locator("summary").first).to_have_text(re.compile("^■ Stopped after [a-z0-9 ]+ · 1 tool$"))
    expect(kept.locator("li > details[open]:visible")).to_contain_text("24")
    expect(kept).to_contain_text("The answer was Approve: The pool is too small")
    expect(cell).to_have_count(0)


def press_twice(place: Locator | Page, *, is_running: Callable[[], bool], finish: Callable[[], None]) -> None:
    """Stops code that does not meet the flag: the first press changes nothing yet, and the second interrupts the kernel."""
    cell = place.locator(".agentcell")
    cell.get_by_role("button", name="Stop the run").click()
    expect(cell.locator(".ac-title")).to_have_text("Stopping…")
    again = cell.get_by_role("button", name="Interrupt the kernel")
    expect(again).to_have_text("■ Interrupt")
    assert is_running()
    again.click()
    finish()
    kept = place.locator(".agentcell-snapshot")
    expect(kept.locator("summary").first).to_have_text(re.compile("^■ Stopped after [a-z0-9 ]+$"))
    expect(kept).to_contain_text(re.compile("You interrupted it|You stopped it"))
    expect(cell).to_have_count(0)
