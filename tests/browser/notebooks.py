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
    made = [new.new_markdown_cell(source) if source.startswith("# ") else new.new_code_cell(source) for source in (PRELUDE, *cells)]
    specification = {"name": kernel, "display_name": kernel, "language": "python"}
    return new.new_notebook(cells=made, metadata={"kernelspec": specification})


CHECKOUT = r"""
with agentcell.watch("Why is checkout slow?") as run:
    run.step("Reading the deploy log of Tuesday")
    with run.tool("metrics", route="/checkout", window="48h") as call:
        time.sleep(0.2)
        call.result({"points": 24, "p95_ms": 1840})
    with run.tool("metrics", route="/cart", window="48h") as call:
        time.sleep(0.1)
        call.fail("TimeoutError: no answer in 1.5 s")
    with run.tool("search_notes", query="connection pool", since="Tue") as call:
        call.progress("Reading page 2 of 5")
        wait_at("searching")
        call.result(["Checkout p95", "Cart cache", "Deploy 4121", "Pool sizes", "On-call"])
    run.write("The p95 rose after **Tuesday's deploy**: build `4121` halved the connection pool, so requests queue behind it.\n\n")
    run.write("| route | before | after |\n|---|--:|--:|\n| /checkout | 212 ms | 1,840 ms |\n| /cart | 98 ms | 105 ms |\n\n")
    run.write("```yaml\npool:\n  size: 64   # was 128 until build 4120\n```\n")
    wait_at("writing")
"""
"""A run that waits once among its steps and once behind its answer."""
