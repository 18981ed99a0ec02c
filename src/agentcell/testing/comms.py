"""What a widget sends, recorded instead of sent."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import comm
from comm.base_comm import BaseComm

if TYPE_CHECKING:
    from collections.abc import Iterator


class RecordingComm(BaseComm):
    """A comm that keeps its messages: `{"msg_type": "comm_open" | "comm_msg" | …, "data": {...}}` in order."""

    def __init__(self, *args: Any, messages: list[dict[str, Any]], **kwargs: Any) -> None:
        self._messages = messages
        super().__init__(*args, **kwargs)

    def publish_msg(self, msg_type: str, data: Any = None, *_rest: Any, **keys: Any) -> None:
        """Keeps a message, as JSON made it: what cannot be sent fails here as it would fail there."""
        kept = json.loads(json.dumps(data if data is not None else {}, ensure_ascii=False, allow_nan=False).encode())
        self._messages.append({**keys, "msg_type": msg_type, "data": kept})


@contextmanager
def recorded_comms() -> Iterator[list[dict[str, Any]]]:
    """Lets widgets that are made inside send to a list, which it gives."""
    messages: list[dict[str, Any]] = []
    before = comm.create_comm
    comm.create_comm = lambda *args, **kwargs: RecordingComm(*args, messages=messages, **kwargs)
    try:
        yield messages
    finally:
        comm.create_comm = before


def patches(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The custom messages among them (patches and heartbeats), in order."""
    return [
        message["data"]["content"]
        for message in messages
        if message["msg_type"] == "comm_msg" and message["data"].get("method") == "custom"
    ]
