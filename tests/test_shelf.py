"""Which widgets of ended runs are closed, and when."""

from typing import Literal

import agentcell
from agentcell.cell_output import CellOutput
from agentcell.shelf import AWAITED, KEPT, PATIENCE, Shelf
from agentcell.testing.clock import FakeClock


def ended(*, delivered: bool = True, persist: Literal["snapshot", "widget"] = "snapshot") -> agentcell.Run:
    """A run that is over, whose end has arrived in a page or not."""
    with agentcell.watch(display=False, persist=persist) as run:
        assert run.cell.comm
    if delivered:
        deliver(run)
    return run


def deliver(run: agentcell.Run) -> None:
    run.reach.leave("its view", over=True)


def put(shelf: Shelf, run: agentcell.Run) -> None:
    shelf.put(run, CellOutput({}, metadata={}))  # without a notebook: no two are of one cell


def closed(*runs: agentcell.Run) -> list[int]:
    return [place for place, run in enumerate(runs) if run.cell.comm is None]


def test_the_newest_stay_and_older_ones_are_closed():
    shelf = Shelf(clock=FakeClock())
    runs = [ended() for _ in range(KEPT + 3)]
    for number, run in enumerate(runs):
        put(shelf, run)
        assert closed(*runs) == list(range(max(0, number + 1 - KEPT)))


def test_one_that_has_not_arrived_stays_longer_as_a_page_may_be_loading_it():
    clock = FakeClock()
    shelf = Shelf(clock=clock)
    early, arrived = ended(delivered=False), ended()
    put(shelf, early)
    put(shelf, arrived)
    for _ in range(KEPT):
        put(shelf, ended())
    assert closed(early, arrived) == [1]
    clock.advance(PATIENCE)
    put(shelf, ended())
    assert closed(early) == []
    clock.advance(0.001)
    put(shelf, ended())
    assert closed(early) == [0]


def test_one_that_arrives_late_is_closed_then():
    shelf = Shelf(clock=FakeClock())
    late = ended(delivered=False)
    put(shelf, late)
    for _ in range(KEPT):
        put(shelf, ended())
    deliver(late)
    put(shelf, ended())
    assert closed(late) == [0]


def test_there_is_an_end_to_those_of_which_nothing_is_heard():
    shelf = Shelf(clock=FakeClock())
    runs = [ended(delivered=False) for _ in range(AWAITED + 2)]
    for run in runs:
        put(shelf, run)
    assert closed(*runs) == [0, 1]


def test_a_run_that_keeps_its_widget_keeps_it_open():
    shelf = Shelf(clock=FakeClock())
    kept = ended(persist="widget")
    put(shelf, kept)
    for _ in range(AWAITED):
        put(shelf, ended())
    assert closed(kept) == []


def test_a_forked_child_closes_nothing_of_its_parents():
    shelf = Shelf(clock=FakeClock())
    mine = [ended() for _ in range(KEPT)]
    for run in mine:
        put(shelf, run)
    shelf.forget()
    for _ in range(KEPT + 1):
        put(shelf, ended())
    assert closed(*mine) == []
