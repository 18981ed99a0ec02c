"""The two roads by which a click in the browser reaches Python while a cell runs.

A comm message waits until the cell is done on some kernels, a control-channel message does not; so each action comes by both, with
one id, and counts once. Handlers run in whatever thread the kernel uses: they set something and return.
"""

from __future__ import annotations

import _thread
import os
import signal
import sys
import threading
from collections import OrderedDict
from typing import Any, Protocol
from weakref import WeakValueDictionary

from agentcell.wire import ACTION_MESSAGE

_AFTER_INTERRUPT = 0.05  # seconds: the signal has long come by then

_REMEMBERED = 256  # The second of two messages comes within seconds; a few hundred ids are plenty.


class Actor(Protocol):
    """Something that the browser acts on."""

    def hear(self) -> None:
        """Something comes from the browser, by this thread; the same action may come by another one, too."""

    def act(self, action: dict[str, Any]) -> None:
        """Does an action, quickly."""


class ActionDesk:
    """Knows who is meant by an id, and which actions have been done."""

    def __init__(self) -> None:
        self._actors: WeakValueDictionary[str, Actor] = WeakValueDictionary()
        self._done: OrderedDict[str, None] = OrderedDict()
        self._lock = threading.Lock()

    def register(self, actor_id: str, actor: Actor) -> bool:
        """Makes `actor` reachable, and opens the control-channel road when this is a kernel; returns whether it is one."""
        self._actors[actor_id] = actor
        kernel = _kernel()
        handlers = getattr(kernel, "control_handlers", None)
        if isinstance(handlers, dict):
            handlers.setdefault(ACTION_MESSAGE, self._from_control_channel)
        return kernel is not None

    def take(self, actor_id: str, action: Any) -> None:
        """Does an action unless it was done already; what is not an action is passed over."""
        if not isinstance(action, dict):
            return
        action_id = action.get("id")
        if not isinstance(action_id, str):
            return
        actor = self._actors.get(actor_id)
        if actor is None:
            return
        actor.hear()
        with self._lock:
            if action_id in self._done:
                return
            self._done[action_id] = None
            if len(self._done) > _REMEMBERED:
                self._done.popitem(last=False)
        actor.act(action)

    def _from_control_channel(self, _stream: Any, _ident: Any, message: Any) -> None:
        content = message.get("content", {})
        self.take(str(content.get("run_id", "")), content.get("action"))


def running_cell() -> int | None:
    """The number of the cell that the kernel runs; None elsewhere. It is another one as soon as the cell is over."""
    kernel = _kernel()
    number: int | None = getattr(getattr(kernel, "shell", None), "execution_count", None)
    return number


def interrupt_kernel(cell: int | None) -> None:
    """Interrupts the kernel, as its own handler of an interrupt request does; from any thread.

    Elsewhere it does nothing, and neither when another cell than `cell` runs: what goes on behind its cell, in a thread or a task, must
    not take down somebody else's.
    """
    kernel = _kernel()
    if kernel is None or running_cell() != cell:
        return
    if not hasattr(signal, "pthread_kill"):  # Windows has no signals that would wake a thread
        _thread.interrupt_main()
    elif os.getpgid(0) == os.getpid():  # what the cell has started is interrupted, too
        os.killpg(0, signal.SIGINT)
    else:
        os.kill(os.getpid(), signal.SIGINT)
    # An interrupt in the middle of an `await` is seen only when something wakes the loop after it.
    loop = getattr(kernel, "io_loop", None)
    if loop is not None:
        loop.add_callback(loop.call_later, _AFTER_INTERRUPT, _nothing)


def _nothing() -> None:
    """Wakes a loop."""


def _kernel() -> Any:
    """The ipykernel that this process is, or None; nothing is imported to find out."""
    if "ipykernel" not in sys.modules:
        return None
    from IPython import get_ipython

    return getattr(get_ipython(), "kernel", None)


DESK = ActionDesk()
"""The process's one desk."""
