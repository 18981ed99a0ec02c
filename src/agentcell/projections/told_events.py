"""A tool trace that a model's text tells, as the events that it stands for.

A route, a call and a note are events as if a framework had told them. A call ends with its first result, or without one when the
next call begins or the trace is over, for the text knows no two calls at once; a further result of the same call is a note.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from agentcell.events import Noted, Routed, ToolEnded, ToolStarted
from agentcell.text.trace_arguments import read_arguments
from agentcell.text.trace_lines import CallResult, CallStart, Note, Route, TraceReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from agentcell.events import AnyEvent, CallOutcome
    from agentcell.text.trace_lines import News

_FAILURES = frozenset({"error", "not_found", "blocked"})


_WITH_TEXT, _APART = "ac_told_", "ac_apart_"


class ToldIds:
    """Ids for the calls that traces tell; no framework gives such ids, nor does a run for its own calls."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)

    def new(self) -> str:
        """For a call in reasoning that is in the log."""
        return f"{_WITH_TEXT}{next(self._numbers)}"

    def new_apart(self) -> str:
        """For a call in hidden reasoning, of which nothing else is in the log."""
        return f"{_APART}{next(self._numbers)}"

    @staticmethod
    def is_one(call_id: str) -> bool:
        """Whether a trace told this call."""
        return call_id.startswith((_WITH_TEXT, _APART))

    @staticmethod
    def moved_the_run(call_id: str) -> bool:
        """Whether the reasoning that told this call has moved the run's state already.

        The call itself must not do so again: the answer may have begun in the same piece of text.
        """
        return call_id.startswith(_WITH_TEXT)


class ToldEvents:
    """The events of one trace, found while its text arrives; who takes them sets time and agent.

    Args:
        new_id: Gives ids that no other call of the run has.
    """

    def __init__(self, new_id: Callable[[], str]) -> None:
        self._new_id = new_id
        self._reader = TraceReader()
        self._length = 0  # so many characters of the text were read; what was read is never taken back
        self._open = ""  # the id of the call that has no result yet

    def feed(self, keep: int, added: str) -> Iterator[AnyEvent]:
        """The text has `added` behind its first `keep` characters now."""
        new = added[max(0, self._length - keep) :]
        self._length = max(self._length, keep + len(added))
        if new:
            yield from self._told(self._reader.feed(new))

    def end_lines(self) -> Iterator[AnyEvent]:
        """Nothing follows on the last line, nor in the last note."""
        yield from self._told(self._reader.finish())
        self._reader = TraceReader()  # text may follow all the same: a block can turn out to be longer

    def finish(self, *, broken_off: bool) -> Iterator[AnyEvent]:
        """The trace is over; `broken_off` when nothing but the end of all text ended it."""
        yield from self.end_lines()
        yield from self._end_call("cancelled" if broken_off else "done")

    def _told(self, news: Iterable[News]) -> Iterator[AnyEvent]:
        for new in news:
            match new:
                case Route():
                    confidence = None if new.confidence is None else new.confidence / 100
                    yield Routed(route=new.name, confidence=confidence, reason=new.focus or "")
                case CallStart():
                    yield from self._end_call("done")
                    self._open = self._new_id()
                    arguments = read_arguments(new.arguments)
                    if arguments is None:
                        arguments = {"arguments": new.arguments}
                    yield ToolStarted(call_id=self._open, name=new.tool, arguments=arguments)
                case CallResult():
                    yield self._result(new)
                case Note():
                    yield Noted(text=new.text)

    def _result(self, result: CallResult) -> AnyEvent:
        call_id, self._open = self._open, ""
        if not call_id:
            return Noted(text=result.text or result.status)
        if result.status in _FAILURES:
            return ToolEnded(call_id=call_id, outcome="failed", error=result.text or result.status)
        return ToolEnded(call_id=call_id, result=result.text)

    def _end_call(self, outcome: CallOutcome) -> Iterator[AnyEvent]:
        if self._open:
            yield ToolEnded(call_id=self._open, outcome=outcome)
            self._open = ""
