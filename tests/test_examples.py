"""The notebooks in examples/ run as they stand, in a real kernel, and the outputs that they keep are those of such a run."""

from __future__ import annotations

import os
import shutil
import warnings
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
NOTEBOOKS = sorted(path for path in EXAMPLES.glob("*.ipynb") if path.name != "quickstart.ipynb")  # that one has a test of its own


def execute(notebook: nbformat.NotebookNode, folder: Path) -> None:
    """Runs a notebook in a kernel that knows nothing of the person's own configuration, and is gone afterwards."""
    places = ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "DSPY_CACHEDIR")
    env = {**os.environ, **dict.fromkeys(places, str(folder / "home")), "PYTHONWARNINGS": "ignore"}
    client = NotebookClient(
        notebook,
        timeout=120,
        kernel_name="python3",
        extra_arguments=["--IPKernelApp.log_level=40"],  # it would warn that it listens on this machine
        store_widget_state=False,
        record_timing=False,
        resources={"metadata": {"path": str(folder)}},
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the client's own
        client.execute(env=env)


def shown(notebook: nbformat.NotebookNode) -> list[str]:
    """What each run looks like: the titles and rows that stay in the notebook's file."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    return [output["data"]["text/plain"] for output in outputs if "text/html" in output.get("data", {})]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_as_it_stands_and_shows_what_it_keeps(path: Path, tmp_path: Path):
    shutil.copytree(EXAMPLES / "recordings", tmp_path / "recordings")
    kept = nbformat.read(path, as_version=4)
    code = [cell for cell in kept.cells if cell.cell_type == "code"]
    assert len(kept.cells) <= 10
    assert sum("← your own" in cell.source for cell in code) >= 1, "mark the line to change for a real model"
    assert all(cell.execution_count for cell in code), "keep the outputs: execute the notebook and save it"
    run = nbformat.from_dict(kept)
    execute(run, tmp_path)
    assert [len(text.splitlines()) for text in shown(run)] == [len(text.splitlines()) for text in shown(kept)] != []
