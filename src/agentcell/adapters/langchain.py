"""Listens to LangChain and whatever is built on it (LangGraph, deepagents) through one callback handler."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from agentcell.adapters.ambient import run_here
from agentcell.adapters.fields import items_of, text_of
from agentcell.adapters.hearing import heard
from agentcell.adapters.langchain_calls import is_no_failure
from agentcell.adapters.langchain_messages import PARAGRAPH, messages_in, spoken_of, tool_end_of
from agentcell.adapters.langchain_models import ModelCallbacks
from agentcell.adapters.langchain_tools import ToolCallbacks
from agentcell.events import TurnEnded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from uuid import UUID

    from agentcell.adapters.langchain_calls import Call


class LangChainAdapter(ModelCallbacks, ToolCallbacks):
    """The callbacks: those of models and tools, and of the chains and graphs around them."""

    def close(self, error: BaseException | None = None) -> None:
        """The run's block is left."""
        self.calls.ledger.close(error)
        self.calls.open.clear()

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
        with self.calls.ledger.lock:
            name = str(more.get("name") or "chain")
            call = self.calls.begin(run_id, parent_run_id, name, metadata, agent="" if name == "LangGraph" else name)
            if call is None:
                return
            if call.parent is None:
                self.calls.pauses.resume(inputs)
            elif call.parent.parent is not None and any(tag.startswith("graph:step:") for tag in tags or ()):
                self.calls.become_agent(call.parent)  # what has nodes is a graph, and this one runs inside something
                call.agent, call.tool = call.parent.agent, None

    @heard
    def on_chain_end(self, outputs: Any, *, run_id: UUID, **_: Any) -> None:
        self._end_chain(run_id, outputs)

    @heard
    def on_chain_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        self._end_chain(run_id, None, error)

    def _end_chain(self, run_id: UUID, outputs: Any, error: BaseException | None = None) -> None:
        with self.calls.ledger.lock:
            call = self.calls.open.pop(run_id, None)
            if call is None:
                return
            for message in messages_in(outputs):  # of calls that no tool has run: refused ones, those that only bring an object
                asked = text_of(message, "tool_call_id")
                if asked:
                    result, failure = tool_end_of(message, asked)
                    call.turn.end_tool(self.calls.key_of(call, asked), result=result, error=failure)
            waits = self.calls.pauses.hear(call.turn, error)
            if is_no_failure(error):
                error = None
            if call.parent is None:
                self._answer(call, outputs)
                self.calls.end_turn(call, error)
            elif call.agent == call.key:
                if waits:
                    call.turn.suspend_agent(call.key)
                else:
                    call.turn.end_agent(call.key, error=error)

    def _answer(self, call: Call, outputs: Any) -> None:
        """The answer is what the outermost call returns: its models may have said more (a router does), or others what it passes on."""
        if call.turn.is_inside or not call.models:
            return
        answer = call.said
        if isinstance(outputs, str):
            answer = [outputs] if any(text in outputs for text in call.said) else answer
        else:
            messages = list(messages_in(outputs))
            texts = [spoken_of(message).text if _may_answer(message) else "" for message in messages]
            if any(texts):
                answer = [text for text in call.said if text in texts]
                answer += [text for text in texts[-1:] if text and text not in answer]
        if answer and not call.said:
            call.turn.answer(answer[0])
        elif answer != call.said:
            self._correct(PARAGRAPH.join(call.said), PARAGRAPH.join(answer))

    def _correct(self, told: str, answer: str) -> None:
        so_far = self.run.answer_text
        if answer and so_far.endswith(told):
            self.run.record(TurnEnded(text=so_far[: len(so_far) - len(told)] + answer))


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


def _may_answer(message: Any) -> bool:
    return text_of(message, "type") == "ai" and not items_of(message, "tool_calls")
