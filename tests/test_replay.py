"""The replay server: a recording over HTTP, in order, event by event, and gone at once."""

from __future__ import annotations

import json
import socket
import threading
import time
import urllib.error
import urllib.request

import pytest

from agentcell.testing import ReplayServer
from agentcell.testing.replay import ReplayRequest, events_of

STREAM = {"status": 200, "content_type": "text/event-stream; charset=utf-8", "body": "data: a\n\ndata: ö\n\ndata: [DONE]\n\n"}
WHOLE = {"status": 201, "content_type": "application/json", "body": '{"ok": "é"}'}


def recording(*responses):
    return {"exchanges": [{"request": {}, "response": response} for response in responses]}


def post(url, body=None):
    data = b"" if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data=data), timeout=20) as response:
        return response.status, response.headers["Content-Type"], response.read().decode()


def test_responses_come_in_order_whatever_is_asked():
    with ReplayServer(recording(STREAM, WHOLE)) as server:
        assert post(f"{server.url}/v1/anything", {"n": 1}) == (200, STREAM["content_type"], STREAM["body"])
        assert post(f"{server.url}/else?x=1") == (201, "application/json", WHOLE["body"])
        assert server.requests == [
            ReplayRequest(method="POST", path="/v1/anything", body={"n": 1}),
            ReplayRequest(method="POST", path="/else?x=1", body=None),
        ]


def test_a_recording_may_be_a_file(tmp_path):
    path = tmp_path / "one.json"
    path.write_text(json.dumps(recording(WHOLE)), encoding="utf-8")
    with ReplayServer(path) as server:
        assert post(server.url)[0] == 201


def test_one_request_too_many_is_answered_with_a_sentence():
    with ReplayServer(recording(WHOLE)) as server:
        post(server.url)
        with pytest.raises(urllib.error.HTTPError, match="500") as raised:
            post(server.url)
        with raised.value as answer:
            message = json.loads(answer.read())["error"]["message"]
    assert message == "the recording has 1 exchanges, and this is request 2: record more, or ask less"


@pytest.mark.parametrize("content", [{}, {"exchanges": []}, []])
def test_what_is_no_recording_is_refused(content, tmp_path):
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(ValueError, match="a recording must be"):
        ReplayServer(path)


@pytest.mark.parametrize(("cut_after", "body"), [(0, ""), (1, "data: a\n\n"), (2, "data: a\n\ndata: ö\n\n"), (9, STREAM["body"])])
def test_a_stream_can_be_cut(cut_after, body):
    with ReplayServer(recording(STREAM, WHOLE), cut_after=cut_after) as server:
        assert post(server.url)[2] == body
        assert post(server.url)[2] == WHOLE["body"]  # only streams are cut


@pytest.mark.parametrize(
    ("body", "events"),
    [
        ("", []),
        ("data: a\n\ndata: b\n\n", ["data: a\n\n", "data: b\n\n"]),
        ("data: a\r\n\r\ndata: b\r\n\r\n", ["data: a\r\n\r\n", "data: b\r\n\r\n"]),
        (": wait\n\n: wait\n\ndata: a\n\n", [": wait\n\n: wait\n\ndata: a\n\n"]),
        ("event: x\ndata: a\ndata: b\n\n", ["event: x\ndata: a\ndata: b\n\n"]),
        ("data: a\u2028b\n\ndata: c", ["data: a\u2028b\n\n", "data: c"]),
    ],
)
def test_a_body_is_split_into_its_events(body, events):
    assert events_of(body) == events


def test_events_arrive_one_by_one_and_closing_does_not_wait_for_the_rest():
    started = time.monotonic()
    with ReplayServer(recording(STREAM), pace=60) as server:
        response = urllib.request.urlopen(urllib.request.Request(server.url, data=b"{}"), timeout=20)
        assert response.readline() == b"data: a\n"
        assert response.readline() == b"\n"
    with response:
        assert response.read() == b""
    assert time.monotonic() - started < 30


def test_closing_does_not_wait_for_a_client_that_says_nothing():
    started = time.monotonic()
    with ReplayServer(recording(STREAM)) as server:
        port = int(server.url.rpartition(":")[2])
        client = socket.create_connection(("127.0.0.1", port))
        client.sendall(b"POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\nhalf")
        post_count = len(server.requests)
    with client:
        assert post_count == 0
    assert time.monotonic() - started < 10


def test_a_client_that_hangs_up_does_no_harm(capfd):
    with ReplayServer(recording(STREAM, WHOLE), pace=0.01) as server:
        urllib.request.urlopen(urllib.request.Request(server.url, data=b"{}"), timeout=20).close()
        assert post(server.url)[0] == 201
    assert capfd.readouterr().err == ""


def test_nothing_is_left_behind():
    before = set(threading.enumerate())
    with ReplayServer(recording(WHOLE)) as server:
        post(server.url)
        port = int(server.url.rpartition(":")[2])
    assert set(threading.enumerate()) == before
    with pytest.raises(ConnectionError):
        socket.create_connection(("127.0.0.1", port))
    server.close()  # a second time does nothing


def test_a_server_that_does_not_run_has_no_url():
    server = ReplayServer(recording(WHOLE))
    with pytest.raises(RuntimeError, match="while it runs"):
        _ = server.url
