"""MCP: what a server says of its progress, shown in the row of the tool call that asked it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentcell.events import ToolProgressed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from agentcell.run import Run


def progress_of(run: Run) -> Callable[[float, float | None, str | None], Awaitable[None]]:
    """A callback that brings a server's progress to the tool call that this code is in.

    One that is made outside of any call, for a client that has one callback for all its calls, looks each time for the one that runs.
    """
    made_in = run.running_call()

    async def progress(progress: float, total: float | None = None, message: str | None = None) -> None:
        with run.guarding("listening to MCP"):
            call_id = made_in or run.running_call()
            if call_id is not None:
                run.record(ToolProgressed(call_id=call_id, payload=_payload(progress, total, message)))

    return progress


def _payload(progress: float, total: float | None, message: str | None) -> dict[str, object]:
    count = f"{progress:g}" if total is None else f"{progress:g} of {total:g}"
    words = f"{message} ({count})" if message and total is not None else message or count
    return {"message": words, "progress": progress, "total": total}
