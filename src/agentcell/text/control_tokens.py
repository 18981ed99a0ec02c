"""Control tokens of chat templates that leaked into an answer, taken out whole or while it streams."""

from __future__ import annotations

import re

# What closes or opens a turn in the templates of ChatML, Llama, Gemma, Phi, Mistral, GPT, DeepSeek and Command R. `<s>` is not among
# them: it is an HTML element that people write.
TOKENS = frozenset(
    {
        *("<|im_start|>", "<|im_end|>", "<|im_sep|>"),
        *("<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>", "<|eom_id|>", "<|start_header_id|>", "<|end_header_id|>"),
        *("<start_of_turn>", "<end_of_turn>"),
        *("<|end|>", "<|user|>", "<|assistant|>", "<|system|>"),
        *("[INST]", "[/INST]", "</s>"),
        *("<|endoftext|>", "<|endofprompt|>"),
        *("<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "<｜User｜>", "<｜Assistant｜>"),
        *("<|START_OF_TURN_TOKEN|>", "<|END_OF_TURN_TOKEN|>", "<|CHATBOT_TOKEN|>", "<|USER_TOKEN|>", "<|SYSTEM_TOKEN|>"),
    }
)
_LONGEST = max(map(len, TOKENS))
_STARTS = frozenset(token[:length] for token in TOKENS for length in range(1, len(token)))
_PIECES = re.compile("|".join([*map(re.escape, sorted(TOKENS)), "\n", "`+", "~+", "[^\n`~<\\[]+", "."]))


def strip_control_tokens(text: str) -> str:
    """`text` without control tokens; in code they stay, because there somebody writes about them."""
    taker = ControlTokenFilter()
    return taker.feed(text) + taker.finish()


class ControlTokenFilter:
    """Passes text on without control tokens. Held back is only an end that may still become one; `finish` releases it."""

    __slots__ = ("_blank", "_fence", "_fenced", "_held", "_span")

    def __init__(self) -> None:
        self._held = ""
        self._fenced = False  # between two fences
        self._span = False  # an odd number of backticks stands before on this line
        self._blank = True  # nothing but spaces stands before on this line
        self._fence = 0  # signs at the line's beginning that may become a fence

    def feed(self, text: str) -> str:
        """What can be shown now of all that has come."""
        text = self._held + text
        keep = len(text) - next((n for n in range(min(_LONGEST - 1, len(text)), 0, -1) if text[-n:] in _STARTS), 0)
        self._held = text[keep:]
        return self._pass(text[:keep])

    def finish(self) -> str:
        """What was held back; nothing follows."""
        text, self._held = self._held, ""
        return self._pass(text)

    def _pass(self, text: str) -> str:
        return "".join(piece for piece in _PIECES.findall(text) if not self._is_token(piece))

    def _is_token(self, piece: str) -> bool:
        """Whether a piece is to go; keeps track of what is code."""
        if piece == "\n":
            self._span, self._blank, self._fence = False, True, 0
        elif piece[0] in "`~" and (self._blank or self._fence):
            before, self._fence = self._fence, self._fence + len(piece)
            self._blank = False
            if before < 3 <= self._fence:
                self._fenced = not self._fenced
        else:
            if 0 < self._fence < 3:  # too few for a fence: they open a code span
                self._span = self._fence % 2 == 1
            self._fence = 0 if self._fence < 3 else self._fence
            if piece[0] == "`":
                self._span ^= len(piece) % 2 == 1
            self._blank = self._blank and piece.isspace()
            return piece in TOKENS and not self._fenced and not self._span
        return False
