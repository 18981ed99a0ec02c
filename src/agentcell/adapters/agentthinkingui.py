"""Runs out to the JSON that AgentThinkingUI plays, and back in.

A trace holds the beats of a run, and reading it gives a finished run with the same beats. What it does not hold is gone: deltas and
their times, progress, questions to the person, notes, sub-agents, routes and their evidence (their sentences lead the beats), how
many model calls there were beside those with a beat, what one that broke off had written, cache writes and reasoning tokens,
signatures, the class of an error.

Of a trace by another recorder this is lost too: its sentence about a tool's return and the text of its prompt (ours are told in
their place), who got an answer if not the asker, a title, attributions, checklists, plans and whatever else only a player shows.
Calls without an id get one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from agentcell.adapters.agentthinkingui_beats import BeatReader
from agentcell.adapters.loading import fault, list_in, object_of, text_in
from agentcell.events import Outcome, Reported, RunEnded, RunStarted
from agentcell.projections.trace import DEFAULT_MODEL
from agentcell.run import Run

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agentcell.events import AnyEvent

_OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)


def write_trace(run: Run) -> dict[str, Any]:
    """The JSON of the run's trace, as the player reads it.

    It is `run.trace().to_dict()` with `spanId` on the beats whose place is known, `outcome` when the run is over, and `status` when it
    did not end well. Whatever is optional there is left out, never null: players have crashed on it.
    """
    trace = run.trace()
    written = trace.to_dict()
    for beat, at in zip(written["steps"], trace.at, strict=True):
        if at:
            beat["spanId"] = at
    if run.outcome is not None:
        written["outcome"] = run.outcome
    if trace.error is not None:
        written["status"] = "error"
    return written


def read_trace(written: Mapping[str, Any]) -> Run:
    """The finished run whose trace `written` is, by us or by another recorder.

    Whatever is optional there may be missing or null. A trace that does not say how its run ended was answered, or failed if it has an
    error.

    Raises:
        LoadError: it is no trace, or a part of it does not fit: says where, what must hold and what is there.
    """
    return Run.of(_events(object_of("a trace", written)))


def _events(written: Mapping[str, Any]) -> Iterator[AnyEvent]:
    if written.get("steps") is None:
        raise fault("a trace", "an object with a list of steps", written)
    places = list_in("a trace", written, "at")
    agent, model = text_in("a trace", written, "agent", "Agent"), text_in("a trace", written, "model", DEFAULT_MODEL)
    reader = BeatReader(agent)
    beats: list[AnyEvent] = []
    for n, beat in enumerate(list_in("a trace", written, "steps")):
        place = places[n] if n < len(places) else None
        beats += reader.read(f"steps[{n}] of a trace", beat, place if isinstance(place, str) else None)
    yield RunStarted(
        task=text_in("a trace", written, "task") or reader.prompt,
        agent=agent,
        model=None if model == DEFAULT_MODEL else model,
        asker=text_in("a trace", written, "asker", "you"),
    )
    yield from beats
    yield from _ending(written, reader.time)


def _ending(written: Mapping[str, Any], time: float) -> Iterator[AnyEvent]:
    error = text_in("a trace", written, "error") or None
    outcome = written.get("outcome")
    if outcome is None:
        outcome = "failed" if error or written.get("status") in ("error", "err") else "answered"
    if outcome not in _OUTCOMES:
        raise fault("outcome of a trace", f"one of {', '.join(map(repr, _OUTCOMES))}", outcome)
    if error and outcome == "answered":
        # It ended well in spite of an error that was told before.
        yield Reported(time=time, name="error.fatal", evidence={"error": error})
    yield RunEnded(time=time, outcome=outcome, error=None if error == outcome else error)
