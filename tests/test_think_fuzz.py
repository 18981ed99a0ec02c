"""Texts that nobody would write: the splitter and the rules read literally must agree on them, however they are cut.

`AGENTCELL_FUZZ_SECONDS=600 pytest tests/test_think_fuzz.py` goes on for ten minutes, with new texts each time.
"""

import os
import time
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from agentcell.text.think import ReasoningSplitter, SplitText, split_reasoning
from think_by_the_rules import split
from think_changes import changed
from think_rules_delimiters import is_space

SECONDS = float(os.environ.get("AGENTCELL_FUZZ_SECONDS") or 0)

SPACES = [" ", "  ", "    ", "\t", "\n", "\n", "\n\n", "\r\n", "\u00a0", "\u200b", "\ufeff"]
WORDS = ["λ", "Ж.", "щ? ", "語", "é", "\u212a", "- ", "> ", "1. ", '"', "(", ")", "**", "|", "'"]
TICKS = ["`", "``", "```", "~~", "~~~", "````", "\n```\n", "\n~~~ py\n", "\n```py\n", "```\n", "`</think>`", "\n``` "]
THINK = ["<think>", "</think>", "<think>", "</think>", "\n<think>", "\n</think>\n", "<think></think>", "<THINK >", "</ Think>"]
PIECES = [
    "<",
    ">",
    "/",
    "</",
    "<t",
    "<think",
    "</think",
    "<|",
    "[",
    "[/THINK",
    "=",
    " a=b>",
    "<think a",
    "<think a='`'>",
    "<think/>",
]
ELEMENTS = ["<thinking>", "</thinking>", "<thought>", "</thought>", "<ifm|think>", "</ifm|think>", "</ifm|think_fast>"]
LITERALS = ["[THINK]", "[/THINK]", "◁think▷", "◁/think▷", "<|open|>think<|sep|>", "<|close|>think<|sep|>", "<|channel>thought"]
LITERALS += ["<channel|>", "<|inner_prefix|>", "<|inner_suffix|>", "<details>\n<summary>🔧 Tool trace</summary>", "</details>"]
WRAPPED = ["<|begin_of_thought|>", "<|end_of_thought|>", "<|begin_of_solution|>", "<|end_of_solution|>"]
WRAPPED += [
    "<|START_THINKING|>",
    "<|END_THINKING|>",
    "<|START_RESPONSE|>",
    "<|END_RESPONSE|>",
    "<|START_TEXT|>",
    "<|END_TEXT|>",
]
MORE = [
    "<plan>",
    "</plan>",
    "<answer>",
    "</answer>",
    "<|im_start|>think",
    "<|im_start|>answer",
    "to=self<|message|>",
    "<|eom|>",
]
MORE += [
    "to=user<|message|>",
    "<|eot|>",
    "Here is my thought process:",
    "\nHere's my response:",
    "###Thinking\n",
    "\n###Response \r\n",
]
HARMONY = ["<|start|>", "<|channel|>", "<|constrain|>", "<|message|>", "<|end|>", "<|return|>", "<|call|>", "<|mess"]
HARMONY += ["assistant", "analysis", "Analysis", "final", "commentary", " to=f", "to=", "λ", "Ж", " ", "\n", "json"]
LOST = [
    "analysis",
    "assistantfinal",
    "assistantanalysis",
    "assistantcommentary",
    " to=f",
    "assistant",
    "final",
    "λ",
    "Ж",
    " ",
    "\n",
]


def texts_of(*groups, longest=24, begin=("",)):
    fragments = st.sampled_from([fragment for group in groups for fragment in group])
    return st.builds(lambda first, rest: first + "".join(rest), st.sampled_from(begin), st.lists(fragments, max_size=longest))


