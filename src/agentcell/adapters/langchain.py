"""Listens to LangChain and whatever is built on it (LangGraph, deepagents) through one callback handler.

Every call of a model, a tool, a graph or a chain has an id there, and that of the call around it. The outermost call is a turn.
A graph that runs inside another call is a sub-agent: what it writes is its own, not the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from agentcell.adapters.ambient import run_here
from agentcell.adapters.fields import field, text_of
from agentcell.adapters.hearing import heard
from agentcell.adapters.langchain_hosted import HostedTools
from agentcell.adapters.langchain_messages import (
    PARAGRAPH,
    messages_in,
    offers_of,
    private_thinking,
    response_id_of,
    spoken_of,
    tool_end_of,
    usage_of,
)
from agentcell.adapters.langchain_pauses import Pauses
from agentcell.adapters.ledger import Ledger
from agentcell.events import Reported

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from uuid import UUID

    from agentcell.adapters.ledger import Turn
    from agentcell.run import Run
    from agentcell.tool_call import FrameworkCall


@dataclass(slots=True)
class _Call:
    """One call that goes on.

    Attributes:
        turn: The turn that it belongs to.
        parent: The call around it, None for the outermost.
        name: Its name there.
        agent: The key of the sub-agent that it belongs to; "" is the agent itself.
        tool: The key of the tool call that it is, or is made in; None when an agent stands between.
        place: The node of a graph that it belongs to.
        key: What the ledger knows it by.
        thinks_at: Of a model, the place in its message of the reasoning that was heard last.
        hosted: Of a model, the tools that its provider runs.
        structured: Of a model, whether it was asked for an object, by way of a tool that nobody runs.
        models: Of the outermost, how many models were asked.
        spoke: Of the outermost, whether a model of its own wrote something that may be the answer.
        inside: Of a tool, what makes its own code a part of it.
    """

    turn: Turn
    parent: _Call | None
    name: str
    agent: str
    tool: str | None
    place: str
    key: str
    thinks_at: Any = None
    hosted: HostedTools | None = None
    structured: bool = False
    models: int = 0
    spoke: bool = False
    inside: FrameworkCall | None = None

    @property
    def root(self) -> _Call:
        call = self
        while call.parent is not None:
            call = call.parent
        return call


class LangChainAdapter:
    """The callbacks. They are plain functions that run where they are called (`run_inline`): a word of a model must not change threads.

    Attributes:
        run: The run that hears.
    """

    framework: ClassVar[str] = "LangChain"
    run_inline: bool = True
    raise_error: bool = False

    def __init__(self, run: Run) -> None:
        self.run = run
        self.ledger = Ledger(run)
        self._pauses = Pauses(self.ledger)
        self._calls: dict[UUID, _Call] = {}

    def close(self, error: BaseException | None = None) -> None:
        """The run's block is left."""
        self.ledger.close(error)
        self._calls.clear()

    # Chains and graphs

    @heard
    def on_chain_start(
        self,
        _serialized: Any,
        inputs: Any,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: Sequence[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> None:
        self.run.raise_if_stopping()
        with self.ledger.lock:
            call = self._begin(run_id, parent_run_id, str(more.get("name") or "chain"), metadata)
            if call is None:
                return
            if call.parent is None:
                self._pauses.resume(inputs)
            elif call.parent.parent is not None and any(tag.startswith("graph:step:") for tag in tags or ()):
                self._become_agent(call.parent)  # what has nodes is a graph, and this one runs inside something
                call.agent, call.tool = call.parent.agent, None

    @heard
    def on_chain_end(self, outputs: Any, *, run_id: UUID, **_: Any) -> None:
        self._end_chain(run_id, outputs)

    @heard
    def on_chain_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        self._end_chain(run_id, None, error)

    def _become_agent(self, call: _Call) -> None:
        if call.agent == call.key:
            return
        named = call.name if call.name != "LangGraph" else (call.place if call.tool is None else "")
        key = f"{call.tool or call.agent}/{named}"  # the same when it goes on after a pause, as a call with another id
        while any(one.key == key for one in self._calls.values()):
            key += "/"
        call.turn.start_agent(key, named, agent=call.agent, inside=call.tool)
        call.agent, call.tool, call.key = key, None, key

    def _end_chain(self, run_id: UUID, outputs: Any, error: BaseException | None = None) -> None:
        with self.ledger.lock:
            call = self._calls.pop(run_id, None)
            if call is None:
                return
            for message in messages_in(outputs):  # of calls that no tool has run: refused ones, those that only bring an object
                asked = text_of(message, "tool_call_id")
                if asked:
                    result, failure = tool_end_of(message, asked)
                    call.turn.end_tool(asked, result=result, error=failure)
            waits = self._pauses.hear(call.turn, error)
            if _is_no_failure(error):
                error = None
            if call.parent is None:
                self._answer(call, outputs)
                self._end_turn(call, error)
            elif call.agent == call.key:
                if waits:
                    call.turn.suspend_agent(call.key)
                else:
                    call.turn.end_agent(call.key, error=error)

    def _answer(self, call: _Call, outputs: Any) -> None:
        """A graph of agents answers with what one of them said last, which was heard as words of that one."""
        last = list(messages_in(outputs))[-1:] if call.models and not call.spoke else []
        for message in last:
            if text_of(message, "type") == "ai":
                call.turn.answer(spoken_of(message).text)

    def _end_turn(self, call: _Call, error: BaseException | None) -> None:
        call.turn.close(error)
        for run_id in [run_id for run_id, one in self._calls.items() if one.turn is call.turn]:
            del self._calls[run_id]

    # Models

    @heard
    def on_chat_model_start(
        self,
        _serialized: Any,
        _messages: Any,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> None:
        around = self._calls.get(parent_run_id) if parent_run_id is not None else None
        if around is None or around.tool == around.key:
            self.run.raise_if_stopping()  # not in a chain, which has just looked: several handlers of an async model do not bear it
        with self.ledger.lock:
            told = metadata or {}
            asked = more.get("invocation_params") or {}
            model = told.get("ls_model_name") or asked.get("model") or asked.get("model_name")
            call = self._begin(run_id, parent_run_id, str(model or "Model"), metadata)
            if call is None:
                return
            call.root.models += 1
            call.structured = bool((more.get("options") or {}).get("ls_structured_output_format"))
            if call.tool is not None:  # a model that a tool asks speaks to that tool
                call.turn.start_agent(call.key, call.name, agent=call.agent, inside=call.tool)
                call.agent = call.key
            call.hosted = HostedTools(call.turn, call.key, call.agent)
            provider = told.get("ls_provider")
            offers = offers_of(asked.get("tools"))
            call.turn.start_model(call.key, agent=call.agent, model=model, provider=provider, tools=offers)

    on_llm_start = on_chat_model_start

    @heard
    def on_llm_new_token(self, token: Any, *, run_id: UUID, chunk: Any = None, **_: Any) -> None:
        call = self._calls.get(run_id)
        if call is not None:
            message = field(chunk, "message")
            if message is None:
                call.turn.write(call.key, token if isinstance(token, str) else "")
            else:
                self._hear_piece(call, message)
        self.run.raise_if_stopping()

    @heard
    def on_llm_end(self, response: Any, *, run_id: UUID, **_: Any) -> None:
        with self.ledger.lock:
            call = self._calls.pop(run_id, None)
            generation = _first(field(response, "generations"))
            message = field(generation, "message")
            if call is None:
                return
            if message is None:  # a model that only goes on with a text
                text = text_of(generation, "text")
                call.turn.end_model(call.key, text=text, tool_calls=0)
                call.root.spoke |= bool(text and not call.agent)
            else:
                self._end_model(call, message)
            self._leave_model(call)

    @heard
    def on_llm_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        with self.ledger.lock:
            call = self._calls.pop(run_id, None)
            if call is not None:
                call.turn.end_model(call.key, error=error)
                self._leave_model(call, error)

    def _hear_piece(self, call: _Call, message: Any) -> None:
        spoken = spoken_of(message)
        if spoken.thinking:
            apart = call.thinks_at not in (None, spoken.place)
            call.thinks_at = spoken.place
            call.turn.think(call.key, (PARAGRAPH if apart else "") + spoken.thinking)
        call.turn.write(call.key, spoken.text)
        if call.hosted is not None:
            call.hosted.hear(message)

    def _end_model(self, call: _Call, message: Any) -> None:
        turn, told = call.turn, field(message, "response_metadata") or {}
        spoken, asked = spoken_of(message), field(message, "tool_calls") or []
        for number, one in enumerate(asked):
            key = one.get("id") or f"{call.key}:{number}"
            turn.ask_tool(key, one["name"], one.get("args"), agent=call.agent, model=call.key)
            if call.structured:
                turn.end_tool(key, result=one.get("args"))
        if call.hosted is not None:
            call.hosted.hear(message)
        if not spoken.thinking:
            turn.end_thinking(call.key, private_thinking(message))
        turn.end_model(
            call.key,
            text=spoken.text,
            thinking=spoken.thinking,
            usage=usage_of(message),
            model=field(told, "model_name", "model"),
            finish_reason=field(told, "finish_reason", "stop_reason"),
            response_id=response_id_of(message),
            tool_calls=len(asked),
        )
        call.root.spoke |= bool(spoken.text and not asked and not call.agent)

    def _leave_model(self, call: _Call, error: BaseException | None = None) -> None:
        if call.agent == call.key:
            call.turn.end_agent(call.key, error=error)
        if call.parent is None:
            self._end_turn(call, error)

    # Tools

    @heard
    def on_tool_start(
        self,
        serialized: Mapping[str, Any] | None,
        input_str: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: Mapping[str, Any] | None = None,
        inputs: Mapping[str, Any] | None = None,
        tool_call_id: str | None = None,
        **more: Any,
    ) -> None:
        self.run.raise_if_stopping()
        with self.ledger.lock:
            name = str((serialized or {}).get("name") or more.get("name") or "tool")
            arguments = inputs if isinstance(inputs, Mapping) else {"input": input_str}
            key = tool_call_id or self.ledger.asked(name, arguments)
            self._start_tool(run_id, parent_run_id, name, arguments, key=key, metadata=metadata)

    @heard
    def on_tool_end(self, output: Any, *, run_id: UUID, **_: Any) -> None:
        self._end_tool(run_id, output)

    @heard
    def on_tool_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        self._end_tool(run_id, None, error)

    @heard
    def on_retriever_start(
        self,
        serialized: Mapping[str, Any] | None,
        query: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> None:
        self.run.raise_if_stopping()
        with self.ledger.lock:
            name = str(more.get("name") or (serialized or {}).get("name") or "retriever")
            self._start_tool(run_id, parent_run_id, name, {"query": query}, metadata=metadata)

    @heard
    def on_retriever_end(self, documents: Sequence[Any], *, run_id: UUID, **_: Any) -> None:
        found = [{**(field(one, "metadata") or {}), "text": field(one, "page_content")} for one in documents]
        self._end_tool(run_id, found)

    on_retriever_error = on_tool_error

    @heard
    def on_custom_event(self, name: str, data: Any, *, run_id: UUID, **_: Any) -> None:
        call = self._calls.get(run_id)
        if call is not None and call.tool is not None:
            call.turn.progress(call.tool, data if isinstance(data, str | Mapping) else {name: data})
        else:
            self.run.record(Reported(name=name, evidence=data if isinstance(data, Mapping) else {"data": data}))
        self.run.raise_if_stopping()

    def _start_tool(
        self,
        run_id: UUID,
        parent_run_id: UUID | None,
        name: str,
        arguments: Mapping[str, Any],
        *,
        key: str | None = None,
        metadata: Mapping[str, Any] | None,
    ) -> None:
        call = self._begin(run_id, parent_run_id, name, metadata)
        if call is not None:
            outer, call.key = call.tool, key or call.key
            call.turn.start_tool(call.key, name, arguments, agent=call.agent, inside=outer)
            call.tool = call.key
            call.inside = call.turn.enter_tool(call.key)  # the tool runs in a copy of this context

    def _end_tool(self, run_id: UUID, output: Any, error: BaseException | None = None) -> None:
        with self.ledger.lock:
            call = self._calls.pop(run_id, None)
            if call is None:
                return
            if call.inside is not None:
                call.inside.leave()
            waits = self._pauses.hear(call.turn, error, call.key)
            if not waits:
                result, failure = tool_end_of(output, call.key)
                call.turn.end_tool(call.key, result=result, error=failure if _is_no_failure(error) else error)
            if call.parent is None:
                self._end_turn(call, None if _is_no_failure(error) else error)

    def _begin(self, run_id: UUID, parent_run_id: UUID | None, name: str, metadata: Mapping[str, Any] | None) -> _Call | None:
        """A call begins; None for one that is known: whoever gave the handler twice is told once."""
        if run_id in self._calls:
            return None
        parent = self._calls.get(parent_run_id) if parent_run_id is not None else None
        key, place = str(run_id), str((metadata or {}).get("langgraph_node") or "")
        if parent is None:
            call = _Call(self.ledger.turn(key), None, name, "", None, place, key)
        else:
            call = _Call(parent.turn, parent, name, parent.agent, parent.tool, place, key)
        self._calls[run_id] = call
        return call


@cache
def handler_class() -> type[LangChainAdapter]:
    """The callbacks as the handler that LangChain takes; LangChain has to be there."""
    from langchain_core.callbacks import BaseCallbackHandler

    return type("LangChainHandler", (LangChainAdapter, BaseCallbackHandler), {})


class _HandlerHere:
    """What LangChain asks for the handler wherever something is called: it takes a `ContextVar`, and only ever calls its `get`."""

    def get(self) -> LangChainAdapter | None:
        run = run_here()
        return None if run is None else run.adapter(handler_class())


def attach() -> Callable[[], None]:
    """Lets LangChain ask for the handler of the run here; returns what ends that."""
    from langchain_core.tracers import context

    here: Any = _HandlerHere()
    context.register_configure_hook(here, inheritable=True)

    def detach() -> None:
        context._configure_hooks[:] = [hook for hook in context._configure_hooks if hook[0] is not here]  # noqa: SLF001 - no other way

    return detach


def _is_no_failure(error: BaseException | None) -> bool:
    """Whether a graph ended so by intent: it waits on the person, or hands over to the graph around it."""
    return error is None or any(base.__name__ == "GraphBubbleUp" for base in type(error).__mro__)


def _first(generations: Any) -> Any:
    """The first thing that a model said to its first prompt."""
    while isinstance(generations, list | tuple):
        generations = generations[0] if generations else None
    return generations
