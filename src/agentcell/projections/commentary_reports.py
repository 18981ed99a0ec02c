"""Which sentence tells what a framework reported beyond the events of our own, and what is better left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from agentcell.projections.commentary_routing import Sentence
from agentcell.text.fields import text_at
from agentcell.text.javascript import trim

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agentcell.events import Reported
    from agentcell.projections.commentary_routing import Choice, Clause

    Payload: TypeAlias = Mapping[str, Any]

_SILENT = frozenset(
    {
        "agent.turn_end",
        "agent.iteration_start",
        "agent.iteration_end",
        "agent.route_decided",
        "agent.run_configured",
        "context.slot_composed",
        "context.evicted",
        "context.budget_pressure",
        "composition.branch_complete",
        "composition.iteration_start",
        "composition.iteration_exit",
        "composition.route_decided",
        "cost.tick",
    }
)
_PLAIN = frozenset(
    {
        "artifacts.minted",
        "artifacts.presented",
        "artifacts.expired",
        "composition.fork_start",
        "composition.merge_end",
        "error.fatal",
        "skill.escalated",
    }
)
_ONE_WORD = {
    "skill.activated": "skillId",
    "skill.deactivated": "skillId",
    "tools.result_refused": "toolName",
}
"""Events with one sentence, which quotes one field."""

_INJECTED = frozenset({"rag", "skill", "memory", "instructions", "custom"})
_INJECTED_SILENT = frozenset({"user", "tool-result", "assistant", "base", "registry"})


def choose_report(event: Reported, clause: Clause) -> Choice:
    """The sentence for a report by its name; "unknown" for a name that has none and is not known to say nothing."""
    name, evidence = event.name, event.evidence
    if name in _SILENT:
        return "silent"
    if name in _PLAIN:
        return Sentence(name, {})
    if name in _ONE_WORD:
        return _with_word(name, evidence, _ONE_WORD[name])
    choose = _BY_FIELDS.get(name)
    return choose(evidence, clause) if choose else "unknown"


def _injected(evidence: Payload, clause: Clause) -> Choice:
    source = text_at(evidence, "source") or ""
    if source in _INJECTED_SILENT:
        return "silent"
    summary = trim(text_at(evidence, "contentSummary") or "")
    described = clause("context.injected.desc", {"summary": summary}) if summary else ""
    return Sentence(f"context.injected.{source if source in _INJECTED else 'custom'}", {"descClause": described})


def _effect(evidence: Payload, clause: Clause) -> Choice:
    kind = "instruction" if evidence.get("kind") == "require-instruction" else "transition"
    outcome = text_at(evidence, "outcome")
    if outcome not in ("accepted", "refused", "superseded"):
        return "unknown"
    target = text_at(evidence, "targetSkillId")
    said = clause("tools.effect.target", {"target": target}) if target else ""
    values = {"toolName": text_at(evidence, "toolName") or "(tool)", "targetClause": said}
    return Sentence(f"tools.effect.{kind}.{outcome}", values)


def _rejected(evidence: Payload, _: Clause) -> Choice:
    posture = text_at(evidence, "posture")
    return _with_word(f"skill.rejected.{posture}", evidence, "requestedId") if posture in ("guard", "rails") else "unknown"


def _repeated_call(evidence: Payload, _: Clause) -> Choice:
    only_arguments = evidence.get("mode") == "arguments"
    return _with_word("tools.repeated_call.argsOnly" if only_arguments else "tools.repeated_call", evidence, "toolName")


def _artifact_resolved(evidence: Payload, _: Clause) -> Choice:
    op = text_at(evidence, "op")
    return Sentence(f"artifacts.resolved.{op}", {}) if op in ("get", "head") else "unknown"


def _artifact_refused(evidence: Payload, _: Clause) -> Choice:
    if evidence.get("op") == "dispatch" and text_at(evidence, "toolName"):
        return _with_word("artifacts.refused.dispatch", evidence, "toolName")
    return Sentence("artifacts.refused", {})


def _composition_enter(evidence: Payload, _: Clause) -> Choice:
    kind = text_at(evidence, "kind")
    known = kind in ("Sequence", "Parallel", "Loop", "Conditional")
    return Sentence(f"composition.enter.{kind}", _group(evidence)) if known else "unknown"


def _composition_exit(evidence: Payload, _: Clause) -> Choice:
    went_well = evidence.get("status") == "ok"
    return Sentence("composition.exit" if went_well else "composition.exit.failed", _group(evidence))


def _group(evidence: Payload) -> dict[str, str]:
    return {"name": text_at(evidence, "name") or "A group of steps"}


def _with_word(key: str, evidence: Payload, field: str) -> Choice:
    word = text_at(evidence, field)
    # A sentence without its subject says nothing; the reader gets the event's name instead.
    return Sentence(key, {field: word}) if word else "unknown"


_BY_FIELDS: Mapping[str, Callable[[Payload, Clause], Choice]] = {
    "context.injected": _injected,
    "skill.rejected": _rejected,
    "tools.effect": _effect,
    "tools.repeated_call": _repeated_call,
    "artifacts.resolved": _artifact_resolved,
    "artifacts.refused": _artifact_refused,
    "composition.enter": _composition_enter,
    "composition.exit": _composition_exit,
}
