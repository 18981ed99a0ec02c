"""The notebooks in examples/ run as they stand, in a real kernel, and the outputs that they keep are those of such a run."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
APART = {"quickstart", "claude_agent", "google_adk"}  # the first has a test of its own, the others an environment of their own
NOTEBOOKS = sorted(path.stem for path in EXAMPLES.glob("*.ipynb") if path.stem not in APART)
DURATION = re.compile(r" for less than a second|(?: ·| for) (?:\d+m )?[\d.,]+m?s\b")


def code_of(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def outputs_of(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [output for cell in code_of(notebook) for output in cell.outputs]


def shown(notebook: nbformat.NotebookNode) -> list[str]:
    """Each run as it stays in the notebook's file, without its durations."""
    return [DURATION.sub("", output.data["text/plain"]) for output in outputs_of(notebook) if "text/html" in output.get("data", {})]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_is_short_has_one_line_to_change_and_keeps_its_outputs(name: str):
    notebook = nbformat.read(EXAMPLES / f"{name}.ipynb", as_version=4)
    code = code_of(notebook)
    assert len(notebook.cells) <= 10
    lines = [line for cell in code for line in cell.source.splitlines()]
    (marked,) = [line for line in lines if "# ← your own model here" in line]
    ast.parse(marked.partition("#")[0].strip())  # it is not the end of something that goes over several lines
    assert all(cell.execution_count for cell in code), f"keep its outputs: python examples/execute.py {name}"
    assert [output.text for output in outputs_of(notebook) if output.get("name") == "stderr"] == []
    assert shown(notebook) != []


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_runs_as_it_stands_and_shows_what_it_keeps(name: str, tmp_path: Path):
    command = [sys.executable, "-W", "ignore", str(EXAMPLES / "execute.py"), name, str(tmp_path / "out.ipynb")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert shown(nbformat.read(tmp_path / "out.ipynb", as_version=4)) == shown(
        nbformat.read(EXAMPLES / f"{name}.ipynb", as_version=4)
    )
