"""A kernel that is lost while the cell runs: the page says so within ten seconds, and nothing in it goes on.

Of a kernel that may come back the live view says it; where it has ended, what was seen is left in the notebook instead.
"""

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
ANSWERS = """\
import os
pathlib.Path("pid").write_text(str(os.getpid()))
with agentcell.watch("Which plan is <cheaper>?") as run:
    run.step("Reading `prices`")
    with run.tool("search_notes", query="plan A < $5") as call:
        call.result(["$5/month", "plan B is $10"])
    run.think("Weighing")
    run.write("Plan A is **$5**/month and plan B is $10/month: `<b>`.\\n\\n|plan|price|\\n|---|--:|\\n|A|$5|\\n")
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


def expect_lost(page: NotebookPage, picture: Path) -> None:
    cell = page.output(1).locator(".agentcell")
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


def expect_left(page: NotebookPage, picture: Path, *rows: str, cell: int = 1) -> None:
    """What was seen last stands in the notebook, and needs nobody."""
    output = page.output(cell)
    left = output.locator(".agentcell-snapshot")
    expect(left).to_contain_text(re.compile(r"^Kernel lost · last seen at [0-9]+s"), timeout=SOON)
    expect(left.locator("li > details > summary, li:not(:has(details))")).to_have_text(list(map(re.compile, rows)))
    expect(output.locator(".agentcell, .jupyter-widgets, mjx-container")).to_have_count(0)
    expect(output).not_to_contain_text(re.compile("Loading widget|Error displaying"))
    text = left.inner_text()
    page.wait("(end) => performance.now() > end", page.page.evaluate("performance.now() + 1500"))
    assert left.inner_text() == text, "a clock goes on"
    output.screenshot(path=picture)


WORKED = (r"^Reading the deploy log of Tuesday$", r"^Searching notes for “connection pool”( — [0-9]+s)?$")
ANSWERED = (r"^Reading prices$", r"^Searching notes for “plan A < \$5” — Found 2 relevant notes", "^Thinking$")


def test_a_kernel_that_is_silent_is_lost_and_one_that_has_ended_leaves_what_was_seen(jupyterlab: Lab, shots: Path):
    page = jupyterlab.open(notebook(RUN, ANSWERS), anew=True)
    page.run(0)
    begin(page)
    expect_lost_while_silent(page)
    restart(page)
    expect_left(page, shots / "lost-restart.png", *WORKED)

    page.wait("() => lab.isOpen()")
    page.run(0)
    page.start(2)
    expect(page.output(2).locator(".agentcell td")).to_have_count(2)
    kill(page)
    expect_left(page, shots / "lost-kill.png", *ANSWERED, cell=2)
    assert page.is_changed()

    saved = page.save()
    for cell in saved.cells[1:]:
        [output] = cell.outputs
        assert set(output.data) == {"text/html", "text/plain"}
        assert output.data["text/plain"].startswith("Kernel lost · last seen at ")
        assert not re.search("<(script|style|button|input)|agentcell&quot;| on[a-z]+=", output.data["text/html"])
    lines = [line.strip() for line in saved.cells[2].outputs[0].data["text/plain"].splitlines()]
    assert lines[1:3] == ["• Reading `prices`", "• Searching notes for “plan A < $5” — Found 2 relevant notes"]
    assert "Plan A is $5/month and plan B is $10/month: <b>." in "\n".join(lines)
    jupyterlab.close_pages()

    saved.metadata["came_by"] = "mail"
    for what, trusted in ((page.path, True), (saved, False)):
        reopened = jupyterlab.open(what, kernel=False)
        assert reopened.is_trusted() is trusted
        expect_left(reopened, shots / f"lost-trusted-{trusted}.png", *ANSWERED, cell=2)
        expect_left(reopened, shots / f"lost-trusted-{trusted}-restart.png", *WORKED)
        answer = reopened.output(2).locator(".agentcell-snapshot")
        expect(answer).to_contain_text("Plan A is $5/month and plan B is $10/month: <b>.")
        expect(answer.locator("td").last).to_have_text("$5")
        jupyterlab.close_pages()


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
    expect_left(page, shots / "lost-shut-down.png", *WORKED, cell=2)


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
