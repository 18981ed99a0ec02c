"""A marimo notebook in a page: as an app (`marimo run`) or in its editor (`marimo edit`)."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.error import URLError
from urllib.request import urlopen

from browser.notebooks import PRELUDE
from browser.server import START, free_port, wait_until

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page


@dataclass
class MarimoPage:
    """A marimo notebook in a page.

    Attributes:
        page: Playwright's page.
        folder: Where its gates are.
        faults: What went wrong in the page.
    """

    page: Page
    folder: Path
    faults: list[str] = field(default_factory=list)

    def open_gate(self, gate: str) -> None:
        """Lets the code go on that waits at this gate."""
        (self.folder / gate).touch()


@contextmanager
def marimo_page(context: BrowserContext, folder: Path, *cells: str, mode: Literal["run", "edit"] = "run") -> Iterator[MarimoPage]:
    """A notebook with the prelude and these cells, which run when the page opens; at the end marimo is gone."""
    bodies = (f"{PRELUDE}import marimo as mo\n", *cells)
    source = "".join(f"\n@app.cell\ndef _():\n{textwrap.indent(body, '    ')}    return\n" for body in bodies)
    (folder / "app.py").write_text(f"import marimo\n\napp = marimo.App()\n{source}", encoding="utf-8")
    settings = folder / "home" / ".config" / "marimo" / "marimo.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text("[runtime]\nauto_instantiate = true\n", encoding="utf-8")  # the editor, too, runs all cells at once
    port = free_port()
    command = [sys.executable, "-m", "marimo", "--quiet", mode, "app.py", "--headless", "--no-token"]
    command += ["--host=127.0.0.1", f"--port={port}"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "MARIMO"))}
    environment |= {"HOME": str(folder / "home"), "MARIMO_SKIP_UPDATE_CHECK": "1"}
    url = f"http://127.0.0.1:{port}"
    log = folder / "marimo.log"
    with log.open("wb") as out:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    try:
        wait_until(lambda: process.poll() is not None or _answers(url), "marimo answers")
        if process.poll() is not None:
            raise RuntimeError(f"marimo ended at once, with:\n{log.read_text()[-3000:]}")
        page = context.new_page()
        opened = MarimoPage(page, folder)
        page.on("pageerror", lambda error: opened.faults.append(f"{error}\n{error.stack}"))
        try:
            page.goto(url)
            yield opened
        finally:
            page.close()
        assert opened.faults == []
    finally:
        process.terminate()  # in the editor the kernel is a process of its own, which it ends, too
        try:
            process.wait(START)
        except subprocess.TimeoutExpired:
            process.kill()
            raise


def _answers(url: str) -> bool:
    try:
        urlopen(f"{url}/health", timeout=10).close()
    except URLError:
        return False
    return True
