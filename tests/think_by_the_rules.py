"""The rules of the splitter read literally, on the whole text at once: slow, without memory of chunks, to compare with."""

from __future__ import annotations

import re

from think_rules_delimiters import COUPLES, Literal, is_blank, is_space, left, pairs_of, right, wrappers_of
from think_rules_harmony import degraded, harmony

TICKS = re.compile("`+")
FENCE = re.compile(r" {0,3}(`{3,}(?=[^`\n]*(?:\n|\Z))|~{3,})")
STARTS = [Literal("<|start|>", exact=True), Literal("<|channel|>", exact=True)]
TOKENS = [*STARTS, Literal("<|end|>", exact=True)]


def split(text, *, assume_open=False, formats="default", finished=True):
    """(reasoning, answer, truncated)."""
    visible = left(text)
    if visible.startswith(("<|start|>", "<|channel|>")):
        return harmony(visible, finished=finished)
    if not assume_open and visible.startswith("analysis") and "assistantfinal" in visible[8:]:
        return degraded(visible[8:])
    return Answer(text, assume_open, formats, finished).split()


class Code:
    """Rule 3: what is code from a place on."""

    def __init__(self, text, finished):
        self.text, self.finished = text, finished

    def fence(self, place, closers):
        """Where a fence that begins at `place` ends, and where behind it a piece of a closer begins."""
        found = FENCE.match(self.text, place)
        if not found:
            return None
        mark, length = found.group(1)[0], len(found.group(1))
        line = self.text.find("\n", found.end()) + 1
        while line:
            end = self.text.find("\n", line) + 1
            run = re.compile(rf" {{0,3}}({mark}{{{length},}})(?!{mark})([ \t]*)").match(self.text, line)
            if run and is_blank(self.text[run.end() : end or None]):
                return end or len(self.text), None
            if run and any(closer.at(self.text, run.end()) for closer in closers):
                return run.end(), None
            if run and not self.finished and any(closer.begun(self.text[run.end() :]) for closer in closers):
                return len(self.text), run.end()
            line = end
        return len(self.text), None

    def span(self, place):
        """Where the run of backticks at `place` ends, or the code span that it begins."""
        run = TICKS.match(self.text, place)
        line_end = self.text.find("\n", place)
        rest_end = len(self.text) if line_end < 0 else line_end
        for later in TICKS.finditer(self.text, run.end(), rest_end):
            if len(later.group()) == len(run.group()):
                return later.end()
        return rest_end if line_end < 0 and not self.finished else run.end()


class Content:
    """Rules 6, 9 and 18: the content of a block from `start` on, up to its closer if there is one.

    `found` is the pair whose closer ended it, or "token", or None; `stop` is where the content ends, `end` where its
    closer does.
    """

    def __init__(self, answer, start, name, *, code, rows):
        self.text, self.finished, self.pairs = answer.text, answer.finished, answer.pairs
        self.orphans, self.code = answer.orphans, Code(answer.text, answer.finished) if code else None
        self.start = self.place = self.line = start
        self.name, self.rows = name, rows
        self.nested, self.fence_ok = {}, True
        self.found, self.stop, self.end = None, None, None
        while self.stop is None and self.place < len(self.text):
            self.read()
        if self.stop is None:
            self.stop = len(self.text)

    @property
    def names(self):
        return [self.name] if self.name else self.orphans

    @property
    def tokens(self):
        return TOKENS if self.name is None and self.code else []

    def read(self):
        if self.code and (self.reads_fence() or self.reads_span()):
            return
        self.fence_ok = False
        if self.text[self.place] == "\n":
            self.place += 1
            self.line, self.fence_ok = self.place, True
        elif not (self.goes_on_in_row() or self.ends() or self.is_held()):
            for name in self.names:
                if self.pairs[name].opener.at(self.text, self.place):
                    self.nested[name] = self.nested.get(name, 0) + 1
            self.place += 1

    def reads_fence(self):
        closers = [self.pairs[name].closer for name in self.names if not self.pairs[name].line_start]
        fence = self.code.fence(self.place, closers + self.tokens) if self.fence_ok else None
        if fence:
            self.place, self.stop = fence
            self.fence_ok = self.text[self.place - 1] == "\n"
            self.line = self.text.rfind("\n", 0, self.place) + 1
        return fence

    def reads_span(self):
        ticks = self.text[self.place] == "`"
        if ticks:
            self.place = self.code.span(self.place)
            self.fence_ok = False
        return ticks

    def goes_on_in_row(self):
        if not is_blank(self.text[self.start : self.place]):
            return False
        for name in self.rows:
            end = self.pairs[name].opener.at(self.text, self.place)
            if end:
                self.name = self.name or name
                self.start = self.place = self.line = end
                self.nested, self.fence_ok = {}, True
                return True
        return False

    def able(self):
        before = self.text[max(self.line, self.start) : self.place]
        margin = is_blank(before) and len(before) <= 3 and "\t" not in before
        return [name for name in self.names if margin or not self.pairs[name].line_start]

    def ends(self):
        for name in self.able():
            self.end = self.pairs[name].closer.at(self.text, self.place)
            if self.end:
                self.found, self.stop = name, self.place
                return True
        if any(token.at(self.text, self.place) for token in self.tokens):
            self.found, self.stop = "token", self.place
        return self.found

    def is_held(self):
        held = [self.pairs[name].closer for name in self.able()] + self.tokens
        if is_blank(self.text[self.start : self.place]):
            held += [self.pairs[name].opener for name in self.rows]
        if not self.finished and any(delimiter.begun(self.text[self.place :]) for delimiter in held):
            self.stop = self.place
        return self.stop is not None


