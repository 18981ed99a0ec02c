"""The model's messages in one turn of the Claude Agent SDK: each comes in pieces while it is made, and then block by block."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from agentcell.adapters.anthropic_messages import MessagesReader, usage_of
from agentcell.adapters.fields import arguments_of, field, items_of, text_of
from agentcell.adapters.turn_call import TurnCall
from agentcell.events import ThinkingBlock, Usage

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentcell.adapters.ledger import Turn


@dataclass(slots=True)
class Message:
    """A message that is being made, by the agent with the key `agent`."""

    key: str
    agent: str
    reader: MessagesReader
    call: TurnCall
    text: str = ""
    thinking: str = ""
    usage: Usage | None = None


class Messages:
    """All messages of a turn.

    Args:
        turn: Where they are told.
        tool_result: Takes the result of a tool that the provider has run.

    Attributes:
        open: The newest message of each agent, by the agent's key.
        usage: The tokens of the messages that are over.
    """

    def __init__(self, turn: Turn, tool_result: Callable[[Any], None]) -> None:
        self._turn = turn
        self._tool_result = tool_result
        self.open: dict[str, Message] = {}
        self.usage = Usage()

    def hear(self, agent: str, event: Any) -> None:
        """A piece of a message, as the provider's own event."""
        if text_of(event, "type") == "message_start":
            self._message(agent, text_of(field(event, "message"), "id") or self._turn.run.new_id())
        message = self.open.get(agent)
        if message is not None and text_of(event, "type") != "message_stop":  # its last block may come behind that
            message.reader.read(event)
            message.usage = message.call.usage

    def tell(self, agent: str, event: Any) -> None:
        """Blocks of a message that are complete."""
        message = self._message(agent, text_of(event, "message_id") or self._turn.run.new_id())
        message.call.model = text_of(event, "model") or message.call.model
        message.call.begin()
        if message.call.usage is None and field(event, "usage") is not None:
            message.usage = usage_of(field(event, "usage"))
        for block in items_of(event, "content"):
            self._block(message, block)
        message.call.finish_reason = text_of(event, "stop_reason") or message.call.finish_reason
        if text_of(event, "error"):
            message.call.fail(text_of(event, "error"))
            self.end(agent)

    def end(self, agent: str, usage: Usage | None = None) -> None:
        """An agent's message is over."""
        message = self.open.pop(agent, None)
        if message is not None:
            message.call.usage = usage or message.usage
            message.call.complete = True
            message.call.finish()
            self.usage += message.call.usage or Usage()

    def rest(self, total: Any) -> Usage | None:
        """What the turn's last message must have taken, so that all messages together took `total`; None when there is none."""
        last = self.open.get("")
        if last is None:
            return None
        known = last.usage or Usage()
        if total is None or last.call.usage is not None:  # its own events have told it exactly
            return known
        whole, before = usage_of(total), self.usage
        return replace(
            known,
            input_tokens=max(known.input_tokens, whole.input_tokens - before.input_tokens),
            output_tokens=max(known.output_tokens, whole.output_tokens - before.output_tokens),
            cache_read_tokens=max(known.cache_read_tokens, whole.cache_read_tokens - before.cache_read_tokens),
            cache_write_tokens=max(known.cache_write_tokens, whole.cache_write_tokens - before.cache_write_tokens),
        )

    def _message(self, agent: str, key: str) -> Message:
        """The message with this key; another one of the same agent is over."""
        known = self.open.get(agent)
        if known is not None and known.key == key:
            return known
        self.end(agent)
        call = TurnCall(self._turn, key, agent=agent)
        message = self.open[agent] = Message(key, agent, MessagesReader(call), call)
        return message

    def _block(self, message: Message, block: Any) -> None:
        match type(block).__name__:
            case "TextBlock":
                message.text += text_of(block, "text")
                self._turn.reconcile(message.key, text=message.text, agent=message.agent)
            case "ThinkingBlock":
                words, signature = text_of(block, "thinking"), text_of(block, "signature") or None
                message.thinking += words
                self._turn.reconcile(message.key, thinking=message.thinking, agent=message.agent)
                self._turn.end_thinking(message.key, (ThinkingBlock(content=words, signature=signature),))
            case "ToolUseBlock" | "ServerToolUseBlock":
                key, name = self._turn.own_key(text_of(block, "id")), text_of(block, "name")
                arguments = arguments_of(field(block, "input"))
                self._turn.start_tool(key, name, arguments, agent=message.agent, model=message.key)
            case "ToolResultBlock" | "ServerToolResultBlock":
                self._tool_result(block)
            case other:
                self._turn.run.report_unknown(other)
