"""A model call inside a framework's turn: what a provider's reader finds in it goes to the turn, which knows what was told already."""

from __future__ import annotations

from asyncio import CancelledError
from typing import TYPE_CHECKING, Any

from agentcell.adapters.model_call import ModelCall

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentcell.adapters.ledger import Turn
    from agentcell.events import ThinkingBlock


class TurnCall(ModelCall):
    """The model call with this key, read from the provider's own events that a framework passes on.

    What comes after the call has ended (a framework's hooks may be quicker than its stream) is passed over. The provider's id of the
    response is not told: the key tells calls apart already, and what a framework makes up in its place is often the same for all.
    """

    def __init__(self, turn: Turn, key: str, *, agent: str = "", owner: str = "") -> None:
        super().__init__(turn.run)
        self._turn = turn
        self._key = key
        self._agent = agent
        self._owner = owner
        self._asked = 0

    @property
    def _is_over(self) -> bool:
        return self._turn.is_over(self._key)

    def begin(self, response_id: str | None = None) -> None:
        """The call begins, if it has not."""
        self.response_id = response_id or self.response_id
        if not self._open and not self._is_over:
            self._open = True
            if not self._turn.is_asked(self._key):
                self._turn.start_model(self._key, agent=self._agent)

    def write(self, text: str) -> None:
        """More text."""
        self._turn.write(self._key, text, agent=self._agent)

    def think(self, text: str) -> None:
        """More of the model's reasoning."""
        if text:
            self._thoughts.append(text)
            self._turn.think(self._key, text, agent=self._agent)

    def end_thinking(self, blocks: tuple[ThinkingBlock, ...] = ()) -> None:
        """Closes the reasoning that is open."""
        open_blocks = blocks or self.open_blocks()
        self._thoughts, self.signature = [], None
        if open_blocks:
            self._turn.end_thinking(self._key, open_blocks)

    def _start(
        self, name: str, arguments: Mapping[str, Any], *, call_id: str | None, parent_id: str | None, requested: bool
    ) -> str:
        call_id = call_id or self.run.new_id()
        self._asked += requested
        if self._is_over:
            return call_id
        self.end_thinking()
        key = self._tool(call_id)
        if requested:
            self._turn.ask_tool(key, name, arguments, agent=self._agent, model=self._key)
        else:
            inside = None if parent_id is None else self._tool(parent_id)
            self._turn.start_tool(key, name, arguments, agent=self._agent, model=self._key, inside=inside)
        return call_id

    def _tool(self, call_id: str) -> str:
        """The key of a tool call."""
        return self._turn.own_key(call_id, self._owner)

    def progress(self, call_id: str, payload: Any) -> None:
        """A tool that the provider runs came further."""
        self._turn.progress(self._tool(call_id), payload)

    def end_tool(self, call_id: str, *, result: Any = None, error: str | None = None) -> None:
        """A tool that the provider ran is over."""
        if not self._is_over:
            self._turn.end_tool(self._tool(call_id), result=result, error=error)

    def finish(self, error: BaseException | None = None, *, closed: bool = False) -> None:
        """The call is over."""
        outcome, reason = self._verdict(error, closed=closed)
        self._open = False
        self._turn.end_model(
            self._key,
            model=self.model,
            usage=self.usage,
            finish_reason=self.finish_reason,
            tool_calls=self._asked or None,
            cost=self.cost,
            error=CancelledError(reason) if outcome == "cancelled" else reason,
        )
