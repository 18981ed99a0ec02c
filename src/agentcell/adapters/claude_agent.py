"""Hears the Claude Agent SDK: the messages of `query(...)` and `ClaudeSDKClient.receive_response()`, told apart by their classes' names.

A message of the model comes in pieces while it is made, if it was asked for so, and then once more block by block, each block under the
message's id and with the same count of tokens, whose output is a guess until the message is whole. What a turn really took stands in its
result.
"""

from __future__ import annotations

from asyncio import CancelledError
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from agentcell.adapters.anthropic_messages import MessagesReader, readable, usage_of
from agentcell.adapters.fields import arguments_of, count_of, items_of, plain, text_of
from agentcell.adapters.fields import field as field_of
from agentcell.adapters.ledger import Ledger
from agentcell.adapters.turn_call import TurnCall
from agentcell.events import LimitReached, ThinkingBlock, Usage

if TYPE_CHECKING:
    from agentcell.adapters.ledger import Turn
    from agentcell.adapters.model_call import ModelCall
    from agentcell.run import Run

SHAPES = {
    "AssistantMessage": "parent_tool_use_id",
    "UserMessage": "parent_tool_use_id",
    "StreamEvent": "parent_tool_use_id",
    "ResultMessage": "num_turns",
    "RateLimitEvent": "rate_limit_info",
    "ConversationResetMessage": "new_conversation_id",
}
"""The messages, and what tells them from classes of this name elsewhere; all others are kinds of `SystemMessage`."""

LIMITS = {"error_max_turns": "turns", "error_max_budget_usd": "cost"}
OVER = frozenset({"completed", "failed", "stopped", "killed"})


class ClaudeAgentAdapter:
    """Tells one run of Claude's agents."""

    framework: ClassVar[str] = "the Claude Agent SDK"

    def __init__(self, run: Run) -> None:
        self.run = run
        self.ledger = Ledger(run)
        self.costs: dict[str, float] = {}  # of each session so far: the SDK tells its sum

    def close(self, error: BaseException | None = None) -> None:
        """The run's block is left."""
        self.ledger.close(error)


@dataclass(slots=True)
class Message:
    """A message of the model that is being made, by the agent with the key `agent`."""

    key: str
    agent: str
    reader: MessagesReader
    call: TurnCall
    text: str = ""
    thinking: str = ""
    usage: Usage | None = None


@dataclass(slots=True)
class Told:
    """What has been told of a turn.

    Attributes:
        open: The newest message of each agent, by the agent's key.
        usage: The tokens of the messages that are over.
        said: What the run's own agent said last.
        tasks: Which agents go on behind the end of the tool call that started them, by the task's id.
    """

    open: dict[str, Message] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    said: str = ""
    tasks: dict[str, str] = field(default_factory=dict)


