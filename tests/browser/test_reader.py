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
    expect(opened).to_be_visible()
    assert output.data["text/html"].count("<details open") == 2  # the row, and the block, for else it would be out of sight


def test_what_the_reader_opens_right_after_the_end_stays_open(jupyterlab: Lab):
    page = jupyterlab.open(notebook('with agentcell.watch("Why?") as run:\n    run.step("Looking")\n    run.write("Because.")'))
    page.run(0)
    page.listen()
    page.run(1)
    heading = page.output(1).locator("summary").first
    expect(heading).to_contain_text("Thought for")
    heading.click()
    page.settle()
    assert [message["type"] for message in page.heard()].count("update_display_data") == 1
    expect(page.output(1).get_by_text("Looking")).to_be_visible()
