"""What AG-UI events say one by one, and what a remote run has told in them so far."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import TYPE_CHECKING, Any

from agentcell.adapters.fields import count_of, field, text_of
from agentcell.events import Usage

if TYPE_CHECKING:
    from agentcell.adapters.ledger import Turn

KINDS = ("RUN_", "TEXT_MESSAGE_", "TOOL_CALL_", "REASONING_", "SUBAGENT_", "STEP_", "STATE_", "MESSAGES_", "ACTIVITY_", "THINKING_")
"""How the types of AG-UI events begin; `RAW` and `CUSTOM` are two more."""


@dataclass(slots=True)
class Speaker:
    """An agent of the remote run, and its newest model call: AG-UI tells of messages, not of calls, so these are concluded.

    A call is over when a result of its tools is there, and when another message begins after it has spoken.
    """

    agent: str
    count: int = 0
    message: str = ""
    role: str = "assistant"
    tool: str = ""
    spoke: bool = False
    over: bool = True
    asked: int = 0

    @property
    def model(self) -> str:
        """The key of the call."""
        return f"{self.agent}:{self.count}"


@dataclass(slots=True)
class Asked:
    """A tool call while its arguments stream in."""

    name: str
    speaker: Speaker
    model: str
    arguments: str = ""


@dataclass(slots=True)
class Told:
    """What a remote run has told so far, to reconcile a snapshot with."""

    texts: dict[str, str] = dataclass_field(default_factory=dict)
    calls: dict[str, Asked] = dataclass_field(default_factory=dict)


def event_of(line: str | bytes) -> Mapping[str, Any] | None:
    """The event in a line of server-sent events; an empty mapping for a line without data, None for data that is no event."""
    text = (line.decode("utf-8", "replace") if isinstance(line, bytes) else line).strip()
    if text.startswith("data:"):
        text = text[5:].strip()
    elif not text or text.startswith((":", "event:", "id:", "retry:")):
        return {}
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, Mapping) else None


def key_in(turn: Turn, event: Any, *names: str) -> str | None:
    """The key of the tool call whose id stands in one of these fields: remote runs side by side may use the same ids."""
    call_id = text_of(event, *names)
    return turn.own_key(call_id) if call_id else None


def content_of(event: Any) -> Any:
    """What a tool gave: text, which may be JSON, or the text of its parts."""
    content = field(event, "content")
    if isinstance(content, (list, tuple)):
        return "\n".join(filter(None, (text_of(part, "text") for part in content)))
    if isinstance(content, str) and content[:1] in ("{", "["):
        try:
            return json.loads(content)
        except ValueError:
            pass
    return content


def usage_of(counted: Any) -> Usage:
    """Tokens of one model, which AG-UI counts as `Usage` does."""
    return Usage(
        input_tokens=count_of(counted, "input_tokens", "inputTokens"),
        output_tokens=count_of(counted, "output_tokens", "outputTokens"),
        cache_read_tokens=count_of(counted, "cached_input_tokens", "cachedInputTokens"),
        cache_write_tokens=count_of(counted, "cache_write_input_tokens", "cacheWriteInputTokens"),
        reasoning_tokens=count_of(counted, "reasoning_tokens", "reasoningTokens"),
    )
