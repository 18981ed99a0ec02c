"""A line that is shown can be read."""

import pytest

from agentcell.calm import CalmLine


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        pytest.param([(0.0, "a")], ["a"], id="the first line comes at once"),
        pytest.param([(0.0, "a"), (0.1, "b"), (0.2, "b")], ["a", "a", "a"], id="another one waits"),
        pytest.param([(0.0, "a"), (0.1, "b"), (0.3, "b")], ["a", "a", "b"], id="until the first was there for 300 ms"),
        pytest.param([(0.0, "a"), (0.1, "b"), (0.2, "c"), (0.3, "c")], ["a", "a", "a", "c"], id="only the newest follows"),
        pytest.param(
            [(0.0, "a"), (0.1, "b"), (0.2, "a"), (0.4, "a")], ["a", "a", "a", "a"], id="a line that comes back was never gone"
        ),
        pytest.param([(0.0, "a"), (0.3, "b"), (0.4, "c"), (0.6, "c")], ["a", "b", "b", "c"], id="each line has its own time"),
        pytest.param([(0.0, "a"), (0.1, ""), (0.3, ""), (0.31, "b")], ["a", "a", "", "b"], id="no line takes no time"),
        pytest.param([(0.0, "a"), (0.1, "!ask")], ["a", "!ask"], id="what is urgent comes at once"),
        pytest.param([(0.0, "a"), (0.1, "!ask"), (0.2, "b")], ["a", "!ask", "!ask"], id="and stays like any other"),
    ],
)
def test_what_is_shown_when_the_line_changes(changes: list[tuple[float, str]], shown: list[str]):
    calm = CalmLine()
    assert [calm.show(line, now, urgent=line.startswith("!")) for now, line in changes] == shown


def test_it_says_whether_it_holds_a_line_back_and_for_how_long():
    calm = CalmLine()
    calm.show("a", 5.0, urgent=False)
    assert not calm.held
    calm.show("b", 5.1, urgent=False)
    assert calm.held
    assert calm.wait(5.1) == pytest.approx(0.2)
    calm.show("a", 5.2, urgent=False)
    assert not calm.held
