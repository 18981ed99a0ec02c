"""Text as JavaScript measures it, and fields of mappings of which nothing is certain."""

from __future__ import annotations

from typing import Any

import pytest

from agentcell.text.fields import list_at, number_at, object_at, objects_at, text_at
from agentcell.text.javascript import first_units, trim, units
from agentcell.text.templates import fill


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("abc", 2, "ab"),
        ("abc", 3, "abc"),
        ("", 2, ""),
        ("ab🙂", 3, "ab"),
        ("ab🙂", 4, "ab🙂"),
        ("a\ud83db", 2, "a\ud83d"),
        ("é🙂é", 3, "é🙂"),
    ],
)
def test_a_cut_never_goes_through_a_character(text: str, limit: int, expected: str) -> None:
    assert first_units(text, limit) == expected


def test_text_is_measured_and_trimmed_as_in_javascript() -> None:
    assert [units(text) for text in ("", "abc", "é", "🙂", "\ud83d")] == [0, 3, 1, 2, 1]
    assert trim("\ufeff\u3000\v x\u0085\u200b \n") == "x\u0085\u200b"


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{{a}}-{{a}}", "1-1"),
        ("{{b}}", "{{a}}"),
        ("{{missing}}.", "."),
        ("{{ a }} {{a-b}} {{größe}} {{}}", "{{ a }} {{a-b}} {{größe}} {{}}"),
        ("{{{a}}}", "{1}"),
    ],
)
def test_a_template_is_filled_in_one_pass(template: str, expected: str) -> None:
    assert fill(template, {"a": "1", "b": "{{a}}"}) == expected


@pytest.mark.parametrize("value", [None, "text", 3, 2.5, float("nan"), float("inf"), True, {"a": 1}, [1, {"b": 2}]])
def test_a_field_of_another_kind_is_nothing(value: Any) -> None:
    holder = {"x": value}
    assert text_at(holder, "x") == (value if isinstance(value, str) else None)
    assert number_at(holder, "x") == (value if value in (3, 2.5) else None)
    assert object_at(holder, "x") == (value if isinstance(value, dict) else {})
    assert list_at(holder, "x") == (value if isinstance(value, list) else [])
    assert objects_at(holder, "x") == ([{"b": 2}] if isinstance(value, list) else [])
    assert text_at(holder, "absent") is None
