"""What is left in the notebook: HTML that needs neither kernel nor widget nor trust, with pictures of all states."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from browser.lab import Lab, NotebookPage, expect
from browser.notebooks import CHECKOUT, notebook

PRICES = r"""
with agentcell.watch("Which plan is <cheaper>, $5 or $10?", expand_trace=True) as run:
    run.step("Comparing $5 with $10")
    with run.tool("prices", of="plan A at $5") as call:
        call.result("plan B is $10 \(more\)")
    run.think("It is $5 or $10 \(more\).")
    run.write("Plan A is $5/month and plan B is $10/month, \\(more\\) $$so$$.\n\n```\n" + "| wide " * 60 + "|\n```\n")
"""
MATHEMATICS = "# What is said in a text of its own is mathematics: $x^2$"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_file_holds_a_page_of_its_own(jupyterlab: Lab, shots: Path, theme: str):
    page = jupyterlab.open(notebook(CHECKOUT, PRICES, MATHEMATICS), theme=theme)
    page.run(0)
    page.start(1)
    cell = page.output(1).locator(".agentcell")
    expect(cell.locator(".ac-text")).to_have_count(4)
    expect(cell.locator(".ac-line")).to_have_text("Reading page 2 of 5")
    expect(cell.locator(".ac-head")).to_have_attribute("title", "Why is checkout slow?")
    cell.screenshot(path=shots / f"{theme}-1-running.png")
    page.open_gate("searching")
    expect(cell.locator("pre")).to_contain_text("size: 64")
    expect(cell.locator("pre")).to_have_css("white-space", "pre")
    cell.screenshot(path=shots / f"{theme}-2-answering.png")
    page.open_gate("writing")
    page.finish(1)
    check_kept(page, shots / f"{theme}-3-ended.png")
    page.run(2)
    check_prices(page, shots / f"{theme}-3-prices.png")

    # The file: no widget in it, neither as an output nor as state.
    saved = page.save()
    [output] = saved.cells[1].outputs
    assert set(output.data) == {"text/html", "text/plain"}
    assert output.data["text/plain"].startswith("Thought for")
    assert "widgets" not in saved.metadata
    jupyterlab.close_pages()

    trusted = jupyterlab.open(page.path, kernel=False, theme=theme)
    assert trusted.is_trusted()
    check_kept(trusted, shots / f"{theme}-4-trusted.png")
    check_prices(trusted, shots / f"{theme}-4-prices.png")
    jupyterlab.close_pages()

    # Another notebook with the same outputs has no signature here, as one that came by mail.
    saved.metadata["came_by"] = "mail"
    untrusted = jupyterlab.open(saved, kernel=False, theme=theme)
    assert not untrusted.is_trusted()
    check_kept(untrusted, shots / f"{theme}-5-untrusted.png")
    check_prices(untrusted, shots / f"{theme}-5-prices.png")
    assert jupyterlab.server.ask("GET", "kernels") == []


def check_kept(page: NotebookPage, picture: Path) -> None:
    """The output is the final HTML, folded; opened it has every row and every body."""
    output = page.output(1)
    heading = output.locator("summary").first
    expect(heading).to_have_text(re.compile(r"^Thought for [a-z0-9 ]+ · 3 tools$"))
    expect(output).to_contain_text("The p95 rose after Tuesday's deploy: build 4121 halved the connection pool")
    expect(output.locator("td").first).to_have_text("/checkout")
    expect(output.locator("td").first).to_have_css("text-align", "left")
    expect(output.locator("td").nth(1)).to_have_css("text-align", "right")
    code = output.locator(".ac-answer pre")
    expect(code).to_contain_text("size: 64")
    expect(code).to_have_css("white-space", "pre")
    expect(output.locator(".jupyter-widgets, .agentcell")).to_have_count(0)
    expect(output).not_to_contain_text(re.compile("Loading widget|Error displaying"))
    output.screenshot(path=picture)
    heading.click()
    rows = output.locator("li:visible")
    expect(rows).to_have_count(4)
    expect(rows.nth(2)).to_contain_text("metrics failed — TimeoutError: no answer in 1.5 s")
    rows.nth(3).locator("summary").click()
    expect(rows.nth(3)).to_contain_text("Deploy 4121")
    expect(rows.nth(3).locator("pre").first).to_be_visible()
    expect(rows.nth(3).locator("pre").first).to_have_css("word-break", "normal")
    output.screenshot(path=picture.with_stem(f"{picture.stem}-opened"))


def check_prices(page: NotebookPage, picture: Path) -> None:
    """No sum of money has become mathematics, no line of code is folded, and the heading tells the task."""
    expect(page.page.locator(".jp-MarkdownCell mjx-container")).to_have_count(1)  # it comes behind, so the run has been looked at
    output = page.output(2)
    expect(output.locator("summary").first).to_have_attribute("title", "Which plan is <cheaper>, $5 or $10?")
    output.locator("details").evaluate_all("(all) => all.forEach((one) => { one.open = true; })")
    expect(output.locator(".ac-answer p")).to_have_text(r"Plan A is $5/month and plan B is $10/month, (more) $$so$$.")
    for words in ("Comparing $5 with $10", "plan A at $5", r"plan B is $10 \(more\)", r"It is $5 or $10 \(more\)."):
        expect(output).to_contain_text(words)
    expect(output.locator("mjx-container")).to_have_count(0)
    code = output.locator(".ac-answer code")
    assert code.evaluate("(code) => [...code.getClientRects()].filter(({ width }) => width).length") == 1, "the line is folded"
    assert code.evaluate("(code) => code.parentElement.scrollWidth > code.parentElement.clientWidth"), "it cannot be scrolled"
    assert output.evaluate("(output) => output.scrollWidth <= output.clientWidth"), "the page is as wide as the code"
    output.screenshot(path=picture)
