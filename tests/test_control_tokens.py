"""Control tokens of chat templates, taken out of an answer; in code they stay."""

import pytest

from agentcell.text.control_tokens import TOKENS, ControlTokenFilter, strip_control_tokens

CASES = [
    ("", ""),
    ("nothing to do", "nothing to do"),
    ("Hi<|im_end|>", "Hi"),
    ("<|im_start|>assistant\nHi", "assistant\nHi"),
    ("a<|eot_id|><|eot_id|>b</s>", "ab"),
    ("[INST]a[/INST] [INS] [x]", "a [INS] [x]"),
    ("<｜end▁of▁sentence｜>", ""),
    ("<|IM_END|> <|im_end> <im_end|> < |im_end|>", "<|IM_END|> <|im_end> <im_end|> < |im_end|>"),
    ("<|im_<|im_end|>end|>", "<|im_end|>"),
    ("<s>struck</s>", "<s>struck"),
    ("`<|im_end|>`", "`<|im_end|>`"),
    ("`a` <|im_end|> `b`", "`a`  `b`"),
    ("``<|im_end|>``", "``<|im_end|>``"),
    ("it's a ` <|im_end|>\n<|im_end|>", "it's a ` <|im_end|>\n"),
    ("```\n<|im_end|>\n```\n<|im_end|>", "```\n<|im_end|>\n```\n"),
    ("~~~\n<|im_end|>\n~~~\n<|im_end|>", "~~~\n<|im_end|>\n~~~\n"),
    ("  ```py\n<|im_end|>\n", "  ```py\n<|im_end|>\n"),
    ("````\n```\n<|im_end|>\n````\n<|im_end|>", "````\n```\n<|im_end|>\n````\n"),
    ("```\n``` x\n<|im_end|>\n~~~\n<|im_end|>", "```\n``` x\n<|im_end|>\n~~~\n<|im_end|>"),
    ("```a``` <|im_end|>\n<|im_end|>", "```a``` \n"),
    ("`` ` <|im_end|> `` <|im_end|>", "`` ` <|im_end|> `` "),
    ("a ``` b <|im_end|>\n<|im_end|>", "a ``` b <|im_end|>\n"),
    ("a <", "a <"),
    ("a <|im_en", "a <|im_en"),
]


@pytest.mark.parametrize(("text", "kept"), CASES)
def test_tokens_go_and_all_else_stays(text: str, kept: str):
    assert strip_control_tokens(text) == kept


@pytest.mark.parametrize("token", sorted(TOKENS))
def test_every_token_goes_outside_of_code_alone(token: str):
    assert strip_control_tokens(f"a{token}b `{token}`\n```\n{token}\n```\n{token}") == f"ab `{token}`\n```\n{token}\n```\n"


@pytest.mark.parametrize(("text", "kept"), CASES)
def test_it_makes_no_difference_where_a_text_is_cut(text: str, kept: str):
    for size in (1, 2, 3):
        taker = ControlTokenFilter()
        pieces = [taker.feed(text[start : start + size]) for start in range(0, len(text), size)]
        assert "".join([*pieces, taker.finish()]) == kept
    for cut in range(len(text)):
        taker = ControlTokenFilter()
        assert taker.feed(text[:cut]) + taker.feed(text[cut:]) + taker.finish() == kept


def test_only_the_beginning_of_a_token_is_held_back():
    taker = ControlTokenFilter()
    assert [taker.feed(piece) for piece in ("a <", "b", " <|im", "_end|", ">", "c")] == ["a ", "<b", " ", "", "", "c"]
    assert taker.finish() == ""
