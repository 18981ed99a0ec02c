"""What the reader sees while the cell runs: everything here happens with the kernel blocked in time.sleep."""

from __future__ import annotations

import re

from browser.lab import Lab, expect
from browser.notebooks import notebook

RUN = """\
import sys

with agentcell.watch("Why is checkout slow?") as run:
    run.step("Reading the deploy log of Tuesday")
    wait_at("reading")
    with run.tool("search_notes", query="connection pool") as call:
        call.progress("page 2 of 5")
        wait_at("searching")
        call.result(["Checkout p95", "Cart cache", "Deploy 4121"])
    ready = "markdown_it" in sys.modules
    run.write("The p95 rose after **Tuesday's deploy**.\\n\\n")
    wait_at("begun")
    run.write("It halved the pool:\\n\\n- before: 128\\n- after: 64\\n")
    wait_at("written")
"""


def test_a_blocked_cell_shows_what_goes_on(jupyterlab: Lab):
    page = jupyterlab.open(notebook(RUN))
    page.run(0)
    page.listen()
    page.start(1)
    cell = page.output(1).locator(".agentcell")
    expect(cell.locator(".ac-title")).to_have_text("Reasoning")
    expect(cell.locator(".ac-text")).to_have_text(["Reading the deploy log of Tuesday"])

    # The clock goes on by itself.
    seen = len(page.heard())
    first = cell.locator(".ac-time").inner_text()
    expect(cell.locator(".ac-time")).not_to_have_text(first)
    second = cell.locator(".ac-time").inner_text()
    expect(cell.locator(".ac-time")).not_to_have_text(second)
    assert [message for message in page.heard()[seen:] if message["type"] != "heartbeat"] == []

    page.open_gate("reading")
    expect(cell.locator(".ac-line")).to_have_text("page 2 of 5")
    expect(cell.locator(".ac-text")).to_have_count(2)
    expect(cell.locator(".ac-head")).to_have_attribute("aria-expanded", "true")

    # The answer begins, so the rows are folded away.
    page.open_gate("searching")
    expect(cell.locator(".ac-answer strong")).to_have_text("Tuesday's deploy")
    expect(cell.locator(".ac-head")).to_have_attribute("aria-expanded", "false")
    expect(cell.locator(".ac-title")).to_have_text(re.compile("^Thought for [0-9]+s$"))
    expect(cell.locator(".ac-text")).to_have_count(0)
    expect(cell.locator(".ac-answer li")).to_have_count(0)

    page.open_gate("begun")
    expect(cell.locator(".ac-answer li")).to_have_text(["before: 128", "after: 64"])

    page.open_gate("written")
    page.finish(1)
    kept = page.output(1).locator(".agentcell-snapshot")
    expect(kept.locator("summary").first).to_have_text(re.compile("^Thought for [0-9]+s · 1 tool$"))
    expect(kept).to_contain_text("The p95 rose after Tuesday's deploy")
    expect(cell).to_have_count(0)
    assert page.evaluate("ready")  # what the answer needs was there before its first word
