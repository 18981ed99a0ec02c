"""The committed front end is what its sources build, and small."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
STATIC = ROOT / "src" / "agentcell" / "static"


def test_the_committed_bundle_is_what_the_sources_build(tmp_path: Path):
    if not (ROOT / "js" / "node_modules").is_dir():
        pytest.skip("js/node_modules is not there: `make test` brings it")
    npm = shutil.which("npm")
    assert npm
    subprocess.run([npm, "run", "--silent", "build", "--", str(tmp_path)], cwd=ROOT / "js", check=True)
    for name in ("widget.js", "widget.css"):
        assert (STATIC / name).read_bytes() == (tmp_path / name).read_bytes(), f"{name} is old: run `make bundle` and commit it"


def test_script_and_style_are_under_thirty_kilobytes_together():
    assert sum((STATIC / name).stat().st_size for name in ("widget.js", "widget.css")) < 30_000


def test_the_bundle_asks_nobody_for_anything():
    text = (STATIC / "widget.js").read_text(encoding="utf-8") + (STATIC / "widget.css").read_text(encoding="utf-8")
    for word in ("http://", "https://", "import(", "@import", "fetch(", "XMLHttpRequest", "url("):
        assert word not in text
