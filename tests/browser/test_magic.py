"""The magics in JupyterLab: a cell that is watched by its first line, and cells that are watched because they run an agent."""

from __future__ import annotations

from pathlib import Path

from browser.lab import Lab, expect
from browser.notebooks import notebook
from hosts.test_magic import FRAMEWORK

LOAD = "%load_ext agentcell\nagentcell.watch_all()"
WATCHED = """\
%%watch --expand open Why is checkout slow?
some_agents.tell("Reading the deploy log of Tuesday")
await asyncio.sleep(0)
run.write("The p95 rose after **Tuesday's deploy**.")
wait_at("writing")
{"routes": 2}"""
BY_ITSELF = """\
points = [212, 1840]
some_agents.tell("Comparing both days")
agentcell.current_run().write("It is nine times as slow.")
points"""
WITHOUT = "max(points)"


def test_cells_are_watched_by_a_line_and_by_themselves(jupyterlab: Lab, shots: Path):
    page = jupyterlab.open(notebook(FRAMEWORK, LOAD, WATCHED, BY_ITSELF, WITHOUT))
    page.page.set_viewport_size({"width": 1000, "height": 1400})
    page.run(0, 1, 2)
    page.start(3)
    live = page.output(3).locator(".agentcell")
    expect(live).to_contain_text("Reading the deploy log of Tuesday")
    expect(live).to_contain_text("The p95 rose")
    page.open_gate("writing")
    page.finish(3)
    expect(page.output(3)).to_contain_text("{'routes': 2}")
    page.run(4, 5)
    expect(page.output(4).locator(".agentcell-snapshot")).to_contain_text("It is nine times as slow.")
    expect(page.output(4)).to_contain_text("[212, 1840]")
    expect(page.output(5).locator(".agentcell-snapshot")).to_have_count(0)
    page.picture(shots / "magic.png", 2, 5, edge=4)
