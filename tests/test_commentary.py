"""The commentary: every key has its sentence here, and every sentence can be replaced."""

from __future__ import annotations

from typing import Any

import pytest

import agentcell
from agentcell.events import (
    EVENT_TYPES,
    AgentEnded,
    AgentStarted,
    ContextEvaluated,
    Event,
    LimitReached,
    ModelEnded,
    ModelStarted,
    Noted,
    PauseRequested,
    PauseResumed,
    Reported,
    Routed,
    RunEnded,
    RunStarted,
    TextDelta,
    ThinkingDelta,
    ThinkingEnded,
    ThinkingFailed,
    ToolEnded,
    ToolOffer,
    ToolProgressed,
    ToolStarted,
    TurnEnded,
    TurnStarted,
    Usage,
)
from agentcell.projections.commentary import Commentary, Remark
from agentcell.projections.sentences import DEFAULT_SENTENCES


def turn(by: str, /, **evidence: Any) -> Routed:
    return Routed(route="billing", by=by, evidence=evidence)


def context(**evidence: Any) -> ContextEvaluated:
    return ContextEvaluated(evidence=evidence)


def report(name: str, /, **evidence: Any) -> Reported:
    return Reported(name=name, evidence=evidence)


START = ToolStarted(call_id="c", name="db")
OFFER = ModelStarted(tools=(ToolOffer("db", "Asks the database.\nSlowly."),))
LOSER = {"toolName": "mail", "target": "refunds"}
WINNER = {"toolName": "db", "target": "billing"}
TIE = [{"id": "a", "score": 1, "relevance": 0.505}, {"id": "b", "score": 0.912, "relevance": 0.495}]

