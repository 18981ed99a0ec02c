"""The callbacks of LangChain's models: chat models, and those that only go on with a text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentcell.adapters.fields import field, text_of
from agentcell.adapters.hearing import heard
from agentcell.adapters.langchain_calls import Callbacks
from agentcell.adapters.langchain_hosted import HostedTools
from agentcell.adapters.langchain_messages import (
    PARAGRAPH,
    offers_of,
    private_thinking,
    response_id_of,
    spoken_of,
    usage_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from uuid import UUID

    from agentcell.adapters.langchain_calls import Call


class ModelCallbacks(Callbacks):
    """From the start of a model to its last word."""

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
        around = self.calls.open.get(parent_run_id) if parent_run_id is not None else None
        if around is None or around.tool == around.key:
            self.run.raise_if_stopping()  # not in a chain, which has just looked: several handlers of an async model do not bear it
        with self.calls.ledger.lock:
            told = metadata or {}
            asked = more.get("invocation_params") or {}
            model = told.get("ls_model_name") or asked.get("model") or asked.get("model_name")
            inner, name = _inner_name(told, more.get("tags")), str(model or "Model")
            call = self.calls.begin(run_id, parent_run_id, name, metadata, agent=inner or name)
            if call is None:
                return
            call.root.models += 1
            call.structured = bool((more.get("options") or {}).get("ls_structured_output_format"))
            # A model that a tool asks speaks to that tool.
            if (inner or call.tool is not None) and not (call.parent is None and call.turn.is_inside):
                call.turn.start_agent(call.key, inner or call.name, agent=call.agent, inside=call.tool)
                call.agent = call.key
            call.hosted = HostedTools(call.turn, call.key, call.agent)
            provider = told.get("ls_provider")
            offers = offers_of(asked.get("tools"))
            call.turn.start_model(call.key, agent=call.agent, model=model, provider=provider, tools=offers, strand=call.place)

    on_llm_start = on_chat_model_start

    @heard
    def on_llm_new_token(self, token: Any, *, run_id: UUID, chunk: Any = None, **_: Any) -> None:
        call = self.calls.open.get(run_id)
        if call is not None:
            message = field(chunk, "message")
            if message is None:
                call.turn.write(call.key, token if isinstance(token, str) else "")
            else:
                self._hear_piece(call, message)
        self.run.raise_if_stopping()

    @heard
    def on_llm_end(self, response: Any, *, run_id: UUID, **_: Any) -> None:
        with self.calls.ledger.lock:
            call = self.calls.open.pop(run_id, None)
            generation = _first(field(response, "generations"))
            message = field(generation, "message")
            if call is None:
                return
            if message is None:  # a model that only goes on with a text
                text = text_of(generation, "text")
                call.turn.end_model(call.key, text=text, tool_calls=0)
                self._note_answer(call, text)
            else:
                self._end_model(call, message)
            self._leave_model(call)

    @heard
    def on_llm_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        with self.calls.ledger.lock:
            call = self.calls.open.pop(run_id, None)
            if call is not None:
                call.turn.end_model(call.key, error=error)
                self._leave_model(call, error)

    def _hear_piece(self, call: Call, message: Any) -> None:
        spoken = spoken_of(message)
        if spoken.thinking:
            apart = call.thinks_at not in (None, spoken.place)
            call.thinks_at = spoken.place
            call.turn.think(call.key, (PARAGRAPH if apart else "") + spoken.thinking)
        call.turn.write(call.key, spoken.text)
        if call.hosted is not None:
            call.hosted.hear(message)

    def _end_model(self, call: Call, message: Any) -> None:
        turn, told = call.turn, field(message, "response_metadata") or {}
        spoken, asked = spoken_of(message), field(message, "tool_calls") or []
        turn.reconcile(call.key, text=spoken.text, thinking=spoken.thinking)  # it spoke before it asked
        for number, one in enumerate(asked):
            key = self.calls.ask_tool(call, one.get("id") or f"{call.key}:{number}")
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
        if not asked:
            self._note_answer(call, spoken.text)

    def _note_answer(self, call: Call, text: str) -> None:
        if text and not call.agent:
            call.root.said.append(text)

    def _leave_model(self, call: Call, error: BaseException | None = None) -> None:
        if call.agent == call.key:
            call.turn.end_agent(call.key, error=error)
        if call.parent is None:
            self.calls.end_turn(call, error)


def _first(generations: Any) -> Any:
    """The first thing that a model said to its first prompt."""
    while isinstance(generations, list | tuple):
        generations = generations[0] if generations else None
    return generations


def _inner_name(metadata: Mapping[str, Any], tags: Sequence[str] | None) -> str:
    """What a model call is called that is marked as one inside the agent, which nobody is to read; "" for any other.

    LangChain's middleware marks its own calls (`lc_source`, as in "summarization"), and people mark theirs with a tag.
    """
    marked = "lc_internal_call" in metadata or not {"nostream", "langsmith:nostream"}.isdisjoint(tags or ())
    return text_of(metadata, "lc_source") or (text_of(metadata, "langgraph_node") or "Model" if marked else "")
