"""What a reader of changes does with one."""

from __future__ import annotations

from agentcell.text.think import SplitText


def changed(before, change):
    """`before` with `change` made in it."""
    if change is None:
        return before
    added = list(change.reasoning_added)
    if change.entry_keep:
        added[0] = before.reasoning[change.reasoning_keep][: change.entry_keep] + added[0]
    reasoning = before.reasoning[: change.reasoning_keep] + tuple(added)
    return SplitText(reasoning, before.answer[: change.answer_keep] + change.answer_added, change.truncated)
