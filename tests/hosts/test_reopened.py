"""A finished notebook, opened by programs that have no kernel, no widgets and ideas of their own about HTML."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import bleach
import nbformat
import papermill
import pytest
from nbclient import NotebookClient
from nbconvert import HTMLExporter, LatexExporter, MarkdownExporter
from nbformat import NotebookNode

from hosts.checkout import CHECKOUT, READS

BLOCKS = re.compile(r"blockquote|d[dlt]|details|div|h[1-6]|li|[ou]l|p|pre|summary|t(able|body|d|h|head|r)")

# What GitHub lets through of a notebook's HTML, as its open-source sanitizer has it (html-pipeline); neither style nor class.
GITHUB_TAGS = frozenset(
    re.findall(
        "[a-z0-9]+",
        """
        a abbr b bdo blockquote br caption cite code dd del details dfn div dl dt em figcaption figure h1 h2 h3 h4 h5 h6 hr i img ins
        kbd li mark ol p picture pre q rp rt ruby s samp small source span strike strong sub summary sup table tbody td tfoot th thead
        time tr tt ul var wbr
        """,
    )
)
GITHUB_ATTRIBUTES = {"*": ["align", "colspan", "dir", "hidden", "open", "rowspan", "start", "title"], "a": ["href"], "img": ["src"]}


WIDGET = re.compile(r'<script[^>]*type="application/vnd\.jupyter\.widget-view')
"""The place of a widget in a page."""


class Reader(HTMLParser):
    """Reads HTML as who sees no styles: in lines, one for each block."""

    def __init__(self) -> None:
        super().__init__()
        self._lines = [""]
        self._pre = 0

    def handle_starttag(self, tag: str, attributes: object) -> None:
        self._pre += tag == "pre"
        if BLOCKS.fullmatch(tag) or tag == "br":
            self._lines.append("")

    def handle_endtag(self, tag: str) -> None:
        self._pre -= tag == "pre"
        if BLOCKS.fullmatch(tag):
            self._lines.append("")

    def handle_data(self, data: str) -> None:
        first, *others = data.split("\n") if self._pre else [data]
        self._lines[-1] += first
        self._lines += others

    @classmethod
    def lines(cls, html: str) -> list[str]:
        reader = cls()
        reader.feed(html)
        kept = (line if line.startswith("  ") and line.strip() == line[2:] else " ".join(line.split()) for line in reader._lines)
        return [line for line in kept if line]


@pytest.fixture(scope="module", autouse=True)
def _own_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The person's own Jupyter and IPython configuration takes no part in it."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
            patch.setenv(name, str(tmp_path_factory.mktemp(name.lower())))
        yield


def lines_of_run(page: str) -> list[str]:
    """What a page says of the run, line by line, and what follows the run cut off."""
    start = page.index("agentcell-snapshot")
    return Reader.lines(page[page.rindex("<", 0, start) :])[: len(READS)]


def new_notebook(*cells: str) -> NotebookNode:
    new = nbformat.v4
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return new.new_notebook(cells=[new.new_code_cell(cell) for cell in cells], metadata={"kernelspec": kernel})


def execute(notebook: NotebookNode) -> NotebookNode:
    NotebookClient(notebook, kernel_name="python3", timeout=60, record_timing=False).execute()
    return notebook


@pytest.fixture(scope="module")
def finished() -> NotebookNode:
    return execute(new_notebook(CHECKOUT))


def final_html(notebook: NotebookNode, cell: int = 0) -> str:
    [output] = notebook.cells[cell].outputs
    assert set(output.data) == {"text/html", "text/plain"}
    return output.data["text/html"]


def test_the_html_reads_as_it_should_without_any_style(finished: NotebookNode):
    assert Reader.lines(final_html(finished)) == READS


@pytest.mark.parametrize("without", [(), ("details", "summary"), ("details", "summary", "span", "dl", "dt", "dd")])
def test_it_reads_the_same_after_githubs_sanitizer_whether_or_not_that_keeps_what_folds(finished: NotebookNode, without: tuple):
    html = bleach.clean(final_html(finished), tags=GITHUB_TAGS - set(without), attributes=GITHUB_ATTRIBUTES, strip=True)
    assert not re.search(r"<[^>]*\b(style|class|on\w+)=|<(script|style|svg|iframe)\b", html)
    if without:
        # One that takes a tag takes its line end along; every word is there, in its order, and none is glued to another one.
        assert " ".join(Reader.lines(html)).split() == " ".join(READS).split()
    else:
        assert Reader.lines(html) == READS
    assert '<td align="right">105 ms</td>' in html
    assert html.count("<li") == 9


@pytest.mark.parametrize("template", ["lab", "classic", "basic", "webpdf", "reveal"])
def test_nbconvert_keeps_the_html_in_every_template(finished: NotebookNode, template: str):
    page, _ = HTMLExporter(template_name=template).from_notebook_node(finished)
    assert re.search(r'<div class="agentcell-snapshot [^"]*\btex2jax_ignore\b', page), (
        "its MathJax would take money for mathematics"
    )
    assert lines_of_run(page) == READS
    assert not WIDGET.search(page)


def test_nbconverts_own_sanitizer_leaves_every_word_in_its_order(finished: NotebookNode):
    page, _ = HTMLExporter(sanitize_html=True, exclude_input=True).from_notebook_node(finished)
    # It shows the tags that it does not know as text; so each line of ours is in it, between some of those.
    text = " ".join(Reader.lines(page.partition("<main")[2] or page.partition("<body")[2]))
    place = 0
    for line in READS:
        place = text.find(line.strip(), place) + 1
        assert place, line


def test_markdown_has_the_html_and_latex_the_text(finished: NotebookNode):
    markdown, _ = MarkdownExporter(exclude_input=True).from_notebook_node(finished)
    assert Reader.lines(markdown) == READS
    latex, _ = LatexExporter(exclude_input=True).from_notebook_node(finished)
    assert "Thought for 4s · 2 tools · 4.0k tokens\n  • Thinking · 2.0s\n" in latex
    assert "The p95 rose after **Tuesday" in latex


def test_papermill_leaves_the_same(tmp_path: Path, finished: NotebookNode):
    asked, done = tmp_path / "asked.ipynb", tmp_path / "done.ipynb"
    notebook = new_notebook("question = 'none'", CHECKOUT.replace('"Why is checkout slow?"', "question"), "print(run.options.task)")
    notebook.cells[0].metadata.tags = ["parameters"]
    nbformat.write(notebook, asked)
    papermill.execute_notebook(asked, done, parameters={"question": "Why?"}, progress_bar=False, cwd=tmp_path)
    saved = nbformat.read(done, as_version=4)
    assert Reader.lines(final_html(saved, 2)) == READS
    assert saved.cells[3].outputs[0].text == "Why?\n"
    assert asked.read_bytes().count(b"Thought for") == 0


def test_a_failed_run_under_papermill_leaves_its_end_in_the_file(tmp_path: Path):
    asked, done = tmp_path / "asked.ipynb", tmp_path / "done.ipynb"
    code = "import agentcell\nwith agentcell.watch('x') as run:\n    run.step('First')\n    raise OSError('no route')"
    nbformat.write(new_notebook(code), asked)
    with pytest.raises(papermill.PapermillExecutionError):
        papermill.execute_notebook(asked, done, progress_bar=False, cwd=tmp_path)
    [cell] = [cell for cell in nbformat.read(done, as_version=4).cells if "agentcell" in cell.source and cell.cell_type == "code"]
    assert "OSError: no route" in cell.outputs[0].data["text/html"]
    assert [output.output_type for output in cell.outputs] == ["display_data", "error"]


def test_running_a_notebook_again_makes_its_file_no_larger(tmp_path: Path):
    path = tmp_path / "run.ipynb"
    nbformat.write(new_notebook(CHECKOUT), path)
    sizes = []
    for _ in range(5):
        notebook = execute(nbformat.read(path, as_version=4))
        nbformat.write(notebook, path)
        sizes.append(path.stat().st_size)
    assert max(sizes) - min(sizes) < 300, "the durations alone are different"
    state = notebook.metadata.widgets["application/vnd.jupyter.widget-state+json"]["state"]
    assert len([model for model in state.values() if model["model_name"] == "AnyModel"]) == 1, "nbclient keeps the state of widgets"
    assert sizes[0] < 60_000, "the run, and the code of the widget"


SECRETS = {
    "an argument": "sk-proj-0A1b2C3d4E5f6G7h8argument",
    "a named argument": "hunter2-8f3a1b7c",
    "a result": "ghp_0A1b2C3d4E5f6G7h8I9j0K1l2M3n4result",
    "a failure": "xoxb-123456789012-0A1b2C3d4failure",
    "a report": "sk-ant-0A1b2C3d4E5f6G7h8report",
    "a bullet": "AIza0A1b2C3d4E5f6G7h8I9j0K1l2M3n4bullet",
    "a question": "sk-proj-0A1b2C3d4E5f6G7h8question",
    "the exception": "hunter2-5d2e9c4f",
}
"""What is searched for secrets; task, thinking and answer are kept as they are."""

LEAKY = """
import agentcell, json, pathlib
secret = json.loads(pathlib.Path("secrets.json").read_text())
with agentcell.watch("Leaky") as run:
    with run.tool("login", url=f"https://x.org?k={secret['an argument']}", password=secret["a named argument"]) as call:
        call.progress(f"using {secret['a report']}")
        run.cell.send_state()  # as for a page that asks in the middle of it
        call.result({"token": secret["a result"], "text": f"the key is {secret['a result']}"})
    with run.tool("call") as call:
        call.fail(f"invalid_auth: {secret['a failure']}")
    run.step(f"Using {secret['a bullet']}")
    run.record_thinking("anthropic", [{"type": "thinking", "thinking": "I use it.", "signature": "s"}])
    run.pause(f"Is {secret['a question']} right?", ask=lambda question, choices: secret["a question"])
    run.answer("It is what you have told me.")
    raise ValueError(f"password={secret['the exception']}")
"""


@pytest.mark.parametrize("persist", ["snapshot", "widget"])
def test_no_byte_of_the_file_tells_a_secret_that_was_masked(tmp_path: Path, persist: str):
    (tmp_path / "secrets.json").write_text(json.dumps(SECRETS))
    notebook = new_notebook(LEAKY.replace('"Leaky"', f'"Leaky", persist="{persist}"'))
    client = NotebookClient(
        notebook, kernel_name="python3", timeout=60, allow_errors=True, resources={"metadata": {"path": tmp_path}}
    )
    client.execute()
    cell = notebook.cells[0]
    assert cell.outputs.pop().ename == "ValueError"  # Python's own traceback, which is not ours to mask
    path = tmp_path / "run.ipynb"
    nbformat.write(notebook, path)
    saved = path.read_text(encoding="utf-8")
    assert "Thinking" in saved
    assert saved.count("[secret]") > 10
    assert persist == "snapshot" or "widget-view" in saved
    for where, secret in SECRETS.items():
        assert secret[-len(secret) // 3 :] not in saved, where
