"""Notes which files of framework tests passed with which packages: `make versions` writes the table in the docs from that."""

from __future__ import annotations

import json
import sys
from collections import Counter
from importlib.metadata import distributions
from pathlib import Path

NOTES = Path(sys.prefix) / "tested.json"
ABOUT = ("tests/adapters/", "tests/frameworks/")


def pytest_terminal_summary(terminalreporter, config):
    """Keeps the counts of this session's files, and those of sessions before with the same packages."""
    counts: dict[str, Counter[str]] = {}
    for outcome in ("passed", "failed", "error"):
        for report in terminalreporter.getreports(outcome):
            name = getattr(report, "nodeid", "").partition("::")[0]
            if name.startswith(ABOUT):
                counts.setdefault(name, Counter())[outcome] += 1
    if not counts or config.option.collectonly:
        return
    packages = {one.name.lower().replace("_", "-"): one.version for one in distributions() if one.name}
    notes = json.loads(NOTES.read_text(encoding="utf-8")) if NOTES.exists() else {}
    files = notes.get("files", {}) if notes.get("packages") == packages else {}
    files |= {name: dict(count) for name, count in counts.items()}
    NOTES.write_text(json.dumps({"packages": packages, "files": files}, indent=1), encoding="utf-8")
