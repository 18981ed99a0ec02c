"""One output of a notebook's cell: shown, replaced, and shown anew in the same cell when something has cleared it."""

from __future__ import annotations

import sys
import time
from contextvars import Context
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from IPython.display import DisplayHandle


class CellOutput:
    """An output in the cell that runs when this is made.

    A page finds an output that is to be replaced by a name that it was given with it. Once the output was cleared there is nothing of
    that name, and a replacement is lost without a word; then it has to be shown anew, and still in its own cell, whatever runs by now.

    Attributes:
        cleared: Whether code in the cell has called `clear_output()` since it was shown.
    """

    def __init__(self, data: Mapping[str, Any], *, metadata: Mapping[str, Any]) -> None:
        from IPython import get_ipython
        from IPython.display import display

        show: Callable[..., DisplayHandle] = display
        self.cleared = False
        self._since = time.monotonic()
        shell: Any = get_ipython()
        publisher: Any = getattr(shell, "display_pub", None)
        self._publisher = publisher
        # A copy: in ipykernel 6 it is one and the same object for all cells.
        self._cell = dict(getattr(publisher, "parent_header", {}))
        request = getattr(shell, "parent_header", None) or {}
        its_own = request.get("header", {}).get("msg_id") == self._cell.get("msg_id")
        self._cell_id = request.get("metadata", {}).get("cellId") if its_own else None
        self._handle = show(data, metadata=metadata, raw=True, display_id=True)
        if hasattr(publisher, "register_hook"):
            _SHOWN.add(self)
            # Hooks belong to a thread. There is one for all outputs, because it could be taken out by this thread alone.
            publisher.unregister_hook(_hear)
            publisher.register_hook(_hear)

    def replace(self, data: Mapping[str, Any], *, metadata: Mapping[str, Any]) -> None:
        """Puts something else in its place; from any thread, also when the cell is over."""
        update: Callable[..., None] = self._handle.update
        # Out of any task's context, in which ipykernel 7 keeps the cell that began the task: nbclient hears only of the cell it runs.
        Context().run(update, data, metadata=metadata, raw=True)

    def show_anew(self, data: Mapping[str, Any], *, metadata: Mapping[str, Any]) -> None:
        """Shows it once more in its own cell, behind what is there now; from any thread, also when the cell is over."""
        from IPython.display import DisplayHandle

        new: Callable[[], DisplayHandle] = DisplayHandle
        handle = new()
        session = getattr(self._publisher, "session", None)
        if session is None:  # no kernel that we know: where it is shown then is up to the host
            show: Callable[..., None] = handle.display
            show(data, metadata=metadata, raw=True)
        else:
            sys.stdout.flush()  # what was printed before stays before it
            sys.stderr.flush()
            content = {"data": data, "metadata": metadata, "transient": {"display_id": handle.display_id}}
            message = session.msg("display_data", content, parent=self._cell)
            session.send(self._publisher.pub_socket, message, ident=self._publisher.topic)
        self._handle = handle
        self.cleared = False

    def has_given_way_to(self, other: CellOutput) -> bool:
        """Whether `other` was shown when the cell was run once more; False where the host does not name the cells of its notebook."""
        again = self._since < other._since and self._cell.get("msg_id") != other._cell.get("msg_id")
        return again and self._cell_id is not None and self._cell_id == other._cell_id

    def let_go(self) -> None:
        """Ends listening for what clears it."""
        _SHOWN.discard(self)

    def hear(self, message: Mapping[str, Any]) -> None:
        """Takes note of a message that the kernel publishes."""
        if message.get("parent_header", {}).get("msg_id") == self._cell.get("msg_id"):
            self.cleared = True


_SHOWN: WeakSet[CellOutput] = WeakSet()
"""The outputs that may be replaced yet."""


def _hear(message: dict[str, Any]) -> dict[str, Any]:
    if message.get("msg_type") == "clear_output":
        for output in tuple(_SHOWN):
            output.hear(message)
    return message
