"""The notebooks that the tests run, and the gates at which their code waits for a test."""

from __future__ import annotations

import nbformat
from nbformat import NotebookNode

PRELUDE = '''\
import pathlib
import time

import agentcell


def wait_at(gate):
    """Blocks the kernel in time.sleep, as an agent's call would, until the test opens the gate."""
    end = time.monotonic() + 60
    while not pathlib.Path(gate).exists():
        if time.monotonic() > end:
            raise TimeoutError(f"nobody opened the gate {gate}")
        time.sleep(0.02)
'''
"""The first cell of every notebook. A gate is a file beside the notebook."""


def notebook(*cells: str, kernel: str = "python3") -> NotebookNode:
    """A notebook with the prelude and these cells; a cell that begins with `#` and a blank is markdown."""
    new = nbformat.v4
    made = [
        new.new_markdown_cell(source) if source.startswith("# ") else new.new_code_cell(source) for source in (PRELUDE, *cells)
    ]
    specification = {"name": kernel, "display_name": kernel, "language": "python"}
    return new.new_notebook(cells=made, metadata={"kernelspec": specification})
