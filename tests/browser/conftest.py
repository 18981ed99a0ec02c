"""One server and one browser for all tests of this folder; pages and kernels of its own for each.

`python -m pytest tests/browser` runs them. They need JupyterLab, playwright and a Chromium that is installed (`apt-get install
chromium`), and agentcell itself in the environment that runs them, because the kernels import it from there. The pictures that they
take go to the folder that AGENTCELL_SHOTS names.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from browser.kernels import KERNELS, Kernel
from browser.lab import BROWSERS, Lab, browser, browser_path
from browser.server import jupyter_server

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext


def _missing() -> str | None:
    """What these tests need and this machine lacks, with the way to get it."""
    modules = [name for name in ("jupyterlab", "playwright") if find_spec(name) is None]
    if modules:
        return f"{' and '.join(modules)}: pip install --group dev"
    return None if browser_path() else f"a browser ({', '.join(BROWSERS)}): apt-get install chromium"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where these tests cannot run, one of them stands for all and says why; under CI=true they run and fail."""
    ours = [item for item in items if Path(__file__).parent in item.path.parents]
    missing = _missing()
    if not ours or missing is None or os.environ.get("CI") == "true":
        return
    first, *others = ours
    first.add_marker(pytest.mark.skip(reason=f"nothing is tested in a real JupyterLab, for want of {missing}"))
    items[:] = [item for item in items if item not in others]
    config.hook.pytest_deselected(items=others)


@pytest.fixture(scope="package")
def chromium() -> Iterator[BrowserContext]:
    """The browser."""
    missing = _missing()
    if missing:
        pytest.fail(f"these tests must not be left out here, and for them is missing {missing}")
    with browser() as context:
        yield context


@pytest.fixture(scope="package")
def _lab(tmp_path_factory: pytest.TempPathFactory, chromium: BrowserContext) -> Iterator[Lab]:
    with jupyter_server(tmp_path_factory.mktemp("jupyter")) as server:
        for kernel in KERNELS:
            if kernel.is_there:
                kernel.install(server.data)
        yield Lab(server, chromium)


@pytest.fixture
def jupyterlab(_lab: Lab) -> Iterator[Lab]:
    """A JupyterLab; at the end its pages and kernels are gone, and nothing may have gone wrong in a page."""
    _lab.faults.clear()
    yield _lab
    _lab.close_pages()
    assert _lab.faults == []


@pytest.fixture(params=KERNELS, ids=lambda kernel: kernel.name)
def kernel(request: pytest.FixtureRequest) -> Kernel:
    """Each kernel in turn."""
    kernel: Kernel = request.param
    kernel.demand()
    return kernel


@pytest.fixture(scope="session")
def shots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pictures go."""
    folder = Path(os.environ.get("AGENTCELL_SHOTS") or tmp_path_factory.mktemp("shots"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder
