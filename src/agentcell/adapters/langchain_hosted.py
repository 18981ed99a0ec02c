"""The tools that a provider runs by itself while its model speaks, as LangChain's messages tell of them: piece by piece, or whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentcell.adapters.fields import arguments_of, field, text_of
from agentcell.adapters.langchain_messages import blocks_of

if TYPE_CHECKING:
    from agentcell.adapters.ledger import Turn


class HostedTools:
    """Those of one model call; what was heard in pieces is passed over when the whole message comes.

    Args:
        turn: Where they are told.
        model: The key of the model call.
        agent: The key of its agent.
    """

    def __init__(self, turn: Turn, model: str, agent: str) -> None:
        self._turn = turn
        self._model = model
        self._agent = agent
        self._names: dict[str, str] = {}  # by id
        self._ids: dict[Any, str] = {}  # by place in the message
        self._pieces: dict[str, list[str]] = {}  # arguments by id, as JSON
        self._over: set[str] = set()

    def hear(self, message: Any) -> None:
        """Takes a message, or the next piece of one."""
        if isinstance(field(message, "content"), str):
            return
        for block in blocks_of(message):
            kind = text_of(block, "type")
            if kind == "server_tool_call":
                self._start(block, field(block, "args") or {})
            elif kind == "server_tool_call_chunk":
                self._start(block, {})
                self._pieces.setdefault(self._ids.get(field(block, "index"), ""), []).append(text_of(block, "args"))
            elif kind == "server_tool_result":
                self._end(block)

    def _start(self, block: Any, arguments: Any) -> None:
        call_id, name = text_of(block, "id"), text_of(block, "name")
        if call_id and call_id not in self._names:
            self._names[call_id] = name
            self._ids[field(block, "index")] = call_id
            self._turn.end_thinking(self._model)
            self._turn.start_tool(call_id, name, arguments, agent=self._agent, model=self._model)

    def _end(self, block: Any) -> None:
        call_id = text_of(block, "tool_call_id")
        if call_id not in self._names or call_id in self._over:
            return
        self._over.add(call_id)
        written = "".join(self._pieces.get(call_id, ()))
        if written:
            self._turn.start_tool(call_id, self._names[call_id], arguments_of(written), agent=self._agent)
        result, failed = field(block, "output"), text_of(block, "status") == "error"
        self._turn.end_tool(call_id, result=None if failed else result, error=str(result) if failed else None)