# The events that lead to it, the sentence on the last of them, and the keys that the sentence is made of.
TABLE: list[tuple[list[Event], str, tuple[str, ...]]] = [
    ([TurnStarted(text="Why?")], "Atlas was asked: “Why?”", ("agent.turn_start",)),
    ([RunStarted(task="Why?")], "Atlas was asked: “Why?”", ("agent.turn_start",)),
    (
        [TurnEnded(text="No.", refused=True)],
        "The answer was turned down, and another text was delivered in its place.",
        ("agent.turn_end.refused",),
    ),
    ([RunEnded(outcome="failed", error="KeyError")], "The run stopped on an error.", ("run.failed",)),
    ([RunEnded(outcome="cancelled")], "The run was interrupted.", ("run.cancelled",)),
    ([RunEnded(outcome="limited")], "The run ended at a limit.", ("run.limited",)),
    ([AgentStarted(agent_id="a1", name="Writer")], "Writer took over.", ("agent.started",)),
    ([AgentStarted(agent_id="a1", name="Writer"), AgentEnded(agent_id="a1")], "Writer finished its part.", ("agent.ended",)),
    ([AgentEnded(agent_id="a1", outcome="failed")], "a1 could not finish its part.", ("agent.ended.failed",)),
    ([AgentEnded(agent_id="a1", outcome="cancelled")], "a1 was stopped.", ("agent.ended.cancelled",)),
    ([ModelStarted()], "Atlas put the question to the model.", ("stream.llm_start.iter1",)),
    ([ModelStarted(), ModelStarted()], "Atlas told the model what has come back so far.", ("stream.llm_start.iterN",)),
    ([ModelStarted(), TurnStarted(), ModelStarted()], "Atlas put the question to the model.", ("stream.llm_start.iter1",)),
    ([ModelEnded(tool_calls=2)], "The model asked for tools before it answers.", ("stream.llm_end.tools",)),
    ([ModelEnded(tool_calls=0)], "The model wrote its answer.", ("stream.llm_end.terminal",)),
    ([ModelEnded(outcome="failed", error="500")], "The call to the model failed.", ("stream.llm_end.failed",)),
    ([ModelEnded(outcome="cancelled")], "The call to the model broke off.", ("stream.llm_end.cancelled",)),
    (
        [ThinkingFailed(error="secret")],
        "The model's reasoning could not be read; the run went on without it.",
        ("agent.thinking_parse_failed",),
    ),
    ([START], "Atlas called `db`.", ("stream.tool_start", "stream.tool_start.noDesc")),
    ([OFFER, START], "Atlas called `db` (Asks the database).", ("stream.tool_start", "stream.tool_start.desc")),
    ([ToolStarted(call_id="c")], "Atlas called `(tool)`.", ("stream.tool_start",)),
    (
        [ToolStarted(call_id="c", name="db", requested=True)],
        "The model asked for `db`.",
        ("stream.tool_start.requested",),
    ),
    (
        [START, ToolProgressed(call_id="c", payload={"message": "secret"})],
        "`db` is still at work and gave a sign of progress.",
        ("stream.tool_progress",),
    ),
    ([START, ToolEnded(call_id="c", result=1)], "`db` came back with a result.", ("stream.tool_end",)),
    ([ToolEnded(call_id="x")], "`(tool)` came back with a result.", ("stream.tool_end",)),
    ([START, ToolEnded(call_id="c", outcome="failed", error="KeyError")], "`db` failed.", ("stream.tool_end.failed",)),
    ([START, ToolEnded(call_id="c", outcome="cancelled")], "The call of `db` was given up.", ("stream.tool_end.cancelled",)),
    ([PauseRequested(question="Sure?")], "Atlas waits for a person to answer.", ("pause.request",)),
    ([PauseResumed(answer="yes")], "The person answered, and Atlas went on.", ("pause.resume",)),
    ([Noted(text="Found 5 notes")], "Found 5 notes", ("noted",)),
    (
        [LimitReached(kind="max_iterations", limit=3, actual=4)],
        "The limit on iterations was reached, and Atlas stopped there.",
        ("cost.limit_hit",),
    ),
    (
        [LimitReached(kind="cost", stops=False)],
        "The limit on cost was passed; it only warns, so Atlas went on.",
        ("cost.limit_hit.warned",),
    ),
    ([Routed(route="billing")], "Atlas went on with `billing`.", ("routed",)),
    ([Routed(by="told", reason="They said so.")], "They said so.", ("routed.told",)),
    (
        [Routed(route="billing", confidence=0.955, reason="it names an invoice")],
        "Atlas went on with `billing` (96% sure): it names an invoice.",
        ("routed", "routed.confidence", "routed.reason"),
    ),
    ([turn("continuity")], "The conversation stayed with `billing`.", ("skill.turn_routed.continuity",)),
    (
        [turn("continuity", decisive=False, scores=TIE)],
        "`a` (51%) and `b` (50%) were too close to call, so the conversation stayed with `billing`.",
        ("skill.turn_routed.continuity.nearTie",),
    ),
    ([turn("intent")], "The message fitted `billing` best.", ("skill.turn_routed.intent",)),
    (
        [turn("intent", scores=TIE)],
        "The message fitted `billing` best (1 against 0.91).",
        ("skill.turn_routed.intent", "skill.turn_routed.intent.scored"),
    ),
    ([turn("intent", scores=TIE[:1])], "The message fitted `billing` best (1).", ("skill.turn_routed.intent.scoredSolo",)),
    ([turn("entry")], "A rule started the turn with `billing`.", ("skill.turn_routed.entry",)),
    (
        [turn("rule", witness={"text": "my invoice"})],
        "A rule started the turn with `billing`, for the message says “my invoice”.",
        ("skill.turn_routed.entry.witness",),
    ),
    (
        [turn("decider", decider={"provider": "p", "model": "gpt-x"})],
        "gpt-x decided on `billing`.",
        ("skill.turn_routed.decider",),
    ),
    ([turn("menu", offered=["a"])], "The model got 1 skill to choose from.", ("skill.turn_routed.menu",)),
    ([turn("model-pick", offered=["a", "b"])], "The model got 2 skills to choose from.", ("skill.turn_routed.menu",)),
    (
        [turn("intent", droppedResume={"id": "old"})],
        "`old` is not there any more, so the turn started afresh.",
        ("skill.turn_routed.dropped",),
    ),
    ([turn("none")], "The turn started without a skill.", ("skill.turn_routed.none",)),
    ([turn("martian")], "The turn started without a skill.", ("skill.turn_routed.none",)),
    (
        [turn("none", offered=["a", "b"])],
        "The turn started without a skill; `a`, `b` stood ready.",
        ("skill.turn_routed.none.rails",),
    ),
    (
        [turn("none", offered=["a", "b"], decisive=False, scores=TIE, policy={"floor": 0.5})],
        "The turn started without a skill: `a`, `b` were too close to call.",
        ("skill.turn_routed.none.rails.nearTie",),
    ),
    (
        [turn("none", offered=["a", "b"], decisive=False, scores=TIE, policy={"floor": 1})],
        "The turn started without a skill: the message fitted none of `a`, `b`.",
        ("skill.turn_routed.none.rails.unmatched",),
    ),
    (
        [turn("conflict", winner=WINNER, losers=[LOSER])],
        (
            "Two results of one round led to different skills; `db` came first, so `billing` went on"
            " and `mail` → `refunds` was passed over."
        ),
        ("skill.route_conflict", "skill.route_conflict.suppressedOne"),
    ),
    (
        [turn("conflict", winner=WINNER, losers=[LOSER] * 6)],
        (
            "7 results of one round led to different skills; `db` came first, so `billing` went on"
            f" and {' and '.join(['`mail` → `refunds`'] * 6)} were passed over."
        ),
        ("skill.route_conflict", "skill.route_conflict.suppressedMany"),
    ),
    (
        [turn("conflict", winner=WINNER)],
        "Multiple results of one round led to different skills; `db` came first, so `billing` went on.",
        ("skill.route_conflict",),
    ),
    (
        [context(routing=[{"injectionId": "a", "via": "entry"}])],
        "`a` went on and brought no new tools.",
        ("context.routed",),
    ),
    (
        [context(routing=[{"injectionId": "a", "path": [{"branch": "yes", "label": "paid"}], "label": "x", "tools": ["t"]}])],
        "`a` went on, because “paid” held, and brought 1 tool.",
        ("context.routed", "context.routed.matched"),
    ),
    (
        [context(routing=[{"injectionId": "a", "via": "tree", "tools": ["t", "u"]}])],
        "`a` went on, because no condition held, and brought 2 tools.",
        ("context.routed", "context.routed.default"),
    ),
    (
        [context(cursorMove={"by": "entry", "to": "a", "witness": {"text": "money"}})],
        "`a` went on, for the message says “money”.",
        ("context.entry_witness",),
    ),
    (
        [context(cursorMove={"by": "model-pick", "from": "b", "to": "a", "offered": ["a", "b"]})],
        "The model picked `a` from 2 on offer, where staying was possible too.",
        ("context.model_pick", "context.model_pick.menu", "context.model_pick.stay"),
    ),
    (
        [context(cursorMove={"by": "model-pick", "to": "a", "declinedOffer": ["b"]})],
        "The model picked `a` and none of those on offer.",
        ("context.model_pick", "context.model_pick.offMenu"),
    ),
    (
        [report("context.injected", source="rag", contentSummary=" two notes ")],
        "Documents were added to what the model reads: two notes.",
        ("context.injected.rag", "context.injected.desc"),
    ),
    (
        [report("context.injected", source="skill")],
        "A skill's text was added to what the model reads.",
        ("context.injected.skill",),
    ),
    (
        [report("context.injected", source="memory")],
        "Memories were added to what the model reads.",
        ("context.injected.memory",),
    ),
    (
        [report("context.injected", source="instructions")],
        "Instructions were added to what the model reads.",
        ("context.injected.instructions",),
    ),
    (
        [report("context.injected", source="elsewhere")],
        "Something was added to what the model reads.",
        ("context.injected.custom",),
    ),
    ([report("skill.activated", skillId="a")], "`a` is active from here on.", ("skill.activated",)),
    ([report("skill.deactivated", skillId="a")], "`a` is active no longer.", ("skill.deactivated",)),
    (
        [report("skill.rejected", posture="guard", requestedId="a")],
        "The model asked for `a`, which was not on offer, and was refused.",
        ("skill.rejected.guard",),
    ),
    (
        [report("skill.rejected", posture="rails", requestedId="a")],
        "The model asked for `a`, but rules choose the skill here, and was refused.",
        ("skill.rejected.rails",),
    ),
    (
        [report("skill.escalated", refusals=3)],
        "The model was refused too often, so another one takes over for this turn.",
        ("skill.escalated",),
    ),
    (
        [report("tools.effect", kind="propose-transition", outcome="accepted", toolName="db", targetSkillId="a")],
        "`db` proposed another skill (`a`), and got it.",
        ("tools.effect.transition.accepted", "tools.effect.target"),
    ),
    (
        [report("tools.effect", kind="propose-transition", outcome="refused", toolName="db")],
        "`db` proposed another skill, and was refused.",
        ("tools.effect.transition.refused",),
    ),
    (
        [report("tools.effect", kind="propose-transition", outcome="superseded", toolName="db")],
        "`db` proposed another skill, but an earlier proposal won.",
        ("tools.effect.transition.superseded",),
    ),
    (
        [report("tools.effect", kind="require-instruction", outcome="accepted", toolName="db")],
        "`db` asked for an instruction to the model, and got it.",
        ("tools.effect.instruction.accepted",),
    ),
    (
        [report("tools.effect", kind="require-instruction", outcome="refused", toolName="db")],
        "`db` asked for an instruction to the model, and was refused.",
        ("tools.effect.instruction.refused",),
    ),
    (
        [report("tools.effect", kind="require-instruction", outcome="superseded", toolName="db")],
        "`db` asked for an instruction to the model, but an earlier request won.",
        ("tools.effect.instruction.superseded",),
    ),
    (
        [report("tools.result_refused", toolName="db")],
        "The result of `db` was larger than it may be, so the model did not get it.",
        ("tools.result_refused",),
    ),
    (
        [report("tools.repeated_call", toolName="db")],
        "`db` was called again and gave the same as before.",
        ("tools.repeated_call",),
    ),
    (
        [report("tools.repeated_call", toolName="db", mode="arguments")],
        "`db` was called again with the same arguments.",
        ("tools.repeated_call.argsOnly",),
    ),
    ([report("artifacts.minted")], "An artifact was stored.", ("artifacts.minted",)),
    ([report("artifacts.presented")], "An artifact was shown to the person.", ("artifacts.presented",)),
    ([report("artifacts.expired")], "An artifact was removed.", ("artifacts.expired",)),
    ([report("artifacts.resolved", op="get")], "An artifact was read.", ("artifacts.resolved.get",)),
    ([report("artifacts.resolved", op="head")], "An artifact was looked up.", ("artifacts.resolved.head",)),
    ([report("artifacts.refused", op="get")], "The use of an artifact was refused.", ("artifacts.refused",)),
    (
        [report("artifacts.refused", op="dispatch", toolName="db")],
        "`db` was not called, because its artifact was refused.",
        ("artifacts.refused.dispatch",),
    ),
    (
        [report("composition.enter", kind="Sequence", name="Intake")],
        "Intake began: one step after another.",
        ("composition.enter.Sequence",),
    ),
    (
        [report("composition.enter", kind="Parallel", name="Intake")],
        "Intake began: several branches side by side.",
        ("composition.enter.Parallel",),
    ),
    (
        [report("composition.enter", kind="Loop", name="Intake")],
        "Intake began: the same again until it is done.",
        ("composition.enter.Loop",),
    ),
    (
        [report("composition.enter", kind="Conditional")],
        "A group of steps began: one of several branches.",
        ("composition.enter.Conditional",),
    ),
    ([report("composition.exit", name="Intake", status="ok")], "Intake ended.", ("composition.exit",)),
    ([report("composition.exit", name="Intake", status="break")], "Intake ended early.", ("composition.exit.failed",)),
    ([report("composition.fork_start")], "The branches started.", ("composition.fork_start",)),
    ([report("composition.merge_end")], "The branches came together.", ("composition.merge_end",)),
    ([report("error.fatal", error="secret")], "The run stopped on an error.", ("error.fatal",)),
]


