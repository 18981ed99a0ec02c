"""Reads a stream of plain strings: the text of one model call, as many helpers give it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from agentcell.adapters.model_call import ModelCall


class TextReader:
    """Reads the pieces of one stream; that nothing more comes is its end, for strings have no other."""

    derived: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, call: ModelCall) -> None:
        self.call = self
        self._model = call

    @staticmethod
    def takes(_kind: str, event: Any, /) -> bool:
        """Whether this is a piece of text."""
        return isinstance(event, str)

    def read(self, event: Any) -> None:
        """Records a piece."""
        self._model.begin()
        self._model.write(event)

    def finish(self, error: BaseException | None = None, *, closed: bool = False) -> None:
        """The stream is over."""
        self._model.complete = not closed
        self._model.finish(error, closed=closed)
