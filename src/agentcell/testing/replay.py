"""A model provider on loopback that answers with a recording: one response after another, whatever is asked."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import os
    from types import TracebackType

    from typing_extensions import Self


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRequest:
    """A request that came in; `body` is its JSON, or None when it had none."""

    method: str
    path: str
    body: Any


class ReplayServer:
    """Serves the responses of a recording in order to a provider's own SDK.

    ```python
    with ReplayServer(Path("two_turns.json")) as server:
        client = openai.OpenAI(base_url=server.url, api_key="none", max_retries=0)
    ```

    A recording is `{"exchanges": [{"request": …, "response": {"status", "content_type", "body"}}, …]}`. The body of a stream is
    its raw server-sent events, which are written one by one; every other body is written whole. A request that comes after
    the last exchange is answered with status 500 and a sentence that says so.

    Args:
        recording: The file, or what is in it.
        pace: Seconds between two events of a stream.
        cut_after: Events after which the connection of a stream is dropped; None lets every stream come to its end.

    Attributes:
        requests: What was asked so far, in order.

    Raises:
        ValueError: The recording has no exchanges.
    """

    def __init__(
        self, recording: str | os.PathLike[str] | Mapping[str, Any], *, pace: float = 0.0, cut_after: int | None = None
    ) -> None:
        content = recording if isinstance(recording, Mapping) else json.loads(Path(recording).read_text(encoding="utf-8"))
        if not isinstance(content, Mapping) or not content.get("exchanges"):
            raise ValueError(
                'a recording must be {"exchanges": [{"response": {"status", "content_type", "body"}}, …]} with one or more'
            )
        self.requests: list[ReplayRequest] = []
        self.pace = pace
        self.cut_after = cut_after
        self._exchanges: list[Mapping[str, Any]] = list(content["exchanges"])
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """The base URL to give to a client, without a slash at its end.

        Raises:
            RuntimeError: The server is not running.
        """
        if self._server is None:
            raise RuntimeError("a ReplayServer has a url while it runs: use it as `with ReplayServer(...) as server:`")
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._server = _Server(self)
        # The interval is how long `close` may wait for the loop to notice.
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), name="agentcell-replay")
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Stops at once: open connections are dropped, and every thread has ended when this returns."""
        if self._server is None or self._thread is None:
            return
        self._server.stop()
        self._thread.join()
        self._server = self._thread = None

    def take(self, request: ReplayRequest) -> Mapping[str, Any]:
        """Keeps a request and returns the response to it."""
        self.requests.append(request)
        number = len(self.requests)
        if number <= len(self._exchanges):
            return cast("Mapping[str, Any]", self._exchanges[number - 1]["response"])
        told = f"the recording has {len(self._exchanges)} exchanges, and this is request {number}: record more, or ask less"
        return {"status": 500, "content_type": "application/json", "body": json.dumps({"error": {"message": told}})}


class _Server(ThreadingHTTPServer):
    """Listens, and knows its open connections, so that `stop` need not wait for them."""

    daemon_threads = False  # `server_close` joins the threads of requests then

    def __init__(self, replay: ReplayServer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.replay = replay
        self.lock = threading.Lock()  # requests are counted one at a time
        self.stopping = threading.Event()
        self._connections: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        with self.lock:
            self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self.lock:
            self._connections.discard(request)
        super().shutdown_request(request)

    def stop(self) -> None:
        self.stopping.set()
        self.shutdown()
        with self.lock:
            for connection in self._connections:
                with contextlib.suppress(OSError):  # the client was quicker
                    connection.shutdown(socket.SHUT_RDWR)
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    """Answers one request on one connection, in HTTP/1.0: the end of a body is the end of the connection."""

    server: _Server

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        text = self.rfile.read(length)
        if len(text) < length:  # the connection broke off
            return
        request = ReplayRequest(method=self.command, path=self.path, body=json.loads(text) if text else None)
        with self.server.lock:
            response = self.server.replay.take(request)
        body = str(response["body"])
        stream = str(response["content_type"]).startswith("text/event-stream")
        try:
            self.send_response(int(response["status"]))
            self.send_header("Content-Type", str(response["content_type"]))
            if not stream:
                self.send_header("Content-Length", str(len(body.encode())))
            self.end_headers()
            for part in self._paced(events_of(body)) if stream else (body,):
                self.wfile.write(part.encode())
                self.wfile.flush()
        except ConnectionError:  # the client hung up, as one does that leaves a stream early
            return

    def do_GET(self) -> None:
        self.do_POST()  # a stream may be asked for once more

    def _paced(self, events: list[str]) -> Iterator[str]:
        replay = self.server.replay
        for number, event in enumerate(events[: replay.cut_after]):
            if number and self.server.stopping.wait(replay.pace):
                return
            yield event

    def log_message(self, *_told: Any) -> None:
        """Says nothing: the test asks `requests`."""


def events_of(body: str) -> list[str]:
    """The events of a stream as they were sent; comments before an event are part of it."""
    events: list[str] = []
    pending = ""
    for block in re.split(r"(?<=\n\n)|(?<=\n\r\n)", body):
        pending += block
        if re.search(r"^data:", block, re.MULTILINE):
            events.append(pending)
            pending = ""
    return events