def last_remark(events: list[Event], **sentences: str) -> Remark:
    commentary = Commentary(app_name="Atlas", sentences=sentences)
    return [commentary.tell(event) for event in events][-1]


@pytest.mark.parametrize(("events", "sentence"), [(events, sentence) for events, sentence, _ in TABLE])
def test_an_event_has_its_sentence(events: list[Event], sentence: str) -> None:
    assert last_remark(events) == Remark("text", sentence)


@pytest.mark.parametrize(("events", "key"), [(events, key) for events, _, keys in TABLE for key in keys])
def test_a_sentence_can_be_replaced_by_its_key(events: list[Event], key: str) -> None:
    assert "MY OWN" in last_remark(events, **{key: "MY OWN"}).text


def test_every_key_has_a_sentence_in_the_table() -> None:
    assert {key for _, _, keys in TABLE for key in keys} == DEFAULT_SENTENCES.keys()


@pytest.mark.parametrize(
    "event",
    [
        TextDelta(text="x"),
        ThinkingDelta(text="x"),
        ThinkingEnded(),
        RunStarted(),
        TurnStarted(),
        TurnEnded(text="x"),
        RunEnded(),
        ContextEvaluated(parts=("a",)),
        report("context.slot_composed"),
        report("context.injected", source="user"),
    ],
)
def test_what_goes_without_saying_is_left_out(event: Event) -> None:
    assert last_remark([event]) == Remark("silent")


