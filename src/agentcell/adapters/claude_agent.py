"""Hears the Claude Agent SDK: the messages of `query(...)` and `ClaudeSDKClient.receive_response()`, told apart by their classes' names.

A message of the model comes in pieces while it is made, if it was asked for so, and then once more block by block, each block under the
message's id and with the same count of tokens, whose output is a guess until the message is whole. What a turn really took stands in its
result.
"""

from __future__ import annotations

from asyncio import CancelledError
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from agentcell.adapters.anthropic_messages import readable
from agentcell.adapters.claude_agent_messages import Messages
from agentcell.adapters.fields import arguments_of, count_of, items_of, plain, text_of
from agentcell.adapters.fields import field as field_of
from agentcell.adapters.ledger import Ledger
from agentcell.events import LimitReached

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
class Told:
    """A turn that goes on.

    Attributes:
        turn: Where it is told.
        messages: The model's messages in it.
        tasks: Which agents go on behind the end of the tool call that started them, by the task's id.
    """

    turn: Turn
    messages: Messages
    tasks: dict[str, str] = field(default_factory=dict)


class ClaudeMessagesReader:
    """Reads one stream of messages; each result in it ends a turn."""

    derived: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, call: ModelCall) -> None:
        self.call = self
        self._run = call.run
        self._adapter: ClaudeAgentAdapter = call.run.adapter(ClaudeAgentAdapter)
        self._told: Told | None = None
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
        told = self._begun()
        match type(event).__name__:
            case "StreamEvent":
                told.messages.hear(self._agent(told.turn, event), field_of(event, "event"))
            case "AssistantMessage":
                told.messages.tell(self._agent(told.turn, event), event)
            case "UserMessage":
                self._user(told, self._agent(told.turn, event), event)
            case "ResultMessage":
                self._result(told, event)
            case "TaskStartedMessage" | "TaskProgressMessage" | "TaskNotificationMessage" | "TaskUpdatedMessage":
                self._task(told, event)
            case "RateLimitEvent" if text_of(field_of(event, "rate_limit_info"), "status") == "rejected":
                self._run.step("The rate limit is reached")
            case _:
                pass

    def finish(self, error: BaseException | None = None, *, closed: bool = False) -> None:
        """The stream is over."""
        if self._told is not None:
            if error is None:  # each turn has a result
                error = CancelledError("the stream was closed before its last message" if closed else "the stream has no result")
            self._end(self._told, error)

    def _begun(self) -> Told:
        if self._told is None:
            turn = self._adapter.ledger.turn(self._run.new_id(), "Claude")
            self._told = Told(turn, Messages(turn, self._tool_result))
            if self._first is not None:
                turn.adopt(self._first)
                self._first = None
        return self._told

    def _agent(self, turn: Turn, event: Any) -> str:
        """The key of the sub-agent that a message belongs to: the tool call that it was started by."""
        key = text_of(event, "parent_tool_use_id")
        if key:
            key = turn.own_key(key)
            tool = self._adapter.ledger.tools.get(key)
            arguments = {} if tool is None else tool.arguments
            turn.start_agent(key, text_of(arguments, "subagent_type", "description") or "Sub-agent", inside=key)
        return key

    def _user(self, told: Told, agent: str, event: Any) -> None:
        results = [block for block in items_of(event, "content") if type(block).__name__ == "ToolResultBlock"]
        if results:  # the model has been told, so its message was whole
            told.messages.end(agent)
        for block in results:
            self._tool_result(block)

    def _tool_result(self, block: Any) -> None:
        told = self._begun()
        key, result = told.turn.own_key(text_of(block, "tool_use_id")), readable(field_of(block, "content"))
        failed = field_of(block, "is_error") is True
        said = (result if isinstance(result, str) else "the tool failed") if failed else None
        if key not in told.tasks.values():
            told.messages.end(key)
            told.turn.end_agent(key, error=said)
        told.turn.end_tool(key, result=result, error=said)

    def _task(self, told: Told, event: Any) -> None:
        """A sub-agent that may go on when the call that started it is over."""
        task, key = text_of(event, "task_id"), text_of(event, "tool_use_id")
        key = told.turn.own_key(key) if key else ""
        status = text_of(event, "status")
        if type(event).__name__ == "TaskStartedMessage" and key:
            told.tasks[task] = key
            told.turn.start_agent(key, text_of(event, "description") or "Sub-agent", inside=key)
        elif type(event).__name__ == "TaskProgressMessage":
            told.turn.progress(told.tasks.get(task, key), text_of(event, "description"))
        elif status in OVER:
            key = told.tasks.pop(task, key)
            error = {"failed": "it failed", "completed": None}.get(status, CancelledError("it was stopped"))
            told.messages.end(key)
            told.turn.end_agent(key, error=error)

    def _result(self, told: Told, event: Any) -> None:
        turn, subtype, said = told.turn, text_of(event, "subtype"), text_of(event, "result")
        cancelled = text_of(event, "terminal_reason").startswith("aborted")
        failed = field_of(event, "is_error") is True and not cancelled
        rest = told.messages.rest(field_of(event, "usage"))
        if rest is not None:
            told.messages.end("", usage=rest)
        for denied in items_of(event, "permission_denials"):
            turn.refuse_tool(turn.own_key(text_of(denied, "tool_use_id")), "it was not permitted")
        deferred = field_of(event, "deferred_tool_use")
        if deferred is not None:
            key, name = turn.own_key(text_of(deferred, "id")), text_of(deferred, "name")
            turn.ask_tool(key, name, arguments_of(field_of(deferred, "input")))
            turn.pause(key, f"May `{name}` run?", choices=("allow", "deny"), call=key)
        if subtype in LIMITS:
            self._run.record(LimitReached(kind=LIMITS[subtype], actual=count_of(event, "num_turns")))
        elif failed:
            errors = [error for error in plain(items_of(event, "errors")) if isinstance(error, str)]
            turn.end_model(self._run.new_id(), error="; ".join(errors) or said or subtype)
        elif said and not cancelled:
            turn.answer(said)
        self._charge(turn, event)
        self._end(told, CancelledError("it was interrupted") if cancelled else None)

    def _charge(self, turn: Turn, event: Any) -> None:
        total, session = field_of(event, "total_cost_usd"), text_of(event, "session_id")
        if isinstance(total, (int, float)):
            before = self._adapter.costs.get(session, 0.0)
            self._adapter.costs[session] = float(total)
            turn.charge(float(total) - before if total >= before else float(total))

    def _end(self, told: Told, error: BaseException | None) -> None:
        if error is None:
            for agent in tuple(told.messages.open):
                told.messages.end(agent)
        told.turn.close(error)
        self._told = None
