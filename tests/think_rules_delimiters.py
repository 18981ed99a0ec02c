"""Whitespace and delimiters as the rules of the splitter name them, for `think_by_the_rules`."""

from __future__ import annotations

import re

ELEMENTS = "think thinking thought reasoning antthinking lobethinking seed:think mm:think"
EFFORTS = "ifm|think ifm|think_fast ifm|think_faster"
MORE_ELEMENTS = "reason reflection inner_monologue scratchpad plan brainstorm justification"
LITERALS = [
    ("◁think▷", "◁/think▷"),
    ("<|open|>think<|sep|>", "<|close|>think<|sep|>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("[THINK]", "[/THINK]"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|channel>thought", "<channel|>"),
    ("<|inner_prefix|>", "<|inner_suffix|>"),
]
COUPLES = ['""', "''", "()", "[]", "{}", "<>", "“”", "\u2018\u2019", "«»", "**", "__", "~~", "||"]


def is_space(character):
    return character.isspace() or character in "\u200b\ufeff"


def left(text):
    while text and is_space(text[0]):
        text = text[1:]
    return text


def right(text):
    while text and is_space(text[-1]):
        text = text[:-1]
    return text


def is_blank(text):
    return not left(text)


ASCII_LOWER = {ord(c): c.lower() for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}


def lower(text):
    return text.translate(ASCII_LOWER)


class Literal:
    def __init__(self, *spellings, exact=False):
        self.exact = exact
        self.spellings = [s if exact else lower(s) for s in spellings]

    def at(self, text, place):
        if lower(text[place : place + 1]) != self.spellings[0][0]:
            return None
        for spelling in self.spellings:
            found = text[place : place + len(spelling)]
            if (found if self.exact else lower(found)) == spelling:
                return place + len(spelling)
        return None

    def begun(self, rest):
        rest = rest if self.exact else lower(rest)
        return any(len(rest) < len(s) and s.startswith(rest) for s in self.spellings)


def with_line_ends(text):
    blanks = [a + b + c for a in ("", " ", "\t") for b in ("", " ", "\t") for c in ("", " ", "\t")]
    return sorted({text + blank + end for blank in blanks for end in ("\n", "\r\n")})


class Opener:
    def __init__(self, name):
        self.name = name
        self.filler = f"<{name}", ("=>", ">", "a=>", "a>")

    def at(self, text, place):
        if text[place : place + 1] != "<":
            return None
        head = re.match(r"<[ \t]{0,3}", text[place:])
        if not head or lower(text[place + head.end() : place + head.end() + len(self.name)]) != self.name:
            return None
        start = place + head.end() + len(self.name)
        end = text.find(">", start)
        tail = text[start:end]
        if end < 0 or len(tail) > 200 or re.search(r"[<\r\n]", tail) or (tail and tail[0] not in " \t"):
            return None
        core = tail.rstrip(" \t")
        return None if core and ("=" not in core or core.endswith("/")) else end + 1

    def begun(self, rest):
        return can_end(self, rest, [f"<{self.name}>"[i:] for i in range(1, len(self.name) + 2)] + ["=>", "a=>", "a>", ">"])


class Closer:
    def __init__(self, name):
        self.name = name

    def at(self, text, place):
        if text[place : place + 1] != "<":
            return None
        found = re.match(r"<[ \t]{0,3}/[ \t]{0,3}" + re.escape(self.name) + r"[ \t]{0,3}>", lower(text[place:]))
        return place + found.end() if found else None

    def begun(self, rest):
        return can_end(self, rest, [f"</{self.name}>"[i:] for i in range(1, len(self.name) + 3)])


def can_end(delimiter, rest, endings):
    return rest[:1] == "<" and any(delimiter.at(rest + ending, 0) == len(rest + ending) for ending in endings)


class Pair:
    def __init__(self, opener, closer, *, orphan=True, start_only=False, line_start=False):
        self.opener, self.closer = opener, closer
        self.orphan, self.start_only, self.line_start = orphan, start_only, line_start


def pairs_of(formats):
    names = ELEMENTS.split() + EFFORTS.split() + (MORE_ELEMENTS.split() if formats == "all" else [])
    pairs = {name: Pair(Opener(name), Closer(name)) for name in names}
    pairs |= {opener: Pair(Literal(opener), Literal(closer)) for opener, closer in LITERALS}
    trace = "<summary>🔧 Tool trace</summary>"
    pairs["details"] = Pair(Literal(f"<details>\n{trace}", f"<details>\r\n{trace}"), Closer("details"), orphan=False)
    if formats == "all":
        pairs["im"] = Pair(Literal("<|im_start|>think"), Literal("<|im_start|>answer"), orphan=False)
        pairs["self"] = Pair(Literal("to=self<|message|>"), Literal("<|eom|>"), orphan=False, start_only=True)
        pairs["phrase"] = Pair(
            Literal("Here is my thought process:", "Here's my thought process:"),
            Literal("Here is my response:", "Here's my response:"),
            orphan=False,
            start_only=True,
            line_start=True,
        )
        pairs["###"] = Pair(
            Literal(*with_line_ends("###Thinking")),
            Literal(*with_line_ends("###Response")),
            orphan=False,
            start_only=True,
            line_start=True,
        )
    return pairs


def wrappers_of(formats):
    wrappers = [
        ("<|begin_of_thought|>", Literal("<|begin_of_solution|>"), Literal("<|end_of_solution|>")),
        ("<|START_THINKING|>", Literal("<|START_RESPONSE|>"), Literal("<|END_RESPONSE|>")),
        ("<|START_THINKING|>", Literal("<|START_TEXT|>"), Literal("<|END_TEXT|>")),
    ]
    if formats == "all":
        wrappers.append(("self", Literal("to=user<|message|>"), Literal("<|eot|>")))
        wrappers.append(("think", Opener("answer"), Closer("answer")))
    return wrappers
