"""What can happen in a run: frozen facts, appended and never edited.

A start and an end are two events, paired by an id. Names follow OpenTelemetry's GenAI conventions where these have a word
(tool call id, input and output tokens, cache read).

Before you add an event, ask three things. Can it be observed already, from the events that are there? Is it evidence, with what
made it so, and not only an outcome? Is its name one of a few, so that somebody can count it? A new field is cheaper than a new
event.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

if TYPE_CHECKING:
    from collections.abc import Mapping

Outcome: TypeAlias = Literal["answered", "failed", "cancelled", "limited"]
"""How a run ended."""

CallOutcome: TypeAlias = Literal["done", "failed", "cancelled"]
"""How a tool call, a sub-agent or a model call ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What every event carries.

    Attributes:
        seq: Position in its log, from 0. The log gives it.
        time: Seconds since the run's start, monotonic; never less than that of the event before.
        agent_id: The agent that it belongs to; "" is the run's own agent.
        source_id: The framework's own id for the place it came from (a span, a stage); None when it has none.
    """

    seq: int = 0
    time: float = 0.0
    agent_id: str = ""
    source_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted(Event):
    """The block was entered.

    `started_at` is seconds since the epoch, for people; every other time is relative to it. `thinking` (`show` or `hide`) and
    `split` (`auto` or `off`) say how what follows is to be shown.
    """

    task: str = ""
    agent: str = "Agent"
    model: str | None = None
    asker: str = "you"
    started_at: float = 0.0
    thinking: str = "show"
    split: str = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded(Event):
    """The block was left. `error_type` and `error` (one line) say why a run failed or was cancelled."""

    outcome: Outcome = "answered"
    error_type: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStarted(Event):
    """The person's next message reached the agent; a run may have several turns."""

    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentStarted(Event):
    """A sub-agent took over; `agent_id` is its own id, `parent_id` the agent or the tool call that started it."""

    name: str = ""
    parent_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentEnded(Event):
    """A sub-agent came back."""

    outcome: CallOutcome = "done"
    error: str | None = None


