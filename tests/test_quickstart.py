"""The quickstart's code runs as it stands, and speaks to the model as the model's protocol wants it."""

import shutil
import time
from pathlib import Path

import nbformat
import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def test_the_quickstart_runs_and_asks_as_a_real_model_expects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    shutil.copytree(EXAMPLES / "recordings", tmp_path / "recordings")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(time, "sleep", lambda _seconds: None)  # its agent only pretends to be slow
    cells = [cell.source for cell in nbformat.read(EXAMPLES / "quickstart.ipynb", as_version=4).cells if cell.cell_type == "code"]
    names: dict = {}
    asked = []
    for source in cells:
        exec(compile(source, "quickstart.ipynb", "exec"), names)
        asked.append(getattr(names.get("server"), "requests", None))
    first, second = (request.body for request in asked[1])
    assert [message["role"] for message in second["messages"]] == ["user", "assistant", "tool", "tool"]
    calls = second["messages"][1]["tool_calls"]
    assert [call["id"] for call in calls] == [message["tool_call_id"] for message in second["messages"][2:]]
    offered = {tool["function"]["name"] for tool in first["tools"]}
    assert {call["function"]["name"] for call in calls} <= offered
    assert (tmp_path / "run.html").read_text(encoding="utf-8").startswith("<!doctype html>")
