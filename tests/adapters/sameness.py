"""Runs a scenario without agentcell and with it: what the user gets, a value or an exception, must be the same."""

from __future__ import annotations

import inspect

import agentcell


async def came_of(scenario, run):
    """What came of a scenario: its value, or the class and the words of what it raised."""
    try:
        value = scenario(run)
        return "returned", await value if inspect.isawaitable(value) else value
    except BaseException as error:  # noqa: BLE001 - whatever it raises is compared
        return "raised", type(error), str(error)


async def watched(scenario, **options):
    """The run of a scenario whose user does not notice that it is watched.

    Args:
        scenario: Called with the run, or with None to go without one; it makes its agents anew each time.
        options: Those of `watch`.
    """
    alone = await came_of(scenario, None)
    with agentcell.watch(display=False, **options) as run:
        beside = await came_of(scenario, run)
    assert beside == alone
    assert run.faults == {}
    assert run.unknown_events == {}
    run.came_of = beside
    return run
