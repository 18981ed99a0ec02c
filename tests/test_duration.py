"""Times read the same in Python and in the browser: both sides are held to `expected/durations.json`."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from agentcell.text.duration import clock_text, duration_text, short_duration_text

CASES = json.loads((Path(__file__).parent / "expected" / "durations.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['seconds']}s")
def test_each_length_of_time_has_its_words(case):
    seconds = case["seconds"]
    assert clock_text(seconds) == case["clock"]
    assert duration_text(seconds) == case["duration"]
    assert short_duration_text(seconds) == case["short"]


def test_what_is_not_a_number_reads_as_no_time_at_all():
    assert clock_text(math.nan) == "0s"
    assert duration_text(math.nan) == "less than a second"
    assert short_duration_text(math.nan) == ""
