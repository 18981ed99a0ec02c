"""Several views of one run, and a page that holds still around them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from browser.lab import Lab, expect
from browser.notebooks import notebook

if TYPE_CHECKING:
    from playwright.sync_api import Locator


def test_two_views_of_a_run_agree_and_the_reader_decides_for_both(jupyterlab: Lab):
    code = """\
with agentcell.watch("Twice", persist="widget") as run:
    display(run.cell)
    run.step("First")
    wait_at("first")
    run.step("Second")
    wait_at("second")
    run.write("The **answer**.")
    wait_at("answer")
"""
    page = jupyterlab.open(notebook(code))
    page.run(0)
    page.start(1)
    views = page.output(1).locator(".agentcell")
    one, two = views.nth(0), views.nth(1)
    heads = views.locator(".ac-head")

    expect(views.locator(".ac-text")).to_have_text(["First", "First"])
    one.locator(".ac-head").click()
    expect_expanded(heads, "false", "false")
    page.open_gate("first")
    two.locator(".ac-head").click()
    expect_expanded(heads, "true", "true")
    expect(views.locator(".ac-text")).to_have_text(["First", "Second"] * 2)

    # The answer would fold the rows, but the reader has opened them.
    page.open_gate("second")
    expect(views.locator(".ac-answer strong")).to_have_text(["answer", "answer"])
    expect_expanded(heads, "true", "true")
    page.open_gate("answer")
    page.finish(1)
    expect(page.output(1).locator(".agentcell")).to_have_count(2)  # this run keeps its views
    expect(views.locator(".ac-text")).to_have_text(["First", "Second"] * 2)
    assert one.inner_text() == two.inner_text()


def test_the_header_stays_where_it_is_and_the_answer_comes_as_the_rows_go(jupyterlab: Lab):
    code = """\
with agentcell.watch("Hold still") as run:
    for number in range(4):
        run.step(f"Step {number}")
    wait_at("rows")
    run.write("The first line of the answer.")
    wait_at("answer")
"""
    page = jupyterlab.open(notebook(code, "# Below\n\nWhat somebody reads meanwhile."))
    page.run(0)
    page.start(1)
    cell = page.output(1).locator(".agentcell")
    expect(cell.locator(".ac-text")).to_have_count(4)
    page.follow(".agentcell .ac-head, .agentcell-snapshot summary", ".jp-RenderedMarkdown p")
    page.open_gate("rows")
    expect(cell.locator(".ac-answer")).to_contain_text("The first line of the answer.")
    # One move, not one for the rows and another one for the answer.
    page.wait("() => lab.places.length > 1")
    (head, with_rows), (head_after, with_answer) = page.places()
    assert head_after == head
    assert with_answer < with_rows

    # The widget gives way to the HTML in one frame, and nothing moves.
    page.open_gate("answer")
    page.finish(1)
    expect(page.output(1).locator(".agentcell-snapshot")).to_be_visible()
    for place in page.places()[2:]:
        assert place == pytest.approx([head, with_answer], abs=1)


def expect_expanded(heads: Locator, *states: str) -> None:
    for place, state in enumerate(states):
        expect(heads.nth(place)).to_have_attribute("aria-expanded", state)
