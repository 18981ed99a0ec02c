"""Where the inputs lie that are kept beside the project."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def shared_path(*parts: str) -> Path:
    """The path of a shared input; a test that needs one that is not there is skipped."""
    root = os.environ.get("AGENTCELL_SHARED")
    path = (Path(root) if root else Path(__file__).resolve().parents[2] / "shared").joinpath(*parts)
    if not path.exists():
        pytest.skip(f"{path} is not there: these inputs lie beside the project")
    return path
