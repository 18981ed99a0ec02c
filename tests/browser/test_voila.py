"""A notebook as an app: voila runs it for each visitor, and shows what its runs leave."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import nbformat

from browser.lab import Lab, expect
from browser.notebooks import notebook
from browser.server import free_port, wait_until


@contextmanager
def voila(path: Path) -> Iterator[str]:
    """Serves a notebook; gives its address."""
    address = f"http://127.0.0.1:{(port := free_port())}/voila/static/voila.js"
    command = [sys.executable, "-m", "voila", str(path), "--no-browser", f"--port={port}", "--Voila.ip=127.0.0.1"]
    with (path.parent / "voila.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=path.parent, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        wait_until(lambda: process.poll() is not None or answers(address), "voila answers")
        yield f"http://127.0.0.1:{port}/"
    finally:
        process.terminate()  # it ends its kernels then
        process.wait(30)


def answers(address: str) -> bool:
    try:
        urlopen(address, timeout=30).close()
    except URLError:
        return False
    return True


def test_a_visitor_sees_the_final_html(jupyterlab: Lab, shots: Path, tmp_path: Path):
    code = """\
with agentcell.watch("Why is checkout slow?") as run:
    run.step("Reading the deploy log of Tuesday")
    run.write("The p95 rose after **Tuesday's deploy**.")
"""
    path = tmp_path / "app.ipynb"
    nbformat.write(notebook(code), path)
    with voila(path) as address:
        page = jupyterlab.context.new_page()
        faults: list[str] = []
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto(address)
        run = page.locator(".agentcell-snapshot")
        expect(run.locator("strong")).to_have_text("Tuesday's deploy")
        expect(page.locator(".jupyter-widgets, .agentcell")).to_have_count(0)
        run.locator("summary").click()
        expect(run.locator("li")).to_have_text("Reading the deploy log of Tuesday")
        page.screenshot(path=shots / "voila.png")
        page.close()
    assert faults == []
