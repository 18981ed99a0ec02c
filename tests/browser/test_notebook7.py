"""Notebook 7 shows a run as JupyterLab does: live, folded by the reader, as HTML at the end, and so when it is opened again."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from browser.lab import Lab, expect
from browser.notebooks import CHECKOUT, notebook

if TYPE_CHECKING:
    from playwright.sync_api import Locator


def test_notebook_7_shows_a_run_live_and_keeps_it(jupyterlab: Lab, shots: Path):
    page = jupyterlab.open(notebook(CHECKOUT), host="notebook")
    page.run(0)
    page.start(1)
    cell = page.output(1).locator(".agentcell")
    rows = cell.locator(".ac-text")
    expect(rows).to_have_count(4)
    expect(cell.locator(".ac-line")).to_have_text("Reading page 2 of 5")
    first = cell.locator(".ac-time").inner_text()
    expect(cell.locator(".ac-time")).not_to_have_text(first)

    # The reader folds it, opens it, and opens a row.
    head = cell.locator(".ac-head")
    head.click()
    expect(rows).to_have_count(0)
    head.click()
    expect(rows).to_have_count(4)
    cell.get_by_role("button", name="metrics").first.click()
    expect(cell.locator(".ac-body")).to_contain_text("/checkout")
    page.page.screenshot(path=shots / "notebook7-1-running.png")
    page.open_gate("searching")
    expect(cell.locator(".ac-answer td").first).to_have_text("/checkout")
    page.open_gate("writing")
    page.finish(1)
    opened = page.evaluate("[[row, is_open] for row, is_open in run.opened.items()]")
    assert opened == [[None, True], [1, True]]
    check_kept(page.output(1))
    page.page.screenshot(path=shots / "notebook7-2-ended.png")

    [output] = page.save().cells[1].outputs
    assert set(output.data) == {"text/html", "text/plain"}
    jupyterlab.close_pages()
    again = jupyterlab.open(page.path, host="notebook")
    check_kept(again.output(1))


def check_kept(output: Locator) -> None:
    kept = output.locator(".agentcell-snapshot")
    expect(kept.locator("summary").first).to_have_text(re.compile("^Thought for [a-z0-9 ]+ · 3 tools$"))
    expect(kept.locator(".ac-answer td").first).to_have_text("/checkout")
    expect(kept.locator("li > details[open]:visible")).to_have_count(1)
    expect(kept.locator("li > details[open] pre:visible").last).to_contain_text("1840")
    expect(output.locator(".agentcell")).to_have_count(0)
