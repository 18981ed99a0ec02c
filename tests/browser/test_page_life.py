"""A page that goes away while a run is under way, and a page that comes: each shows how the run ended, and so does the file."""

from __future__ import annotations

from pathlib import Path

from browser.lab import Lab, NotebookPage, expect
from browser.notebooks import notebook

RUN = """\
with agentcell.watch("Why is checkout slow?") as run:
    run.step("Reading the deploy log of Tuesday")
    wait_at("reading")
    run.write("It halved **the pool**.")
"""


def begun(jupyterlab: Lab) -> NotebookPage:
    """A page in which the run is under way, and is saved so."""
    page = jupyterlab.open(notebook(RUN), anew=True)
    page.run(0)
    page.start(1)
    expect(page.output(1).locator(".agentcell .ac-text")).to_have_count(1)
    [output] = page.save().cells[1].outputs
    assert "This was saved before the run had ended." in output.data["text/html"]
    return page


def expect_end(page: NotebookPage, cell: int = 1) -> None:
    kept = page.output(cell).locator(".agentcell-snapshot")
    expect(kept.locator(".ac-answer strong")).to_have_text("the pool")
    expect(kept).to_have_count(1)
    expect(page.output(cell).locator(".agentcell, .jupyter-widgets")).to_have_count(0)
    [output] = page.outputs(cell)
    assert set(output["data"]) == {"text/html", "text/plain"}


def expect_end_in_file(page: NotebookPage) -> None:
    [output] = page.save().cells[1].outputs
    assert set(output.data) == {"text/html", "text/plain"}
    assert "This was saved before" not in output.data["text/html"]


def test_a_page_that_is_reloaded_while_the_cell_runs_gets_the_end(jupyterlab: Lab, shots: Path):
    page = begun(jupyterlab)
    page.reload()
    expect(page.output(1)).to_have_text("Loading widget...")  # the kernel tells nobody of its widgets before the cell is done
    page.open_gate("reading")
    expect_end(page)
    page.output(1).screenshot(path=shots / "reloaded.png")
    page.wait("() => lab.isChanged()")  # so it is saved by itself
    expect_end_in_file(page)


def test_a_page_that_is_reloaded_after_the_end_and_had_not_been_saved_gets_it_again(jupyterlab: Lab):
    page = begun(jupyterlab)
    page.open_gate("reading")
    page.finish(1)
    expect_end(page)
    page.reload()
    expect_end(page)
    expect_end_in_file(page)


def test_a_notebook_that_was_closed_while_it_ran_and_is_opened_again_shows_the_end(jupyterlab: Lab):
    page = begun(jupyterlab)
    page.page.close()
    jupyterlab.pages.clear()
    page.open_gate("reading")
    again = jupyterlab.open(page.path)
    expect_end(again)
    expect_end_in_file(again)


def test_a_tab_of_the_notebook_that_is_closed_and_opened_in_one_page_shows_the_end(jupyterlab: Lab):
    page = begun(jupyterlab)
    path = page.path.relative_to(jupyterlab.server.root)
    page.page.evaluate("() => lab.panel().dispose()")
    page.page.evaluate("(path) => void jupyterapp.commands.execute('docmanager:open', { path })", str(path))
    page.wait("() => lab.isShown()")
    page.open_gate("reading")
    expect_end(page)
    expect_end_in_file(page)


def test_a_second_page_on_the_notebook_shows_the_end_and_leaves_the_file_to_the_first(jupyterlab: Lab):
    first = begun(jupyterlab)
    second = jupyterlab.open(first.path, busy=True)
    expect(second.output(1)).to_have_text("Loading widget...")
    first.open_gate("reading")
    first.finish(1)
    expect_end(first)
    expect_end(second)
    assert first.is_changed()
    # It would ask whether to overwrite what the first has saved.
    assert not second.is_changed()
    expect_end_in_file(first)


def test_where_jupyterlab_keeps_only_what_is_in_sight_the_end_comes_once(jupyterlab: Lab):
    setting = f"{jupyterlab.server.url}/lab/api/settings/@jupyterlab/notebook-extension:tracker"
    request = jupyterlab.context.request
    assert request.put(setting, data={"raw": '{"windowingMode": "full"}'}).ok
    try:
        page = jupyterlab.open(notebook(RUN, *["print('\\n' * 40)"] * 8), anew=True)
        page.run(0, *range(2, 10))
        page.page.evaluate("() => lab.panel().content.scrollToItem(0)")
        page.start(1)
        view = page.page.locator(".agentcell")
        expect(view.locator(".ac-text")).to_have_count(1)
        page.page.evaluate("() => lab.panel().content.scrollToItem(9)")
        # It takes out all but cells with widgets, which it makes invisible.
        page.wait("() => !lab.panel().content.widgets[2].isAttached")
        page.open_gate("reading")
        page.finish(1)
        page.settle()
        page.page.evaluate("() => lab.panel().content.scrollToItem(0)")
        expect_end(page)
    finally:
        assert request.put(setting, data={"raw": "{}"}).ok
