"""Which widgets of ended runs are closed, and when."""

from agentcell.shelf import KEPT, PATIENCE, Shelf
from agentcell.testing.clock import FakeClock


class Ended:
    def __init__(self, *, left: bool) -> None:
        self.left = left
        self.closed = 0

    def close(self) -> None:
        self.closed += 1


def closed(cells: list[Ended]) -> list[int]:
    return [place for place, cell in enumerate(cells) if cell.closed]


def test_the_newest_stay_and_older_ones_are_closed_once():
    shelf = Shelf(clock=FakeClock())
    cells = [Ended(left=True) for _ in range(KEPT + 3)]
    for number, cell in enumerate(cells):
        shelf.put(cell)
        assert closed(cells) == list(range(max(0, number + 1 - KEPT)))
    assert {cell.closed for cell in cells} == {0, 1}


def test_one_that_has_not_arrived_stays_longer_as_a_page_may_be_loading_it():
    clock = FakeClock()
    shelf = Shelf(clock=clock)
    early, arrived = Ended(left=False), Ended(left=True)
    shelf.put(early)
    shelf.put(arrived)
    for _ in range(KEPT):
        shelf.put(Ended(left=True))
    assert (early.closed, arrived.closed) == (0, 1)
    clock.advance(PATIENCE)
    shelf.put(Ended(left=True))
    assert early.closed == 0
    clock.advance(0.001)
    shelf.put(Ended(left=True))
    assert early.closed == 1


def test_one_that_arrives_late_is_closed_then():
    shelf = Shelf(clock=FakeClock())
    late = Ended(left=False)
    shelf.put(late)
    for _ in range(KEPT):
        shelf.put(Ended(left=True))
    late.left = True
    shelf.put(Ended(left=True))
    assert late.closed == 1


def test_a_forked_child_closes_nothing_of_its_parents():
    shelf = Shelf(clock=FakeClock())
    mine = [Ended(left=True) for _ in range(KEPT)]
    for cell in mine:
        shelf.put(cell)
    shelf.forget()
    for _ in range(KEPT + 1):
        shelf.put(Ended(left=True))
    assert closed(mine) == []