@dataclass(frozen=True, slots=True)
class ToolOffer:
    """A tool that a model was shown and may ask for; `description` is "" when it had none."""

    name: str
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelStarted(Event):
    """A request to a model; `model_call_id` pairs it with its text, thinking and end. `tools` are those it may ask for."""

    model_call_id: str = ""
    model: str | None = None
    provider: str | None = None
    tools: tuple[ToolOffer, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta(Event):
    """More answer text. With a `model_call_id` a model wrote it and may still ask for a tool; "" is text by the user's own code."""

    text: str = ""
    model_call_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingDelta(Event):
    """More of a model's own reasoning."""

    text: str = ""
    model_call_id: str = ""


@dataclass(frozen=True, slots=True)
class ThinkingBlock:
    """One closed piece of reasoning.

    Attributes:
        type: `thinking`, or `redacted_thinking` when the provider keeps the text to itself.
        content: The text; "" when redacted.
        signature: The provider's signature, byte-exact; it stays in Python, out of file and browser.
        summary: Whether `content` sums the reasoning up instead of being it.
    """

    type: Literal["thinking", "redacted_thinking"] = "thinking"
    content: str = ""
    signature: str | None = field(default=None, repr=False, compare=False)
    summary: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingEnded(Event):
    """A stretch of reasoning is complete; `blocks` are its parts as the provider gave them."""

    model_call_id: str = ""
    blocks: tuple[ThinkingBlock, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingFailed(Event):
    """A thinking handler raised; the run went on without that reasoning."""

    provider: str = ""
    handler: str = ""
    error: str = ""
    error_type: str = ""
    iteration: int = 0


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model call, or of many.

    Attributes:
        input_tokens: All that was read, cached tokens included.
        output_tokens: All that was written, reasoning included.
        cache_read_tokens: The part of the input that came from a cache.
        cache_write_tokens: The part of the input that was put into a cache.
        reasoning_tokens: The part of the output that was reasoning.
        unsaid: The fields above that the provider left out; they stand at 0 here.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    unsaid: tuple[str, ...] = field(default=(), compare=False)

    @property
    def total_tokens(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEnded(Event):
    """A model call is over.

    Attributes:
        usage: Its tokens, or None when the provider did not say.
        finish_reason: The provider's own word (`stop`, `tool_use`, …), or None when the stream broke off.
        outcome: `done`; `failed` with `error`; `cancelled` when the stream ended without its last event.
        response_id: The provider's id of the response, so that a usage told twice counts once.
        text: The whole text where the provider repeats it at the end; None when the deltas are all there is.
        tool_calls: How many tools the model asked for, None when nobody said.
        withheld: The text goes through a check first; `TurnEnded` brings what is delivered in its place.
        duration: Seconds as the framework measured them, None when it did not.
        cost: US dollars as the provider or the framework told them, None when they did not.
    """

    model_call_id: str = ""
    model: str | None = None
    usage: Usage | None = None
    finish_reason: str | None = None
    outcome: CallOutcome = "done"
    error: str | None = None
    response_id: str | None = None
    text: str | None = None
    tool_calls: int | None = None
    withheld: bool = False
    duration: float | None = None
    cost: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnded(Event):
    """The whole answer is known: `text` replaces what was written before, or only adds the tail that is missing; "" says nothing of it.

    `refused` says that the answer was turned down; `text` is then what the person is told instead. `cost` is what the framework says
    that the turn cost, in US dollars: all of its model calls, `model_call_ids`, together.
    """

    text: str = ""
    refused: bool = False
    cost: float | None = None
    model_call_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStarted(Event):
    """A tool was called. A second start with the same id says more about the same call (a resume, a replay).

    Attributes:
        call_id: The provider's tool call id, or one of ours.
        name: The tool's name.
        arguments: Its arguments as plain JSON values, secrets masked.
        parent_id: The tool call inside which this one was made.
        model_call_id: The model call that asked for it; "" when the user's own code called.
        requested: True while only the model has asked: nobody has been seen to run it yet.
    """

    call_id: str = ""
    name: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    parent_id: str | None = None
    model_call_id: str = ""
    requested: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolProgressed(Event):
    """A tool that is still running reported something."""

    call_id: str = ""
    payload: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolEnded(Event):
    """A tool call is over.

    `result` and `error` are plain JSON values, secrets masked; `error_type` is the exception's class; `duration` is seconds as
    the framework measured them, None when it did not.
    """

    call_id: str = ""
    outcome: CallOutcome = "done"
    result: Any = None
    error: str | None = None
    error_type: str | None = None
    duration: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseRequested(Event):
    """The run waits on the person; the clock stands still until `PauseResumed`."""

    pause_id: str = ""
    question: str = ""
    choices: tuple[str, ...] = ()
    call_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseResumed(Event):
    """The person answered."""

    pause_id: str = ""
    answer: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Routed(Event):
    """Somebody decided which agent or skill goes on.

    Attributes:
        route: The agent or skill.
        confidence: 0 to 1.
        reason: Why, in a few words.
        by: What kind of decision it was, in the framework's word (`entry`, `intent`, `menu`, …).
        evidence: What made it so, plain JSON values under the framework's names (scores, offers, losers).
    """

    route: str = ""
    confidence: float | None = None
    reason: str = ""
    by: str = ""
    evidence: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextEvaluated(Event):
    """What the model will see was put together: which parts are in it; `evidence` says why, as in `Routed`."""

    parts: tuple[str, ...] = ()
    evidence: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted(Event):
    """A bullet in plain words. With a `tool` it stands for a call that was made there."""

    text: str = ""
    tool: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitReached(Event):
    """A limit (`kind`: iterations, tokens, cost, time) was reached; the run ends as `limited` if it `stops` the run."""

    kind: str = ""
    limit: float | None = None
    actual: float | None = None
    stops: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported(Event):
    """Something a framework told that has no event of its own here: its `name` there, and what came with it."""

    name: str = ""
    evidence: Mapping[str, Any] = field(default_factory=dict)


AnyEvent: TypeAlias = (
    RunStarted
    | RunEnded
    | TurnStarted
    | AgentStarted
    | AgentEnded
    | ModelStarted
    | TextDelta
    | ThinkingDelta
    | ThinkingEnded
    | ThinkingFailed
    | ModelEnded
    | TurnEnded
    | ToolStarted
    | ToolProgressed
    | ToolEnded
    | PauseRequested
    | PauseResumed
    | Routed
    | ContextEvaluated
    | Noted
    | LimitReached
    | Reported
)

EVENT_TYPES: Mapping[str, type[AnyEvent]] = {cls.__name__: cls for cls in get_args(AnyEvent)}
"""Every kind of event by its name, as it is written in a saved run."""
