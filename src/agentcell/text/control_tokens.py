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
    """Passes text on without control tokens. Held back is only an end that may still become one; `finish` releases it.

    A token counts as code as soon as it may be: behind backticks that have no partner on their line yet.
    """

    __slots__ = ("_blank", "_closing", "_fence", "_held", "_opening", "_run", "_run_leads", "_span")

    def __init__(self) -> None:
        self._held = ""
        self._fence = ""  # the run of signs that opened the fence around what comes
        self._opening = ""  # such a run on the current line: the fence begins behind it
        self._closing = False  # nothing but spaces stands behind a run on the current line that closes the fence
        self._span = 0  # the length of the run of backticks that opened a code span on the current line
        self._run = ""  # the run of signs that the text ends with
        self._run_leads = False  # it is the first thing on its line
        self._blank = True  # nothing but spaces stands before on this line

    def feed(self, text: str) -> str:
        """What can be shown now of all that has come."""
        text = self._held + text
        keep = len(text)
        end = text[-_LONGEST:]
        if "<" in end or "[" in end:
            keep -= next((length for length in range(min(_LONGEST - 1, keep), 0, -1) if end[-length:] in _STARTS), 0)
        self._held = text[keep:]
        return self._pass(text[:keep])

    def finish(self) -> str:
        """What was held back; nothing follows."""
        text, self._held = self._held, ""
        return self._pass(text)

    def _pass(self, text: str) -> str:
        if not (self._run or self._opening or self._closing or self._span) and not any(sign in text for sign in "<[`~"):
            last = text[text.rfind("\n") + 1 :]  # no token and no code in it: the usual case
            self._blank = (self._blank or len(last) < len(text)) and not last.strip()
            return text
        return "".join(piece for piece in _PIECES.findall(text) if not self._is_token(piece))

    def _is_token(self, piece: str) -> bool:
        """Whether a piece is to go; keeps track of what is code."""
        if piece[0] in "`~":
            if not self._run.startswith(piece[0]):
                self._end_run()
                self._run_leads, self._blank = self._blank, False
            self._run += piece
            return False
        self._end_run()
        if piece == "\n":
            self._fence = "" if self._closing else self._fence or self._opening
            self._opening, self._closing, self._span, self._blank = "", False, 0, True
            return False
        if not piece.isspace():
            self._blank = self._closing = False
        return piece in TOKENS and not (self._fence or self._opening or self._span)

    def _end_run(self) -> None:
        """The run is as long as it gets: it opens or closes a fence or a code span, or is text."""
        run, self._run = self._run, ""
        if not run:
            return
        if self._fence:
            self._closing = self._run_leads and run.startswith(self._fence)
        elif self._run_leads and len(run) >= 3:
            self._opening = run
        elif run[0] == "`":
            if self._opening[:1] == "`":  # a line that opens a fence has no second run: the first one opened a code span
                self._span, self._opening = len(self._opening), ""
            if not self._span:
                self._span = len(run)
            elif len(run) == self._span:
                self._span = 0
