"""Text that grows piece by piece: always the same as the pieces joined."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcell.text.growing import GrowingText


@given(st.text(max_size=5), st.lists(st.text(max_size=5)), st.integers(-3, 60), st.data())
def test_it_is_its_pieces_joined_whatever_is_read_in_between(first, pieces, position, data):
    text, whole = GrowingText(first), first
    for piece in pieces:
        text.append(piece)
        whole += piece
        if data.draw(st.booleans()):
            assert str(text) == whole
    assert len(text) == len(whole)
    assert bool(text) == bool(whole)
    assert text.since(position) == whole[max(0, position) :]
    assert str(text) == whole
    assert text.since(position) == whole[max(0, position) :], "also after it was joined"


@pytest.mark.parametrize("pieces", [511, 512, 513, 1024, 2000])
def test_it_holds_across_the_groups_that_it_joins(pieces):
    text = GrowingText()
    for number in range(pieces):
        text.append(f"{number},")
    whole = "".join(f"{number}," for number in range(pieces))
    assert text.since(len(whole) - 7) == whole[-7:]
    assert text.since(0) == whole
    assert str(text) == whole
    text.append("end")
    assert text.since(len(whole)) == "end"
    assert str(text) == whole + "end"


def test_asking_again_gives_the_same_string_and_not_a_copy():
    text = GrowingText("a" * 1000)
    text.append("b")
    joined = str(text)
    assert str(text) is joined


def test_small_pieces_cost_little_more_than_their_letters():
    tracemalloc.start()
    text = GrowingText()
    for number in range(100_000):
        text.append(f"{number:05}")  # a new string each time, as a stream brings it
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert used / 100_000 < 8, "five letters and less than three bytes"
