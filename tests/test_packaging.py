"""The package installs from a wheel, from the folder and from git, on a machine without Node, and then shows a run."""

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

SHOW_A_RUN = """
import agentcell, pathlib, sys
assert pathlib.Path(agentcell.__file__).is_relative_to(sys.prefix), agentcell.__file__
with agentcell.watch("Why?") as run:
    run.step("Looking")
    run.write("Because.")
cell = run.cell
assert "render" in cell._esm and ".agentcell" in cell._css
bundle, _ = cell._repr_mimebundle_()
assert bundle["application/vnd.jupyter.widget-view+json"]["model_id"] == cell.model_id
assert "Because." in bundle["text/html"]
print(cell.status, cell.outcome)
"""


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    """A new environment that has agentcell's dependencies but not agentcell; its Python."""
    home = tmp_path / "fresh"
    venv.create(home, with_pip=True)
    python = home / "bin" / "python"
    site = subprocess.check_output([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], text=True).strip()
    # A folder named in a .pth file is looked into, but its own .pth files, the editable agentcell among them, are not read.
    Path(site, "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


def pip_install(python: Path, *what: str) -> None:
    environment = {**os.environ, "PATH": f"{python.parent}:/usr/bin:/bin", "GIT_CONFIG_COUNT": "1"}
    environment |= {"GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
    # Whatever asks for Node finds one that fails.
    stop = python.parent / "node"
    stop.write_text("#!/bin/sh\necho 'there is no Node here' >&2\nexit 1\n")
    stop.chmod(0o755)
    for name in ("npm", "npx"):
        (python.parent / name).unlink(missing_ok=True)
        (python.parent / name).symlink_to("node")
    command = [python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation", *what]
    subprocess.run(command, check=True, env=environment)


@pytest.mark.parametrize("source", ["wheel", "folder", "git", "editable"])
def test_it_installs_without_node_and_shows_a_run(source: str, fresh: Path, tmp_path: Path):
    if source == "git" and not (ROOT / ".git").exists():
        pytest.skip("this is not a git checkout")
    if source == "wheel":
        build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path / "dist"), str(ROOT)]
        subprocess.run(build, check=True, capture_output=True)
        pip_install(fresh, *map(str, (tmp_path / "dist").glob("*.whl")))
    elif source == "git":
        pip_install(fresh, f"git+file://{ROOT}")
    elif source == "editable":
        pip_install(fresh, "--editable", str(ROOT))
    else:
        pip_install(fresh, str(ROOT))
    code = SHOW_A_RUN if source != "editable" else SHOW_A_RUN.replace("assert pathlib", "# assert pathlib")
    done = subprocess.run([fresh, "-W", "error", "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().splitlines()[-1] == "complete answered"
