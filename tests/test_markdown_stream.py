"""A stream of markdown shows, at every moment, what the whole text so far would be."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcell.markdown import render_markdown
from agentcell.markdown_stream import MarkdownStream
from corpus.markdown_documents import DOCUMENTS


class Page:
    """A reader who patches blocks, as the browser does, and looks at nothing but what is said to have changed."""

    def __init__(self, stream: MarkdownStream) -> None:
        self.stream = stream
        self.shown: list[str] = []

    def look(self) -> tuple[int, ...]:
        changes = self.stream.take_changes()
        blocks = self.stream.blocks
        del self.shown[len(blocks) :]
        for number in changes:
            self.shown[number : number + 1] = [blocks[number]]
        return changes


def stream_of(*pieces: str) -> MarkdownStream:
    stream = MarkdownStream()
    for piece in pieces:
        stream.feed(piece)
        stream.take_changes()
    return stream


@pytest.mark.parametrize("source", DOCUMENTS.values(), ids=DOCUMENTS)
def test_at_every_cut_a_stream_is_the_whole_text_so_far(source):
    stream = MarkdownStream()
    page = Page(stream)
    for end, sign in enumerate(source, 1):
        stream.feed(sign)
        page.look()
        assert "".join(page.shown) == "".join(stream.blocks) == render_markdown(source[:end]), source[:end]


_LINES = sorted({line for source in DOCUMENTS.values() for line in source.replace("\r", "\n").split("\n") if len(line) < 40})
_PARTS = st.one_of(
    st.sampled_from(list(DOCUMENTS.values())),
    st.lists(st.tuples(st.sampled_from(["", "", "> ", "- ", "  ", "1. ", "    "]), st.sampled_from(_LINES)), max_size=6).map(
        lambda lines: "".join(f"{prefix}{line}\n" for prefix, line in lines),
    ),
)


@settings(max_examples=60, deadline=None)
@given(
    parts=st.lists(_PARTS, min_size=1, max_size=4),
    steps=st.lists(st.integers(1, 60), min_size=1, max_size=9),
    return_=st.booleans(),
)
def test_documents_behind_each_other_cut_anywhere_are_the_whole_text(parts, steps, return_):
    source = "".join(parts)
    if return_:
        source = source.replace("\n", "\r\n")
    stream = MarkdownStream()
    page = Page(stream)
    end = 0
    while end < len(source):
        for step in steps:
            stream.feed(source[end : end + step])
            end += step
        page.look()
        assert "".join(page.shown) == render_markdown(source[:end])


def test_feeding_parses_nothing_before_somebody_looks():
    script = (
        "import sys; from agentcell.markdown_stream import MarkdownStream; stream = MarkdownStream(); stream.feed('a');"
        "print('markdown_it' in sys.modules); stream.take_changes(); print('markdown_it' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "False\nTrue\n"


def test_a_return_ends_its_line_at_once_and_the_newline_behind_it_adds_none():
    stream = stream_of("a\n\nb\r")
    before = list(stream.blocks)
    stream.feed("\n")
    assert stream.take_changes() == ()
    stream.feed("c\r")
    stream.feed("\r\n")
    stream.feed("d")
    assert list(stream.blocks) == [before[0], "<p>b\nc</p>\n", "<p>d</p>\n"]


def test_only_blocks_that_changed_are_named_and_those_that_are_gone_are_cut():
    stream = stream_of("one\n\ntwo\n\nthree\n| a |\n|---|")
    assert len(stream.blocks) == 4
    stream.feed("x\n\nfour\n")
    assert stream.take_changes() == (2, 3)
    assert list(stream.blocks[2:]) == ["<p>three\n| a |\n|---|x</p>\n", "<p>four</p>\n"]
    assert stream.take_changes() == ()


def test_a_definition_changes_only_the_blocks_that_ask_for_it():
    stream = stream_of(*("plain\n\nsee [a]\n\nsee [b]\n\nplain\n\n" * 5), "end\n\n")
    stream.feed("[A]: http://a.example")
    assert stream.take_changes() == (1, 5, 9, 13, 17)
    stream.feed("/more")
    assert stream.take_changes() == (1, 5, 9, 13, 17)
    assert 'href="http://a.example/more"' in stream.blocks[17]
    stream.feed(" is none")
    assert stream.take_changes() == (1, 5, 9, 13, 17, 21)
    assert stream.blocks[17] == "<p>see [a]</p>\n"


def test_the_first_definition_stays_when_another_follows():
    stream = stream_of("[a]\n\n[a]: http://one.example\n\n", "text\n\ntext\n\n")
    stream.feed("[a]: http://two.example\n\ntext [a]\n")
    assert stream.take_changes() == (3,)
    assert all('href="http://one.example"' in stream.blocks[number] for number in (0, 3))


def test_images_are_loaded_when_asked_for():
    stream = MarkdownStream(images="all")
    stream.feed("![a](https://b.example)")
    assert stream.blocks[0] == '<p><img src="https://b.example" alt="a"></p>\n'


@pytest.mark.parametrize("part", ["an answer", "a fence", "a table", "a definition before its links"])
def test_work_grows_with_the_text_and_not_with_its_square(part):
    def calls(length: int) -> int:
        source = (DOCUMENTS[part].replace("^1", "a") + "\n") * (length // len(DOCUMENTS[part]))
        counted = 0

        def count(_frame, event, _arg):
            nonlocal counted
            counted += event == "call"

        stream = MarkdownStream()
        sys.setprofile(count)
        try:
            for start in range(0, len(source), 100):
                stream.feed(source[start : start + 100])
                stream.take_changes()
        finally:
            sys.setprofile(None)
        return counted

    stream_of("warm")
    assert calls(12_000) < 2.5 * calls(6_000)


def test_running_text_of_a_long_list_is_parsed_once():
    stream = stream_of("".join(f"- item *{number}*\n" for number in range(300)))
    parsed = 0

    def count(frame, event, _arg):
        nonlocal parsed
        parsed += event == "call" and frame.f_code.co_name == "parseInline"

    sys.setprofile(count)
    try:
        for number in range(20):
            stream.feed(f"- more *{number}*\n")
            stream.take_changes()
    finally:
        sys.setprofile(None)
    assert parsed < 100


def test_an_interrupt_at_any_call_leaves_a_stream_that_goes_on():
    pieces = ["see [a]\n\n- one\n- two\n\ntext\n\n", "more\r", "\nend\n\n[a]: http://a.example\n\nlast\n\nof [a]\n\nall\n"]
    whole = render_markdown("".join(pieces))

    def is_interrupted(stream: MarkdownStream, calls: int) -> bool:
        """Looks, with an interrupt at that call in or from the stream's own lines."""
        left = calls

        def interrupt(frame, event, _arg):
            nonlocal left
            left -= event in ("call", "c_call") and frame.f_code.co_filename == MarkdownStream.feed.__code__.co_filename
            if left < 0:
                sys.setprofile(None)
                raise KeyboardInterrupt

        sys.setprofile(interrupt)
        try:
            _ = stream.blocks
        except KeyboardInterrupt:
            return True
        finally:
            sys.setprofile(None)
        return False

    calls = 0
    interrupted = True
    while interrupted:
        stream = MarkdownStream()
        page = Page(stream)
        interrupted = False
        for piece in pieces:
            stream.feed(piece)
            interrupted = is_interrupted(stream, calls) or interrupted
            page.look()
        assert "".join(page.shown) == whole, calls
        calls += 1
    assert calls > 100
