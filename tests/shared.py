"""Where the inputs lie that come with the project's checkout but not with its repository."""

import os
from pathlib import Path

import pytest

ROOT = Path(os.environ.get("AGENTCELL_SHARED") or Path(__file__).resolve().parents[2] / "shared")


def shared_path(*parts: str) -> Path:
    """A path among them; the test is skipped, and says so, when it is not there."""
    path = ROOT.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"{path} is not there: these inputs lie beside the project")
    return path
