"""Reads Responses streams, each as one model call, also where one response comes in several streams.

A response that is made in the background goes on at the provider when its stream breaks off or is closed; another stream brings the rest,
or all of it once more (https://platform.openai.com/docs/guides/background). Its events are numbered, and the number is what tells
them apart; for any other response a number means nothing, because many hosts send always the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from agentcell.adapters.fields import count_of, field, text_of
from agentcell.adapters.openai_approvals import Approvals
from agentcell.adapters.openai_responses import ResponsesReader

if TYPE_CHECKING:
    from agentcell.adapters.model_call import ModelCall
    from agentcell.run import Run


class BackgroundResponse:
    """A response that may come in several streams.

    Attributes:
        call: The model call that it is.
        reader: What has read it so far.
        last: The number of its newest event.
        items: The ids of what it brought.
    """

    def __init__(self, call: ModelCall, reader: ResponsesReader) -> None:
        self.call = call
        self.reader = reader
        self.last = -1
        self.items: set[str] = set()

    def read(self, event: Any) -> None:
        """Takes an event, if it is new."""
        number = count_of(event, "sequence_number")
        if number > self.last:
            self.last = number
            self.items.add(item_of(event))
            self.reader.read(event)


class BackgroundResponses:
    """Those of one run, by their id: the ones that go on and the ones that are over."""

    framework: ClassVar[str] = "OpenAI"

    def __init__(self, _run: Run) -> None:
        self.known: dict[str, BackgroundResponse] = {}

    def find(self, event: Any) -> BackgroundResponse | None:
        """Which of them an event is about that begins a stream; that stream may begin in the middle, where no event has the id."""
        response_id = text_of(field(event, "response"), "id")
        if response_id:
            return self.known.get(response_id)
        item, before, all_known = item_of(event), count_of(event, "sequence_number") - 1, tuple(self.known.values())
        named = (one for one in all_known if item and item in one.items)
        return next(named, next((one for one in all_known if 0 <= one.last == before), None))

    def close(self, error: BaseException | None = None) -> None:
        """The run's block is left: of what still goes on at the provider it hears no more."""
        for one in self.known.values():
            one.call.finish(error)


class ResponseStreamReader:
    """Reads the events of one stream."""

    derived: ClassVar[frozenset[str]] = ResponsesReader.derived

    def __init__(self, call: ModelCall) -> None:
        self.call = self
        self._model = call
        self._reader = ResponsesReader(call)
        self._known: BackgroundResponses = call.run.adapter(BackgroundResponses)
        self._approvals: Approvals = call.run.adapter(Approvals)
        self._background: BackgroundResponse | None = None
        self._begun = False

    @staticmethod
    def takes(kind: str, event: Any, /) -> bool:
        """Whether this is an event of such a stream."""
        return ResponsesReader.takes(kind, event)

    def read(self, event: Any) -> None:
        """Records what one event says."""
        if not self._begun:
            self._begun = True
            self._background = self._known.find(event)
            if self._background is None:
                self._approvals.begin()
            else:  # asked for once more, and no other call
                self._model.complete = True
                self._model.finish()
        self._keep(field(event, "response"))
        if self._background is None:
            self._reader.read(event)
        else:
            self._background.read(event)
        self._approvals.hear(event)

    def _keep(self, response: Any) -> None:
        response_id = text_of(response, "id")
        if self._background is None and response_id and field(response, "background") is True:
            self._background = self._known.known[response_id] = BackgroundResponse(self._model, self._reader)

    def finish(self, error: BaseException | None = None, *, closed: bool = False) -> None:
        """The stream is over; a response in the background goes on without it."""
        if self._background is None:
            self._model.finish(error, closed=closed)


def item_of(event: Any) -> str:
    """The id of the item that an event is about, "" for none."""
    return text_of(event, "item_id") or text_of(field(event, "item"), "id")