@pytest.mark.parametrize(
    ("event", "name"),
    [
        (report("memory.written"), "memory.written"),
        (report("skill.rejected"), "skill.rejected"),
        (report("skill.activated"), "skill.activated"),
        (report("tools.effect", outcome="odd"), "tools.effect"),
        (report("composition.enter", kind="Odd"), "composition.enter"),
        (report("artifacts.resolved"), "artifacts.resolved"),
        (Event(), "Event"),
    ],
)
def test_what_has_no_sentence_is_told_by_its_name(event: Event, name: str) -> None:
    assert last_remark([event]) == Remark("unknown", name)


def test_every_kind_of_event_is_known() -> None:
    assert [name for name, cls in EVENT_TYPES.items() if name != "Reported" and last_remark([cls()]).kind == "unknown"] == []


def test_secrets_ids_and_numbers_of_cost_are_in_no_sentence() -> None:
    for events, _, _ in TABLE:
        text = last_remark(events).text
        assert not [word for word in ("secret", "KeyError", "500") if word in text]


def test_a_question_that_is_the_task_is_told_once() -> None:
    commentary = Commentary(app_name="Atlas")
    events = [RunStarted(task="Why?"), TurnStarted(text="Why?"), TurnStarted(text="And now?"), TurnStarted(text="Why?")]
    assert [commentary.tell(event).text for event in events] == [
        "Atlas was asked: “Why?”",
        "",
        "Atlas was asked: “And now?”",
        "Atlas was asked: “Why?”",
    ]


