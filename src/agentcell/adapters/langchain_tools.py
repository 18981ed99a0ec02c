"""The callbacks of LangChain's tools and retrievers, and of what they tell on their way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agentcell.adapters.fields import field
from agentcell.adapters.hearing import heard
from agentcell.adapters.langchain_calls import Callbacks
from agentcell.events import Reported

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID


class ToolCallbacks(Callbacks):
    """From the start of a tool to its result."""

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
        with self.calls.ledger.lock:
            name = str((serialized or {}).get("name") or more.get("name") or "tool")
            arguments = inputs if isinstance(inputs, Mapping) else {"input": input_str}
            self.calls.start_tool(run_id, parent_run_id, name, arguments, asked=tool_call_id, metadata=metadata)

    @heard
    def on_tool_end(self, output: Any, *, run_id: UUID, **_: Any) -> None:
        self.calls.end_tool(run_id, output)

    @heard
    def on_tool_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        self.calls.end_tool(run_id, None, error)

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
        with self.calls.ledger.lock:
            name = str(more.get("name") or (serialized or {}).get("name") or "retriever")
            self.calls.start_tool(run_id, parent_run_id, name, {"query": query}, metadata=metadata)

    @heard
    def on_retriever_end(self, documents: Sequence[Any], *, run_id: UUID, **_: Any) -> None:
        found = [{**(field(one, "metadata") or {}), "text": field(one, "page_content")} for one in documents]
        self.calls.end_tool(run_id, found)

    on_retriever_error = on_tool_error

    @heard
    def on_custom_event(self, name: str, data: Any, *, run_id: UUID, **_: Any) -> None:
        call = self.calls.open.get(run_id)
        if call is not None and call.tool is not None:
            call.turn.progress(call.tool, data if isinstance(data, str | Mapping) else {name: data})
        else:
            self.run.record(Reported(name=name, evidence=data if isinstance(data, Mapping) else {"data": data}))
        self.run.raise_if_stopping()
