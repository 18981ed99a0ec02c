"""Starts JupyterLab on this machine only, with the project's configuration and with folders of its own.

`make lab` runs `lab.py examples/quickstart.ipynb`; all arguments go to JupyterLab. Nothing is read from or written to the person's
own Jupyter folders: all is in `build/lab`, or where AGENTCELL_LAB says.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main() -> None:
    """Becomes JupyterLab."""
    folder = Path(os.environ.get("AGENTCELL_LAB") or HERE.parent / "build" / "lab")
    environment = {
        **os.environ,
        "IPYTHONDIR": str(folder / "ipython"),
        "JUPYTER_CONFIG_DIR": str(folder / "config"),
        "JUPYTER_CONFIG_PATH": str(HERE),
        "JUPYTER_DATA_DIR": str(folder / "data"),
        "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
    }
    os.execve(sys.executable, [sys.executable, "-m", "jupyterlab", *sys.argv[1:]], environment)


if __name__ == "__main__":
    main()
