"""Runs the quickstart in a real kernel, tells in the terminal what happens, and leaves a notebook and a page to look at."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import nbformat
from execute import execute
from nbclient import NotebookClient

HERE = Path(__file__).resolve().parent
OUT = HERE.parent / "build" / "demo"


class TellingClient(NotebookClient):
    """Executes a notebook and prints what its runs tell the browser."""

    def __init__(self, notebook: nbformat.NotebookNode, **options: Any) -> None:
        super().__init__(notebook, **options)
        self._shown: set[str] = set()
        self._rows: dict[tuple[str, int], str] = {}

    def process_message(self, msg: dict[str, Any], cell: nbformat.NotebookNode, cell_index: int) -> Any:
        """Looks at each message of the kernel on its way."""
        content = msg["content"]
        if msg["msg_type"] == "comm_msg" and content["data"].get("method") == "custom":
            self._tell_rows(content["comm_id"], content["data"]["content"].get("patch", {}))
        elif msg["msg_type"] == "update_display_data" and "text/plain" in content["data"]:
            run = content["transient"]["display_id"]
            if run not in self._shown:  # the end of a run is sent twice, in case that one is dropped
                self._shown.add(run)
                print("\n  " + content["data"]["text/plain"].replace("\n", "\n  ") + "\n", flush=True)
        return super().process_message(msg, cell, cell_index)

    def _tell_rows(self, run: str, patch: dict[str, Any]) -> None:
        for step in patch.get("steps", []):
            key = run, step["id"]
            if self._rows.get(key) != step["state"]:
                self._rows[key] = step["state"]
                print(f"  {step['state']:>9}  {step['text']}", flush=True)


def main() -> int:
    """Leaves everything in `build/demo`; returns the exit code."""
    OUT.mkdir(parents=True, exist_ok=True)
    shutil.copytree(HERE / "recordings", OUT / "recordings", dirs_exist_ok=True)
    notebook = nbformat.read(HERE / "quickstart.ipynb", as_version=4)
    print("Running examples/quickstart.ipynb in a kernel.\n", flush=True)
    execute(notebook, OUT, TellingClient)
    nbformat.write(notebook, OUT / "quickstart.ipynb")
    print(f"The executed notebook:  {OUT / 'quickstart.ipynb'}\nA run as a page of its own:  {OUT / 'run.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
