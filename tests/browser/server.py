"""A Jupyter server for tests: on this machine only, with folders of its own."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

LAB = Path(__file__).resolve().parents[2] / "jupyter-config" / "lab.py"
PAGES = Path(__file__).with_name("vscode")
"""Pages and scripts that the server has below `/static`, beside its own."""

START = 60
"""Seconds that a server may take to answer; two cores that others use too are slow."""


@dataclass(frozen=True, slots=True)
class Server:
    """A running server.

    Attributes:
        url: Where it answers, without a slash at the end.
        root: The folder that its notebooks lie in.
        data: Its `JUPYTER_DATA_DIR`; a kernel specification that a test puts into `kernels/NAME` there is found.
        log: What it has to say.
        pid: Its process.
    """

    url: str
    root: Path
    data: Path
    log: Path
    pid: int

    def ask(self, method: str, path: str) -> Any:
        """Calls the server's REST interface; returns the answer's JSON, None for an empty answer."""
        with urlopen(Request(f"{self.url}/api/{path}", method=method), timeout=START) as answer:
            body = answer.read()
        return json.loads(body) if body else None

    def end_kernels(self) -> None:
        """Ends every kernel, and the sessions that they belong to."""
        for session in self.ask("GET", "sessions"):
            self.ask("DELETE", f"sessions/{session['id']}")
        for kernel in self.ask("GET", "kernels"):
            self.ask("DELETE", f"kernels/{kernel['id']}")


@contextmanager
def jupyter_server(folder: Path) -> Iterator[Server]:
    """A server that keeps everything in `folder`; at the end it and its kernels are gone.

    It is what `make lab` starts, but for the token: it lives for the tests only and listens on 127.0.0.1.
    """
    port = free_port()
    root, log_path = folder / "notebooks", folder / "server.log"
    root.mkdir(parents=True)
    environment = {**os.environ, "AGENTCELL_LAB": str(folder), "HOME": str(folder / "home")}
    command = [
        *(sys.executable, str(LAB), "--no-browser", f"--ServerApp.root_dir={root}"),
        *(f"--ServerApp.port={port}", "--ServerApp.port_retries=0"),
        *("--IdentityProvider.token=", "--ServerApp.disable_check_xsrf=True", "--LabApp.expose_app_in_browser=True"),
        *("--JupyterNotebookApp.expose_app_in_browser=True", f"--ServerApp.extra_static_paths={PAGES}"),
    ]
    with log_path.open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    server = Server(f"http://127.0.0.1:{port}", root=root, data=folder / "data", log=log_path, pid=process.pid)
    try:
        wait_until(lambda: process.poll() is not None or _answers(server), "the Jupyter server answers")
        if process.poll() is not None:
            raise RuntimeError(f"the Jupyter server ended at once, with:\n{server.log.read_text()[-3000:]}")
        try:
            yield server
        finally:
            if process.poll() is None:
                server.end_kernels()
    finally:
        # Nothing is left that it should tidy; and asked to end while it lists its export formats for a page, it hangs.
        process.kill()
        process.wait()


def wait_until(condition: Callable[[], bool], what: str, *, seconds: float = START) -> None:
    """Returns as soon as `condition` holds.

    Raises:
        TimeoutError: it does not hold in time; `what` says what should have been.
    """
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"waited {seconds:g} s until {what}")
        time.sleep(0.05)


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _answers(server: Server) -> bool:
    try:
        server.ask("GET", "status")
    except URLError:
        return False
    return True
