"""JupyterLab or Notebook 7 in a browser, and a notebook in it: what a test says instead of clicking and waiting."""

from __future__ import annotations

import ast
import itertools
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import nbformat
from nbformat import NotebookNode

from browser.server import Server, wait_until

try:
    from playwright.sync_api import expect, sync_playwright
except ModuleNotFoundError:  # conftest.py sees it too, and no test runs
    expect = sync_playwright = None

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Error, JSHandle, Locator, Page

SECONDS = 30
"""How long anything in a page may take before a test gives up; two cores that others use too are slow."""

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
    # No name is looked up: what asks another host fails at once.
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
)


def browser_path() -> str | None:
    """The browser that is installed here; playwright's own download is not used."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


@contextmanager
def browser() -> Iterator[BrowserContext]:
    """A browser without a window."""
    expect.set_options(timeout=SECONDS * 1000)
    with tempfile.TemporaryDirectory() as home, sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser_path(), args=FLAGS, env={**os.environ, "HOME": home})
        context = chromium.new_context(viewport={"width": 1000, "height": 800}, device_scale_factor=2)
        context.set_default_timeout(SECONDS * 1000)
        context.add_init_script(path=Path(__file__).with_name("page.js"))
        yield context
        chromium.close()


class Kind(NamedTuple):
    """What makes one page of JupyterLab as good as another."""

    kernel: bool
    theme: str


@dataclass
class Lab:
    """A JupyterLab, and a Notebook 7 beside it: one server and one browser, and as many pages as a test opens.

    Attributes:
        server: The server.
        context: The browser.
        pages: The pages that are open.
        faults: What went wrong in a page, and what it asked other hosts for.
    """

    server: Server
    context: BrowserContext
    pages: list[NotebookPage] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    _idle: dict[Kind, Page] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def open(
        self,
        what: NotebookNode | Path,
        *,
        kernel: bool = True,
        theme: Literal["light", "dark"] = "light",
        host: Literal["lab", "notebook"] = "lab",
        busy: bool = False,
        anew: bool = False,
    ) -> NotebookPage:
        """Opens a notebook in a page that shows no other one, and returns when it can be used.

        Loading JupyterLab takes seconds, so a page that an earlier test is done with, its notebook and its kernel gone, is taken again.

        Args:
            what: A notebook, which is written into a new folder; or the path of one that lies below the server's root. Opening one
                path twice gives two pages on one kernel.
            kernel: False opens it without a kernel, as where nobody can run it; in JupyterLab only.
            theme: What the browser asks pages to look like.
            host: Whether JupyterLab or Notebook 7 shows it.
            busy: Whether its kernel is at work already, and cannot say that it is there.
            anew: Whether the page must be for this notebook alone, from its loading to its end, because a test loads it again or
                changes it for good.
        """
        if isinstance(what, Path):
            path = what
        else:
            path = self.server.root / f"{next(self._numbers)}" / "run.ipynb"
            path.parent.mkdir()
            nbformat.write(what, path)
        kind = None if anew or host == "notebook" else Kind(kernel, theme)
        file = path.relative_to(self.server.root)
        page = self._idle.pop(kind, None) if kind else None
        if page:
            page.evaluate("(path) => lab.open(path)", str(file))
        else:
            page = self.context.new_page()
            page.emulate_media(color_scheme=theme)
            page.on("pageerror", lambda error: self._hear(error, kernel=kernel))
            page.on("request", lambda request: self.look_at(request.url))
            if not kernel:
                page.add_init_script("lab.startNoKernel()")
            # A workspace for each page: a second page in one and the same would be sent to another address.
            place = f"lab/workspaces/{next(self._numbers)}/tree" if host == "lab" else "notebooks"
            page.goto(f"{self.server.url}/{place}/{file}")
        page.wait_for_function("(open) => lab[open]()", arg="isOpen" if kernel and not busy else "isShown")
        opened = NotebookPage(lab=self, page=page, path=path, kind=kind)
        self.pages.append(opened)
        return opened

    def close_pages(self) -> None:
        """Closes every notebook and ends every kernel."""
        for page in self.pages:
            if page.kind and page.kind not in self._idle and page.page.evaluate("() => lab.leave()"):
                self._idle[page.kind] = page.page
            else:
                page.page.close()
        self.pages.clear()
        self.server.end_kernels()

    def _hear(self, error: Error, *, kernel: bool) -> None:
        # What is not about us: without a kernel, the widgets' own extension trips over the missing one; and Notebook 7 sometimes
        # hears of a setting before it has loaded what that setting may be, or of the page's address before its file browser is there.
        stack = error.stack or ""
        early = ("reading 'schema'", "Command 'filebrowser:open-path' not registered")
        theirs = (
            "jupyterlab-manager" in stack if not kernel else "notebook_core" in stack and any(one in str(error) for one in early)
        )
        if not theirs:
            self.faults.append(f"{error}\n{stack}")

    def look_at(self, url: str) -> None:
        """Counts it as a fault when a page asks another host."""
        if not url.startswith((self.server.url, self.server.url.replace("http", "ws", 1), "data:", "blob:")):
            self.faults.append(f"the page asked for {url}")


@dataclass
class NotebookPage:
    """A notebook in a page. Cells are counted from 0.

    Attributes:
        lab: Where it is open.
        page: Playwright's page.
        path: The notebook's file; its folder is the kernel's working directory.
        kind: Of which kind the page is; None if it is for this notebook alone.
    """

    lab: Lab
    page: Page
    path: Path
    kind: Kind | None

    def start(self, cell: int) -> None:
        """Begins to run a cell."""
        self.page.evaluate("(cell) => lab.start(cell)", cell)

    def finish(self, cell: int) -> None:
        """Waits until a cell that was started has been run."""
        self.wait("(cell) => lab.done[cell]", cell)

    def is_running(self, cell: int) -> bool:
        """Whether a cell that was started still runs."""
        return not self.page.evaluate("(cell) => lab.done[cell]", cell)

    def run(self, *cells: int) -> None:
        """Runs cells, one after the other."""
        for cell in cells:
            self.start(cell)
            self.finish(cell)

    def open_gate(self, gate: str) -> None:
        """Lets the code go on that waits at this gate."""
        (self.path.parent / gate).touch()

    def listen(self) -> None:
        """Keeps, from now on, the messages that Python sends to its widgets, and that it replaces an output."""
        self.page.evaluate("() => lab.listen()")

    def heard(self) -> list[dict[str, Any]]:
        """The messages since `listen`."""
        return list(self.page.evaluate("() => lab.heard"))

    def follow(self, *selectors: str) -> None:
        """Watches where elements are from now on, in pixels from the page's upper edge."""
        self.page.evaluate("(selectors) => lab.follow(selectors)", list(selectors))

    def places(self) -> list[list[float | None]]:
        """Where the elements of `follow` were, one after the other; None in a frame without it."""
        return list(self.page.evaluate("() => lab.places"))

    def is_trusted(self) -> bool:
        """Whether JupyterLab shows what only trusted outputs may."""
        return bool(self.page.evaluate("() => lab.isTrusted()"))

    def command(self, name: str, cell: int) -> None:
        """Does what a menu does, with this cell as the active one; `name` is JupyterLab's own for it."""
        self.page.evaluate("([name, cell]) => lab.command(name, cell)", [name, cell])

    def reload(self) -> None:
        """Reloads the page, whatever is not saved, and returns when the notebook is shown again; its kernel may be busy."""
        self.page.once("dialog", lambda dialog: dialog.accept())
        self.page.reload()
        self.wait("() => window.lab && lab.isShown()")

    def is_changed(self) -> bool:
        """Whether the notebook has changes that are not in the file."""
        return bool(self.page.evaluate("() => lab.isChanged()"))

    def interrupt(self) -> None:
        """Interrupts the kernel, as the menu does."""
        self.page.evaluate("async () => { await lab.kernel().interrupt(); }")

    def output(self, cell: int) -> Locator:
        """What a cell shows."""
        return self.page.locator(".jp-Notebook .jp-Cell").nth(cell).locator(".jp-Cell-outputArea")

    def picture(self, path: Path, first: int, last: int, *, edge: int) -> None:
        """Takes a picture of some cells that are in sight, with so many pixels around them."""
        cells = self.page.locator(".jp-Notebook .jp-Cell")
        self.page.mouse.move(0, 0)
        boxes = [box for box in (cells.nth(cell).bounding_box() for cell in range(first, last + 1)) if box]
        left, top = min(box["x"] for box in boxes) - edge, min(box["y"] for box in boxes) - edge
        right = max(box["x"] + box["width"] for box in boxes) + edge
        bottom = max(box["y"] + box["height"] for box in boxes) + edge
        self.page.screenshot(path=path, clip={"x": left, "y": top, "width": right - left, "height": bottom - top})

    def outputs(self, cell: int) -> list[dict[str, Any]]:
        """A cell's outputs, as they would be saved now."""
        return list(self.page.evaluate("(cell) => lab.outputs(cell)", cell))

    def save(self) -> NotebookNode:
        """Saves the notebook and returns what is in the file."""
        self.page.evaluate("() => lab.save()")
        return nbformat.read(self.path, as_version=4)

    def evaluate(self, expression: str) -> Any:
        """The value of a Python expression in the kernel, brought over as JSON; only between two cells."""
        value = self.page.evaluate("(expression) => lab.evaluate(expression)", f"__import__('json').dumps({expression})")
        return json.loads(ast.literal_eval(value))

    def settle(self) -> None:
        """Waits until Python has nothing more to send: the end is sent once more after a second, unless a page says that it came."""
        wait_until(lambda: bool(self.evaluate('__import__("agentcell.pacer").pacer.PACER._timers == []')), "all is sent")

    def model(self, model_id: str) -> JSHandle:
        """A widget's model in the page."""
        return self.page.evaluate_handle("(id) => lab.model(id)", model_id)

    def wait(self, condition: str, argument: Any = None) -> None:
        """Waits until a JavaScript function of the argument returns something true."""
        self.page.wait_for_function(condition, arg=argument)
