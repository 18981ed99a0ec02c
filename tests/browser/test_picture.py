"""The README's picture: one run that is done, and below it one that is under way.

AGENTCELL_README_PICTURE is the path that it is written to; without it the picture goes where the others go.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from browser.lab import Lab, expect
from browser.notebooks import notebook

# The agents, and a clock that spares whoever takes the picture the time that they would need. The picture does not show this cell.
AGENTS = r"""
import functools
skipped = 0.0
agentcell.watch = functools.partial(agentcell.watch, clock=lambda: time.monotonic() + skipped)

def skip(seconds):
    global skipped
    skipped += seconds

def search_notes(query):
    skip(2.4)
    return ["Checkout p95", "Cart cache", "Deploy 4121", "Pool sizes", "On-call"]

def investigate(question):
    run = agentcell.current_run()
    run.step("Reading the deploy log of Tuesday")
    skip(3.1)
    with run.tool("query_metrics", route="/checkout", window="48h") as call:
        skip(3.6)
        call.result({"points": 24})
    with run.tool("search_notes", query="connection pool") as call:
        call.result(search_notes("connection pool"))
    skip(3.2)
    run.write("The p95 rose after **Tuesday's deploy**: build `4121` halved the connection pool, so requests queue behind it.\n\n")
    run.write("| route | before | after |\n|---|--:|--:|\n| /checkout | 212 ms | 1,840 ms |\n| /cart | 98 ms | 105 ms |\n")

def plan(question):
    run = agentcell.current_run()
    run.step("Comparing the pool's size with the load")
    skip(4.2)
    with run.tool("search_notes", query="pool sizes") as call:
        call.result(search_notes("pool sizes"))
    with run.tool("read_page", url="https://wiki.example/pools") as call:
        skip(1.5)
        call.progress("Reading page 2 of 5")
        wait_at("the picture is taken")
"""
DONE = """\
with agentcell.watch("Why is checkout slow?") as run:
    investigate("Why is checkout slow?")"""
UNDER_WAY = """\
with agentcell.watch("How large should the pool be?") as run:
    plan("How large should the pool be?")"""
EDGE = 4
"""Pixels around the two cells."""


def test_the_picture_shows_a_run_that_is_done_and_one_that_is_under_way(jupyterlab: Lab, shots: Path):
    page = jupyterlab.open(notebook(AGENTS, DONE, UNDER_WAY), anew=True)
    page.page.set_viewport_size({"width": 1000, "height": 1600})  # nothing is scrolled out of sight
    page.run(0, 1, 2)
    page.start(3)
    cell = page.output(3).locator(".agentcell")
    expect(page.output(2).locator("summary").first).to_have_text("Thought for 12s · 2 tools")
    expect(cell.locator(".ac-line")).to_have_text("Reading page 2 of 5")
    expect(cell.locator(".ac-time")).to_have_text(re.compile("9s"))
    page.picture(Path(os.environ.get("AGENTCELL_README_PICTURE") or shots / "readme.png"), 2, 3, edge=EDGE)
    page.open_gate("the picture is taken")
    page.finish(3)
