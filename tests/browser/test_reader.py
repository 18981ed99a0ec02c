"""What the reader does while the cell runs: opening and folding, with the kernel blocked in time.sleep."""

from __future__ import annotations

from browser.lab import Lab, expect
from browser.notebooks import notebook


def test_a_row_that_the_reader_opened_is_open_in_the_file(jupyterlab: Lab):
    code = """\
with agentcell.watch("Why is checkout slow?") as run:
    with run.tool("metrics", route="/checkout") as call:
        call.result({"points": 24})
    with run.tool("search_notes", query="connection pool") as call:
        call.result(["Checkout p95", "Deploy 4121"])
    while not run.opened:
        time.sleep(0.02)
    opened = dict(run.opened)
    run.write("Build 4121.")
"""
    page = jupyterlab.open(notebook(code))
    page.run(0)
    page.start(1)
    cell = page.output(1).locator(".agentcell")
    cell.get_by_role("button", name="connection pool").click()
    page.finish(1)
    assert page.evaluate("list(opened.items())") == [[1, True]]
    [output] = page.save().cells[1].outputs
    opened = page.output(1).locator("li > details[open]")
    expect(opened).to_have_count(1)
    expect(opened).to_contain_text("Deploy 4121")
    assert output.data["text/html"].count("<details open") == 1
