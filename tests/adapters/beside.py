"""Runs an agent without agentcell and with it, and holds one to the other: to be watched changes no result and no exception."""

from __future__ import annotations

import agentcell


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
