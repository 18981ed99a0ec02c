"""What a page sends while a cell is busy, in a real kernel: the control channel, answered questions and the second press."""

from __future__ import annotations

import queue
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from jupyter_client.blocking import BlockingKernelClient
from jupyter_client.manager import start_new_kernel

SECONDS = 30


@dataclass
class Kernel:
    """A kernel, and a page that shows what it does: the widget of the newest run says hello as a view does."""

    client: BlockingKernelClient
    run_id: str = ""
    traits: dict[str, Any] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def start(self, code: str) -> str:
        self.run_id, self.traits = "", {}
        content = {"code": code, "silent": False, "store_history": True, "allow_stdin": True, "stop_on_error": False}
        request = self.client.session.msg("execute_request", content, metadata={"cellId": "one"})  # as pages name their cells
        self.client.shell_channel.send(request)
        return str(request["header"]["msg_id"])

    def act(self, **action: Any) -> None:
        """Sends an action by the control channel, as js/src/actions.ts does."""
        content = {"run_id": self.run_id, "action": {"id": uuid.uuid4().hex, **action}}
        self.client.control_channel.send(self.client.session.msg("agentcell_action", content))

    def until(self, **traits: Any) -> None:
        """Reads what the kernel publishes until the widget's traits are these."""
        end = time.monotonic() + SECONDS
        while any(self.traits.get(name) != value for name, value in traits.items()):
            assert time.monotonic() < end, f"{traits} is not {self.traits}"
            self._read()

    def until_question(self) -> dict[str, Any]:
        end = time.monotonic() + SECONDS
        while not self.traits.get("questions"):
            assert time.monotonic() < end, self.traits
            self._read()
        return dict(self.traits["questions"][0])

    def finish(self, execution: str) -> dict[str, Any]:
        """The reply to a cell; what it asks at the console meanwhile is answered with `typed`."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            try:
                reply = self.client.get_shell_msg(timeout=0.1)
            except queue.Empty:
                self._answer_console()
                continue
            if reply["parent_header"].get("msg_id") == execution:
                return dict(reply["content"])
        raise TimeoutError("the cell does not end")

    def value(self, expression: str) -> str:
        reply = self.finish(self.client.execute("", silent=True, user_expressions={"value": expression}))
        return str(reply["user_expressions"]["value"]["data"]["text/plain"])

    def _answer_console(self) -> None:
        try:
            self.asked.append(self.client.get_stdin_msg(timeout=0)["content"]["prompt"])
        except queue.Empty:
            return
        self.client.input("typed")

    def _read(self) -> None:
        try:
            message = self.client.get_iopub_msg(timeout=0.1)
        except queue.Empty:
            return
        data = message["content"].get("data", {})
        if message["msg_type"] == "comm_open" and "run_id" in data.get("state", {}):
            self.run_id, self.traits = data["state"]["run_id"], data["state"]
            self.act(type="hello", view="v1")
        elif message["msg_type"] == "comm_msg" and data.get("method") == "custom":
            self.traits.update(data["content"].get("patch", {}).get("header", {}))


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BlockingKernelClient]:
    """One kernel for all tests of this file; it ends with them."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
            patch.setenv(name, str(tmp_path_factory.mktemp(name.lower())))
        manager, client = start_new_kernel(kernel_name="python3")
        try:
            client.execute_interactive("import agentcell, asyncio, time", timeout=60)
            yield client
        finally:
            client.stop_channels()
            manager.shutdown_kernel(now=True)
            manager.cleanup_resources()


@pytest.fixture
def kernel(started: BlockingKernelClient) -> Kernel:
    return Kernel(started)


STEPS = """\
with agentcell.watch("x") as run:
    while True:
        run.step("a page")
        time.sleep(0.02)
"""
STEPS_ASYNC = """\
async with agentcell.watch("x") as run:
    while True:
        run.step("a page")
        await asyncio.sleep(0.02)
"""


@pytest.mark.parametrize("code", [STEPS, STEPS_ASYNC], ids=["sync", "async"])
def test_one_press_ends_the_run_and_the_cell_goes_on(kernel: Kernel, code: str):
    cell = kernel.start(code + "after = True\n")
    kernel.until(stop="ready")
    kernel.act(type="stop", again=False)
    assert kernel.finish(cell)["status"] == "ok"
    assert kernel.value("run.outcome, after, run.cell.sentence") == "('cancelled', True, 'You stopped it.')"


SLEEP = "with agentcell.watch('x') as run:\n    with run.tool('crawl'):\n        time.sleep(600)\n"
SUBPROCESS = "import subprocess\nwith agentcell.watch('x') as run:\n    subprocess.run(['sleep', '600'])\n"
SPIN = "with agentcell.watch('x') as run:\n    while True:\n        pass\n"
AWAIT = "async with agentcell.watch('x') as run:\n    await asyncio.sleep(600)\n"
POOL = """\
import threading
from concurrent.futures import ThreadPoolExecutor
with agentcell.watch('x') as run:
    ended = threading.Event()
    with ThreadPoolExecutor() as pool:
        try:
            pool.submit(ended.wait).result()
        finally:
            ended.set()
"""


