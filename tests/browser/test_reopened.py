"""A notebook that JupyterLab has saved with the state of its widgets, or without; trusted, or not, or by a command later on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import Request, urlopen

import nbformat

from browser.lab import Lab, NotebookPage, expect
from browser.notebooks import notebook

LEAKY = """\
secret = pathlib.Path("secret").read_text()
with agentcell.watch("Leaky") as run:
    run.step(f"Using {secret}")
    with run.tool("login", api_key=secret[8:], note=secret) as call:
        call.result(f"The key {secret} is right.")
    wait_at("searching")
    run.write("The **answer**.")
"""
STATE = "application/vnd.jupyter.widget-state+json"


@contextmanager
def saving_widget_state(lab: Lab) -> Iterator[None]:
    """As a person who has chosen "Save Widget State Automatically"."""
    url = f"{lab.server.url}/lab/api/settings/@jupyter-widgets/jupyterlab-manager:plugin"

    def put(settings: dict[str, bool]) -> None:
        body = json.dumps({"raw": json.dumps(settings)}).encode()
        urlopen(Request(url, method="PUT", data=body, headers={"Content-Type": "application/json"}), timeout=30).close()

    put({"saveState": True})
    try:
        yield
    finally:
        put({})


def widget_code(saved: nbformat.NotebookNode) -> list[str]:
    """The code of every widget whose state was saved."""
    state = saved.metadata.get("widgets", {}).get(STATE, {}).get("state", {})
    return [model["state"]["_esm"] for model in state.values() if "_esm" in model["state"]]


def save_when_settled(page: NotebookPage) -> nbformat.NotebookNode:
    """Saves when Python has closed all but the newest of its widgets, and the page knows."""
    page.settle()
    page.wait("async () => (await lab.widgetCount()).models === 2")
    return page.save()


def check_opens(page: NotebookPage, picture: Path) -> None:
    kept = page.output(1).locator(".agentcell-snapshot")
    expect(kept.locator("strong")).to_have_text("answer")
    expect(page.output(1)).not_to_contain_text("Loading widget")
    page.output(1).screenshot(path=picture)


def test_widget_state_that_is_saved_too_neither_grows_nor_tells_nor_gets_in_the_way(jupyterlab: Lab, shots: Path):
    secret = "sk-proj-0A1b2C3d4E5f6G7h8lab"
    with saving_widget_state(jupyterlab):
        page = jupyterlab.open(notebook(LEAKY), anew=True)
        (page.path.parent / "secret").write_text(secret)
        page.run(0)
        page.start(1)
        expect(page.output(1).locator(".agentcell .ac-text")).to_have_count(2)
        midway = page.save()
        assert set(midway.cells[1].outputs[0].data) >= {"application/vnd.jupyter.widget-view+json", "text/html"}
        assert len(widget_code(midway)) == 1
        assert secret[8:] not in page.path.read_text()
        page.open_gate("searching")
        page.finish(1)
        check_opens(page, shots / "state-ended.png")
        assert len(widget_code(save_when_settled(page))) == 1
        size = page.path.stat().st_size
        assert secret[8:] not in page.path.read_text()

        for _ in range(5):
            page.run(1)
        check_opens(page, shots / "state-again.png")
        saved = save_when_settled(page)
        assert len(widget_code(saved)) == 1
        assert abs(page.path.stat().st_size - size) < 100, "numbers that have more digits or fewer"
        assert set(saved.cells[1].outputs[0].data) == {"text/html", "text/plain"}
        jupyterlab.close_pages()
        check_opens(jupyterlab.open(page.path, anew=True), shots / "state-kernel.png")
        # What was saved in the middle of it comes back as a widget, which no kernel will ever end.
        lost = jupyterlab.open(midway, anew=True).output(1).locator(".agentcell")
        expect(lost).to_have_attribute("data-state", "lost", timeout=10_000)
        expect(lost.locator(".ac-text")).to_have_count(2)
        lost.screenshot(path=shots / "state-midway.png")
        jupyterlab.close_pages()
        check_opens(jupyterlab.open(page.path, kernel=False), shots / "state-trusted.png")
        jupyterlab.close_pages()
        saved.metadata["came_by"] = "mail"
        check_opens(jupyterlab.open(saved, kernel=False), shots / "state-untrusted.png")


def test_jupyter_trust_changes_nothing_that_is_read(jupyterlab: Lab, shots: Path):
    code = "with agentcell.watch('x') as run:\n    run.step('First')\n    run.write('The **answer**.')"
    page = jupyterlab.open(notebook(code))
    page.run(0)
    page.run(1)
    saved = page.save()
    jupyterlab.close_pages()
    saved.metadata["came_by"] = "mail"
    untrusted = jupyterlab.open(saved, kernel=False)
    assert not untrusted.is_trusted()
    check_opens(untrusted, shots / "trust-before.png")
    words = untrusted.output(1).inner_text()
    jupyterlab.close_pages()

    command = [sys.executable, "-m", "jupyter", "trust", str(untrusted.path)]
    environment = {**os.environ, "JUPYTER_DATA_DIR": str(jupyterlab.server.data)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True)
    assert "Signing notebook" in done.stdout
    trusted = jupyterlab.open(untrusted.path, kernel=False)
    assert trusted.is_trusted()
    check_opens(trusted, shots / "trust-after.png")
    assert trusted.output(1).inner_text() == words
