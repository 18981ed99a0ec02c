"""Brings the browser that the tests in JupyterLab need, where that is possible; says in one line how to get it where it is not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def main() -> int:
    """Returns 1 only under CI=true: everybody else still gets the other tests, and pytest says what was not run."""
    if any(map(shutil.which, BROWSERS)):
        return 0
    if shutil.which("apt-get") and os.geteuid() == 0:
        for command in (["apt-get", "-qq", "update"], ["apt-get", "-qq", "install", "-y", "--no-install-recommends", "chromium"]):
            subprocess.run(command, check=False, stdout=subprocess.DEVNULL, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
        if shutil.which("chromium"):
            return 0
    sys.stderr.write("The tests in a real JupyterLab will not run: there is no Chromium. Get it with: apt-get install chromium\n")
    return 1 if os.environ.get("CI") == "true" else 0


if __name__ == "__main__":
    sys.exit(main())
