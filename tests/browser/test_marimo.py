"""marimo shows a run live among the cell's outputs, and keeps it as HTML; what the reader does there waits for the cell's end."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from browser.lab import expect
from browser.marimo_notebook import marimo_page

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext

THREADS = """\
import threading

def search(run, number):
    for place in range(5):
        with run.tool("search_notes", query=f"{number}-{place}") as call:
            call.result(place)

mo.output.append(mo.md("Above"))
with agentcell.watch("Four at once") as run:
    run.step("Before the page has loaded anything")
    threads = [threading.Thread(target=search, args=(run, number)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wait_at("searched")
    run.step("Reading")
    wait_at("read")
    run.write("Build **4121**.")
with agentcell.watch("The second in one cell") as second:
    second.write("And **4122**.")
    wait_at("second")
mo.output.append(mo.md("Below"))
"""


def test_marimo_shows_a_run_live_and_keeps_it_where_it_was(chromium: BrowserContext, tmp_path: Path, shots: Path):
    with marimo_page(chromium, tmp_path, THREADS) as page:
        # The first rows were sent before the page could listen, and it cannot ask while the cell runs.
        cell = page.page.locator(".agentcell")
        expect(cell.locator(".ac-earlier")).to_have_text("17 earlier steps")
        expect(cell.locator(".ac-text")).to_have_count(4)
        expect(cell.get_by_role("button", name="Stop")).to_have_count(0)
        first = cell.locator(".ac-time").inner_text()
        expect(cell.locator(".ac-time")).not_to_have_text(first)
        cell.locator(".ac-earlier").click()
        expect(cell.locator(".ac-text")).to_have_count(21)
        expect(cell.locator(".ac-text").first).to_have_text("Before the page has loaded anything")
        page.page.screenshot(path=shots / "marimo-1-running.png")
        page.open_gate("searched")
        expect(cell.locator(".ac-text").last).to_have_text("Reading")

        page.open_gate("read")
        kept = page.page.locator(".agentcell-snapshot")
        expect(cell.locator(".ac-answer strong")).to_have_text("4122")
        expect(kept.locator("strong")).to_have_text("4121")
        page.open_gate("second")
        expect(kept).to_have_count(2)
        expect(cell).to_have_count(0)
        expect(kept.first.locator("summary").first).to_have_text(re.compile("^Thought for [a-z0-9 ]+ · 20 tools$"))
        expect(page.page.get_by_text("Below")).to_be_visible()
        shown = page.page.locator("body").inner_text()
        assert re.search("Above.*4121.*4122.*Below", shown, re.DOTALL), shown
        page.page.screenshot(path=shots / "marimo-2-ended.png")


GOES_ON = """\
import threading

def work(run):
    run.step("Still at work")
    wait_at("cell is done")
    run.write("It is **done**.")
    run.__exit__(None, None, None)

run = agentcell.watch("It goes on in a thread").__enter__()
threading.Thread(target=work, args=(run,)).start()
"""
AFTER = """\
run
mo.output.append(mo.md("The next cell"))
"""


def test_a_run_that_outlives_its_cell_ends_in_its_own_place(chromium: BrowserContext, tmp_path: Path):
    with marimo_page(chromium, tmp_path, GOES_ON, AFTER) as page:
        cell = page.page.locator(".agentcell")
        expect(cell.locator(".ac-text")).to_have_text("Still at work")
        expect(page.page.get_by_text("The next cell")).to_be_visible()
        page.open_gate("cell is done")
        expect(cell.locator(".ac-title")).to_have_text(re.compile("^Thought for"))
        expect(cell.locator(".ac-answer strong")).to_have_text("done")
        expect(cell.locator(".ac-title")).to_have_count(1)


ASKS = """\
with agentcell.watch("It asks") as run:
    answer = run.pause("Send it?", choices=["yes", "no"])
    run.write(f"The answer was **{answer}**.")
"""


def test_in_the_editor_a_question_is_asked_below_the_cell(chromium: BrowserContext, tmp_path: Path, shots: Path):
    with marimo_page(chromium, tmp_path, ASKS, mode="edit") as page:
        console = page.page.get_by_placeholder("stdin")
        expect(page.page.locator(".agentcell .ac-title")).to_have_text("Waiting on you")
        expect(page.page.get_by_text("Send it? [yes / no]")).to_be_visible()
        page.page.screenshot(path=shots / "marimo-3-asks.png")
        console.fill("Yes")
        console.press("Enter")
        expect(page.page.locator(".agentcell-snapshot .ac-answer strong")).to_have_text("yes")
