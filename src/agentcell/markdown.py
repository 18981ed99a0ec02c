"""Markdown from a model becomes HTML that is safe to show.

What the text can choose is small, and each step narrows it:

- Raw HTML is off in the parser: tags in the text stay text. Blocks become a fixed set of tags whose attributes are a list's
  first number, a column's side and the name of a language.
- In running text only links and images with a known kind of address are kept.
- bleach goes over all running text that became any tag, and leaves what is on a short list.

Signs that turn the direction of writing (U+202A to U+202E, U+2066 to U+2069) stay: right-to-left text needs them, and an
unclosed one ends with its block, because every block element is a bidi paragraph of its own (CSS Writing Modes, section 2.4).
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from agentcell.markup import html_text, showable

if TYPE_CHECKING:
    from markdown_it.rules_block import StateBlock
    from markdown_it.token import Token

Images = Literal["link", "all"]
Definitions = Mapping[str, Mapping[str, Any]]
"""What `[label]: address "title"` lines said: label in the parser's spelling -> its `href`, `title` and `map` (lines)."""

_TAGS = frozenset({"a", "br", "code", "em", "s", "strong"})
_ATTRIBUTES = {"a": ["href", "title", "rel", "target"], "img": ["src", "alt", "title"]}
_NEW_TAB = {"target": "_blank", "rel": "noopener noreferrer"}
_ADDRESS = re.compile(r"(?:https?://|mailto:)\S", re.IGNORECASE)
_LANGUAGE = re.compile(r"[a-zA-Z0-9_+-]+(?!\S)")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")

# Lists and quotes in each other, and bold in italics in bold, are kept this deep; what lies deeper is shown flat. The parser
# would drop text at 20 levels, and bleach is slow on deep trees. A list takes two levels.
_DEEPEST = 18

# Running text of more characters is shown as it was written: no paragraph is so long, and the parser takes a second for each
# 100,000 when they are all brackets.
_LONGEST = 50_000


def clean_source(text: str) -> str:
    r"""`text` with `\n` as its only line end and U+FFFD for every sign that no page should hold."""
    return _CONTROL.sub("\ufffd", showable(text.replace("\r\n", "\n").replace("\r", "\n")))


def render_markdown(text: str, *, images: Images = "link") -> str:
    """`text`, read as CommonMark with tables and strikethrough, as safe HTML.

    Args:
        text: Anything; nothing in it is trusted.
        images: "link" shows a picture as a link to it, because loading it would tell its address, and all that a model wrote
            into that address, to another host; "all" loads pictures from http and https addresses.

    Links open http, https and mailto addresses only; of any other link its text is left.
    """
    renderer = markdown_renderer(images)
    page = renderer.parse(clean_source(text))
    inline_html = partial(renderer.inline_html, definitions=page.definitions)
    return "".join(renderer.block_html(block, inline_html) for block in page.blocks)


