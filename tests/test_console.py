"""Which requests of a kernel are taken for a console's."""

from types import SimpleNamespace

import pytest

from agentcell.console import sent_by_console


def shell(*, msg_id: str = "5e55_12_3", allow_stdin: bool = True, **metadata: object) -> SimpleNamespace:
    """A kernel's shell at work on a request, as `jupyter console` sends it but for what is given."""
    header = {"msg_id": msg_id, "session": "5e55", "msg_type": "execute_request"}
    return SimpleNamespace(parent_header={"header": header, "content": {"allow_stdin": allow_stdin}, "metadata": metadata})


@pytest.mark.parametrize(
    ("sent", "is_console"),
    [
        pytest.param(shell(), True, id="jupyter console"),
        pytest.param(shell(allow_stdin=False), False, id="nbclient"),
        pytest.param(shell(msg_id="0f3c9a7e-41d5-4a1c-9f53-7d2b8e6a1c55"), False, id="a page"),
        pytest.param(shell(cellId="a1"), False, id="a cell"),
        pytest.param(SimpleNamespace(parent_header={}), False, id="nothing was sent yet"),
        pytest.param(SimpleNamespace(), False, id="another kernel's shell"),
    ],
)
def test_a_console_is_known_by_its_request(monkeypatch: pytest.MonkeyPatch, sent: object, is_console: bool):
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    assert sent_by_console(sent) is is_console


def test_a_kernel_of_a_notebook_has_no_console(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("JPY_SESSION_NAME", "/notebooks/run.ipynb")
    assert not sent_by_console(shell())
