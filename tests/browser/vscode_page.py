"""A page with VS Code's own widget manager and a live kernel of the test server; `vscode/page.js` says what it draws."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from browser.notebooks import PRELUDE
from browser.server import PAGES

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from browser.kernels import Kernel
    from browser.lab import Lab

# VS Code looks for a widget's script where the kernel's environment has its notebook extensions.
ANYWIDGET = Path(sys.prefix, "share", "jupyter", "nbextensions", "anywidget", "index.js")


@dataclass
class VSCodePage:
    """A notebook's outputs as VS Code draws them.

    Attributes:
        page: Playwright's page.
        folder: The kernel's working directory, where the gates are.
    """

    page: Page
    folder: Path

    def start(self, code: str) -> None:
        """Begins to run code."""
        self.page.evaluate("(code) => vscode.start(code)", code)

    def is_running(self) -> bool:
        """Whether the code that was started still runs."""
        return not self.page.evaluate("() => vscode.done")

    def finish(self) -> None:
        """Waits until the code that was started has been run, and its outputs are drawn."""
        self.page.wait_for_function("() => vscode.done")

    def run(self, code: str) -> None:
        """Runs code."""
        self.start(code)
        self.finish()

    def open_gate(self, gate: str) -> None:
        """Lets the code go on that waits at this gate."""
        (self.folder / gate).touch()

    def bundles(self) -> list[dict[str, Any]]:
        """The data of each output, as it first came."""
        return list(self.page.evaluate("() => vscode.bundles"))

    def take_errors(self) -> list[str]:
        """What has gone wrong since the last time, in the page and in the code that ran."""
        return list(self.page.evaluate("() => vscode.errors.splice(0)"))

    def reopen(self, bundle: dict[str, Any]) -> None:
        """Draws an output whose kernel is gone."""
        self.page.evaluate("(bundle) => vscode.reopen(bundle)", bundle)


@contextmanager
def vscode_page(lab: Lab, kernel: Kernel, folder: Path, theme: Literal["light", "dark"] = "dark") -> Iterator[VSCodePage]:
    """A page with a kernel that has run the prelude; at the end nothing may have gone wrong in it."""
    if not (PAGES / "build" / "page.js").exists():
        message = "VS Code's widget manager is not here: make tests/browser/vscode/build/page.js"
        pytest.fail(message) if os.environ.get("CI") == "true" else pytest.skip(message)
    page = lab.context.new_page()
    try:
        page.on("pageerror", lambda error: lab.faults.append(f"{error}\n{error.stack}"))
        page.on("request", lambda request: lab.look_at(request.url))
        page.route("**/static/anywidget.js", lambda route: route.fulfill(path=ANYWIDGET))
        page.goto(f"{lab.server.url}/static/page.html")
        page.wait_for_function("() => window.vscode")
        page.evaluate("([kernel, theme]) => void vscode.open(kernel, theme)", [kernel.name, theme])
        page.wait_for_function("() => vscode.ready")
        opened = VSCodePage(page, folder)
        opened.run(f"import os\nos.chdir({str(folder)!r})\n{PRELUDE}")
        yield opened
        assert opened.take_errors() == []
    finally:
        page.close()
