"""Executes an example notebook in a kernel of its own: `python examples/execute.py langchain [notebook to write]`.

Without a second name the notebook itself is written anew, so that it keeps the outputs of this run.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).resolve().parent


def execute(notebook: nbformat.NotebookNode, folder: Path, client: type[NotebookClient] = NotebookClient) -> None:
    """Executes a notebook in a kernel that works in `folder`."""
    with tempfile.TemporaryDirectory() as home:
        # The person's own configuration and caches take no part in it, and nothing is looked up in the network.
        places = ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "DSPY_CACHEDIR")
        os.environ |= dict.fromkeys(places, home) | {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "PYTHONWARNINGS": "ignore"}
        client(
            notebook,
            timeout=120,
            kernel_name="python3",
            extra_arguments=["--IPKernelApp.log_level=40"],  # it would warn that it listens on this machine
            store_widget_state=False,
            record_timing=False,
            resources={"metadata": {"path": str(folder)}},
        ).execute()


def main(name: str, out: str = "") -> int:
    """Executes one notebook; returns the exit code."""
    path = HERE / f"{name}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    execute(notebook, HERE)
    nbformat.write(notebook, Path(out) if out else path)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