@pytest.mark.parametrize(
    ("code", "error"),
    [
        pytest.param(SLEEP, "KeyboardInterrupt", id="time.sleep"),
        pytest.param(SUBPROCESS, "KeyboardInterrupt", id="a program that the cell started"),
        pytest.param(SPIN, "KeyboardInterrupt", id="a busy loop"),
        pytest.param(POOL, "KeyboardInterrupt", id="a thread's result"),
        pytest.param(AWAIT, "CancelledError", id="an await"),
    ],
)
def test_a_second_press_interrupts(kernel: Kernel, code: str, error: str):
    cell = kernel.start(code)
    kernel.until(stop="ready")
    kernel.act(type="stop", again=False)
    kernel.until(stop="stopping")
    kernel.act(type="stop", again=True)
    assert kernel.finish(cell)["ename"] == error
    # An interrupted `await` is a cancelled task, and it was the reader who did it.
    told = "RunStopped" if error == "CancelledError" else error
    assert kernel.value("run.outcome, run.events[-1].error_type") == f"('cancelled', '{told}')"


BEHIND = """\
import threading
from agentcell.actions import DESK
entered, leave, over = threading.Event(), threading.Event(), threading.Event()
def work():
    with agentcell.watch('x') as run:
        entered.set()
        leave.wait()
    over.set()
threading.Thread(target=work).start()
entered.wait()
"""


def test_a_second_press_on_a_run_behind_its_cell_leaves_the_next_cell_alone(kernel: Kernel):
    cell = kernel.start(BEHIND)
    kernel.until(stop="ready")
    assert kernel.finish(cell)["status"] == "ok"
    kernel.act(type="stop", again=False)
    kernel.until(stop="stopping")
    run_id, actions = kernel.run_id, kernel.value("len(DESK._done)")
    cell = kernel.start(f"""
print("begun")
while len(DESK._done) < {actions} + 2:
    time.sleep(0.01)
leave.set()
over.wait({SECONDS})
""")
    while kernel.client.get_iopub_msg(timeout=SECONDS)["content"].get("text") != "begun\n":
        pass
    kernel.run_id = run_id
    kernel.act(type="stop", again=True)
    kernel.act(type="resync")  # when this one is known, the press has done all that it does
    assert kernel.finish(cell)["status"] == "ok"
    assert kernel.value("over.is_set()") == "True"


ASK = "with agentcell.watch('x') as run:\n    answer = run.pause('Go on?', choices=['yes', 'no'])\n"
ASK_ASYNC = "async with agentcell.watch('x') as run:\n    answer = await run.pause_async('Go on?', choices=['yes', 'no'])\n"


@pytest.mark.parametrize("code", [ASK, ASK_ASYNC], ids=["sync", "async"])
def test_a_question_is_answered_while_the_cell_waits(kernel: Kernel, code: str):
    cell = kernel.start(code)
    question = kernel.until_question()
    kernel.act(type="answer", question=question["id"], choice=1, text="")
    assert kernel.finish(cell)["status"] == "ok"
    assert (kernel.value("answer"), kernel.asked) == ("'no'", [])


@pytest.mark.parametrize("code", [ASK, ASK_ASYNC], ids=["sync", "async"])
def test_stop_ends_a_question(kernel: Kernel, code: str):
    cell = kernel.start(code)
    kernel.until_question()
    kernel.act(type="stop", again=False)
    assert kernel.finish(cell)["status"] == "ok"
    assert kernel.value("run.outcome") == "'cancelled'"


@pytest.mark.parametrize(("code", "error"), [(ASK, "KeyboardInterrupt"), (ASK_ASYNC, "CancelledError")], ids=["sync", "async"])
def test_an_interrupt_ends_a_question(kernel: Kernel, code: str, error: str):
    cell = kernel.start(code)
    kernel.until_question()
    kernel.client.control_channel.send(kernel.client.session.msg("interrupt_request", {}))
    assert kernel.finish(cell)["ename"] == error
    assert kernel.value("run.outcome, run.events[-2].answer") == "('cancelled', None)"


IN_WORDS = "with agentcell.watch('x') as run:\n    answer = run.pause('Go on?')\n"


def test_where_no_view_says_hello_the_console_asks(kernel: Kernel):
    assert kernel.finish(kernel.start(IN_WORDS))["status"] == "ok"
    assert (kernel.value("answer"), kernel.asked) == ("'typed'", ["Go on? "])


def test_where_the_only_view_leaves_the_console_asks(kernel: Kernel):
    cell = kernel.start(IN_WORDS)
    kernel.until_question()
    kernel.act(type="left", view="v1")
    assert kernel.finish(cell)["status"] == "ok"
    assert (kernel.value("answer"), kernel.asked) == ("'typed'", ["Go on? "])
