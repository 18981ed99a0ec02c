"""What the other tests of this folder build on."""

from __future__ import annotations

from browser.lab import Lab, expect
from browser.notebooks import notebook


def test_a_cell_shows_its_output_while_it_waits_at_a_gate(jupyterlab: Lab) -> None:
    page = jupyterlab.open(notebook("print('before')\nwait_at('gate')\nprint('after')\nnumber = 6 * 7"))
    page.run(0)
    page.start(1)
    expect(page.output(1)).to_have_text("before\n")
    page.open_gate("gate")
    page.finish(1)
    expect(page.output(1)).to_have_text("before\nafter\n")
    assert page.evaluate("number") == 42
    [output] = page.save().cells[1].outputs
    assert output.text == "before\nafter\n"
