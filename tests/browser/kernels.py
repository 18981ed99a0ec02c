"""The kernels that notebooks are run with: the one of this environment, and older ones, each in an environment of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / ".venv" / "kernels"


@dataclass(frozen=True, slots=True)
class Kernel:
    """A release of ipykernel.

    Attributes:
        release: Its version.
        subshells: Whether it can take a message from a widget while a cell blocks it.
    """

    release: str
    subshells: bool

    @property
    def name(self) -> str:
        """The kernel's name in a notebook."""
        return f"ipykernel-{self.release}"

    @property
    def python(self) -> Path:
        """The Python that it runs in."""
        if self.release == version("ipykernel"):
            return Path(sys.executable)
        return HOME / self.name / "bin" / "python"

    @property
    def is_there(self) -> bool:
        """Whether its environment was made."""
        return self.python == Path(sys.executable) or self._mark.exists()

    def demand(self) -> None:
        """Skips the test where its environment is missing, and fails it under CI=true."""
        if not self.is_there:
            message = f"there is no {self.name}: python tests/browser/bring_kernels.py"
            pytest.fail(message) if os.environ.get("CI") == "true" else pytest.skip(message)

    def bring(self) -> None:
        """Makes its environment, unless it is there: this release of ipykernel alone, and behind it all that tests have.

        Raises:
            subprocess.CalledProcessError: pip could not install it.
        """
        if self.is_there:
            return
        folder = HOME / self.name
        venv.create(folder, clear=True, symlinks=True)
        site = sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)})
        # Folders named in a .pth file come last, and their own .pth files, the editable agentcell among them, are not read.
        Path(site, "tests.pth").write_text(f"{sysconfig.get_path('purelib')}\n{ROOT / 'src'}\n", encoding="utf-8")
        pip = (sys.executable, "-m", "pip", "--python", str(self.python), "--disable-pip-version-check")
        subprocess.run([*pip, "install", "--quiet", f"ipykernel=={self.release}"], check=True)
        self._mark.touch()

    def install(self, data: Path) -> None:
        """Makes it known to a server with this `JUPYTER_DATA_DIR`."""
        folder = data / "kernels" / self.name
        folder.mkdir(parents=True)
        command = [str(self.python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        specification = {"argv": command, "display_name": self.name, "language": "python", "metadata": {"debugger": False}}
        (folder / "kernel.json").write_text(json.dumps(specification), encoding="utf-8")

    @property
    def _mark(self) -> Path:
        return HOME / self.name / ".ready"


KERNELS = (Kernel("6.31.0", subshells=False), Kernel("7.3.0", subshells=True), Kernel("7.4.0", subshells=True))
"""The newest release without subshells, the newest that goes by the browser's choice of one, and the one that does not."""