def test_a_run_is_told_as_a_user_would_have_it() -> None:
    with agentcell.watch("Weather in Linz?", agent="Atlas", display=False) as run:
        run.record(ModelStarted(model_call_id="msg_01AbC", tools=(ToolOffer("weather", "Current weather for a city."),)))
        run.think("Hm.")
        run.record(ModelEnded(model_call_id="msg_01AbC", usage=Usage(1234, 567), tool_calls=1, duration=8.75))
        with run.tool("weather", city="Linz") as call:
            call.progress("asking the station")
            run.pause("Celsius?", ask=lambda question, choices: "yes")
            call.result({"degrees": 21})
        run.record(Reported(name="memory.written", evidence={"id": "mem_77"}))
        run.step("Writing it up")
        run.write("It is 21 degrees.")

    commentary = Commentary(app_name=run.options.agent)
    remarks = [commentary.tell(event) for event in run.events]

    assert [remark.text for remark in remarks if remark.kind == "text"] == [
        "Atlas was asked: “Weather in Linz?”",
        "Atlas put the question to the model.",
        "The model asked for tools before it answers.",
        "Atlas called `weather` (Current weather for a city).",
        "`weather` is still at work and gave a sign of progress.",
        "Atlas waits for a person to answer.",
        "The person answered, and Atlas went on.",
        "`weather` came back with a result.",
        "Writing it up",
    ]
    assert [remark.text for remark in remarks if remark.kind == "unknown"] == ["memory.written"]
    assert {remark.text for remark in remarks if remark.kind == "silent"} == {""}
    told = " ".join(remark.text for remark in remarks)
    assert not [
        word for word in ("msg_01AbC", "ac_", "mem_77", "1234", "567", "8.75", "Celsius", "asking the station") if word in told
    ]
