"""Text that grows piece by piece: appending is O(1), and what came since a position is read in O(what came)."""

from __future__ import annotations

_PIECES = 512  # Small strings cost about 60 bytes each beside their letters; joined in groups they cost next to nothing.


class GrowingText:
    """A text that only grows at its end."""

    __slots__ = ("_joined", "_length", "_pieces")

    def __init__(self, text: str = "") -> None:
        self._joined: list[str] = [text] if text else []
        self._pieces: list[str] = []
        self._length = len(text)

    def append(self, piece: str) -> None:
        """Adds `piece` at the end."""
        self._pieces.append(piece)
        self._length += len(piece)
        if len(self._pieces) >= _PIECES:
            self._joined.append("".join(self._pieces))
            self._pieces.clear()

    def __len__(self) -> int:
        """Characters so far."""
        return self._length

    def __str__(self) -> str:
        """The whole text; asking again costs nothing more until it has grown."""
        if self._pieces or len(self._joined) > 1:
            self._joined = ["".join((*self._joined, *self._pieces))]
            self._pieces.clear()
        return self._joined[0] if self._joined else ""

    def since(self, position: int) -> str:
        """What stands behind the first `position` characters."""
        missing = self._length - position
        found: list[str] = []
        for store in (self._pieces, self._joined):
            for piece in reversed(store):
                if missing <= 0:
                    break
                found.append(piece if len(piece) <= missing else piece[-missing:])
                missing -= len(piece)
        return "".join(reversed(found))