class ClaudeMessagesReader:
    """Reads one stream of messages; each result in it ends a turn."""

    derived: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, call: ModelCall) -> None:
        self.call = self
        self._run = call.run
        self._adapter: ClaudeAgentAdapter = call.run.adapter(ClaudeAgentAdapter)
        self._turn: Turn | None = None
        self._told = Told()
        self._first: ModelCall | None = call

    @staticmethod
    def takes(_kind: str, event: Any, /) -> bool:
        """Whether this is one of the SDK's messages."""
        shape = SHAPES.get(type(event).__name__)
        if shape is not None:
            return hasattr(event, shape)
        return any(cls.__name__ == "SystemMessage" for cls in type(event).__mro__) and hasattr(event, "subtype")

    def read(self, event: Any) -> None:
        """Takes one message."""
        turn = self._begun()
        match type(event).__name__:
            case "StreamEvent":
                self._hear(turn, self._agent(turn, event), field_of(event, "event"))
            case "AssistantMessage":
                self._assistant(turn, self._agent(turn, event), event)
            case "UserMessage":
                self._user(turn, self._agent(turn, event), event)
            case "ResultMessage":
                self._result(turn, event)
            case "TaskStartedMessage" | "TaskProgressMessage" | "TaskNotificationMessage" | "TaskUpdatedMessage":
                self._task(turn, event)
            case "RateLimitEvent" if text_of(field_of(event, "rate_limit_info"), "status") == "rejected":
                self._run.step("The rate limit is reached")
            case _:
                pass

    def finish(self, error: BaseException | None = None, *, closed: bool = False) -> None:
        """The stream is over."""
        if self._turn is not None:
            if error is None:  # each turn has a result
                error = CancelledError("the stream was closed before its last message" if closed else "the stream has no result")
            self._end(self._turn, error)

    def _begun(self) -> Turn:
        if self._turn is None:
            self._turn, self._told = self._adapter.ledger.turn(self._run.new_id()), Told()
            if self._first is not None:
                self._turn.adopt(self._first)
                self._first = None
        return self._turn

    def _agent(self, turn: Turn, event: Any) -> str:
        """The key of the sub-agent that a message belongs to: the tool call that it was started by."""
        key = text_of(event, "parent_tool_use_id")
        tool = self._adapter.ledger.tools.get(key)
        if key:
            arguments = {} if tool is None else tool.arguments
            turn.start_agent(key, text_of(arguments, "subagent_type", "description") or "Sub-agent", inside=key)
        return key

    # What the model says

    def _message(self, turn: Turn, agent: str, key: str) -> Message:
        """The message with this key; another one of the same agent is over."""
        known = self._told.open.get(agent)
        if known is not None and known.key == key:
            return known
        self._end_message(agent)
        call = TurnCall(turn, key, agent=agent)
        message = self._told.open[agent] = Message(key, agent, MessagesReader(call), call)
        return message

    def _hear(self, turn: Turn, agent: str, event: Any) -> None:
        """A piece of a message, as the provider's own event."""
        if text_of(event, "type") == "message_start":
            self._message(turn, agent, text_of(field_of(event, "message"), "id") or self._run.new_id())
        message = self._told.open.get(agent)
        if message is not None and text_of(event, "type") != "message_stop":  # its last block may come behind that
            message.reader.read(event)
            message.usage = message.call.usage

    def _assistant(self, turn: Turn, agent: str, event: Any) -> None:
        message = self._message(turn, agent, text_of(event, "message_id") or self._run.new_id())
        message.call.model = text_of(event, "model") or message.call.model
        message.call.begin()
        if message.call.usage is None and field_of(event, "usage") is not None:
            message.usage = usage_of(field_of(event, "usage"))
        for block in items_of(event, "content"):
            self._block(turn, message, block)
        message.call.finish_reason = text_of(event, "stop_reason") or message.call.finish_reason
        if text_of(event, "error"):
            message.call.fail(text_of(event, "error"))
            self._end_message(agent)

    def _block(self, turn: Turn, message: Message, block: Any) -> None:
        match type(block).__name__:
            case "TextBlock":
                message.text += text_of(block, "text")
                turn.reconcile(message.key, text=message.text, agent=message.agent)
                if not message.agent:
                    self._told.said = message.text
            case "ThinkingBlock":
                words, signature = text_of(block, "thinking"), text_of(block, "signature") or None
                message.thinking += words
                turn.reconcile(message.key, thinking=message.thinking, agent=message.agent)
                turn.end_thinking(message.key, (ThinkingBlock(content=words, signature=signature),))
            case "ToolUseBlock" | "ServerToolUseBlock":
                arguments = arguments_of(field_of(block, "input"))
                turn.start_tool(text_of(block, "id"), text_of(block, "name"), arguments, agent=message.agent, model=message.key)
            case "ToolResultBlock" | "ServerToolResultBlock":
                self._tool_result(turn, block)
            case other:
                self._run.report_unknown(other)

    def _end_message(self, agent: str, usage: Usage | None = None) -> None:
        message = self._told.open.pop(agent, None)
        if message is not None:
            message.call.usage = usage or message.usage
            message.call.complete = True
            message.call.finish()
            self._told.usage += message.call.usage or Usage()

    # What comes back

    def _user(self, turn: Turn, agent: str, event: Any) -> None:
        results = [block for block in items_of(event, "content") if type(block).__name__ == "ToolResultBlock"]
        if results:  # the model has been told, so its message was whole
            self._end_message(agent)
        for block in results:
            self._tool_result(turn, block)

    def _tool_result(self, turn: Turn, block: Any) -> None:
        key, result = text_of(block, "tool_use_id"), readable(field_of(block, "content"))
        failed = field_of(block, "is_error") is True
        said = result if isinstance(result, str) else "the tool failed"
        if key not in self._told.tasks.values():
            self._end_message(key)
            turn.end_agent(key, error=said if failed else None)
        turn.end_tool(key, result=result, error=said if failed else None)

    def _task(self, turn: Turn, event: Any) -> None:
        """A sub-agent that may go on when the call that started it is over."""
        task, key = text_of(event, "task_id"), text_of(event, "tool_use_id")
        status = text_of(event, "status")
        if type(event).__name__ == "TaskStartedMessage" and key:
            self._told.tasks[task] = key
            turn.start_agent(key, text_of(event, "description") or "Sub-agent", inside=key)
        elif type(event).__name__ == "TaskProgressMessage":
            turn.progress(self._told.tasks.get(task, key), text_of(event, "description"))
        elif status in OVER:
            key = self._told.tasks.pop(task, key)
            error = {"failed": "it failed", "completed": None}.get(status, CancelledError("it was stopped"))
            self._end_message(key)
            turn.end_agent(key, error=error)

    # The end

    def _result(self, turn: Turn, event: Any) -> None:
        subtype, said = text_of(event, "subtype"), text_of(event, "result")
        cancelled = text_of(event, "terminal_reason").startswith("aborted")
        failed = field_of(event, "is_error") is True and not cancelled
        rest = self._rest(event)
        if rest is not None:
            self._end_message("", usage=rest)
        for denied in items_of(event, "permission_denials"):
            turn.refuse_tool(text_of(denied, "tool_use_id"), "it was not permitted")
        deferred = field_of(event, "deferred_tool_use")
        if deferred is not None:
            key, name = text_of(deferred, "id"), text_of(deferred, "name")
            turn.ask_tool(key, name, arguments_of(field_of(deferred, "input")))
            turn.pause(key, f"May `{name}` run?", choices=("allow", "deny"), call=key)
        if subtype in LIMITS:
            self._run.record(LimitReached(kind=LIMITS[subtype], actual=count_of(event, "num_turns")))
        elif failed:
            errors = [error for error in plain(items_of(event, "errors")) if isinstance(error, str)]
            turn.end_model(self._run.new_id(), error="; ".join(errors) or said or subtype)
        elif said and said.strip() != self._told.said.strip() and not cancelled:
            turn.answer(said)
        self._charge(turn, event)
        self._end(turn, CancelledError("it was interrupted") if cancelled else None)

    def _rest(self, event: Any) -> Usage | None:
        """What the turn's last message must have taken, so that all messages together took what the result says."""
        last, total = self._told.open.get(""), field_of(event, "usage")
        if last is None:
            return None
        known = last.usage or Usage()
        if total is None or last.call.usage is not None:  # its own events have told it exactly
            return known
        whole, before = usage_of(total), self._told.usage
        return replace(
            known,
            input_tokens=max(known.input_tokens, whole.input_tokens - before.input_tokens),
            output_tokens=max(known.output_tokens, whole.output_tokens - before.output_tokens),
            cache_read_tokens=max(known.cache_read_tokens, whole.cache_read_tokens - before.cache_read_tokens),
            cache_write_tokens=max(known.cache_write_tokens, whole.cache_write_tokens - before.cache_write_tokens),
        )

    def _charge(self, turn: Turn, event: Any) -> None:
        total, session = field_of(event, "total_cost_usd"), text_of(event, "session_id")
        if isinstance(total, (int, float)):
            before = self._adapter.costs.get(session, 0.0)
            self._adapter.costs[session] = float(total)
            turn.charge(float(total) - before if total >= before else float(total))

    def _end(self, turn: Turn, error: BaseException | None) -> None:
        if error is None:
            for agent in tuple(self._told.open):
                self._end_message(agent)
        turn.close(error)
        self._turn = None
