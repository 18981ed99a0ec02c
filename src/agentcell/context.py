"""Which run this code is in."""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agentcell.run import Run


@dataclass(slots=True)
class Block:
    """The block of a run: the block around it, and the run as long as it has not been left.

    Attributes:
        run: The run; None behind the block's end, and in one that waits for something to happen.
        around: The block around it.
        make: Makes the run of a block that waits.
    """

    run: Run | None
    around: Block | None
    make: Callable[[], Run | None] | None = None

    @classmethod
    def here(cls, *, waiting: bool = False) -> Block | None:
        """The innermost block around this code that has not been left; with `waiting` also one that waits."""
        block = _block.get()
        while block is not None and block.run is None and not (waiting and block.make is not None):
            block = block.around
        return block

    @classmethod
    def wait(cls, make: Callable[[], Run | None]) -> Block:
        """A block that has its run, entered, when something first happens in it."""
        block = cls(None, cls.here(), make)
        _block.set(block)
        return block

    def start(self) -> Run | None:
        """The run; the block waits no longer."""
        with _starting:
            make, self.make = self.make, None
            if make is not None:
                self.run = make()
            return self.run

    @classmethod
    def known(cls) -> bool:
        """Whether this context was ever in a run: then it says itself whether it still is."""
        return _block.get() is not None

    @classmethod
    def enter(cls, run: Run) -> Block:
        """Makes `run` the one that this code is in."""
        block = cls(run, cls.here())
        _block.set(block)
        _open[id(block)] = block
        return block

    def leave(self) -> None:
        """The run's block is left."""
        self.run = self.make = None
        _open.pop(id(self), None)
        # In another context than the one that was entered, as a generator may be, there may be nothing to clear away.
        if _block.get() is self:
            _block.set(Block.here())

    @contextmanager
    def around_here(self) -> Iterator[None]:
        """Inside, this block is around the code that runs, which is in a thread that nobody told."""
        token = _block.set(self)
        try:
            yield
        finally:
            _block.reset(token)

    @classmethod
    def disown_all(cls) -> None:
        """In a forked child: its copies of the runs around this code are shown by nobody, and it is outside of them."""
        block = _block.get()
        while block is not None:
            if block.run is not None:
                block.run.disown()
            block = block.around
        _block.set(None)
        _open.clear()


_block: ContextVar[Block | None] = ContextVar("agentcell_block", default=None)

_starting = threading.RLock()

_open: dict[int, Block] = {}  # every block of this process that was entered and not left

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=Block.disown_all)


def current_run() -> Run | None:
    """The run whose block this code is in; None outside, and when that block has been left meanwhile.

    It is found through `contextvars`: nested functions, asyncio tasks and threads that copy the context see the same run, and two
    runs side by side never see each other.
    """
    block = Block.here()
    return None if block is None else block.run


def run_for_tool() -> Run | None:
    """The run that a tool's call belongs to: the current one, or the only one that is open.

    A thread that was started without its context, as those of a pool are, does not know its run. With two runs open nobody could
    say whose call it is, and no run gets it.
    """
    run = current_run()
    if run is not None or Block.known():
        return run
    blocks = tuple(_open.values())
    return blocks[0].run if len(blocks) == 1 else None
