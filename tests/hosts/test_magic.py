"""The magics and `watch_all` in a real kernel: what a cell shows, raises and leaves behind."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode

import agentcell

FRAMEWORK = '''\
import asyncio, pathlib, sys
pathlib.Path("some_agents.py").write_text("hooks = []\\ndef tell(text):\\n    for hook in hooks:\\n        hook(text)\\n")
pathlib.Path("some_agents_adapter.py").write_text("""
from agentcell.adapters.ambient import run_here
def attach():
    import some_agents
    def hook(text):
        run = run_here()
        if run is not None:
            run.step(text)
    some_agents.hooks.append(hook)
    return lambda: some_agents.hooks.remove(hook)
""")
sys.path.insert(0, ".")
import agentcell
from agentcell.adapters.ambient import AMBIENCE, Framework
AMBIENCE._frameworks = (Framework("some_agents", "some_agents_adapter"),)
import some_agents
'''


@pytest.fixture(scope="module", autouse=True)
def _own_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The person's own Jupyter and IPython configuration takes no part in it."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
            patch.setenv(name, str(tmp_path_factory.mktemp(name.lower())))
        yield


def executed(folder, *cells: str) -> list[NotebookNode]:
    """The cells, after they ran, errors and all."""
    new = nbformat.v4
    notebook = new.new_notebook(cells=[new.new_code_cell(dedent(cell)) for cell in cells])
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, kernel_name="python3", timeout=60, allow_errors=True, resources=resources).execute()
    return notebook.cells


def outputs(cell: NotebookNode) -> list[tuple[str, str]]:
    """What a cell shows: `run` with its first line, `value`, `stream`, or `error` with its name."""
    found = []
    for output in cell.outputs:
        if output.output_type == "display_data":
            found.append(("run", output.data["text/plain"].splitlines()[0]))
        elif output.output_type == "execute_result":
            found.append(("value", output.data["text/plain"]))
        elif output.output_type == "stream":
            found.append((output.name, output.text))
        else:
            found.append(("error", output.ename))
    return found


DONE = ("run", "Thought for less than a second")


@pytest.fixture(scope="module")
def watched(tmp_path_factory) -> list[NotebookNode]:
    return executed(
        tmp_path_factory.mktemp("watched"),
        "import asyncio, agentcell\n%load_ext agentcell",
        """\
        %%watch --expand open --live-steps 6 --no-auto --model "a b" Why isn't it fast?
        run.write('Because.')
        text = '''a
        b'''
        (run.options.task, run.options.expand, run.options.live_steps, run.options.auto, run.options.model, text)
        """,
        """\
        %%watch
        await asyncio.sleep(0)
        run.write('Because.')
        !echo from the shell
        1 / 0
        """,
        "%%watch\nrun.write('Because.')\n'kept quiet';",
        "%%watch\nfrom __future__ import annotations\ndef f(x: nowhere): pass\nrun.write('Because.')\nf.__annotations__",
        "%%watch Why?\n",
        "answer = %watch --expand closed --task 'in words' agentcell.current_run().write({'a': 'Mild.'}['a'])",
        "%watch [agentcell.current_run().write('x'), run.options.task]",
        "%%watch\nrun.write('Half')\n1 / 0",
        "%%watch --expand wide\nprint('never')",
        "%%watch --colour red\nprint('never')",
        "%%watch --agent\nprint('never')",
        "%watch",
        "%watch await asyncio.sleep(0)",
        "print(1)\nget_ipython().run_cell_magic('watch', '', 'pass')",
        "print([name for name in globals() if 'agentcell' in name], run.outcome, _, Out[2][0])",
        "%watch agentcell.current_run().options.live_steps ;",
        "%watch x = 3",
        "%%watch\n\n%%time\nprint('never')",
        "%unload_ext agentcell",
        "%%watch\n1",
    )


def test_a_cell_runs_in_a_block_with_its_options_and_its_value_is_shown_behind(watched):
    shown, value = outputs(watched[1])
    assert shown == DONE
    assert value == ("value", repr(("Why isn't it fast?", "open", 6, False, "a b", "a\nb")))


def test_a_cell_may_await_and_use_the_shell_and_an_error_is_raised_as_always(watched):
    assert [kind for kind, _ in outputs(watched[2])] == ["run", "stdout", "error"]
    assert outputs(watched[2])[1][1].split() == ["from", "the", "shell"]
    assert outputs(watched[2])[2] == ("error", "ZeroDivisionError")


def test_a_value_that_is_kept_quiet_stays_quiet(watched):
    assert outputs(watched[3]) == [DONE]


def test_an_import_from_the_future_counts(watched):
    assert outputs(watched[4])[1] == ("value", "{'x': 'nowhere'}")


def test_a_cell_that_does_nothing_has_a_block_nevertheless(watched):
    assert outputs(watched[5]) == [("run", "Thought for less than a second")]


def test_an_expression_runs_in_a_block_and_keeps_its_quotes_and_braces(watched):
    assert outputs(watched[6]) == [DONE]
    assert outputs(watched[7]) == [DONE, ("value", "[None, '']")]


def test_a_semicolon_behind_an_expression_hides_its_value(watched):
    assert outputs(watched[16]) == [DONE]


def test_a_traceback_points_to_the_line_of_the_cell(watched):
    shown, raised = watched[8].outputs
    assert shown.data["text/plain"].startswith("Failed after less than a second")
    assert raised.ename == "ZeroDivisionError"
    assert "----> 3" in "\n".join(raised.traceback).replace("\x1b[32m", "").replace("\x1b[39m", "")


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (9, "expand must be one of 'auto', 'open', 'closed', not 'wide' (str)"),
        (10, "%watch does not know --colour; its options are --agent, --asker, --clock, --expand, --expand-trace"),
        (11, "%watch wants a value behind --agent"),
        (12, "%watch needs an expression"),
        (13, "%watch cannot await: use %%watch"),
        (14, "%%watch must be the first line"),
        (17, "%watch needs an expression, not a statement: `x = %watch f()`"),
        (18, "%%time cannot stand below %%watch: put it above"),
    ],
)
def test_what_is_asked_wrongly_is_said_in_a_sentence(watched, number, words):
    *_, said = watched[number].outputs
    assert words in (said.text if said.output_type == "stream" else said.evalue)
    assert "never" not in str(watched[number].outputs)


def test_nothing_but_run_is_left_behind_and_the_last_value_is_the_last_value(watched):
    assert outputs(watched[15])[0][1].splitlines()[-1] == "['agentcell'] failed [None, ''] Why isn't it fast?"


def test_once_unloaded_the_magics_are_gone(watched):
    assert "UsageError: Cell magic `%%watch` not found." in watched[20].outputs[0].text


@pytest.fixture(scope="module")
def every_cell(tmp_path_factory) -> list[NotebookNode]:
    return executed(
        tmp_path_factory.mktemp("every_cell"),
        FRAMEWORK,
        "some_agents.tell('nobody listens')",
        "agentcell.watch_all(expand='open')\nsome_agents.tell('the first')",
        "1 + 1",
        "some_agents.tell('one')\nsome_agents.tell('two')\nagentcell.current_run().write('Mild.')\n'value'",
        "some_agents.tell('one')\n1 / 0",
        """\
        async def agent():
            some_agents.tell('from a task')
        await asyncio.gather(agent(), agent())
        await asyncio.to_thread(some_agents.tell, 'from a thread')
        """,
        "with agentcell.watch('mine') as run:\n    some_agents.tell('one')",
        "agentcell.current_run() is None",
        "agentcell.watch_all(live_steps=2)\nsome_agents.tell('one')",
        "agentcell.watch_all(colour='red')",
        "some_agents.tell('one')\nagentcell.unwatch_all()\nsome_agents.tell('two')",
        "some_agents.tell('nobody listens')\nagentcell.unwatch_all()",
        "print(some_agents.hooks, sys.meta_path[0].__class__.__name__, "
        "[f.__qualname__ for fs in get_ipython().events.callbacks.values() for f in fs if 'agentcell' in f.__module__])",
    )


def steps(cell: NotebookNode) -> list[str]:
    [shown] = [output for output in cell.outputs if output.output_type == "display_data"]
    return [line.strip(" •") for line in shown.data["text/plain"].splitlines() if "•" in line]


def test_a_cell_that_runs_an_agent_gets_a_block_and_every_other_cell_none(every_cell):
    assert outputs(every_cell[1]) == []
    assert outputs(every_cell[3]) == [("value", "2")]
    assert steps(every_cell[4]) == ["one", "two"]
    assert outputs(every_cell[4]) == [("run", "Thought for less than a second"), ("value", "'value'")]
    assert outputs(every_cell[8]) == [("value", "True")]


def test_the_cell_that_asks_for_it_is_watched_too(every_cell):
    assert steps(every_cell[2]) == ["the first"]


def test_a_cell_that_fails_shows_a_run_that_failed(every_cell):
    assert outputs(every_cell[5]) == [("run", "Failed after less than a second"), ("error", "ZeroDivisionError")]


def test_tasks_and_threads_of_a_cell_share_its_block(every_cell):
    assert steps(every_cell[6]) == ["from a task", "from a task", "from a thread"]


def test_a_block_of_one_s_own_is_not_doubled(every_cell):
    assert steps(every_cell[7]) == ["one"]


def test_new_options_count_and_wrong_ones_are_refused_at_once(every_cell):
    assert steps(every_cell[9]) == ["one"]
    assert outputs(every_cell[10]) == [("error", "TypeError")]


def test_unwatching_ends_it_behind_the_cell_and_leaves_nothing(every_cell):
    assert steps(every_cell[11]) == ["one", "two"]
    assert outputs(every_cell[12]) == []
    assert outputs(every_cell[13])[0][1].startswith("[] ")
    assert "ImportWatch" not in outputs(every_cell[13])[0][1]
    assert outputs(every_cell[13])[0][1].rstrip().endswith("[]")


def test_outside_of_a_notebook_it_says_so():
    with pytest.raises(agentcell.AgentcellError, match=r"use `with agentcell\.watch"):
        agentcell.watch_all()
    agentcell.unwatch_all()


def test_a_file_that_is_copied_loads_the_magics_in_every_kernel(tmp_path, monkeypatch):
    profile = tmp_path / "profile_default"
    profile.mkdir()
    shutil.copy(Path(__file__).resolve().parents[2] / "jupyter-config" / "ipython_kernel_config.py", profile)
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    [cell] = executed(tmp_path, "%%watch\nrun.write('Because.')\n'value'")
    assert outputs(cell) == [DONE, ("value", "'value'")]
