"""Plays one of the project's own small recordings to a collector: through the SDK, or as plain dicts."""

from __future__ import annotations

import json
from pathlib import Path

from adapters import raw
from adapters.clients import ask, sync_client
from adapters.collector import Collector
from agentcell.adapters.streams import watch_stream
from agentcell.testing import ReplayServer

RECORDINGS = Path(__file__).resolve().parents[1] / "recordings"

WAYS = ("sdk", "dicts")


def exchange(name, number):
    """One response of a recording, as a recording of its own."""
    recording = json.loads((RECORDINGS / f"{name}.json").read_text(encoding="utf-8"))
    return {"exchanges": [recording["exchanges"][number]]}


def hear(name, number=0, *, way="sdk"):
    """What a run is told of one response; what the SDK raises, if it does, is kept in `run.raised`."""
    run, recording, shape = Collector(), exchange(name, number), name.partition("_")[0]
    run.raised = None
    if way == "dicts":
        for _ in watch_stream(run, list(raw.payloads(recording["exchanges"][0]["response"]["body"]))):
            pass
        return run
    with ReplayServer(recording) as server, sync_client(shape, server) as client:
        try:
            for _ in watch_stream(run, ask(shape, client)):
                pass
        except Exception as error:  # noqa: BLE001  whatever the SDK raises, the test looks at it
            run.raised = error
    return run
