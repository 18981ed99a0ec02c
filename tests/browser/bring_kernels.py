"""Brings the older kernels that the tests in JupyterLab run notebooks with."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from browser.kernels import KERNELS

if __name__ == "__main__":
    for kernel in KERNELS:
        kernel.bring()
