"""The Claude Agent SDK's messages, as classes of the same names: its wheel brings a whole program, and has an environment of its own."""

from __future__ import annotations

import asyncio
from dataclasses import make_dataclass

import pytest

from adapters.claude_scenarios import *  # noqa: F403 - the tests
from adapters.claude_scenarios import watch

NOTHING = None
BLOCKS = {
    kind: make_dataclass(name, fields)
    for kind, name, fields in (
        ("text", "TextBlock", ["text"]),
        ("thinking", "ThinkingBlock", ["thinking", "signature"]),
        ("tool_use", "ToolUseBlock", ["id", "name", "input"]),
        ("tool_result", "ToolResultBlock", ["tool_use_id", "content", ("is_error", object, NOTHING)]),
    )
}


def message(kind, /, *bases, **values):
    return make_dataclass(kind, list(values), bases=bases)(**values)


SystemMessage = make_dataclass("SystemMessage", ["subtype", "data"])
TASKS = {
    "task_started": "TaskStartedMessage",
    "task_progress": "TaskProgressMessage",
    "task_notification": "TaskNotificationMessage",
    "hook_started": "HookEventMessage",
}


def block(data):
    fields = {name: value for name, value in data.items() if name != "type"}
    return BLOCKS[data["type"]](**fields)


def parse(data):
    """One line of the command line's output as the SDK gives it out."""
    rest = {name: value for name, value in data.items() if name not in ("type", "message", "rate_limit_info")}
    match data["type"]:
        case "assistant":
            body = data["message"]
            rest = {"error": None, "stop_reason": None} | rest
            content = [block(one) for one in body["content"]]
            return message(
                "AssistantMessage", content=content, model=body["model"], usage=body["usage"], message_id=body["id"], **rest
            )
        case "user":
            return message("UserMessage", content=[block(one) for one in data["message"]["content"]], **rest)
        case "stream_event":
            return message("StreamEvent", **rest)
        case "result":
            absent = dict.fromkeys(("errors", "permission_denials", "deferred_tool_use", "terminal_reason"))
            rest = absent | rest
            if rest["deferred_tool_use"]:
                rest["deferred_tool_use"] = message("DeferredToolUse", **rest["deferred_tool_use"])
            return message("ResultMessage", **rest)
        case "rate_limit_event":
            return message("RateLimitEvent", rate_limit_info=message("RateLimitInfo", **data["rate_limit_info"]), **rest)
        case "conversation_reset":
            return message("ConversationResetMessage", **rest)
        case _:
            return message(TASKS.get(data["subtype"], "SystemMessage"), SystemMessage, data=data, **rest)


@pytest.fixture
def play():
    async def messages(script):
        for data in script:
            if isinstance(data, Exception):
                raise data
            if isinstance(data, asyncio.Event):
                await data.wait()
            else:
                yield parse(data)

    async def read(run, script, times=1):
        return [type(one).__name__ async for one in (messages(script) if run is None else watch(run, messages(script), times))]

    return read
