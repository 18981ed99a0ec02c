"""The trace panel in JupyterLab: live, in the saved notebook, and where nobody trusts it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from browser.lab import Lab
from browser.notebooks import notebook

CODE = r"""
from agentcell.events import *
now = 0.0
run = agentcell.watch("Why is checkout slow?", persist="widget", clock=lambda: now)
with run:
    tools = (ToolOffer("metrics", "Reads a metric"), ToolOffer("search_notes", "Finds notes"))
    run.record(Routed(route="observability", confidence=0.95))
    run.record(ModelStarted(model_call_id="1", tools=tools))
    run.record(ThinkingDelta(model_call_id="1", text="First the metrics, then the notes."))
    now = 2.1
    run.record(ModelEnded(model_call_id="1", tool_calls=2, usage=Usage(780, 60, 512)))
    run.record(ToolStarted(call_id="a", name="metrics", arguments={"route": "/checkout"}, model_call_id="1"))
    arguments = {"query": "connection pool", "since": "Tue"}
    run.record(ToolStarted(call_id="b", name="search_notes", arguments=arguments, model_call_id="1"))
    now = 4.5
    run.record(ToolEnded(call_id="a", result="24 points"))
    now = 6.1
    run.record(ToolEnded(call_id="b", result=["Checkout p95", "Cart cache", "Deploy 4121", "Pool sizes", "On-call"]))
    run.record(AgentStarted(agent_id="r", name="researcher"))
    run.record(ToolStarted(call_id="c", name="metrics", arguments={"route": "/cart"}, agent_id="r"))
    now = 7.6
    run.record(ToolEnded(call_id="c", outcome="failed", error_type="TimeoutError", error="no answer in 1.5 s", agent_id="r"))
    run.record(AgentEnded(agent_id="r"))
    run.record(ModelStarted(model_call_id="2", tools=tools))
    text = "The p95 rose after **Tuesday's deploy**: build `4121` halved the connection pool, so requests queue behind it."
    run.record(TextDelta(model_call_id="2", text=text))
    now = 12.0
    run.record(ModelEnded(model_call_id="2", tool_calls=0, usage=Usage(2000, 260)))
    run.cell.flush()
    wait_at("answered")
"""
SUMMARY = "Tool trace · observability (95%) · 2× metrics · 1× search_notes"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_panel_opens_live_and_in_the_saved_notebook(jupyterlab: Lab, shots: Path, theme: str):
    page = jupyterlab.open(notebook(CODE), theme=theme)
    page.run(0)
    page.start(1)
    cell = page.output(1).locator(".agentcell")
    expect(cell.locator(".ac-answer")).to_contain_text("The p95 rose")
    expect(cell.get_by_text("Tool trace")).to_have_count(0)  # not before the end
    page.open_gate("answered")
    page.finish(1)
    open_panel(cell)
    check_rows(cell)
    page.output(1).screenshot(path=shots / f"{theme}-6-trace-live.png")
    # What the reader opened stays open when everything is sent again.
    page.evaluate("run.cell.act({'type': 'resync'})")
    expect(cell.get_by_text('connection pool",')).to_be_visible()

    saved = page.save()
    [output] = saved.cells[1].outputs
    assert output.data["text/html"].count("Tool trace") == 1
    del output.data["application/vnd.jupyter.widget-view+json"]  # as `persist="snapshot"` leaves it
    saved.metadata["came_by"] = "mail"
    jupyterlab.close_pages()
    untrusted = jupyterlab.open(saved, kernel=False, theme=theme)
    assert not untrusted.is_trusted()
    kept = untrusted.output(1).locator(".agentcell-snapshot")
    open_panel(kept)
    check_rows(kept)
    untrusted.output(1).screenshot(path=shots / f"{theme}-7-trace-saved.png")


def open_panel(place: Locator) -> None:
    expect(place.get_by_text("search_notes →")).to_be_hidden()
    place.get_by_text(SUMMARY).click()
    place.get_by_text("search_notes →").click()


def check_rows(place: Locator) -> None:
    rows = place.get_by_text(SUMMARY).locator("xpath=..").locator("li")
    expect(rows).to_have_count(6)
    expect(rows.nth(0)).to_contain_text(re.compile(r"model asks for 2 tools at 0.0s\s+2.1s\s+840 tokens"))
    expect(rows.nth(3).locator("li")).to_contain_text("✕ metrics → TimeoutError: no answer in 1.5 s")
    expect(rows.nth(4)).to_contain_text("/cart")  # a call that failed is open
    expect(rows.nth(4).locator("pre").first).to_be_visible()
    expect(rows.nth(2).locator("pre").first).to_be_visible()
    # Parallel calls begin at one place, and end one after the other.
    one, two = (box_of(rows.nth(place).locator("i")) for place in (1, 2))
    assert one["x"] == pytest.approx(two["x"], abs=1)
    assert 20 < one["width"] < two["width"] < 60
    columns = [box_of(rows.nth(place).locator("i").locator("xpath=..")) for place in (0, 1, 4, 5)]
    assert all(column["x"] == pytest.approx(columns[0]["x"], abs=1) for column in columns)


def box_of(place: Locator) -> dict[str, float]:
    expect(place.first).to_be_visible()
    box = place.first.bounding_box()
    assert box
    return dict(box)
