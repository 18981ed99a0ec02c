"""Text on its way to a page or a terminal."""

import pytest

from agentcell.markup import html_words, joined, showable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ttext\r\n", "plain\ttext\r\n"),
        ("a\0b", "a\ufffdb"),
        ("\x1b[31mred\x1b]0;title\x07", "\ufffd[31mred\ufffd]0;title\ufffd"),
        ("\x9b31m", "\ufffd31m"),
        ("half \ud83d", "half \ufffd"),
        ("\ud83d\ude00", "\U0001f600"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
        ("\u202eright", "\u202eright"),
    ],
)
def test_what_no_page_and_no_terminal_should_get_is_replaced(text: str, shown: str):
    assert showable(text) == shown
    shown.encode()


def test_joining_leaves_a_half_without_its_other():
    assert joined("\ud83d\ude00 \ud83d") == "\U0001f600 \ud83d"


@pytest.mark.parametrize(
    ("text", "html"),
    [("a `b` c", "a <code>b</code> c"), ("a ` b", "a ` b"), ("`a` ` <b>", "<code>a</code> ` &lt;b&gt;"), ("", "")],
)
def test_words_between_backticks_are_code(text: str, html: str):
    assert html_words(text) == html
