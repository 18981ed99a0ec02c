"""Which strings open and close reasoning, and how one is told from a beginning of one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable

# What str.isspace() calls whitespace, the zero-width space and the byte order mark.
WHITESPACE = (
    "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\u200b\ufeff"
)
VISIBLE_OR_LINE_END = re.compile(rf"\n|[^{WHITESPACE}]")

_BLANKS = r"[ \t]{0,3}"
# Attributes: at most 200 characters that hold a `=` and do not end in the `/` of an empty element; or only blanks.
_TAIL = r"(?:[ \t]{0,200}|(?=[ \t][^<>\r\n]{0,199}>)(?=[^<>\r\n=]*=)[^<>\r\n]*[^<>\r\n/ \t][ \t]*)"
# A beginning of that: up to 199 characters can always be completed, 200 must be complete.
_TAIL_BEGUN = r"[ \t][^<>\r\n]{0,198}\Z|[ \t]{200}\Z|(?=[ \t][^<>\r\n]{199}\Z)(?=[^=]*=)[^<>\r\n]*[^<>\r\n/ \t][ \t]*\Z"
_LONGEST = 256  # no delimiter is longer

_Owner = TypeVar("_Owner")


@dataclass(frozen=True, slots=True)
class Shape:
    """How one delimiter is written.

    Attributes:
        whole: A pattern for it.
        begun: A pattern for every proper beginning of it that the text ends with.
        first: The characters it can begin with.
    """

    whole: str
    begun: str
    first: str


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """An opener with its closer.

    Attributes:
        orphan: Its closer means something outside a block too.
        start_only: Its opener counts only where nothing stands before it.
        line_start: Its closer counts only at the start of a line.
        trace: Its opener says that what follows is a tool trace.
    """

    opener: Shape
    closer: Shape
    orphan: bool = True
    start_only: bool = False
    line_start: bool = False
    trace: bool = False


class Alternatives(Generic[_Owner]):
    """Several delimiters that may stand at a place, and whom each belongs to."""

    def __init__(self, shapes: Iterable[tuple[_Owner, Shape]]) -> None:
        listed = list(shapes)
        self._owners = [owner for owner, _ in listed]
        self._whole = _compiled("|".join(f"({shape.whole})" for _, shape in listed))
        self._begun = _compiled("|".join(shape.begun for _, shape in listed))
        self.first = frozenset("".join(shape.first for _, shape in listed))

    def at(self, text: str, place: int) -> tuple[_Owner, int] | None:
        """Whose delimiter begins at `place`, and where it ends; None if there is none."""
        found = self._whole.match(text, place)
        if found is None or found.lastindex is None:
            return None
        return self._owners[found.lastindex - 1], found.end()

    def begun(self, text: str, place: int) -> bool:
        """Is everything from `place` to the end a proper beginning of one of them?"""
        return len(text) - place < _LONGEST and self._begun.match(text, place) is not None


@dataclass(frozen=True, slots=True, eq=False)
class Wrapper:
    """Delimiters that some models put around the answer, behind a block of their pair."""

    opener: Alternatives[None]
    closer: Alternatives[None]


class Inside:
    """What is looked for inside a block.

    Attributes:
        openers: What counts as nested, or is dropped in a row of openers.
        closers: What ends the block.
        stop: Where reading has to pause.
    """

    def __init__(self, openers: Alternatives[Pair], closers: Alternatives[Pair | None]) -> None:
        self.openers = openers
        self.closers = closers
        self.stop = _stop(openers.first | closers.first)


class Delimiters:
    """All delimiters of one set of formats, ready to be looked for.

    Attributes:
        openers: Every opener that counts at the start of a line.
        first_openers: Every opener that counts at the start of the text.
        mentions: The openers that are remembered where they do not count.
        closers: The closers that mean something outside a block.
        stop: Where reading has to pause outside a block.
        wrappers: The wrappers of each pair.
        assumed: What is looked for inside a block whose opener was not seen; None owns the harmony tokens.
        assumed_in_code: The same where only closers are looked for.
    """

    def __init__(self, pairs: Iterable[Pair], wrappers: dict[Pair, tuple[Wrapper, ...]]) -> None:
        pairs = tuple(pairs)
        orphans = [pair for pair in pairs if pair.orphan]
        self.openers = Alternatives((pair, pair.opener) for pair in pairs if not pair.start_only)
        self.first_openers = Alternatives((pair, pair.opener) for pair in pairs)
        self.mentions = Alternatives((pair, pair.opener) for pair in orphans)
        self.closers = Alternatives((pair, pair.closer) for pair in orphans)
        closing = [wrapper.closer.first for kinds in wrappers.values() for wrapper in kinds]
        self.stop = _stop(self.openers.first.union(self.closers.first, *closing))
        self.wrappers = wrappers
        self._inside: dict[Pair, Inside] = {}
        closers: list[tuple[Pair | None, Shape]] = [(pair, pair.closer) for pair in orphans]
        tokens: list[tuple[Pair | None, Shape]] = [(None, _exact(token)) for token in ("<|end|>", "<|start|>", "<|channel|>")]
        self.assumed = Inside(self.mentions, Alternatives(closers + tokens))
        self.assumed_in_code = Inside(self.mentions, Alternatives(closers))

    def inside(self, pair: Pair) -> Inside:
        """What is looked for inside a block of `pair`."""
        if pair not in self._inside:
            self._inside[pair] = Inside(Alternatives([(pair, pair.opener)]), Alternatives([(pair, pair.closer)]))
        return self._inside[pair]


def _compiled(pattern: str) -> re.Pattern[str]:
    # ASCII keeps the Kelvin sign from being a k.
    return re.compile(pattern, re.IGNORECASE | re.ASCII)


def _stop(first: Iterable[str]) -> re.Pattern[str]:
    return re.compile("[\n`" + "".join(re.escape(character) for character in sorted(first)) + "]")


def _begun(atoms: Iterable[str], rest: str = r"\Z") -> str:
    r"""A pattern for every proper beginning of what `atoms` spell: `a(?:\Z|b(?:\Z|c…))`."""
    pattern = rest
    for atom in reversed(list(atoms)[:-1]):
        pattern = rf"{atom}(?:\Z|{pattern})"
    return pattern


def _shape(atoms: list[str], first: str) -> Shape:
    return Shape("".join(atoms), _begun(atoms), first.lower() + first.upper())


def _letters(text: str) -> list[str]:
    return [re.escape(character) for character in text]


def _literal(text: str, *more: str) -> Shape:
    return _shape([*_letters(text), *more], text[0])


def _exact(text: str) -> Shape:
    """A token whose case matters."""
    shape = _literal(text)
    return Shape(f"(?-i:{shape.whole})", f"(?-i:{shape.begun})", text[0])


def _element_opener(name: str) -> Shape:
    atoms = ["<", _BLANKS, *_letters(name)]
    return Shape("".join([*atoms, _TAIL, ">"]), _begun([*atoms, ">"], _TAIL_BEGUN), "<")


def _element_closer(name: str) -> Shape:
    return _shape(["<", _BLANKS, "/", _BLANKS, *_letters(name), _BLANKS, ">"], "<")


def _element(name: str) -> Pair:
    return Pair(_element_opener(name), _element_closer(name))


def _wrapper(opener: Shape, closer: Shape) -> Wrapper:
    return Wrapper(Alternatives([(None, opener)]), Alternatives([(None, closer)]))


def _tokens(opener: str, closer: str) -> Wrapper:
    return _wrapper(_literal(opener), _literal(closer))


START_TOKENS = Alternatives([(None, _exact("<|start|>")), (None, _exact("<|channel|>"))])


@cache
def delimiters(formats: str) -> Delimiters:
    """The delimiters of the set `formats`: `default`, or `all`, which adds those that ordinary text may hold too."""
    think = _element("think")
    thought = Pair(_literal("<|begin_of_thought|>"), _literal("<|end_of_thought|>"))
    thinking = Pair(_literal("<|START_THINKING|>"), _literal("<|END_THINKING|>"))
    names = ("thinking", "thought", "reasoning", "antthinking", "lobethinking", "seed:think", "mm:think")
    efforts = ("ifm|think", "ifm|think_fast", "ifm|think_faster")
    pairs = [
        think,
        *(_element(name) for name in names + efforts),
        Pair(_literal("◁think▷"), _literal("◁/think▷")),
        Pair(_literal("<|open|>think<|sep|>"), _literal("<|close|>think<|sep|>")),
        thought,
        Pair(_literal("[THINK]"), _literal("[/THINK]")),
        thinking,
        Pair(_literal("<|channel>thought"), _literal("<channel|>")),
        Pair(_literal("<|inner_prefix|>"), _literal("<|inner_suffix|>")),
        Pair(
            _literal("<details>", r"\r?", r"\n", *_letters("<summary>🔧 Tool trace</summary>")),
            _element_closer("details"),
            orphan=False,
            trace=True,
        ),
    ]
    wrappers = {
        thought: (_tokens("<|begin_of_solution|>", "<|end_of_solution|>"),),
        thinking: (_tokens("<|START_RESPONSE|>", "<|END_RESPONSE|>"), _tokens("<|START_TEXT|>", "<|END_TEXT|>")),
    }
    if formats == "all":
        to_self = Pair(_literal("to=self<|message|>"), _literal("<|eom|>"), orphan=False, start_only=True)
        more = ("reason", "reflection", "inner_monologue", "scratchpad", "plan", "brainstorm", "justification")
        pairs += [_element(name) for name in more]
        pairs += [Pair(_literal("<|im_start|>think"), _literal("<|im_start|>answer"), orphan=False), to_self]
        pairs += _PHRASES
        wrappers[to_self] = (_tokens("to=user<|message|>", "<|eot|>"),)
        wrappers[think] = (_wrapper(_element_opener("answer"), _element_closer("answer")),)
    return Delimiters(pairs, wrappers)


def _phrase(opener: Shape, closer: Shape) -> Pair:
    return Pair(opener, closer, orphan=False, start_only=True, line_start=True)


def _spoken(ending: str) -> Shape:
    # Both spellings are one delimiter: either may close what either opened.
    full, short = _literal(f"Here is my {ending}:"), _literal(f"Here's my {ending}:")
    return Shape(f"(?:{full.whole}|{short.whole})", f"(?:{full.begun}|{short.begun})", full.first)


_LINE_END = (_BLANKS, r"\r?", r"\n")
_PHRASES = (
    _phrase(_spoken("thought process"), _spoken("response")),
    _phrase(_literal("###Thinking", *_LINE_END), _literal("###Response", *_LINE_END)),
)
