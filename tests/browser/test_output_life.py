"""What a reader does to an output while its run goes on: at the end the result stands there once, live and in the file.

One page and one kernel serve the whole file; each test has a cell of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from browser.lab import Lab, NotebookPage, expect
from browser.notebooks import notebook

RUN = """\
with agentcell.watch("Number {number}") as run:
    run.step("Reading the deploy log of Tuesday")
    wait_at("gate {number}")
    run.write("It halved **the pool**.")
"""
CLEARS = """\
from IPython.display import clear_output
with agentcell.watch("Number {number}") as run:
    run.step("Reading the deploy log of Tuesday")
    clear_output()
    wait_at("gate {number}")
    run.write("It halved **the pool**.")
"""
CELLS = 12


@pytest.fixture(scope="module")
def page(_lab: Lab) -> Iterator[NotebookPage]:
    """A notebook with runs to do things to: the fourth cell clears itself."""
    _lab.faults.clear()
    cells = [(CLEARS if number == 4 else RUN).format(number=number) for number in range(1, CELLS + 1)]
    page = _lab.open(notebook(*cells))
    page.run(0)
    yield page
    _lab.close_pages()
    assert not _lab.faults, "\n\n".join(_lab.faults)


def begin(page: NotebookPage, cell: int) -> None:
    page.start(cell)
    expect(page.output(cell).locator(".agentcell .ac-text")).to_have_count(1)


def end(page: NotebookPage, cell: int) -> None:
    page.open_gate(f"gate {cell}")
    page.finish(cell)


def expect_end(page: NotebookPage, cell: int, *, copies: int = 1) -> None:
    """Once in the page, once in what would be saved."""
    expect(page.output(cell).locator(".agentcell-snapshot .ac-answer strong")).to_have_text(["the pool"] * copies)
    expect(page.output(cell).locator(".agentcell, .jupyter-widgets")).to_have_count(0)
    # What is sent a second later must not show it twice.
    page.settle()
    outputs = page.outputs(cell)
    assert [set(output["data"]) for output in outputs] == [{"text/html", "text/plain"}] * copies
    expect(page.output(cell).locator(".agentcell-snapshot")).to_have_count(copies)


def test_outputs_cleared_while_it_runs_come_back_at_the_end(page: NotebookPage):
    begin(page, 1)
    page.command("notebook:clear-cell-output", 1)
    expect(page.output(1).locator(".agentcell")).to_have_count(0)
    end(page, 1)
    expect_end(page, 1)


def test_outputs_cleared_after_the_end_stay_cleared(page: NotebookPage):
    begin(page, 2)
    end(page, 2)
    expect(page.output(2).locator(".agentcell-snapshot")).to_have_count(1)
    page.command("notebook:clear-cell-output", 2)
    page.settle()
    assert page.outputs(2) == []


def test_a_cell_that_clears_its_own_output_shows_the_end(page: NotebookPage):
    page.start(4)
    page.wait("() => lab.outputs(4).length === 0 && lab.kernel().status === 'busy'")
    end(page, 4)
    expect_end(page, 4)


def test_a_folded_output_holds_the_end_when_it_is_unfolded(page: NotebookPage):
    begin(page, 5)
    page.command("notebook:hide-cell-outputs", 5)
    expect(page.output(5).locator(".agentcell")).to_be_hidden()
    end(page, 5)
    page.wait("() => lab.outputs(5)[0].data['application/vnd.jupyter.widget-view+json'] === undefined")
    page.command("notebook:show-cell-outputs", 5)
    expect_end(page, 5)


def test_an_output_that_is_out_of_sight_holds_the_end(page: NotebookPage):
    begin(page, 6)
    # As often as it takes: JupyterLab brings the cell that it has begun to run into sight, some time later.
    page.wait("() => { lab.panel().content.scrollToItem(0); return lab.isOutOfSight(6); }")
    end(page, 6)
    expect_end(page, 6)


def test_a_second_view_of_the_output_shows_the_end_too(page: NotebookPage):
    begin(page, 8)
    page.command("notebook:create-output-view", 8)
    clone = page.page.locator(".jp-LinkedOutputView")
    expect(clone.locator(".agentcell .ac-text")).to_have_count(1)
    end(page, 8)
    expect(clone.locator(".agentcell-snapshot .ac-answer strong")).to_have_text("the pool")
    page.page.evaluate("() => [...jupyterapp.shell.widgets('main')].find((one) => one !== lab.panel()).dispose()")
    expect_end(page, 8)


def test_a_second_view_that_was_closed_while_it_ran_does_not_double_the_end(page: NotebookPage):
    begin(page, 9)
    page.command("notebook:create-output-view", 9)
    expect(page.page.locator(".jp-LinkedOutputView .agentcell .ac-text")).to_have_count(1)
    page.page.evaluate("() => [...jupyterapp.shell.widgets('main')].find((one) => one !== lab.panel()).dispose()")
    end(page, 9)
    expect_end(page, 9)


def test_a_cell_that_was_moved_while_it_ran_shows_the_end(page: NotebookPage):
    begin(page, 10)
    page.command("notebook:move-cell-down", 10)
    expect(page.output(11).locator(".agentcell .ac-text")).to_have_count(1)
    page.open_gate("gate 10")
    expect_end(page, 11)


def test_a_copy_of_the_cell_shows_the_end_too(page: NotebookPage):
    begin(page, 12)
    page.command("notebook:copy-cell", 12)
    page.command("notebook:paste-cell-below", 12)
    expect(page.output(13).locator(".agentcell .ac-text")).to_have_count(1)
    end(page, 12)
    expect_end(page, 12)
    expect_end(page, 13)
