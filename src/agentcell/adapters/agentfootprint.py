"""agentfootprint's logs become events of ours, or whole runs.

    run = read_run(records)              # a finished run: show it, save it, look at its trace
    for event in read_events(records):   # or watch it: inside `with agentcell.watch(...) as run:`
        run.record(event)

No record says that a run is over, so `read_events` never makes a `RunEnded`: inside a block the block ends the run, and `read_run`
says from what the log holds how it ended. Traces for AgentThinkingUI, agentfootprint's player, are written and read here as well.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agentcell.adapters.agentfootprint_records import RecordReader
from agentcell.adapters.agentthinkingui import read_trace, write_trace
from agentcell.cleaning import cleaned
from agentcell.events import (
    AnyEvent,
    LimitReached,
    ModelEnded,
    ModelStarted,
    PauseRequested,
    PauseResumed,
    Reported,
    RunEnded,
    RunStarted,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from agentcell.redact import mask_secrets
from agentcell.run import Run
from agentcell.text.fields import text_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

CUT = "the log ends before the run does"
WAITING = "the log ends while the run waits for an answer"

__all__ = ["read_events", "read_run", "read_trace", "write_trace"]


def read_events(mappings: Iterable[Mapping[str, Any]]) -> Iterator[AnyEvent]:
    """Our events for agentfootprint's records, in their order; another `pipelineId` begins another run."""
    reader = RecordReader()
    for mapping in mappings:
        yield from reader.read(mapping)


def read_run(mappings: Iterable[Mapping[str, Any]], *, agent: str = "Agent", asker: str = "you") -> Run:
    """The finished run that a log tells of; of several runs in one log, all of them as the turns of one.

    Task and model are the first that are named. The run failed if the log has a fatal error, was limited if a limit stopped it, and
    was cancelled if a turn, a call or a question is still open at the end; else it was answered. Secrets are masked.

    Args:
        mappings: The records.
        agent: The agent's name, which no record tells.
        asker: Who asked.
    """
    events = [cleaned(event, mask_secrets) for event in read_events(mappings) if not isinstance(event, RunStarted)]
    task = next((event.text for event in events if isinstance(event, TurnStarted) and event.text), "")
    model = next((event.model for event in events if isinstance(event, ModelStarted) and event.model), None)
    ended = replace(_ending(events), time=events[-1].time if events else 0.0)
    return Run.of([RunStarted(task=task, agent=agent, model=model, asker=asker), *events, ended])


def _ending(events: Sequence[AnyEvent]) -> RunEnded:
    fatal = next((event for event in events if isinstance(event, Reported) and event.name == "error.fatal"), None)
    if fatal is not None:
        return RunEnded(outcome="failed", error=text_at(fatal.evidence, "error"))
    if any(isinstance(event, LimitReached) and event.stops for event in events):
        return RunEnded(outcome="limited")
    doing = _left_open(events)
    if not doing:
        return RunEnded()
    return RunEnded(outcome="cancelled", error=WAITING if PauseRequested in doing else CUT)


def _left_open(events: Iterable[AnyEvent]) -> set[type[AnyEvent]]:
    """The kinds of what began and did not end."""
    open_ones: dict[tuple[type[AnyEvent], str], None] = {}
    for event in events:
        match event:
            case TurnStarted():
                open_ones[TurnStarted, event.agent_id] = None
            case TurnEnded() | Reported(name="agent.turn_end"):
                # A turn that has ended leaves nothing of its own behind: a call without an end is a record that is missing.
                open_ones.clear()
            case ModelStarted():
                open_ones[ModelStarted, event.model_call_id] = None
            case ModelEnded():
                open_ones.pop((ModelStarted, event.model_call_id), None)
            case ToolStarted():
                open_ones[ToolStarted, event.call_id] = None
            case ToolEnded():
                open_ones.pop((ToolStarted, event.call_id), None)
            case PauseRequested():
                open_ones[PauseRequested, event.pause_id] = None
            case PauseResumed():
                open_ones.pop((PauseRequested, event.pause_id), None)
            case _:
                pass
    return {kind for kind, _ in open_ones}
