"""What the splitter makes of a text, whole and in pieces."""

import json
import sys

import pytest

from agentcell.errors import AgentcellError
from agentcell.text.think import ReasoningSplitter, SplitChange, SplitText, split_reasoning
from agentcell.text.think_delimiters import VISIBLE_OR_LINE_END, WHITESPACE
from agentcell.text.think_source import BREAK, Source
from shared import shared_path
from think_changes import changed

ALL = {"formats": "all"}
OPEN = {"assume_open": True}
LIVE = {"finished": False}

# text, options, reasoning, answer; a third value after them says that the text is truncated
CASES = {
    "nothing": ("", {}, [], ""),
    "no delimiter": ("\n  plain \n", {}, [], "\n  plain \n"),
    "one block": ("<think>\nsum it\n</think>\n\nSeven.", {}, ["sum it"], "Seven."),
    "whitespace before a block goes": (" \n\t<think>a</think>b", {}, ["a"], "b"),
    "block on a later line": ("First.\n  <thinking>a</thinking>\nThen.\n", {}, ["a"], "First.\n  Then.\n"),
    "any case, blanks, attributes": ("< THINK  level='2' >a</ think >b", {}, ["a"], "b"),
    "no attribute without an equals sign": ("<think hard>a", {}, [], "<think hard>a"),
    "the Kelvin sign is no k": ("<thin\u212a>a", {}, [], "<thin\u212a>a"),
    "attributes of 200 characters": ("<think " + "a" * 198 + "=>x</think>y", {}, ["x"], "y"),
    "attributes of 201 characters": ("<think " + "a" * 199 + "=>x", {}, [], "<think " + "a" * 199 + "=>x"),
    "line feed in a tag": ("<think\n>a", {}, [], "<think\n>a"),
    "only its own closer": ("<think>a</thinking>b</think>c", {}, ["a</thinking>b"], "c"),
    "brackets": ("[think]a[/THINK]b", {}, ["a"], "b"),
    "triangles": ("◁think▷a◁/think▷b", {}, ["a"], "b"),
    "inner prefix": ("<|inner_prefix|>a<|inner_suffix|>b", {}, ["a"], "b"),
    "thought channel": ("<|channel>thought\na<channel|>b", {}, ["a"], "b"),
    "tool trace": ("<details>\r\n<summary>🔧 Tool trace</summary>\nlog\n</details>\nb", {}, ["log"], "b"),
    "other details": ("<details>\n<summary>More</summary>x</details>", {}, [], "<details>\n<summary>More</summary>x</details>"),
    "plan needs all formats": ("<plan>a</plan>b", {}, [], "<plan>a</plan>b"),
    "plan": ("<plan>a</plan>b", ALL, ["a"], "b"),
    "phrases": ("Here's my thought process:\na\n Here is my response: b", ALL, ["a"], "b"),
    "headings": ("###Thinking \r\na\n###Response\nb", ALL, ["a"], "b"),
    "headings only at the start": ("x\n###Thinking\na\n###Response\nb", ALL, [], "x\n###Thinking\na\n###Response\nb"),
    "im_start": ("<|im_start|>think\na<|im_start|>answer\nb", ALL, ["a"], "b"),
    # Openers in the wrong place
    "four spaces": ("x\n    <think>a</think>b", {}, [], "x\n    <think>a</think>b"),
    "tab": ("x\n\t<think>a</think>b", {}, [], "x\n\t<think>a</think>b"),
    "list item": ("- <think>a</think>b", {}, [], "- <think>a</think>b"),
    "mention protects its closer": ("Use <think> first.\n</think>\nb", {}, [], "Use <think> first.\n</think>\nb"),
    "mention is forgotten": ("Use <think>.\n<think>a</think>b.</think>c", {}, ["a"], "Use <think>.\nb.c"),
    # Code
    "fence": ("~~~\n<think>\n~~~\n<think>a</think>b", {}, ["a"], "~~~\n<think>\n~~~\nb"),
    "fence with a longer end": ("```\n<think>\n`````\n</think>\nb", {}, ["```\n<think>\n`````"], "b"),
    "fence that a shorter run leaves open": ("````\n```\n</think>", {}, [], "````\n```\n</think>"),
    "no fence: a backtick follows": ("``` `\n</think>\nb", {}, ["``` `"], "b"),
    "closer on the last line of a fence": ("<think>\n```\nx\n``` </think>b", {}, ["```\nx\n```"], "b"),
    "stray closer on the last line of a fence": ("```\nx\n```</think>\nb", {}, ["```\nx\n```"], "b"),
    "fence behind a closer": ("<think>a</think>\n    ```\n</think>", {}, ["a"], "```\n</think>"),
    "span": ("``<think>`</think>``.", {}, [], "``<think>`</think>``."),
    "runs that do not match": ("a ``` b `` c ` d\n</think>\ne", {}, ["a ``` b `` c ` d"], "e"),
    "a later span behind a stray run": ("a ``` b `</think>` c\n", {}, [], "a ``` b `</think>` c\n"),
    "closer in a span": ("<think>`</think>` a</think>b", {}, ["`</think>` a"], "b"),
    "closer only in a span": ("<think>`</think>` a", {}, ["`"], "` a"),
    "closer only in a fence": ("<think>\n```\nx\n</think>\nb", {}, ["```\nx"], "b"),
    # Closers without an opener
    "orphan": ("a\n</think>\nb", {}, ["a"], "b"),
    "orphan behind a sentence": ("So. </think> b", {}, ["So."], "b"),
    "orphan at the end of a line": ("so \u2014 </think>\nb", {}, ["so \u2014"], "b"),
    "closer in a sentence": ("the </think> tag", {}, [], "the </think> tag"),
    "closer in quotes": ('the "</think>" tag', {}, [], 'the "</think>" tag'),
    "closer in bold": ("the **</think>** tag", {}, [], "the **</think>** tag"),
    "closer behind indentation": ("a\n    </think>\nb", {}, [], "a\n    </think>\nb"),
    "leading closer": ("\n</think>\n\nb", {}, [], "b"),
    "leading closer, then an orphan": ("</think>a</think>b", {}, ["a"], "b"),
    "only one orphan": ("a</think>b\n</think>\nc", {}, ["a"], "b\n\nc"),
    # Nesting, rows, touching blocks, empty blocks
    "nested": ("<think>a<think>b</think>c</think>d", {}, ["a<think>b</think>c"], "d"),
    "nested twice": ("<think>a<think><think>b</think></think>c</think>d", {}, ["a<think><think>b</think></think>c"], "d"),
    "nested, one closer missing": ("<think>a<think>b</think>c", {}, ["a<think>b"], "c"),
    "nested, but a block comes first": (
        "<think>a<think>b</think>c\n<think>d</think>e.</think>",
        {},
        ["a<think>b", "d"],
        "c\ne.",
    ),
    "row": ("<think>\n<think> <think>a</think>b", {}, ["a"], "b"),
    "touching": ("<think>a </think><think> b </think>c", {}, ["a  b"], "c"),
    "touching around an empty one": ("<think>a </think><think> </think><think>b</think>c", {}, ["a  b"], "c"),
    "not touching": ("<think>a</think> <think>b</think>c", {}, ["a", "b"], "c"),
    "empty": ("<think>\n\u200b\n</think>\n\nb", {}, [], "b"),
    "empty uses up the orphan": ("<think></think>a.</think>b", {}, [], "a.b"),
    # The end of the text
    "unclosed": ("<think>a\n", {}, ["a\n"], "", True),
    "unclosed and empty": ("<think> ", {}, [], ""),
    "unclosed behind an answer": ("b\n<think> a", {}, [], "b\n<think> a"),
    "unclosed, touching, behind an answer": ("b\n<think>a </think><think>c", {}, ["a"], "b\n<think>c"),
    "piece of a closer": ("<think>a</thi", {}, ["a</thi"], "", True),
    # Wrappers
    "solution": (
        "<|begin_of_thought|>a<|end_of_thought|>\n<|begin_of_solution|> b<|end_of_solution|> c<|end_of_solution|>",
        {},
        ["a"],
        "b c<|end_of_solution|>",
    ),
    "response": ("<|START_THINKING|>a<|END_THINKING|><|START_RESPONSE|>b<|END_RESPONSE|>", {}, ["a"], "b"),
    "answer element": ("<think>a</think><answer>b</answer>", ALL, ["a"], "b"),
    "wrapper without a block": ("<answer>b</answer>", ALL, [], "<answer>b</answer>"),
    "to=user": ("to=self<|message|>a<|eom|>to=user<|message|>b<|eot|>", ALL, ["a"], "b"),
    # Harmony
    "harmony": ("<|channel|>analysis<|message|> a <|end|><|start|>assistant<|channel|>final<|message|>b ", {}, ["a"], "b "),
    "tool call": ("<|start|>assistant to=f<|channel|>commentary<|message|>{}<|call|><|channel|>final<|message|>b", {}, [], "b"),
    "tool result": ("<|start|>f to=assistant<|channel|>commentary<|message|>1<|end|>b", {}, [], "b"),
    "header without a message": ("<|channel|>analysis a b<|end|><|start|>assistant c", {}, ["a b"], "c"),
    "harmony, cut": ("<|channel|>analysis<|message|>a", {}, ["a"], "", True),
    "two parts": ("<|channel|>commentary<|message|>a\n<|end|>b<|start|>assistant<|message|>c", {}, [], "a\n\nb\n\nc"),
    "lost tokens": ("analysis a assistantcommentary b assistantfinal c ", {}, ["a"], "b\n\nc "),
    "lost tokens, tool call": ("analysisaassistantcommentary to=f {}assistantanalysisbassistantfinalc", {}, ["a", "b"], "c"),
    "no lost tokens": ("analysis a assistantanalysis b", {}, [], "analysis a assistantanalysis b"),
    # The opener stood in the prompt
    "open": ("a</think>b", OPEN, ["a"], "b"),
    "open, written again": (" <think>\n<think>a</thinking></think>b", OPEN, ["a</thinking>"], "b"),
    "open, nested": ("a<think>b</think>c</think>d", OPEN, ["a<think>b</think>c"], "d"),
    "open, no closer": ("a", OPEN, ["a"], "", True),
    "open, closer in code": ("`</think>`b", OPEN, ["`"], "`b"),
    "open, harmony": ("a <|end|><|start|>assistant<|channel|>final<|message|>b", OPEN, ["a"], "b"),
    "open, harmony behind a fence": ("```\nx\n```<|channel|>final<|message|>b", OPEN, ["```\nx\n```"], "b"),
    # Live
    "live block": ("<think>a ", LIVE, ["a "], ""),
    "live, piece of an opener": ("<thi", LIVE, [], ""),
    "live, piece of a mention": ("x <thi", LIVE, [], "x <thi"),
    "live, piece of a closer": ("x </thi", LIVE, [], "x "),
    "live, no piece": ("a <b", LIVE, [], "a <b"),
    "live, piece inside a block": ("<think>a </", LIVE, ["a "], ""),
    "live, piece of a row": ("<think> <thin", LIVE, [], ""),
    "live, piece behind a fence": ("```\nx\n``` </", LIVE, [], "```\nx\n``` "),
    "live, piece in a fence": ("```\n</", LIVE, [], "```\n</"),
    "live, piece of a harmony token": (" <|sta", LIVE, [], " "),
    "live, closer that may be quoted": ('a "</think>', LIVE, [], 'a "'),
    "live, closer that may end the line": ("a </think>  ", LIVE, [], "a "),
    "live, span": ("`a </think>\n</", LIVE, ["`a"], ""),
    "live, header": ("<|start|>assistant<|channel|>final", LIVE, [], ""),
    "live, longest attributes": ("<think " + "a" * 198, LIVE, [], ""),
    "live, too long attributes": ("<think " + "a" * 199, LIVE, [], "<think " + "a" * 199),
}


