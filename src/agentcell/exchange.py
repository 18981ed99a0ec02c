"""A run as a marker that other chats understand, to be put into a message."""

from __future__ import annotations

from agentcell.errors import describe
from agentcell.run import Run
from agentcell.text import markers


def to_marker(run: Run, *, form: markers.MarkerForm = "agent") -> str:
    """Writes where `run` stands as an HTML comment: its status, its whole seconds of reasoning, the words of its top-level rows.

    `agentcell.parse_marker` reads it back. A run that has not begun gives the empty string.

    Args:
        run: The run.
        form: `agent` for `AGENT_REASONING`, `block` for `REASONING_BLOCK`, which has no room for the status.

    Raises:
        TypeError: `run` is no run, or `form` is no string.
        ValueError: a form that does not exist.
    """
    if not isinstance(run, Run):
        raise TypeError(f"run must be a Run, such as agentcell.watch(...) gives, not {describe(run)}")
    shown = run.catch_up()
    with run.lock:
        status, seconds = shown.life.status, shown.life.elapsed_seconds(run.now())
        steps = [step.text for step in shown.steps.rows if step.parent is None]
    return markers.to_marker(status, elapsed_seconds=max(0.0, seconds), steps=steps, form=form)
