"""Which reader takes a stream's event, and how its call ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from agentcell.adapters.ag_ui import AgUiReader
from agentcell.adapters.anthropic_messages import MessagesReader
from agentcell.adapters.claude_agent import ClaudeMessagesReader
from agentcell.adapters.dspy_streams import DSPyStreamReader
from agentcell.adapters.fields import text_of
from agentcell.adapters.google_genai import GenerateContentReader
from agentcell.adapters.llama_index_events import WorkflowReader
from agentcell.adapters.model_call import ModelCall
from agentcell.adapters.openai_agents_stream import AgentStreamReader
from agentcell.adapters.openai_background import ResponseStreamReader
from agentcell.adapters.openai_chat import ChatReader
from agentcell.adapters.plain_text import TextReader
from agentcell.adapters.pydantic_ai_events import AgentEventsReader
from agentcell.adapters.smolagents_stream import AgentRunReader

if TYPE_CHECKING:
    from agentcell.run import Run


class Ending(Protocol):
    """What is over when its stream is."""

    def finish(self, error: BaseException | None = None, *, closed: bool = False) -> None:
        """The stream raised `error`, or somebody closed it, or it simply ended."""


class Reader(Protocol):
    """Reads the events of one provider into a model call, or of one framework into a turn.

    Attributes:
        derived: Types of the events that the SDK's helper makes of others and yields beside them: to read these too would
            say everything twice.
    """

    derived: ClassVar[frozenset[str]]

    @property
    def call(self) -> Ending:
        """Where it goes."""

    def __init__(self, call: ModelCall) -> None: ...

    @staticmethod
    def takes(kind: str, event: Any, /) -> bool:
        """Whether an event, whose `type` is `kind`, has this reader's shape."""
        ...

    def read(self, event: Any) -> None:
        """Records what one event says."""
        ...


READERS: tuple[type[Reader], ...] = (
    AgentEventsReader,
    AgUiReader,
    WorkflowReader,
    AgentStreamReader,
    ClaudeMessagesReader,
    AgentRunReader,
    DSPyStreamReader,
    ChatReader,
    ResponseStreamReader,
    MessagesReader,
    GenerateContentReader,
    TextReader,
)


class Reading:
    """The reading of one stream.

    The call begins before the first event, when nobody knows its shape yet. The first event that has a known shape picks the
    reader for it; events of another shape get a reader and a call of their own.

    Args:
        run: The run that hears of it.
        handle: A framework's handle on the agent whose stream it is.
    """

    def __init__(self, run: Run, handle: Any = None) -> None:
        self._run = run
        self._edge = run.guarding("stream")
        self._first = ModelCall(run, handle=handle)
        self._readers: list[Reader] = []  # the one that read last comes first
        self._unknown = False

    def begin(self) -> None:
        """The request is about to go out, or has gone."""
        with self._edge:
            self._first.begin()

    def read(self, event: Any) -> None:
        """Records what an event says; whatever the event is, this never raises."""
        with self._edge:
            self._read(event)

    def finish(self, error: BaseException | None = None, *, closed: bool = False) -> None:
        """The stream is over: it raised `error`, or somebody closed it, or it simply ended."""
        if not self._readers:
            self._first.complete = self._unknown and not closed  # who cannot read a stream cannot say that it broke off
        for call in [reader.call for reader in self._readers] or [self._first]:
            with self._edge:
                call.finish(error, closed=closed)

    def withdraw(self) -> None:
        """There was no request after all."""
        with self._edge:
            self._first.complete = True
            self._first.finish()

    def _read(self, event: Any) -> None:
        kind = text_of(event, "type")
        if self._readers and kind in self._readers[0].derived:
            return
        if not self._readers or not self._readers[0].takes(kind, event):
            found = self._find(kind, event)
            if found is None:
                self._unknown = True
                self._run.report_unknown(kind or type(event).__name__)
                return
            self._readers = [found, *(reader for reader in self._readers if reader is not found)]
        self._readers[0].read(event)

    def _find(self, kind: str, event: Any) -> Reader | None:
        chosen = next((shape for shape in READERS if shape.takes(kind, event)), None)
        if chosen is None:
            return None
        known = next((reader for reader in self._readers if type(reader) is chosen), None)
        return known or chosen(ModelCall(self._run, handle=self._first.handle) if self._readers else self._first)
