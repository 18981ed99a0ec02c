"""Calls of the OpenAI Agents SDK that a person must approve: the runner comes back with them, and goes on with what was decided."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentcell.adapters.fields import arguments_of, field, text_of
from agentcell.adapters.openai_responses import call_id_of

if TYPE_CHECKING:
    from agentcell.adapters.ledger import Ledger, Turn
    from agentcell.adapters.openai_agents_calls import RunnerCall


def resume(ledger: Ledger, given: Any) -> Turn | None:
    """The turn that goes on with this state, None when it is no state or another run's; what was refused is over."""
    interruptions = getattr(given, "get_interruptions", None)
    if not callable(interruptions):
        return None
    turn = None
    for item in interruptions():
        call_id = call_id_of(field(item, "raw_item"))
        key = ledger.waiting(call_id)
        if key is None:
            continue
        known = ledger.tools[key]
        turn = known.turn if ledger.find(known.turn.key) is known.turn else turn
        approved = given._context.is_tool_approved(item.name, call_id)  # noqa: SLF001 - the state has no other way to say it
        if approved is False:
            ledger.resume(key, "reject")
            known.turn.refuse_tool(key, "it was not approved")
        elif approved:
            ledger.resume(key, "approve")
    return turn


def ask_person(call: RunnerCall, item: Any) -> None:
    """The runner came back because a tool call, `item`, must be approved."""
    raw = field(item, "raw_item")
    call_id = call.tool(call_id_of(raw))
    name, arguments = text_of(item, "name", "tool_name") or text_of(raw, "name"), arguments_of(field(raw, "arguments"))
    call.turn.ask_tool(call_id, name, arguments, agent=call.agent)
    call.turn.pause(call_id, f"May `{name}` run?", choices=("approve", "reject"), call=call_id)
