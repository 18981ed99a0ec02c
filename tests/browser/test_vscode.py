"""VS Code's own widget manager shows a run in the editor's colours, takes what the reader does, and falls back to HTML."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from browser.asking import AWAITS, BLOCKS, STUCK, STUCK_AWAITS, approve_and_stop, press_twice
from browser.kernels import KERNELS, Kernel
from browser.lab import Lab, expect
from browser.vscode_page import vscode_page

RUN = """\
with agentcell.watch("Why is checkout slow?") as run:
    run.step("Reading the deploy log of Tuesday")
    with run.tool("metrics", route="/checkout") as call:
        call.result({"points": 24, "p95_ms": 1840})
    while not run.opened:
        time.sleep(0.02)
    run.step("Somebody looks")
    wait_at("seen")
    run.write("The p95 rose after **Tuesday's deploy**.\\n\\n| route | p95 |\\n|---|--:|\\n| /checkout | 1,840 ms |\\n")
    wait_at("answered")
"""
COLOURS = {"dark": "rgb(204, 204, 204)", "light": "rgb(59, 59, 59)"}


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_a_run_wears_the_editors_colours_and_hears_the_reader(jupyterlab: Lab, tmp_path: Path, shots: Path, theme: str):
    with vscode_page(jupyterlab, KERNELS[-1], tmp_path, theme) as page:
        page.start(RUN)
        cell = page.page.locator(".agentcell")
        expect(cell.locator(".ac-text")).to_have_text(["Reading the deploy log of Tuesday", "Calling metrics"])
        first = cell.locator(".ac-time").inner_text()
        expect(cell.locator(".ac-time")).not_to_have_text(first)

        # VS Code says white, and `!important`; it also defines Jupyter's variables, always with the light theme's values.
        expect(page.page.locator(".cell-output-ipywidget-background")).to_have_css("background-color", "rgba(0, 0, 0, 0)")
        expect(cell).to_have_css("color", COLOURS[theme])
        expect(cell.locator(".ac-title")).to_have_css("color", COLOURS[theme])
        expect(cell.locator(".ac-time")).not_to_have_css("color", COLOURS[theme])  # as VS Code's own for descriptions may be
        assert page.page.evaluate("() => getComputedStyle(document.body).getPropertyValue('--jp-ui-font-color1')") != ""

        cell.get_by_role("button", name="metrics").click()
        expect(cell.locator(".ac-body")).to_contain_text("1840")
        expect(cell.locator(".ac-text").last).to_have_text("Somebody looks")
        assert page.is_running()
        page.page.screenshot(path=shots / f"vscode-{theme}-1-running.png")
        page.open_gate("seen")
        expect(cell.locator(".ac-answer td").first).to_have_text("/checkout")
        expect(cell.locator(".ac-answer td").first).to_have_css("color", COLOURS[theme])
        page.page.screenshot(path=shots / f"vscode-{theme}-2-answering.png")

        # At the end the output's data are replaced, and HTML is what there is.
        page.open_gate("answered")
        page.finish()
        kept = page.page.locator(".agentcell-snapshot")
        expect(kept.locator("summary").first).to_have_text(re.compile("^Thought for [a-z0-9 ]+ · 1 tool$"))
        expect(kept).to_have_css("color", COLOURS[theme])
        expect(cell).to_have_count(0)
        page.page.screenshot(path=shots / f"vscode-{theme}-3-ended.png")


def test_in_vs_code_the_reader_answers_stops_and_interrupts_though_its_clicks_have_no_subshell(
    jupyterlab: Lab, kernel: Kernel, tmp_path: Path
):
    raised = {BLOCKS: [], AWAITS: [], STUCK: ["KeyboardInterrupt: "], STUCK_AWAITS: ["CancelledError: "]}
    with vscode_page(jupyterlab, kernel, tmp_path) as page:
        for code, errors in raised.items():
            page.start(code)
            act = approve_and_stop if code in (BLOCKS, AWAITS) else press_twice
            act(page.page.locator("body > div").last, is_running=page.is_running, finish=page.finish)
            assert page.take_errors() == errors


def test_where_the_widget_is_gone_the_first_output_shows_as_html(jupyterlab: Lab, tmp_path: Path, shots: Path):
    with vscode_page(jupyterlab, KERNELS[-1], tmp_path) as page:
        page.run('with agentcell.watch("Gone") as run:\n    run.step("It was seen")\n')
        [bundle] = page.bundles()
    assert set(bundle) == {"application/vnd.jupyter.widget-view+json", "text/html", "text/plain"}
    with vscode_page(jupyterlab, KERNELS[-1], tmp_path) as page:
        page.reopen(bundle)
        kept = page.page.locator(".agentcell-snapshot")
        expect(kept).to_contain_text("This was saved before the run had ended.")
        expect(page.page.locator(".agentcell")).to_have_count(0)
        page.page.screenshot(path=shots / "vscode-gone.png")
