"""What a reader sees and does while a cell runs, on each release of the kernel that takes messages in another way."""

from __future__ import annotations

from functools import partial
from typing import Literal

import pytest

from browser.asking import AWAITS, BLOCKS, STUCK, STUCK_AWAITS, approve_and_stop, press_twice
from browser.kernels import Kernel
from browser.lab import Lab, expect
from browser.notebooks import notebook


@pytest.mark.parametrize("host", ["lab", "notebook"])
def test_the_reader_answers_stops_and_interrupts_while_a_cell_runs(
    jupyterlab: Lab, kernel: Kernel, host: Literal["lab", "notebook"]
):
    cells = [BLOCKS, AWAITS, STUCK, STUCK_AWAITS]
    page = jupyterlab.open(notebook(*cells, kernel=kernel.name), host=host)
    page.run(0)
    assert page.evaluate("__import__('ipykernel').__version__") == kernel.release
    for cell, code in enumerate(cells, start=1):
        page.start(cell)
        act = approve_and_stop if code in (BLOCKS, AWAITS) else press_twice
        act(page.output(cell), is_running=partial(page.is_running, cell), finish=partial(page.finish, cell))
        opened = [[0, True]] if act is approve_and_stop else []
        assert page.evaluate("[run.outcome, list(run.opened.items())]") == ["cancelled", opened]
    saved = page.save().cells[1:]
    # A stop is ended quietly by the block, and an interrupt is not.
    assert [[output.get("ename") for output in cell.outputs] for cell in saved] == [
        *([None], [None]),
        *([None, "KeyboardInterrupt"], [None, "CancelledError"]),
    ]
    assert all(set(cell.outputs[0].data) == {"text/html", "text/plain"} for cell in saved)


WAITS = """\
with agentcell.watch("{title}") as run:
    with run.tool("metrics", route="/checkout") as call:
        call.result({{"points": 24}})
    end = time.monotonic() + {seconds}
    while not run.opened and time.monotonic() < end:
        time.sleep(0.02)
    while_it_ran = list(run.opened)
    wait_at("{title}")
"""


def test_each_of_the_two_roads_is_enough_where_it_is_open(jupyterlab: Lab, kernel: Kernel):
    expected = {"control": True, "comm": kernel.subshells}
    cells = [WAITS.format(title=road, seconds=30 if open_ else 1) for road, open_ in expected.items()]
    page = jupyterlab.open(notebook(*cells, kernel=kernel.name))
    page.run(0)
    for cell, (road, comes) in enumerate(expected.items(), start=1):
        page.start(cell)
        row = page.output(cell).locator(".agentcell").get_by_role("button", name="metrics")
        expect(row).to_be_visible()
        [output] = page.outputs(cell)
        other = {"control": "comm", "comm": "control"}[road]
        view = output["data"]["application/vnd.jupyter.widget-view+json"]
        page.page.evaluate("([road, id]) => lab.close(road, id)", [other, view["model_id"]])
        row.click()
        page.open_gate(road)
        page.finish(cell)
        assert page.evaluate("while_it_ran") == ([0] if comes else []), road
        assert page.evaluate("list(run.opened)") == [0], road
