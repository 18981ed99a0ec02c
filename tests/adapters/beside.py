"""Runs an agent without agentcell and with it, and holds one to the other: to be watched changes no result and no exception."""

from __future__ import annotations

import contextlib

import agentcell
from agentcell.adapters.ambient import AMBIENCE
from agentcell.context import Block


class Outcome:
    """What a call gave: its result, or the exception that it ended with."""

    def __init__(self, result=None, error=None):
        self.result = result
        self.error = error

    def __eq__(self, other):
        return (self.result, type(self.error), str(self.error)) == (other.result, type(other.error), str(other.error))

    __hash__ = None

    def __repr__(self):
        return f"Outcome({self.result!r})" if self.error is None else f"Outcome(error={self.error!r})"


async def outcome_of(agent, run, *, block):
    try:
        with block:
            result = await agent(run)
    except BaseException as error:  # noqa: BLE001  whatever it is, the other way has to give it too
        return Outcome(error=error)
    return Outcome(result)


async def watch_beside(agent, **options):
    """Awaits `agent(None)` outside of any block and `agent(run)` inside one, compares them, and returns the run.

    `agent` gives back what is to be the same, so nothing with a time or an id in it.
    """
    alone = await outcome_of(agent, None, block=Nothing())
    run = agentcell.watch("hi", display=False, **options)
    watched = await outcome_of(agent, run, block=run)
    assert watched == alone, f"{watched} with agentcell, {alone} without"
    assert run.faults == {}
    assert run.unknown_events == {}
    run.result, run.raised = watched.result, watched.error
    return run


class Nothing:
    def __enter__(self):
        return None

    def __exit__(self, *error):
        return False


@contextlib.contextmanager
def waiting_block():
    """A block as `watch_all` makes one for each cell: its run, in the list that this gives, begins when a framework tells of something."""
    listener, runs = agentcell.watch(display=False), []

    def begin():
        runs.append(agentcell.watch(display=False).__enter__())
        return runs[0]

    AMBIENCE.enter(listener)
    block = Block.wait(begin)
    try:
        yield runs
    finally:
        block.leave()
        for run in runs:
            run.__exit__(None, None, None)
        AMBIENCE.leave(listener)
