"""What a model wrote before it called a tool, as a bullet: the first line of it, never long."""

from __future__ import annotations

BULLET_LIMIT = 100
"""Characters of a model's text before a tool call that become a bullet."""

_KEPT = 2 * BULLET_LIMIT  # Enough to see, behind some white space, that there is more.


class Bullets:
    """The beginnings of the texts of model calls that may still ask for a tool."""

    def __init__(self) -> None:
        self._drafts: dict[str, str] = {}

    def add(self, model_call_id: str, text: str) -> None:
        """More text of a model call."""
        if not self.is_known(model_call_id):
            self._drafts[model_call_id] = (self._drafts.get(model_call_id, "") + text).lstrip()[:_KEPT]

    def is_known(self, model_call_id: str) -> bool:
        """Whether the bullet of a model call is known already, and more text changes nothing."""
        draft = self._drafts.get(model_call_id, "")
        return len(draft) >= _KEPT or "\n" in draft

    def take(self, model_call_id: str) -> str:
        """The bullet, "" for no words; what follows is another text."""
        words = self._drafts.pop(model_call_id, "").split("\n", 1)[0].strip()
        return words if len(words) <= BULLET_LIMIT else words[: BULLET_LIMIT - 1] + "…"
