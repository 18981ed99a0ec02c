"""The sentences of the commentary, by the key of what happened: third person, for people who follow how an agent works.

The agent acts, the model only asks and answers. A sentence says what its event carries and no more; a part that may be
missing is a clause under a key of its own. No ids of calls, no durations, no tokens, no errors' own words. The keys are
agentfootprint's where it has one, so that templates written for it fit here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT_SENTENCES: Mapping[str, str] = {
    # A run, its turns and its agents.
    "agent.turn_start": "{{appName}} was asked: “{{userPrompt}}”",
    "agent.turn_end.refused": "The answer was turned down, and another text was delivered in its place.",
    "run.failed": "The run stopped on an error.",
    "run.cancelled": "The run was interrupted.",
    "run.limited": "The run ended at a limit.",
    "agent.started": "{{agentName}} took over.",
    "agent.ended": "{{agentName}} finished its part.",
    "agent.ended.failed": "{{agentName}} could not finish its part.",
    "agent.ended.cancelled": "{{agentName}} was stopped.",
    # The model.
    "stream.llm_start.iter1": "{{agentName}} put the question to the model.",
    "stream.llm_start.iterN": "{{agentName}} told the model what has come back so far.",
    "stream.llm_end.tools": "The model asked for tools before it answers.",
    "stream.llm_end.terminal": "The model wrote its answer.",
    "stream.llm_end.failed": "The call to the model failed.",
    "stream.llm_end.cancelled": "The call to the model broke off.",
    "agent.thinking_parse_failed": "The model's reasoning could not be read; the run went on without it.",
    # Tools.
    "stream.tool_start": "{{agentName}} called `{{toolName}}`{{descClause}}.",
    "stream.tool_start.requested": "The model asked for `{{toolName}}`{{descClause}}.",
    "stream.tool_start.desc": " ({{description}})",
    "stream.tool_start.noDesc": "",
    "stream.tool_progress": "`{{toolName}}` is still at work and gave a sign of progress.",
    "stream.tool_end": "`{{toolName}}` came back with a result.",
    "stream.tool_end.failed": "`{{toolName}}` failed.",
    "stream.tool_end.cancelled": "The call of `{{toolName}}` was given up.",
    # The person.
    "pause.request": "{{agentName}} waits for a person to answer.",
    "pause.resume": "The person answered, and {{agentName}} went on.",
    "noted": "{{text}}",
    # Limits.
    "cost.limit_hit": "The limit on {{noun}} was reached, and {{appName}} stopped there.",
    "cost.limit_hit.warned": "The limit on {{noun}} was passed; it only warns, so {{appName}} went on.",
    # Who goes on, as any framework tells it.
    "routed": "{{appName}} went on with `{{route}}`{{confidenceClause}}{{reasonClause}}.",
    "routed.confidence": " ({{confidence}} sure)",
    "routed.told": "{{reason}}",
    "routed.reason": ": {{reason}}",
    # Which skill the turn starts with.
    "skill.turn_routed.continuity": "The conversation stayed with `{{to}}`.",
    "skill.turn_routed.continuity.nearTie": (
        "`{{tieA}}` ({{tieAShare}}) and `{{tieB}}` ({{tieBShare}}) were too close to call, "
        "so the conversation stayed with `{{to}}`."
    ),
    "skill.turn_routed.intent": "The message fitted `{{to}}` best{{scoreClause}}.",
    "skill.turn_routed.intent.scored": " ({{topScore}} against {{runnerUpScore}})",
    "skill.turn_routed.intent.scoredSolo": " ({{topScore}})",
    "skill.turn_routed.entry": "A rule started the turn with `{{to}}`.",
    "skill.turn_routed.entry.witness": "A rule started the turn with `{{to}}`, for the message says “{{witness}}”.",
    "skill.turn_routed.decider": "{{deciderModel}} decided on `{{to}}`.",
    "skill.turn_routed.menu": "The model got {{offeredCount}} skill{{offeredPlural}} to choose from.",
    "skill.turn_routed.dropped": "`{{droppedId}}` is not there any more, so the turn started afresh.",
    "skill.turn_routed.none": "The turn started without a skill.",
    "skill.turn_routed.none.rails": "The turn started without a skill; {{candidates}} stood ready.",
    "skill.turn_routed.none.rails.nearTie": "The turn started without a skill: {{candidates}} were too close to call.",
    "skill.turn_routed.none.rails.unmatched": "The turn started without a skill: the message fitted none of {{candidates}}.",
    # Which skill goes on.
    "skill.route_conflict": (
        "{{conflictCount}} results of one round led to different skills; "
        "`{{winnerTool}}` came first, so `{{winnerTarget}}` went on{{losersClause}}."
    ),
    "skill.route_conflict.suppressedOne": " and {{losers}} was passed over",
    "skill.route_conflict.suppressedMany": " and {{losers}} were passed over",
    "context.routed": "`{{skillId}}` went on{{matchClause}} and brought {{toolClause}}.",
    "context.routed.matched": ", because “{{matchedLabel}}” held,",
    "context.routed.default": ", because no condition held,",
    "context.entry_witness": "`{{to}}` went on, for the message says “{{witness}}”.",
    "context.model_pick": "The model picked `{{to}}`{{menuClause}}{{offMenuClause}}{{stayClause}}.",
    "context.model_pick.menu": " from {{offeredCount}} on offer",
    "context.model_pick.offMenu": " and none of those on offer",
    "context.model_pick.stay": ", where staying was possible too",
    # What else agentfootprint reports.
    "context.injected.rag": "Documents were added to what the model reads{{descClause}}.",
    "context.injected.skill": "A skill's text was added to what the model reads{{descClause}}.",
    "context.injected.memory": "Memories were added to what the model reads{{descClause}}.",
    "context.injected.instructions": "Instructions were added to what the model reads{{descClause}}.",
    "context.injected.custom": "Something was added to what the model reads{{descClause}}.",
    "context.injected.desc": ": {{summary}}",
    "skill.activated": "`{{skillId}}` is active from here on.",
    "skill.deactivated": "`{{skillId}}` is active no longer.",
    "skill.rejected.guard": "The model asked for `{{requestedId}}`, which was not on offer, and was refused.",
    "skill.rejected.rails": "The model asked for `{{requestedId}}`, but rules choose the skill here, and was refused.",
    "skill.escalated": "The model was refused too often, so another one takes over for this turn.",
    "tools.effect.transition.accepted": "`{{toolName}}` proposed another skill{{targetClause}}, and got it.",
    "tools.effect.transition.refused": "`{{toolName}}` proposed another skill{{targetClause}}, and was refused.",
    "tools.effect.transition.superseded": "`{{toolName}}` proposed another skill{{targetClause}}, but an earlier proposal won.",
    "tools.effect.target": " (`{{target}}`)",
    "tools.effect.instruction.accepted": "`{{toolName}}` asked for an instruction to the model, and got it.",
    "tools.effect.instruction.refused": "`{{toolName}}` asked for an instruction to the model, and was refused.",
    "tools.effect.instruction.superseded": "`{{toolName}}` asked for an instruction to the model, but an earlier request won.",
    "tools.result_refused": "The result of `{{toolName}}` was larger than it may be, so the model did not get it.",
    "tools.repeated_call": "`{{toolName}}` was called again and gave the same as before.",
    "tools.repeated_call.argsOnly": "`{{toolName}}` was called again with the same arguments.",
    "artifacts.minted": "An artifact was stored.",
    "artifacts.presented": "An artifact was shown to the person.",
    "artifacts.expired": "An artifact was removed.",
    "artifacts.resolved.get": "An artifact was read.",
    "artifacts.resolved.head": "An artifact was looked up.",
    "artifacts.refused": "The use of an artifact was refused.",
    "artifacts.refused.dispatch": "`{{toolName}}` was not called, because its artifact was refused.",
    "composition.enter.Sequence": "{{name}} began: one step after another.",
    "composition.enter.Parallel": "{{name}} began: several branches side by side.",
    "composition.enter.Loop": "{{name}} began: the same again until it is done.",
    "composition.enter.Conditional": "{{name}} began: one of several branches.",
    "composition.exit": "{{name}} ended.",
    "composition.exit.failed": "{{name}} ended early.",
    "composition.fork_start": "The branches started.",
    "composition.merge_end": "The branches came together.",
    "error.fatal": "The run stopped on an error.",
}
"""Every key with its sentence or clause; `compose` your own over them."""
