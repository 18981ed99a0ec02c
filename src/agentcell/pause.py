"""Asking the person at the console."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

Ask: TypeAlias = Callable[[str, Sequence[str]], str]
"""Puts a question with its choices (none: an answer in words) to the person, and returns the answer."""


def ask_console(question: str, choices: Sequence[str]) -> str:
    """Asks with `input`, in a notebook too, until the answer is one of the choices; capitals do not matter.

    Raises:
        EOFError: there is nobody to ask.
    """
    known = {choice.casefold(): choice for choice in choices}
    prompt = f"{question} [{' / '.join(choices)}] " if choices else f"{question} "
    while True:
        answer = input(prompt).strip()
        if not known:
            return answer
        if answer.casefold() in known:
            return known[answer.casefold()]
        prompt = f"Please answer {' or '.join(choices)}: "
