"""Watches every cell that runs an agent: a cell gets its block when a framework first has something to tell in it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from agentcell.adapters.ambient import AMBIENCE
from agentcell.context import Block
from agentcell.display import watch
from agentcell.errors import AgentcellError

if TYPE_CHECKING:
    from agentcell.run import Run


def watch_all(**options: Any) -> None:
    """Shows, from now on, each cell that runs an agent of a supported framework, the cell that calls this among them.

    A cell without an agent shows nothing, and neither does what happens inside a `with agentcell.watch(...)`, which is shown there.
    `unwatch_all` ends it; called again, the new options count.

    Args:
        **options: Those of `watch`.

    Raises:
        AgentcellError: there are no cells here.
        TypeError: an option of the wrong type, or one that `watch` does not have.
        ValueError: an option with a value that it does not know.
    """
    global _watching  # noqa: PLW0603 - one for the process, like the shell that it listens to
    listener = watch(**options)
    shell = _shell()
    if shell is None:
        raise AgentcellError(
            "agentcell.watch_all() is for notebooks, where code runs in cells: use `with agentcell.watch(...):` here"
        )
    unwatch_all()
    _watching = Cells(shell, listener, options)
    _watching.begin()


def unwatch_all() -> None:
    """Ends what `watch_all` began; the block of a cell that still runs goes on to its end."""
    global _watching  # noqa: PLW0603
    if _watching is not None:
        _watching.end()
        _watching = None


class Cells:
    """The cells of one shell.

    Args:
        shell: IPython's.
        listener: A run that is never entered, which stands for all cells where frameworks are hooked.
        options: What each cell's run is made with.
    """

    def __init__(self, shell: Any, listener: Run, options: dict[str, Any]) -> None:
        self._shell = shell
        self._listener = listener
        self._options = options
        self._blocks: dict[int, Block] = {}  # by thread: in each, one cell runs at a time

    def begin(self) -> None:
        """Listens to frameworks, and to the shell."""
        AMBIENCE.enter(self._listener)
        self._shell.events.register("pre_run_cell", self._enter)
        self._shell.events.register("post_run_cell", self._leave)
        self._enter()

    def end(self) -> None:
        """Listens no longer, but for the end of a cell whose run has begun."""
        self._shell.events.unregister("pre_run_cell", self._enter)
        for thread, block in tuple(self._blocks.items()):
            if block.run is None:
                block.leave()
                del self._blocks[thread]
        if not self._blocks:
            self._let_go()

    def _enter(self, _info: Any = None) -> None:
        self._leave()  # a cell whose end nobody told
        self._blocks[threading.get_ident()] = Block.wait(self._start)

    def _start(self) -> Run | None:
        """The first event in a cell: its run begins, and is shown."""
        with self._listener.guarding("showing a cell's run"):
            return watch(**self._options).__enter__()
        return None  # type: ignore[unreachable]  # the guard takes exceptions

    def _leave(self, result: Any = None) -> None:
        block = self._blocks.pop(threading.get_ident(), None)
        if block is None:
            return
        run = block.run
        block.leave()
        if run is not None:
            error = None if result is None else result.error_in_exec
            run.__exit__(None if error is None else type(error), error, None if error is None else error.__traceback__)
        if _watching is not self and not self._blocks:
            self._let_go()

    def _let_go(self) -> None:
        self._shell.events.unregister("post_run_cell", self._leave)
        AMBIENCE.leave(self._listener)


_watching: Cells | None = None


def _shell() -> Any:
    import sys

    if "IPython" not in sys.modules:
        return None
    from IPython import get_ipython

    return get_ipython()
