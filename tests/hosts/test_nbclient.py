"""Notebooks that are executed without a browser, and what nbconvert makes of them."""

from __future__ import annotations

from collections.abc import Iterator

import nbformat
import pytest
from nbclient import NotebookClient
from nbconvert import HTMLExporter, MarkdownExporter
from nbformat import NotebookNode

ANSWERS = """\
import agentcell

with agentcell.watch("Why is checkout slow?") as run:
    run.step("Reading the deploy log of Tuesday")
    with run.tool("search_notes", query="connection pool") as call:
        call.result(["Checkout p95", "Deploy 4121"])
    run.write("The p95 rose after **Tuesday's deploy**.")
"""
FAILS = ANSWERS + "    raise ValueError('the connection broke')\n"
IN_A_THREAD = """\
import threading
import agentcell

go, gone = threading.Event(), threading.Event()
run = agentcell.watch("Why is checkout slow?")

def work():
    with run:
        run.step("Reading the deploy log of Tuesday")
        shown.set()
        go.wait(30)
        run.write("The p95 rose after **Tuesday's deploy**.")
    gone.set()

shown = threading.Event()
threading.Thread(target=work).start()
assert shown.wait(30)
"""


@pytest.fixture(scope="module", autouse=True)
def _own_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The person's own Jupyter and IPython configuration takes no part in it."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
            patch.setenv(name, str(tmp_path_factory.mktemp(name.lower())))
        yield


def executed(*cells: str, allow_errors: bool = False) -> NotebookNode:
    """A notebook of these cells, after it ran."""
    new = nbformat.v4
    notebook = new.new_notebook(cells=[new.new_code_cell(cell) for cell in cells])
    NotebookClient(notebook, kernel_name="python3", timeout=60, allow_errors=allow_errors).execute()
    return notebook


@pytest.fixture(scope="module")
def answered() -> NotebookNode:
    return executed(ANSWERS)


def test_a_run_leaves_html_and_text_alone(answered: NotebookNode):
    [output] = answered.cells[0].outputs
    assert set(output.data) == {"text/html", "text/plain"}
    assert output.data["text/html"].startswith('<div class="agentcell-snapshot ')
    assert "<strong>Tuesday's deploy</strong>" in output.data["text/html"]
    assert output.data["text/plain"].splitlines() == [
        "Thought for less than a second · 1 tool",
        "  • Reading the deploy log of Tuesday",
        "  • Searching notes for “connection pool” — Found 2 relevant notes",
        "",
        "The p95 rose after **Tuesday's deploy**.",
    ]


@pytest.mark.parametrize("wait", [False, True])
def test_clearing_the_output_inside_the_block_does_not_lose_the_end(wait: bool):
    cleared = (
        ANSWERS
        + f"""\
    from IPython.display import clear_output
    print("Before")
    clear_output(wait={wait})
    print("After")
"""
    )
    notebook = executed(cleared + "print('Behind')\n", "from IPython.display import clear_output\nprint('x')\nclear_output()")
    before, shown, behind = notebook.cells[0].outputs
    assert (before.text, behind.text) == ("After\n", "Behind\n")
    assert set(shown.data) == {"text/html", "text/plain"}
    assert shown.data["text/plain"].startswith("Thought for")


def test_clearing_another_cell_while_a_run_goes_on_is_not_clearing_its_own():
    elsewhere = "from IPython.display import clear_output\nclear_output()\ngo.set()\nassert gone.wait(30)"
    notebook = executed(IN_A_THREAD, elsewhere)
    [shown] = notebook.cells[0].outputs
    assert "<strong>Tuesday's deploy</strong>" in shown.data["text/html"]
    assert notebook.cells[1].outputs == []


def test_a_run_that_failed_leaves_its_end_before_the_error():
    notebook = executed(FAILS, allow_errors=True)
    shown, raised = notebook.cells[0].outputs
    assert set(shown.data) == {"text/html", "text/plain"}
    assert "Failed after less than a second" in shown.data["text/html"]
    assert "ValueError: the connection broke" in shown.data["text/html"]
    assert raised.ename == "ValueError"


def test_a_run_in_a_thread_ends_in_the_cell_where_it_began():
    notebook = executed(IN_A_THREAD, "go.set()\nassert gone.wait(30)\nimport time\nprint('later')")
    [shown] = notebook.cells[0].outputs
    assert set(shown.data) == {"text/html", "text/plain"}
    assert shown.data["text/plain"].endswith("The p95 rose after **Tuesday's deploy**.")
    assert [output.output_type for output in notebook.cells[1].outputs] == ["stream"]


def test_nbconvert_shows_heading_and_answer_in_a_page(answered: NotebookNode):
    html, _ = HTMLExporter().from_notebook_node(answered)
    assert "<b>Thought for less than a second</b>" in html
    assert "<strong>Tuesday's deploy</strong>" in html


def test_nbconvert_shows_heading_and_answer_in_markdown(answered: NotebookNode):
    markdown, _ = MarkdownExporter().from_notebook_node(answered)
    assert "<b>Thought for less than a second</b>" in markdown
    assert "<strong>Tuesday's deploy</strong>" in markdown
