"""What a model of smolagents says beside the code that it writes: that code is a tool call already, and no words of the agent's."""

from __future__ import annotations

import json
from typing import Any

from agentcell.adapters.fields import field, text_of


class Words:
    """The words of one answer of an agent's model, piece by piece, up to its code.

    Args:
        agent: It knows how its code begins, if it writes code.
    """

    def __init__(self, agent: Any) -> None:
        self._opening = opening_of(agent)
        self._held = ""  # what may be the beginning of that
        self._over = False

    def read(self, piece: str) -> str:
        """Of another piece, and of what was held, the words."""
        if not self._opening:
            return piece
        if self._over:
            return ""
        words, found, _ = (self._held + piece).partition(self._opening)
        self._over = bool(found)
        lengths = range(min(len(words), len(self._opening) - 1), 0, -1)
        kept = 0 if found else next((length for length in lengths if self._opening.startswith(words[-length:])), 0)
        self._held = words[len(words) - kept :]
        return words[: len(words) - kept]

    def whole(self, said: Any) -> str | None:
        """The words of all that was said, None when that is no text."""
        if not isinstance(said, str):
            return None
        if self._opening != "{":
            return said.partition(self._opening)[0] if self._opening else said
        try:
            return text_of(json.loads(said), "thought")
        except ValueError:
            return said


def opening_of(agent: Any) -> str:
    """What an agent's code begins with, "" for an agent that writes none."""
    if field(agent, "_use_structured_outputs_internally") is True:  # then all of it is an object: its thought and its code
        return "{"
    tags = field(agent, "code_block_tags")
    opening = tags[0] if isinstance(tags, (list, tuple)) and tags and isinstance(tags[0], str) else ""
    return "```" if opening.startswith("```") else opening  # behind these it is a pattern
