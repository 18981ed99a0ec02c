"""Which views of a run are in a page, as far as the pages say so."""

from agentcell.reach import Reach
from agentcell.testing.clock import FakeClock


def test_a_run_is_gone_when_every_view_that_came_has_left():
    reach = Reach(FakeClock())
    assert (reach.seen, reach.gone) == (False, False), "nobody has said anything: a page may just be loading it"
    reach.arrive("a")
    reach.arrive("b")
    reach.leave("a", over=False)
    assert (reach.seen, reach.gone) == (True, False)
    reach.leave("b", over=False)
    assert (reach.seen, reach.gone) == (False, True)
    reach.arrive("a")
    assert (reach.seen, reach.gone) == (True, False)
