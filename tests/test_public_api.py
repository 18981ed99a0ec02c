"""What `import agentcell` gives, and what the README promises."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import agentcell

ROOT = Path(__file__).resolve().parents[1]


def run_python(code: str, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False, **options)


def test_importing_agentcell_loads_no_widget_no_ipython_no_markdown_and_no_framework():
    heavy = ["anywidget", "ipywidgets", "IPython", "traitlets", "markdown_it", "bleach", "comm", "openai", "anthropic"]
    done = run_python(f"import sys, agentcell; print([name for name in {heavy} if name in sys.modules])")
    assert done.stdout.strip() == "[]", done.stderr


def test_a_run_without_display_loads_neither_widget_nor_markdown():
    code = (
        "import sys, agentcell\n"
        "with agentcell.watch('x', display=False) as run:\n    run.step('a'); run.write('b')\n"
        "print(run.outcome, [n for n in ('anywidget', 'IPython', 'markdown_it', 'bleach') if n in sys.modules])"
    )
    done = run_python(code)
    assert done.stdout.strip() == "answered []", done.stderr


@pytest.mark.parametrize("name", agentcell.__all__)
def test_every_public_name_is_there_and_documented(name: str):
    assert getattr(agentcell, name).__doc__


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = agentcell.nonsense


def test_the_version_is_that_of_the_package():
    assert f'version = "{agentcell.__version__}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_the_code_in_the_readme_runs(tmp_path: Path):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert blocks, "the README shows no code"
    for block in blocks:
        done = run_python(block, cwd=tmp_path)
        assert done.returncode == 0, f"{block}\n{done.stderr}"


def test_the_readme_names_two_commands_as_set_up():
    commands = set(re.findall(r"^make \S+", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE))
    assert commands == {"make demo", "make test"}