@dataclass(frozen=True, slots=True)
class Block:
    """A top-level block: its lines (first, and one past the last, from 0) and its tokens, with running text not parsed yet."""

    first_line: int
    end_line: int
    tokens: tuple[Token, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """A text cut into blocks, and the link definitions that lie between and in them; the first of a label wins."""

    blocks: tuple[Block, ...]
    definitions: Definitions


class _ThreadRenderers(threading.local):
    """Each thread's own renderers: bleach's cleaner holds the text it works on. A lock could stay shut after an interrupt."""

    def __init__(self) -> None:
        self.made: dict[Images, MarkdownRenderer] = {}


_renderers = _ThreadRenderers()


def markdown_renderer(images: Images) -> MarkdownRenderer:
    """This thread's renderer, made when it is first asked for: to import the parser and bleach takes 33 ms."""
    made = _renderers.made
    if images not in made:
        made[images] = MarkdownRenderer(images)
    return made[images]


class MarkdownRenderer:
    """The parser, the cleaner and the rules of what may be shown; for one thread."""

    def __init__(self, images: Images) -> None:
        # Imported here and not above, because most cells are shown before any answer comes.
        from bleach.sanitizer import Cleaner
        from markdown_it import MarkdownIt
        from markdown_it.renderer import RendererHTML
        from markdown_it.token import Token

        parser = MarkdownIt("commonmark", {"html": False, "xhtmlOut": False}).enable(["table", "strikethrough"])
        parser.block.ruler.before("blockquote", "flat", _paragraph_when_deep)
        # The parser leaves a refused link as it was written, which can be 50 kB of data: address. `_shown` decides instead.
        parser.validateLink = _any_address  # type: ignore[method-assign, assignment]  # the parser is made to be changed so
        self._parser = parser
        self._writer = RendererHTML()
        self._token = Token
        self._images = images
        self._cleaner = Cleaner(  # type: ignore[no-untyped-call]  # bleach has no types
            tags=_TAGS | {"img"} if images == "all" else _TAGS,
            attributes=_ATTRIBUTES,
            protocols={"http", "https", "mailto"},
        )

    def parse(self, source: str) -> Page:
        """Cuts `source` (a `clean_source`) into its blocks."""
        tokens: list[Token] = []
        env: dict[str, Any] = {}
        # Before version 4.3 the parser fails where the last line has no end and only marks, as in a quoted table's next row.
        whole_lines = source if source.endswith("\n") else source + "\n"
        self._parser.block.parse(whole_lines, self._parser, env, tokens)
        blocks: list[Block] = []
        start = 0
        for index, token in enumerate(tokens):
            if token.level == 0 and token.nesting <= 0:  # the last token of a block
                first_line, end_line = tokens[start].map or (0, 0)
                blocks.append(Block(first_line, end_line, tuple(self._laid_out(tokens[start : index + 1]))))
                start = index + 1
        return Page(tuple(blocks), env.get("references", {}))

    def block_html(self, block: Block, inline_html: Callable[[str], str]) -> str:
        """The HTML of a block; `inline_html` makes the safe HTML of its running text."""
        for token in block.tokens:
            if token.type == "inline":
                token.children = [self._token("html_inline", "", 0, content=inline_html(token.content))]
        return self._writer.render(block.tokens, self._parser.options, {})

    def inline_html(self, text: str, definitions: Definitions) -> str:
        """The safe HTML of running text; `definitions` is asked for every label that could make a link."""
        if len(text) > _LONGEST:
            return html_text(text)
        (inline,) = self._parser.parseInline(text, {"references": definitions})
        html = self._writer.renderInline(self._shown(inline.children or ()), self._parser.options, {})
        # Without a tag there is nothing to clean, and bleach is what costs most.
        return str(self._cleaner.clean(html)) if "<" in html else html  # type: ignore[no-untyped-call]  # bleach has no types

    def _laid_out(self, tokens: Sequence[Token]) -> list[Token]:
        """The tokens as the page needs them: tables scroll by themselves, cells align without a style, languages are plain."""
        laid_out: list[Token] = []
        for token in tokens:
            if token.type == "table_open":
                laid_out.append(self._token("scroll_open", "div", 1, attrs={"class": "ac-scroll"}, block=True))
            elif token.type in ("th_open", "td_open") and "style" in token.attrs:
                token.attrs = {"align": str(token.attrs["style"]).removeprefix("text-align:")}
            elif token.type == "fence":
                language = _LANGUAGE.match(token.info.strip())
                token.info = language[0] if language else ""
            elif token.type == "paragraph_open" and token.hidden and laid_out and laid_out[-1].hidden:
                # Only where `_paragraph_when_deep` made paragraphs: nothing else parts two of them in a tight list.
                laid_out.append(self._token("hardbreak", "br", 0))
            laid_out.append(token)
            if token.type == "table_close":
                laid_out.append(self._token("scroll_close", "div", -1, block=True))
        return laid_out

    def _shown(self, tokens: Sequence[Token]) -> list[Token]:
        """Tokens of running text without the links, images and depths that are not to be shown; their text stays."""
        shown: list[Token] = []
        kept: list[bool] = []  # for each span that is open here, whether its tags are shown
        in_link = False
        for token in tokens:
            if token.type == "image":
                shown += self._image(token, in_link=in_link)
            elif token.nesting == 1:
                keep = len(kept) < _DEEPEST
                if token.type == "link_open":
                    keep = keep and not in_link and _may_open(token.attrs["href"])
                    in_link = in_link or keep
                    token.attrs |= _NEW_TAB
                kept.append(keep)
                if keep:
                    shown.append(token)
            elif token.nesting == -1:
                if kept.pop():
                    shown.append(token)
                    in_link = in_link and token.type != "link_close"
            else:
                shown.append(token)
        return shown

    def _image(self, image: Token, *, in_link: bool) -> list[Token]:
        """An image as it may be shown: itself, a link to it, or its text."""
        source = str(image.attrs["src"])
        loadable = _may_open(source) and source[:4].lower() == "http"
        if loadable and self._images == "all":
            return [image]
        label = self._writer.renderInlineAsText(image.children, self._parser.options, {}) or (source if loadable else "")
        text = self._token("text", "", 0, content=f"image: {label}" if label else "image")
        if in_link or not loadable:
            return [text]
        attributes = {"href": source, **({"title": image.attrs["title"]} if "title" in image.attrs else {}), **_NEW_TAB}
        return [self._token("link_open", "a", 1, attrs=attributes), text, self._token("link_close", "a", -1)]


def _may_open(address: str | float) -> bool:
    return _ADDRESS.match(str(address)) is not None


def _any_address(_url: str) -> bool:
    return True


def _paragraph_when_deep(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:  # noqa: FBT001 - the parser's call
    """A block rule: as deep as containers may go, all but code and tables is a paragraph."""
    from markdown_it.rules_block import paragraph

    return state.level >= _DEEPEST and paragraph(state, start_line, end_line, silent)
