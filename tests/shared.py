"""Inputs that lie beside the project: found, or the test that needs them is skipped with a plain reason."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def shared_path(*parts: str) -> Path:
    """Returns the path of a shared input; skips the test when it is not there."""
    root = os.environ.get("AGENTCELL_SHARED")
    path = Path(root or Path(__file__).resolve().parents[2] / "shared", *parts)
    if not path.exists():
        pytest.skip(f"{path} is not there: these inputs lie beside the project")
    return path
