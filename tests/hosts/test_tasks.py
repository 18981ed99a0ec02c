"""Runs in threads and in asyncio tasks, in a real kernel: each has one output, in the cell where it began, and keeps it."""

from __future__ import annotations

from collections.abc import Iterator

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode

GATHER = """\
import asyncio
import agentcell

async def agent(number):
    async with agentcell.watch(f"Question {number}") as run:
        run.step(f"Step of {number}")
        await asyncio.sleep(0)
        with run.tool("search", query=f"query {number}"):
            await asyncio.sleep(0.01 * (number % 3))
        assert agentcell.current_run() is run
        for piece in ("Answer", " of ", str(number)):
            run.write(piece)
            await asyncio.sleep(0)
    return run

runs = await asyncio.gather(*(agent(number) for number in range(20)))
"""
TASK = """\
import asyncio
import agentcell

go, begun = asyncio.Event(), asyncio.Event()

async def agent():
    with agentcell.watch("Outlives its cell") as run:
        run.step("First")
        begun.set()
        await go.wait()
        run.step("Second")
        run.write("The answer.")

task = asyncio.create_task(agent())
await begun.wait()
print("first cell")
"""
POOL = """\
import threading
from concurrent.futures import ThreadPoolExecutor
import agentcell

go, begun = threading.Event(), threading.Barrier(9)

def agent(number):
    with agentcell.watch(f"Question {number}") as run:
        run.step(f"Step of {number}")
        begun.wait(30)
        assert go.wait(30)
        with run.tool("search", query=f"query {number}") as call:
            call.result([number])
        run.write(f"Answer of {number}")

pool = ThreadPoolExecutor(8)
work = [pool.submit(agent, number) for number in range(8)]
_ = begun.wait(30)
"""


@pytest.fixture(scope="module", autouse=True)
def _own_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The person's own Jupyter and IPython configuration takes no part in it."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
            patch.setenv(name, str(tmp_path_factory.mktemp(name.lower())))
        yield


def executed(*cells: str) -> NotebookNode:
    new = nbformat.v4
    notebook = new.new_notebook(cells=[new.new_code_cell(cell) for cell in cells])
    NotebookClient(notebook, kernel_name="python3", timeout=60).execute()
    return notebook


def texts(cell: NotebookNode) -> list[str]:
    """What a cell shows, as plain text."""
    return [output.text if output.output_type == "stream" else output.data["text/plain"] for output in cell.outputs]


def test_twenty_runs_side_by_side_have_an_output_each():
    notebook = executed(GATHER, "print([run.outcome for run in runs].count('answered'))")
    shown = texts(notebook.cells[0])
    assert len(shown) == 20
    for number, text in enumerate(shown):
        assert text.endswith(f"\n\nAnswer of {number}")
        assert [line.split(" · ")[0] for line in text.splitlines()[1:3]] == [
            f"  • Step of {number}",
            f"  • Searching for “query {number}”",
        ]
    assert texts(notebook.cells[1]) == ["20\n"]
    assert all(set(output.data) == {"text/html", "text/plain"} for output in notebook.cells[0].outputs)


def test_a_task_that_outlives_its_cell_goes_on_in_its_own_output():
    # While a cell blocks, nothing of the task happens; when it waits, the loop runs. nbclient takes only what comes while a cell runs.
    cells = "go.set()\nprint('blocks', task.done())\nawait task\nprint('waits')", "print('later')"
    notebook = executed(TASK, *cells)
    run, printed = texts(notebook.cells[0])
    assert [line.split(" · ")[0] for line in run.splitlines()[1:]] == ["  • First", "  • Second", "", "The answer."]
    assert printed == "first cell\n"
    assert ["".join(texts(cell)) for cell in notebook.cells[1:]] == ["blocks False\nwaits\n", "later\n"]


def test_runs_in_a_pool_that_outlive_their_cell_go_on_in_their_own_outputs():
    notebook = executed(POOL, "go.set()\nfor one in work: one.result(30)\nprint('done')")
    shown = texts(notebook.cells[0])
    assert sorted(text[-1] for text in shown) == list("01234567")
    for text in shown:
        number = text[-1]
        assert text.splitlines()[1].startswith(f"  • Step of {number}")
        assert text.splitlines()[2].startswith(f"  • Searching for “query {number}”")
    assert texts(notebook.cells[1]) == ["done\n"]