def expected(reasoning, answer, truncated=False):
    return SplitText(tuple(reasoning), answer, truncated)


@pytest.mark.parametrize("name", CASES)
def test_each_case_holds_whole_and_character_by_character(name):
    text, options, *result = CASES[name]
    assert split_reasoning(text, **options) == expected(*result)
    assert split_in_pieces(list(text), **options) == expected(*result)


def split_in_pieces(pieces, *, finished=True, **options):
    splitter = ReasoningSplitter(**options)
    for piece in pieces:
        splitter.feed(piece)
    if finished:
        splitter.finish()
    return splitter.result


# The vectors


def spelled(value):
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        unit, times = value["repeat"]
        return spelled(unit) * times
    return "".join(spelled(part) for part in value)


def vectors():
    for vector in json.loads(shared_path("vectors", "think.json").read_text(encoding="utf-8")):
        reasoning = tuple(spelled(entry) for entry in vector["reasoning"])
        yield (
            vector["id"],
            spelled(vector["text"]),
            vector["options"],
            SplitText(reasoning, spelled(vector["answer"]), vector["truncated"]),
        )


def test_every_vector_holds_for_the_whole_text():
    wrong = [name for name, text, options, result in vectors() if split_reasoning(text, **options) != result]
    assert wrong == []


def test_every_vector_holds_however_its_text_is_cut_in_two():
    wrong = []
    for name, text, options, result in vectors():
        cuts = range(len(text) + 1) if len(text) < 2000 else (1, 6, 7, 8, len(text) // 2, len(text) - 9, len(text) - 2)
        wrong += [(name, cut) for cut in cuts if split_in_pieces([text[:cut], text[cut:]], **options) != result]
    assert wrong == []


def test_while_a_vector_arrives_the_result_is_always_that_of_the_text_so_far():
    wrong = []
    for name, text, given, _ in vectors():
        options = {key: value for key, value in given.items() if key != "finished"}
        splitter = ReasoningSplitter(**options)
        for length, character in enumerate(text[:400], start=1):
            splitter.feed(character)
            if splitter.result != split_reasoning(text[:length], finished=False, **options):
                wrong.append((name, length))
    assert wrong == []


# Changes


@pytest.mark.parametrize("name", CASES)
def test_changes_add_up_to_the_result(name):
    text, options, *_ = CASES[name]
    options = dict(options)
    finished = options.pop("finished", True)
    splitter = ReasoningSplitter(**options)
    shown = SplitText((), "", False)
    for character in text:
        splitter.feed(character)
        shown = changed(shown, splitter.take_change())
        assert shown == splitter.result
    if finished:
        splitter.finish()
        assert changed(shown, splitter.take_change()) == splitter.result
    assert splitter.take_change() is None


def test_growth_is_told_without_what_was_there_before():
    splitter = ReasoningSplitter()
    splitter.feed("<think>first")
    assert splitter.take_change() == SplitChange(0, "", 0, 0, ("first",), truncated=False)
    splitter.feed(" second")
    assert splitter.take_change() == SplitChange(0, "", 0, 5, (" second",), truncated=False)
    splitter.feed(" </think>\nAnswer")
    assert splitter.take_change() == SplitChange(0, "Answer", 1, 0, (), truncated=False)
    splitter.feed(" goes on")
    assert splitter.take_change() == SplitChange(6, " goes on", 1, 0, (), truncated=False)


def test_an_orphan_closer_moves_the_answer_in_one_change():
    splitter = ReasoningSplitter()
    splitter.feed("All thought.")
    splitter.take_change()
    splitter.feed("</think>Answer")
    assert splitter.take_change() == SplitChange(0, "Answer", 0, 0, ("All thought.",), truncated=False)


def test_a_stray_backtick_does_not_tell_its_line_again():
    splitter = ReasoningSplitter()
    splitter.feed("five` and more")
    splitter.take_change()
    splitter.feed("\nnext")
    assert splitter.take_change() == SplitChange(14, "\nnext", 0, 0, (), truncated=False)


# Arguments


def test_wrong_arguments_are_refused_by_name():
    with pytest.raises(TypeError, match=r"text must be a string, not 3 \(int\)"):
        split_reasoning(3)
    with pytest.raises(TypeError, match="assume_open must be True or False, not 1"):
        split_reasoning("", assume_open=1)
    with pytest.raises(TypeError, match="finished must be True or False, not None"):
        split_reasoning("", finished=None)
    with pytest.raises(ValueError, match="formats must be one of 'default', 'all', not 'some'"):
        split_reasoning("", formats="some")
    with pytest.raises(TypeError, match="formats must be one of"):
        ReasoningSplitter(formats=["all"])
    with pytest.raises(TypeError, match="chunk must be a string, not b'a'"):
        ReasoningSplitter().feed(b"a")


def test_a_finished_splitter_takes_no_more_text():
    splitter = ReasoningSplitter()
    splitter.feed("<think>a")
    splitter.finish()
    splitter.finish()
    with pytest.raises(AgentcellError, match=r"feed\(\) must come before finish\(\)"):
        splitter.feed("b")
    assert splitter.result == SplitText(("a",), "", truncated=True)


# Cost

ADVERSARIES = {
    "prose": "Some words, then a < b and `code` here.\n",
    "openers": "<think>",
    "openers in a line": "x <think> ",
    "closers": "x.</think> ",
    "nested": "<think>a<think>b</think>c</think>d\n",
    "nested without end": "<think>a ",
    "touching": "<think>a </think>",
    "angles": "<",
    "brackets": "[◁<|",
    "beginnings": "<think " + "a" * 150,
    "backticks": "`",
    "runs on one line": "`` ` ``` a ",
    "fences that end nothing": "```\n~~~\n",
    "fence inside": "<think>\n```\n</think>\n",
    "closers in spans": "`</think>` ",
    "spaces": "x </think>" + " " * 300,
    "blank": " ",
    "harmony": "<|channel|>analysis<|message|>a<|end|>",
    "harmony header": "<|start|>assistant ",
    "lost tokens": "analysis assistantfina ",
}


def work(text, monkeypatch, *, piece):
    """How much is done for `text`: the characters that are read from the source, and all calls."""
    characters = calls = 0
    plain = Source.slice

    def counted(source, start, end):
        nonlocal characters
        found = plain(source, start, end)
        characters += len(found)
        return found

    def count(_frame, event, _argument):
        nonlocal calls
        calls += event in ("call", "c_call")

    splitter = ReasoningSplitter()
    with monkeypatch.context() as patch:
        patch.setattr(Source, "slice", counted)
        before = sys.getprofile()
        sys.setprofile(count)
        try:
            for start in range(0, len(text), piece):
                splitter.feed(text[start : start + piece])
                splitter.take_change()
            splitter.finish()
            splitter.take_change()
        finally:
            sys.setprofile(before)
    return characters + 10 * calls


@pytest.mark.parametrize("piece", [1, 1000])
@pytest.mark.parametrize("name", ADVERSARIES)
def test_twice_the_text_is_at_most_twice_the_work(name, piece, monkeypatch):
    unit = ADVERSARIES[name]
    short, long = ((unit * (length // len(unit) + 1))[:length] for length in (1200, 2400))
    assert work(long, monkeypatch, piece=piece) < 2.1 * work(short, monkeypatch, piece=piece) + 1000


def test_runs_of_every_length_on_one_line_are_read_a_bounded_number_of_times(monkeypatch):
    short, long = (" ".join("`" * length for length in range(1, longest)) for longest in (100, 200))
    ratio = work(long, monkeypatch, piece=len(long)) / work(short, monkeypatch, piece=len(short))
    assert ratio < 1.1 * len(long) / len(short)


# The parts it is made of


def test_whitespace_is_what_python_calls_so_and_two_more():
    python = {chr(code) for code in range(0x110000) if chr(code).isspace()}
    assert set(WHITESPACE) == python | {"\u200b", "\ufeff"}
    assert VISIBLE_OR_LINE_END.search(WHITESPACE.replace("\n", "") + "x").group() == "x"


def test_a_source_gives_every_stretch_of_its_text():
    source = Source()
    text = "".join(chr(97 + index % 26) for index in range(9000))
    for start in range(0, len(text), 700):
        source.append(text[start : start + 700])
    assert len(source) == len(text)
    for start, end in ((0, 9000), (0, 1), (699, 701), (1023, 1400), (4000, 8999), (8990, 9000), (5, 5)):
        assert source.slice(start, end) == text[start:end]
    assert source.slice(*BREAK) == "\n\n"
