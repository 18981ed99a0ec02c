"""Cells that are run again and again, or all at once: each shows its own end, and what earlier runs held is given back."""

from __future__ import annotations

import re
from typing import Any

from browser.lab import Lab, NotebookPage, expect
from browser.notebooks import notebook
from browser.server import wait_until

RUN = """\
with agentcell.watch("Why is checkout slow?") as run:
    while run.cell.stop == "none":  # until its view is there
        time.sleep(0.01)
    with run.tool("search_notes", query="connection pool") as call:
        call.result(["Checkout p95", "Deploy 4121"])
    run.write("It halved **the pool** of cell {number}.")
"""
COUNTS = """\
import comm
import gc
import threading
import ipywidgets


def held():
    gc.collect()
    return {
        "widgets": len(ipywidgets.widgets.widget._instances),
        "comms": len(comm.get_comm_manager().comms),
        "runs": sum(isinstance(one, agentcell.Run) for one in gc.get_objects()),
        "hooks": len(get_ipython().display_pub._hooks),
        "threads": sorted(thread.name for thread in threading.enumerate()),
    }
"""


ONE_RUN = {"widgets": 2, "comms": 2, "runs": 1, "page": {"models": 2, "comms": 2}}
"""What one run holds: its widget, and the layout that ipywidgets gives to each."""


def held(page: NotebookPage) -> dict[str, Any]:
    """What the kernel and the page hold now: nothing of ours but that, when all is sent."""
    page.settle()
    wait_until(lambda: "agentcell-pacer" not in page.evaluate("held()")["threads"], "the thread that sends has ended")
    counts: dict[str, Any] = page.evaluate("held()")
    counts["page"] = page.page.evaluate("() => lab.widgetCount()")
    return counts


def kept_by_scripts(page: NotebookPage) -> tuple[list[str], int]:
    """Our elements that are not in the page, and that some script holds nevertheless; and the number of listeners in the page."""
    developer = page.page.context.new_cdp_session(page.page)
    for domain in ("DOM", "Performance"):
        developer.send(f"{domain}.enable")
    developer.send("HeapProfiler.collectGarbage")
    nodes = [one["treeNode"] for one in developer.send("DOM.getDetachedDomNodes")["detachedNodes"]]
    metrics = {one["name"]: int(one["value"]) for one in developer.send("Performance.getMetrics")["metrics"]}
    developer.detach()
    classes = [" ".join(node.get("attributes", [])) for node in nodes]
    return [one for one in classes if re.search(r"\bac-|agentcell", one)], metrics["JSEventListeners"]


def test_a_cell_that_is_run_fifty_times_holds_no_more_than_after_the_second_time(jupyterlab: Lab):
    page = jupyterlab.open(notebook(COUNTS, RUN.format(number=2)), anew=True)
    page.run(0, 1, 2, 2)
    twice, (_, listeners) = held(page), kept_by_scripts(page)
    assert {name: twice[name] for name in ("widgets", "comms", "runs", "page")} == ONE_RUN
    page.run(*[2] * 48)
    assert held(page) == twice
    ours, listeners_now = kept_by_scripts(page)
    assert ours == []
    # JupyterLab itself adds a hundred or two meanwhile; a view of ours has ten.
    assert listeners_now - listeners < 48 * 8
    assert len(page.outputs(2)) == 1


def test_a_run_that_keeps_its_widget_holds_one_however_often_its_cell_is_run(jupyterlab: Lab):
    page = jupyterlab.open(notebook(COUNTS, RUN.format(number=2).replace('slow?"', 'slow?", persist="widget"')))
    page.run(0, 1, *[2] * 5)
    expect(page.output(2).locator(".agentcell strong")).to_have_text("the pool")
    now = held(page)
    assert {name: now[name] for name in ("widgets", "comms", "runs", "page")} == ONE_RUN


def test_all_cells_run_at_once_show_an_end_each(jupyterlab: Lab):
    page = jupyterlab.open(notebook(*(RUN.format(number=number) for number in range(1, 9))))
    for _ in range(2):
        page.command("notebook:run-all-cells", 0)
        for number in range(1, 9):
            kept = page.output(number).locator(".agentcell-snapshot .ac-answer")
            expect(kept).to_have_text([f"It halved the pool of cell {number}."])
    saved = page.save()
    assert [[set(output.data) for output in cell.outputs] for cell in saved.cells[1:]] == [[{"text/html", "text/plain"}]] * 8
