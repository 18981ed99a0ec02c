"""Which sentence tells why a skill or an agent goes on, and what it can quote from the evidence."""

from __future__ import annotations

from math import floor
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from agentcell.text.fields import list_at, number_at, object_at, objects_at, text_at

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agentcell.events import ContextEvaluated, Routed

    Evidence: TypeAlias = Mapping[str, Any]
    Clause: TypeAlias = Callable[[str, Mapping[str, str]], str]


class Sentence(NamedTuple):
    """A template's key and the values for its placeholders."""

    key: str
    values: Mapping[str, str]


Choice: TypeAlias = "Sentence | Literal['silent', 'unknown']"

_NUMBERS = ("Zero", "One", "Two", "Three", "Four", "Five", "Six")
TOLD = "told"
"""`Routed.by` of a decision that somebody else has put into words already: its `reason` is the sentence."""

_TURN = "skill.turn_routed."


def choose_context(event: ContextEvaluated, clause: Clause) -> Choice:
    """Told when the choice of a skill moved or was made; what else the context holds goes without saying."""
    move, routing = object_at(event.evidence, "cursorMove"), objects_at(event.evidence, "routing")
    to, by, witness = _text(move, "to"), move.get("by"), _text(object_at(move, "witness"), "text")
    if by == "model-pick" and to and (move.get("offered") or move.get("declinedOffer")):
        return Sentence("context.model_pick", {"to": to, **_pick_clauses(move, clause)})
    if by in ("entry", "rule") and to and witness:
        return Sentence("context.entry_witness", {"to": to, "witness": witness})
    if not routing:
        return "silent"
    first = routing[0]
    label = next((_text(step, "label") for step in objects_at(first, "path") if step.get("branch") == "yes"), None)
    label = label or _text(first, "label")
    match = ""
    if label:
        match = clause("context.routed.matched", {"matchedLabel": label})
    elif first.get("via") == "tree":
        match = clause("context.routed.default", {})
    count = len(list_at(first, "tools"))
    tools = f"{count} tool{'' if count == 1 else 's'}" if count else "no new tools"
    return Sentence("context.routed", {"skillId": _text(first, "injectionId"), "matchClause": match, "toolClause": tools})


def choose_route(event: Routed, clause: Clause) -> Sentence:
    """Told always; the sentence depends on what kind of decision it was."""
    if event.by == "":
        return _plain_route(event, clause)
    if event.by == TOLD:
        return Sentence("routed.told", {"reason": event.reason})
    if event.by == "conflict":
        return _conflict(event.evidence, clause)
    dropped = object_at(event.evidence, "droppedResume")
    if dropped:
        return Sentence(_TURN + "dropped", {"droppedId": _text(dropped, "id")})
    kind, values = _ROUTES.get(event.by, _no_route)(event.evidence, clause)
    return Sentence(_TURN + kind, {"to": event.route, **values})


def _plain_route(event: Routed, clause: Clause) -> Sentence:
    confidence = event.confidence
    return Sentence(
        "routed",
        {
            "route": event.route,
            "confidenceClause": "" if confidence is None else clause("routed.confidence", {"confidence": _percent(confidence)}),
            "reasonClause": clause("routed.reason", {"reason": event.reason}) if event.reason else "",
        },
    )


def _continuity(evidence: Evidence, _: Clause) -> Sentence:
    tie = _tie(evidence)
    return Sentence("continuity.nearTie" if tie else "continuity", tie)


def _intent(evidence: Evidence, clause: Clause) -> Sentence:
    scores = [_plain_number(score.get("score")) for score in objects_at(evidence, "scores")]
    said = ""
    if len(scores) == 1:
        said = clause("skill.turn_routed.intent.scoredSolo", {"topScore": scores[0]})
    elif scores:
        said = clause("skill.turn_routed.intent.scored", {"topScore": scores[0], "runnerUpScore": scores[1]})
    return Sentence("intent", {"scoreClause": said})


def _entry(evidence: Evidence, _: Clause) -> Sentence:
    witness = _text(object_at(evidence, "witness"), "text")
    return Sentence("entry.witness", {"witness": witness}) if witness else Sentence("entry", {})


def _decider(evidence: Evidence, _: Clause) -> Sentence:
    decider = object_at(evidence, "decider")
    return Sentence("decider", {"deciderModel": _text(decider, "model") or _text(decider, "provider") or "The decider"})


def _menu(evidence: Evidence, _: Clause) -> Sentence:
    count = len(list_at(evidence, "offered"))
    return Sentence("menu", {"offeredCount": str(count), "offeredPlural": "" if count == 1 else "s"})


def _no_route(evidence: Evidence, _: Clause) -> Sentence:
    offered, scores = list_at(evidence, "offered"), objects_at(evidence, "scores")
    if not offered:
        return Sentence("none", {})
    top = number_at(scores[0], "score") if scores else None
    least = number_at(object_at(evidence, "policy"), "floor")
    kind = "none.rails"
    if top is not None and least is not None and top <= least:
        kind += ".unmatched"
    elif _tie(evidence):
        kind += ".nearTie"
    return Sentence(kind, {"candidates": ", ".join(f"`{skill}`" for skill in offered)})


_ROUTES: Mapping[str, Callable[[Evidence, Clause], Sentence]] = {
    "continuity": _continuity,
    "intent": _intent,
    "entry": _entry,
    "rule": _entry,
    "decider": _decider,
    "menu": _menu,
    "model-pick": _menu,
}
"""The kinds of decision with a sentence of their own; every other one decided nothing."""


def _conflict(evidence: Evidence, clause: Clause) -> Sentence:
    winner, losers = object_at(evidence, "winner"), objects_at(evidence, "losers")
    count = len(losers) + 1
    told = " and ".join(f"`{_text(loser, 'toolName')}` → `{_text(loser, 'target')}`" for loser in losers)
    key = "skill.route_conflict.suppressedOne" if len(losers) == 1 else "skill.route_conflict.suppressedMany"
    return Sentence(
        "skill.route_conflict",
        {
            # Whoever lists no losers still says that there was more than one.
            "conflictCount": "Multiple" if not losers else _NUMBERS[count] if count < len(_NUMBERS) else str(count),
            "winnerTool": _text(winner, "toolName"),
            "winnerTarget": _text(winner, "target"),
            "losersClause": clause(key, {"losers": told}) if losers else "",
        },
    )


def _pick_clauses(move: Evidence, clause: Clause) -> dict[str, str]:
    offered = list_at(move, "offered")
    return {
        "menuClause": clause("context.model_pick.menu", {"offeredCount": str(len(offered))}) if offered else "",
        "offMenuClause": clause("context.model_pick.offMenu", {}) if move.get("declinedOffer") else "",
        "stayClause": clause("context.model_pick.stay", {}) if move.get("from") in offered else "",
    }


def _tie(evidence: Evidence) -> dict[str, str]:
    """The two best candidates when the gap between them decided nothing."""
    scores = objects_at(evidence, "scores")
    if evidence.get("decisive") is not False or len(scores) < 2:
        return {}
    first, second = scores[:2]
    return {
        "tieA": _text(first, "id"),
        "tieAShare": _percent(first.get("relevance")),
        "tieB": _text(second, "id"),
        "tieBShare": _percent(second.get("relevance")),
    }


def _plain_number(value: Any) -> str:
    return f"{value:.2f}" if isinstance(value, float) and not value.is_integer() else str(int(value or 0))


def _percent(share: Any) -> str:
    return f"{floor(share * 100 + 0.5)}%" if isinstance(share, (int, float)) else ""


def _text(mapping: Evidence, key: str) -> str:
    return text_at(mapping, key) or ""
