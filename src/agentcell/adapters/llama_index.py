"""Tells a run what LlamaIndex's workflows do, its agents among them: heard by their spans in a block, or by the events they stream."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import TYPE_CHECKING, Any, ClassVar

from agentcell.adapters.fields import arguments_of, field, items_of, text_of
from agentcell.adapters.hearing import heard
from agentcell.adapters.ledger import Ledger
from agentcell.adapters.llama_index_usage import usage_of
from agentcell.events import Noted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentcell.adapters.ledger import Turn
    from agentcell.run import Run


@dataclass(slots=True)
class Flow:
    """One run of one workflow.

    Attributes:
        turn: The turn that it belongs to.
        key: What its own things in the turn begin with.
        agent: The key of the agent that has the word; `root` for a workflow that runs inside another's tool, else "".
        root: The key of the workflow's own agent.
        name: The name of the agent that has the word, "" before the first.
        first: The name of the first.
        model: The key of the newest model call.
        count: How many model calls there were.
        running: The keys of the tool calls that run.
        keys: The keys of all of them, by their ids.
    """

    turn: Turn
    key: str
    agent: str = ""
    root: str = ""
    name: str = ""
    first: str = ""
    model: str = ""
    count: int = 0
    running: dict[str, None] = dataclass_field(default_factory=dict)
    keys: dict[str, str] = dataclass_field(default_factory=dict)

    def tool_key(self, call: Any) -> str:
        """The key of a tool call: workflows side by side may use the same ids."""
        call_id = text_of(call, "tool_id")
        if call_id not in self.keys:
            self.keys[call_id] = f"{self.root}:{call_id}" if self.root else self.turn.own_key(call_id)
        return self.keys[call_id]


class LlamaIndexAdapter:
    """Hears all of LlamaIndex's workflows in one run."""

    framework: ClassVar[str] = "LlamaIndex"

    def __init__(self, run: Run) -> None:
        self.run = run
        self.ledger = Ledger(run)
        self.heard_runs: set[str] = set()  # the framework's ids of the workflow runs that the spans tell of
        self.heard_contexts: dict[int, Any] = {}  # before 0.14, which tells no ids: the runs' contexts, by their `id`

    def has_heard(self, handle: Any) -> bool:
        """Whether the spans tell of the workflow run with this handle."""
        return text_of(handle, "run_id") in self.heard_runs or id(field(handle, "ctx")) in self.heard_contexts

    def close(self, error: BaseException | None = None) -> None:
        """The block is left."""
        self.ledger.close(error)

    def begin(self, key: str, *, outer: Flow | None = None, inside: str | None = None, name: str = "") -> Flow:
        """A workflow begins to run, if not by itself then in `outer`, in its tool call with the key `inside`."""
        if outer is None or (inside and not self.ledger.is_here(outer.turn, inside)):
            return Flow(self.ledger.turn(key, name), key)
        outer.turn.start_agent(key, name, agent=outer.agent, inside=inside)
        return Flow(outer.turn, key, agent=key, root=key)

    @heard
    def end(self, flow: Flow, error: BaseException | None = None) -> None:
        """A workflow has run."""
        if flow.root:
            flow.turn.end_agent(flow.root, error=error)
        else:
            flow.turn.close(error)

    @heard
    def give_word(self, flow: Flow, name: str) -> None:
        """An agent of the workflow has the word now; one that it was handed to stands under the one that did."""
        if not name or name == flow.name:
            return
        flow.first = flow.first or name
        if name == flow.first:
            flow.agent = flow.root
        else:
            key = f"{flow.key}:{name}"
            flow.turn.start_agent(key, name, agent=flow.agent, speaks=True)
            flow.agent = key
        flow.name = name

    def ask(self, flow: Flow, *, model: str | None = None) -> str:
        """A model is asked; returns the key of the call, because a workflow may ask several at once."""
        flow.count += 1
        flow.model = f"{flow.key}:{flow.count}"
        flow.turn.start_model(flow.model, agent=flow.agent, model=model)
        return flow.model

    @heard
    def hear_piece(self, flow: Flow, key: str, *, text: str, thinking: str, thoughts: Sequence[Any] = ()) -> None:
        """A model says something; `thoughts` are the blocks of reasoning so far, where they come by no deltas."""
        flow.turn.think(key, thinking, agent=flow.agent)
        flow.turn.reconcile(key, thinking=contents_of(thoughts), agent=flow.agent)
        flow.turn.write(key, text, agent=flow.agent)

    @heard
    def hear_output(self, flow: Flow, key: str, response: Any, raw: Any) -> None:
        """A model has answered: with a message, or, one that only completes, with text."""
        message = field(response, "message") or response
        told = field(raw, "response") or raw  # the last event of OpenAI's Responses has it inside
        flow.turn.end_model(
            key,
            text="".join(text_of(block, "text") for block in blocks_of(message, "text")) or text_of(response, "text"),
            thinking=contents_of(blocks_of(message, "thinking")),
            usage=usage_of(told),
            model=text_of(told, "model") or None,
            response_id=text_of(told, "id") or None,
            tool_calls=len(blocks_of(message, "tool_call")) or None,
        )

    @heard
    def hear_failure(self, flow: Flow, key: str, error: BaseException) -> None:
        """A model has not answered."""
        flow.turn.end_model(key, error=error)

    @heard
    def hear_requests(self, flow: Flow, calls: Any) -> None:
        """The agent has read from the model's answer which tools it asks for."""
        for call in calls:
            arguments = arguments_of(field(call, "tool_kwargs"))
            flow.turn.ask_tool(flow.tool_key(call), text_of(call, "tool_name"), arguments, agent=flow.agent, model=flow.model)

    @heard
    def start_tool(self, flow: Flow, call: Any) -> None:
        """A tool begins to run, or its step is run again because what it waited for is there."""
        key = flow.tool_key(call)
        flow.running[key] = None
        arguments = arguments_of(field(call, "tool_kwargs"))
        flow.turn.start_tool(key, text_of(call, "tool_name"), arguments, agent=flow.agent, model=flow.model)

    @heard
    def end_tool(self, flow: Flow, result: Any) -> None:
        """A tool has run."""
        key, output = flow.tool_key(result), field(result, "tool_output")
        flow.running.pop(key, None)
        if field(output, "is_error"):
            flow.turn.end_tool(key, error=field(output, "exception") or text_of(output, "content"))
        else:
            flow.turn.end_tool(key, result=field(output, "raw_output"))

    @heard
    def pause(self, flow: Flow, event: Any, *, call: str | None) -> None:
        """The workflow waits on the person, in the tool call with the key `call` if in one."""
        question = text_of(event, "prefix") or "The agent waits for an answer."
        flow.turn.pause(pause_key(flow, call), question, call=call)

    @heard
    def resume(self, flow: Flow, event: Any = None, *, call: str | None) -> None:
        """The person has answered."""
        self.ledger.resume(pause_key(flow, call), text_of(event, "response") or None)

    @heard
    def note(self, event: Any) -> None:
        """A workflow streams an event of the user's own: what it says in a field `msg` or `message` is for the person."""
        said = text_of(event, "msg", "message")
        if said:
            self.run.record(Noted(text=said))


def pause_key(flow: Flow, call: str | None) -> str:
    """The key of the pause in a tool call, or in the workflow itself."""
    return f"{flow.key}:{call or 'pause'}"


def blocks_of(message: Any, kind: str) -> list[Any]:
    """The blocks of one kind in a message."""
    return [block for block in items_of(message, "blocks") if text_of(block, "block_type") == kind]


def contents_of(thoughts: Sequence[Any]) -> str:
    """What blocks of reasoning say."""
    return "".join(text_of(block, "content") for block in thoughts)
