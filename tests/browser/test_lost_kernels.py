"""A kernel that is lost while the cell runs: the view says so within ten seconds, and nothing in it goes on."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

from browser.lab import Lab, NotebookPage, expect
from browser.notebooks import notebook
from browser.server import jupyter_server, wait_until

RUN = """\
import os
pathlib.Path("pid").write_text(str(os.getpid()))
with agentcell.watch("Why is checkout slow?") as run:
    run.step("Reading the deploy log of Tuesday")
    with run.tool("search_notes", query="connection pool"):
        wait_at("gate that stays shut")
"""
DEAF = """\
with agentcell.watch("Why is checkout slow?") as run:
    run.step("Reading the deploy log of Tuesday")
    with run.tool("search_notes", query="connection pool"):
        while True:
            try:
                wait_at("gate that stays shut")
            except KeyboardInterrupt:
                pass
"""
SOON = 10_000  # ms


def restart(page: NotebookPage) -> None:
    page.page.evaluate("() => void jupyterapp.commands.execute('notebook:restart-kernel')")
    page.page.locator(".jp-Dialog").get_by_role("button", name="Confirm Kernel Restart").click()


def kill(page: NotebookPage) -> None:
    os.kill(pid(page), signal.SIGKILL)


def shut_down_from_the_menu(page: NotebookPage) -> None:
    page.page.get_by_role("menuitem", name="Kernel", exact=True).click()
    page.page.get_by_role("menuitem", name="Shut Down Kernel", exact=True).click()


def pid(page: NotebookPage) -> int:
    return int((page.path.parent / "pid").read_text())


def begin(page: NotebookPage, cell: int = 1) -> None:
    page.start(cell)
    expect(page.output(cell).locator(".agentcell[data-state=running] .ac-text")).to_have_count(2)


def expect_lost(page: NotebookPage, picture: Path, *, cell_number: int = 1) -> None:
    cell = page.output(cell_number).locator(".agentcell")
    expect(cell).to_have_attribute("data-state", "lost", timeout=SOON)
    expect(cell.locator(".ac-head")).to_have_text(re.compile(r"Kernel lost · last seen at [0-9]+s$"))
    expect(cell.locator(".ac-line")).to_have_text("No answer from the kernel")
    assert cell.evaluate("(cell) => cell.getAnimations({ subtree: true }).length") == 0, "the spinner goes on"
    text = cell.inner_text()
    page.wait("(end) => performance.now() > end", page.page.evaluate("performance.now() + 1500"))
    assert cell.inner_text() == text, "a clock goes on"
    cell.screenshot(path=picture)


def expect_lost_while_silent(page: NotebookPage) -> None:
    """Nobody but the missing heartbeat tells of a kernel that is there and does nothing; twenty seconds are let pass at once."""
    os.kill(pid(page), signal.SIGSTOP)
    try:
        page.page.evaluate("() => { const now = performance.now.bind(performance); performance.now = () => now() + 20_000; }")
        cell = page.output(1).locator(".agentcell")
        expect(cell).to_have_attribute("data-state", "lost", timeout=SOON)
    finally:
        os.kill(pid(page), signal.SIGCONT)
    expect(cell).to_have_attribute("data-state", "running", timeout=SOON)


def test_a_kernel_that_is_silent_or_restarted_or_killed_is_lost(jupyterlab: Lab, shots: Path):
    page = jupyterlab.open(notebook(RUN), anew=True)
    for lose in (restart, kill):
        page.wait("() => lab.isOpen()")
        page.run(0)
        begin(page)
        if lose is restart:
            expect_lost_while_silent(page)
        lose(page)
        expect_lost(page, shots / f"lost-{lose.__name__}.png")
    # Python could not say more.
    [output] = page.save().cells[1].outputs
    assert "This was saved before the run had ended." in output.data["text/html"]


def test_a_kernel_that_is_shut_down_ends_its_run_or_is_lost(jupyterlab: Lab, shots: Path):
    page = jupyterlab.open(notebook(RUN, DEAF))
    page.run(0)
    begin(page)
    shut_down_from_the_menu(page)
    # It is interrupted first, and the run has the time to end well.
    expect(page.output(1).locator(".agentcell-snapshot")).to_contain_text("You interrupted it.")
    page.wait("() => lab.kernel() === null")
    assert "You interrupted it." in page.save().cells[1].outputs[0].data["text/html"]

    # Code that does not let itself be interrupted is killed.
    page.page.evaluate("() => lab.panel().sessionContext.startKernel()")
    page.wait("() => lab.isOpen()")
    page.run(0)
    begin(page, 2)
    shut_down_from_the_menu(page)
    expect_lost(page, shots / "lost-shut-down.png", cell_number=2)


def test_a_server_that_is_gone_takes_its_kernels_with_it(jupyterlab: Lab, shots: Path, tmp_path: Path):
    with jupyter_server(tmp_path / "jupyter") as server:
        lab = Lab(server, jupyterlab.context)
        page = lab.open(notebook(RUN))
        page.run(0)
        begin(page)
        os.kill(server.pid, signal.SIGKILL)
        expect_lost(page, shots / "lost-server.png")
        page.page.close()
    wait_until(lambda: not Path(f"/proc/{pid(page)}").exists(), "the kernel has ended with its server")