# Here no letter of WORDS can get into a delimiter, so that none may be lost.
ORDINARY_TEXTS = st.one_of(
    texts_of(THINK, SPACES, WORDS),
    texts_of(THINK, TICKS, SPACES[4:6], WORDS[:3]),
    texts_of(THINK, ELEMENTS, SPACES, TICKS, WORDS),
    texts_of(THINK, LITERALS, WRAPPED, SPACES, WORDS, longest=16),
    texts_of(THINK, MORE, SPACES, WORDS, longest=16, begin=["", *MORE]),
)
TEXTS = st.one_of(
    ORDINARY_TEXTS,
    texts_of(THINK, PIECES, ELEMENTS, SPACES, TICKS, WORDS),
    texts_of(HARMONY, THINK, begin=["<|start|>", "<|channel|>", " <|channel|>", ""]),
    texts_of(LOST, THINK, TICKS, begin=["analysis", " analysis", ""]),
    st.text(max_size=40),
)
OPTIONS = st.fixed_dictionaries({"assume_open": st.booleans(), "formats": st.sampled_from(["default", "all"])})
CUTS = st.lists(st.integers(0, 500), max_size=12)

QUICK = settings(max_examples=120, deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow])
LETTERS = set("λЖщ語é\u212a")


def by_the_rules(text, options, *, finished):
    reasoning, answer, truncated = split(text, finished=finished, **options)
    return SplitText(tuple(reasoning), answer, truncated)


def pieces_of(text, cuts):
    places = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    return [text[start:end] for start, end in pairwise(places)]


def is_within(part, text):
    """Are the characters of `part` found in `text` in their order?"""
    rest = iter(text)
    return all(character in rest for character in part)


def check_the_rules(text, options, cuts):
    assert split_reasoning(text, **options) == by_the_rules(text, options, finished=True)
    for cut in (len(text), *cuts[:2]):
        live = text[: cut % (len(text) + 1)]
        assert split_reasoning(live, **options, finished=False) == by_the_rules(live, options, finished=False)


def check_the_pieces(text, options, cuts):
    splitter = ReasoningSplitter(**options)
    shown, so_far = SplitText((), "", truncated=False), ""
    for piece in pieces_of(text, cuts):
        splitter.feed(piece)
        so_far += piece
        assert splitter.result == split_reasoning(so_far, **options, finished=False)
        shown = changed(shown, splitter.take_change())
        assert shown == splitter.result
    splitter.finish()
    assert splitter.result == split_reasoning(text, **options)
    assert changed(shown, splitter.take_change()) == splitter.result


def check_the_letters(text, options):
    for finished in (True, False):
        result = split_reasoning(text, **options, finished=finished)
        thought = "".join(result.reasoning)
        assert is_within(thought, text)
        assert is_within(result.answer, text)
        assert not Counter(thought + result.answer) - Counter(text)
        for letter in LETTERS:
            assert (thought + result.answer).count(letter) == text.count(letter)
        assert not any(all(map(is_space, entry)) for entry in result.reasoning)


@QUICK
@given(TEXTS, OPTIONS, CUTS)
@example("<think>a </think><think> </think><think>b</think>c", {"assume_open": False, "formats": "default"}, [])
@example("x <think a[/THINK] =b>\n</think>", {"assume_open": False, "formats": "default"}, [21])
@example("<think>```\n</think>`x`\n</think>`", {"assume_open": False, "formats": "all"}, [20])
def test_the_splitter_does_what_the_rules_say(text, options, cuts):
    check_the_rules(text, options, cuts)


@QUICK
@given(TEXTS, OPTIONS, CUTS)
def test_pieces_make_no_difference_and_changes_add_up(text, options, cuts):
    check_the_pieces(text, options, cuts)


@QUICK
@given(ORDINARY_TEXTS, OPTIONS)
def test_no_letter_is_lost_doubled_or_moved_past_another(text, options):
    check_the_letters(text, options)


@pytest.mark.skipif(not SECONDS, reason="AGENTCELL_FUZZ_SECONDS says for how long to look for texts that break something")
def test_all_of_this_holds_for_as_long_as_was_asked():
    def check(text, ordinary, options, cuts):
        check_the_rules(text, options, cuts)
        check_the_pieces(text, options, cuts)
        check_the_letters(ordinary, options)

    at_random = settings(max_examples=300, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
    check_many = given(TEXTS, ORDINARY_TEXTS, OPTIONS, CUTS)(at_random(check))
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        check_many()