class Answer:
    """The answer, and the blocks between its parts.

    A step returns True if it went on, False to stop, None if it does not apply.
    """

    def __init__(self, text, assume_open, formats, finished):
        self.text, self.assume_open, self.finished = text, assume_open, finished
        self.pairs, self.wrappers = pairs_of(formats), wrappers_of(formats)
        self.orphans = [name for name, pair in self.pairs.items() if pair.orphan]
        self.closers = [self.pairs[name].closer for name in self.orphans]
        self.code, self.code_in_blocks = Code(text, finished), True
        self.entries = []  # each a list of pieces of content
        self.answer, self.place, self.fence_ok = "", 0, True
        self.memory, self.stages = {}, {}
        self.any_block = self.touched = assume_open
        self.last = self.search = self.harmony = None
        self.open_entry = self.truncated = False

    def split(self):
        if self.assume_open:
            self.read_block(0, 0, None)
        while self.place < len(self.text) and self.read():
            pass
        entries = ["".join(pieces) for pieces in self.entries]
        shown = [right(left(entry)) for entry in entries]
        if self.open_entry:
            shown[-1] = left(entries[-1])
        shown = [entry for entry in shown if not is_blank(entry)]
        if self.harmony:
            reasoning, answer, truncated = self.harmony
            return shown + reasoning, answer, truncated
        return shown, self.answer, self.truncated

    def read(self):
        for step in (self.read_code, self.open, self.remember, self.close, self.unwrap, self.hold):
            went_on = step(self.place)
            if went_on is not None:
                return went_on
        return self.take(self.place + 1)

    def take(self, end):
        self.answer += self.text[self.place : end]
        self.place = end
        return True

    def go_on(self, end, *, without_space=False):
        """Behind a removed delimiter."""
        while without_space and end < len(self.text) and is_space(self.text[end]):
            end += 1
        self.place, self.fence_ok = end, is_blank(self.line)
        return True

    @property
    def line(self):
        return self.answer[self.answer.rfind("\n") + 1 :]

    @property
    def blank(self):
        return is_blank(self.answer)

    @property
    def margin(self):
        return self.blank or (is_blank(self.line) and len(self.line) <= 3 and "\t" not in self.line)

    # Rule 3

    def read_code(self, place):
        fence = self.code.fence(place, self.closers) if self.fence_ok else None
        if fence:
            self.take(fence[0] if fence[1] is None else fence[1])
            self.fence_ok = self.answer.endswith("\n")
            return fence[1] is None
        self.fence_ok = self.text[place] == "\n"
        if self.text[place] == "`":
            return self.take(self.code.span(place))
        return self.take(place + 1) if self.fence_ok else None

    # Rules 4 and 5

    def openers(self):
        starts = self.blank and not self.touched
        return [name for name, pair in self.pairs.items() if self.margin and (starts or not pair.start_only)]

    def open(self, place):
        for name in self.openers():
            end = self.pairs[name].opener.at(self.text, place)
            if end:
                self.answer = "" if self.blank else self.answer
                self.recognise(name)
                return self.read_block(place, end, name)
        return None

    def remember(self, place):
        for name in self.orphans if not self.margin else []:
            if self.pairs[name].opener.at(self.text, place):
                self.memory[name] = self.memory.get(name, 0) + 1

    def recognise(self, name):
        self.any_block = self.touched = True
        self.memory, self.search = {}, None
        for index, (pair, _, _) in enumerate(self.wrappers):
            if pair == name:
                self.stages.setdefault(index, "opener")

    # Rules 6 and 9 to 13

    def read_block(self, opener, start, name):
        rows = self.orphans if name is None else [name]
        content = Content(self, start, name, code=self.code_in_blocks, rows=rows)
        in_code = content.found is None and self.finished and self.code_in_blocks
        if in_code:
            content = Content(self, start, name, code=False, rows=rows)
            self.code_in_blocks = content.found is None
        touches = self.last and self.last[:2] == (content.name, opener) and not is_blank("".join(self.last[2]))
        pieces = self.last[2] if touches else []
        if content.found is None and self.finished and not self.blank:
            self.answer += self.text[opener:]
            self.place = len(self.text)
            return False
        self.entries += [] if touches else [pieces]
        pieces.append(self.text[content.start : content.stop])
        if content.found in (None, "token"):
            self.place = len(self.text)
            self.open_entry = content.found is None
            self.truncated = self.open_entry and self.finished and not is_blank("".join(pieces))
            self.harmony = None if self.open_entry else harmony(self.text[content.stop :], finished=self.finished)
            return False
        self.recognise(content.found)
        self.last = (content.found, content.end, pieces)
        missing = content.nested.get(content.found, 0)
        if missing and self.pairs[content.found].orphan and not in_code:
            self.search = [content.found, missing, content.start, pieces, self.answer, dict(self.stages)]
        return self.go_on(content.end, without_space=True)

    # Rules 7, 8 and 10

    def close(self, place):
        for name in self.orphans:
            end = self.pairs[name].closer.at(self.text, place)
            if end and self.memory.get(name):
                self.memory[name] -= 1
                return self.take(end)
            if end:
                return self.close_placed(name, place, end, self.placed(self.text[end:]))
        return None

    def close_placed(self, name, place, end, counts):
        if counts is None:
            return False
        if not counts:
            return self.take(end)
        if self.search and self.search[0] == name:
            self.search[1] -= 1
            if not self.search[1]:
                return self.extend(name, place, end)
        elif not self.any_block and not self.blank:
            self.entries.append([self.answer])
            self.answer = ""
            self.recognise(name)
            self.last = (name, end, self.entries[-1])
            return self.go_on(end, without_space=True)
        return self.drop(end)

    def drop(self, end):
        self.touched = True
        blank = self.blank
        self.answer = "" if blank else self.answer
        return self.go_on(end, without_space=blank)

    def extend(self, name, place, end):
        _, _, start, pieces, self.answer, stages = self.search
        pieces[-1] = self.text[start:place]
        self.recognise(name)
        self.stages = stages
        self.last = (name, end, pieces)
        return self.go_on(end, without_space=True)

    def placed(self, behind):
        rest, lacks_end = behind.split("\n")[0], "\n" not in behind and not self.finished
        if self.blank or is_blank(self.line):
            return self.margin
        if right(self.line)[-1] in ".!?…。\uff01\uff1f":
            return True
        last = self.line[-1]
        if is_space(last):
            return None if is_blank(rest) and lacks_end else is_blank(rest)
        waits = not behind and not self.finished and any(couple[0] == last for couple in COUPLES)
        return None if waits else last + behind[:1] not in COUPLES

    # Rules 14 and 15

    def wrapper_parts(self):
        expected = [(index, self.stages.get(index), opener, closer) for index, (_, opener, closer) in enumerate(self.wrappers)]
        parts = [(index, opener) for index, stage, opener, _ in expected if stage == "opener" and self.blank]
        return parts + [(index, closer) for index, stage, _, closer in expected if stage == "closer"]

    def unwrap(self, place):
        for index, part in self.wrapper_parts():
            end = part.at(self.text, place)
            if end and self.stages[index] == "opener":
                self.stages[index] = "closer"
                return self.drop(end)
            if end:
                self.stages[index] = "done"
                return self.go_on(end)
        return None

    def hold(self, place):
        held = self.closers + [self.pairs[name].opener for name in self.openers()] + [part for _, part in self.wrapper_parts()]
        held += STARTS if self.blank and not self.touched else []
        return False if not self.finished and any(delimiter.begun(self.text[place:]) for delimiter in held) else None
