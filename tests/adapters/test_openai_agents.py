"""The OpenAI Agents SDK, with its own scripted model: heard by itself, by its hooks and by its stream, and told once."""

from __future__ import annotations

import asyncio
import json
import os

import pytest

os.environ.setdefault("OPENAI_API_KEY", "none")

import agents
import openai
from agents import Agent, ModelSettings, OpenAIChatCompletionsModel, OpenAIResponsesModel, RunHooks, Runner, RunState, function_tool
from agents import run as agents_run
from agents.run_config import RunConfig
from agents.testing import ModelStep, assistant_message
from openai.types.responses import ResponseFunctionWebSearch
from openai.types.responses.response_function_web_search import ActionSearch

import agentcell
from adapters.beside import watch_beside
from adapters.hearing import RECORDINGS
from adapters.openai_agents_scripts import (
    EVERY,
    ask,
    auto,
    call,
    hanging,
    hear,
    make,
    of,
    offline,  # noqa: F401 - for every test
    options_for,
    rows,
    script,
    two_tools,
    weather,
)
from agentcell.adapters.openai_agents_calls import CURRENT, FAILED
from agentcell.events import (
    AgentStarted,
    LimitReached,
    ModelEnded,
    ModelStarted,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    Usage,
)
from agentcell.testing import ReplayServer


@EVERY
def test_two_model_calls_and_two_parallel_tools_of_which_one_raises(way):
    run = asyncio.run(hear(way, two_tools))
    assert rows(run) == [("Thinking", "done", None), ("weather", "done", None), ("broken", "failed", None)]
    assert [step.arguments for step in run.steps[1:]] == [{"city": "Oslo"}, {"city": "Atlantis"}]
    assert run.steps[1].result == "Oslo: 7 degrees"
    assert run.answer_text == "Oslo is mild."
    assert (run.outcome, run.usage) == ("answered", Usage(40, 18, 8, 0, 6))
    assert len(of(run, ModelStarted)) == len(of(run, ModelEnded)) == 2
    assert [(event.outcome, event.error) for event in of(run, ToolEnded) if event.call_id == "c2"] == [("failed", FAILED)]
    assert "".join(event.text for event in of(run, ThinkingDelta)) == "Two cities."


@EVERY
def test_each_call_is_told_to_start_and_to_end_once(way):
    run = asyncio.run(hear(way, two_tools))
    assert sorted(event.call_id for event in of(run, ToolEnded)) == ["c1", "c2"]
    assert "".join(event.text for event in of(run, TextDelta)) == "Oslo is mild."
    started = [event.call_id for event in of(run, ToolStarted) if not event.requested]
    assert sorted(started) == ([] if way == "stream" else ["c1", "c2"])


@pytest.mark.parametrize("way", ["by itself", "streamed", "all"])
def test_an_agent_that_is_called_as_a_tool_stands_under_its_call(way):
    def team():
        expert = Agent("Expert", model=script([call("weather", 7, city="Rome")], [assistant_message("For the other agent.")]))
        expert.tools = [weather]
        return make([call("ask_expert", 1, input="?")], [assistant_message("Done.")], tools=[expert.as_tool("ask_expert", "asks")])

    run = asyncio.run(hear(way, team))
    assert rows(run) == [("ask_expert", "done", None), ("Expert", "done", 0), ("weather", "done", 1)]
    assert run.answer_text == "Done."


@pytest.mark.parametrize("traced", [True, False])
def test_an_agent_that_is_run_inside_a_tool_stands_under_its_call(traced):
    def team():
        @function_tool
        async def look_up(city: str) -> str:
            expert = make([call("weather", 7, city=city)], [assistant_message(f"{city} is fine.")])
            return (await Runner.run(expert, city, run_config=RunConfig(tracing_disabled=not traced))).final_output

        asked = [call("look_up", 1, city="Oslo"), call("look_up", 2, city="Rome")] if traced else [call("look_up", 1, city="Oslo")]
        return make(asked, [assistant_message("Done.")], tools=[look_up])

    run = asyncio.run(hear("by itself", team, run_config=RunConfig(tracing_disabled=not traced)))
    kinds = {step.id: step.kind for step in run.steps}
    parents = [(step.kind, step.arguments.get("city"), step.parent) for step in run.steps]
    cities = ("Oslo", "Rome") if traced else ("Oslo",)
    assert parents[: len(cities)] == [("tool", city, None) for city in cities]
    assert sorted(parent for kind, _, parent in parents if kind == "agent") == list(range(len(cities)))
    for step in run.steps[len(cities) :]:
        if step.kind == "tool":
            agent = run.steps[step.parent]
            assert kinds[agent.id] == "agent"
            assert run.steps[agent.parent].arguments == step.arguments
    assert run.answer_text == "Done."


@EVERY
def test_an_agent_that_is_handed_the_conversation_answers_and_stands_under_the_hand_over(way):
    def team():
        refunds = Agent("Refunds", model=script([call("weather", 2, city="Oslo")], [assistant_message("Money is back.")]))
        refunds.tools = [weather]
        return make([call("transfer_to_refunds", 1)], handoffs=[refunds])

    run = asyncio.run(hear(way, team))
    assert rows(run) == [("transfer_to_refunds", "done", None), ("Refunds", "done", 0), ("weather", "done", 1)]
    assert run.answer_text == "Money is back."
    assert len(of(run, AgentStarted)) == 1


@function_tool(needs_approval=True)
def delete(path: str) -> str:
    return f"{path} is gone"


async def with_approval(run, way, *, approve, through_json=False):
    agent = make([call("delete", 1, path="/tmp/x")], [assistant_message("Done.")], tools=[delete])
    result = await ask(run, way, agent)
    assert result.final_output is None
    if run is not None:
        assert run.steps[0].state == "running"
        if way != "hooks":
            assert run.steps[1].text.startswith("Waiting on you")
    state = result.to_state()
    if through_json:
        state = await RunState.from_json(agent, json.loads(json.dumps(state.to_json())))
    decide = state.approve if approve else state.reject
    decide(state.get_interruptions()[0])
    return (await ask(run, way, agent, state)).final_output


@EVERY
def test_a_call_that_must_be_approved_pauses_and_goes_on_as_the_same_call(way):
    run = asyncio.run(watch_beside(lambda run: with_approval(run, way, approve=True), auto=auto(way)))
    assert [row for row in rows(run) if row[0] == "delete"] == [("delete", "done", None)]
    assert all(state == "done" for _, state, _ in rows(run))
    assert run.outcome == "answered"


def test_a_run_that_was_kept_as_json_meanwhile_goes_on_as_the_same_call():
    run = asyncio.run(watch_beside(lambda run: with_approval(run, "by itself", approve=True, through_json=True)))
    assert rows(run) == [("delete", "done", None), ("Waiting on you: May `delete` run?", "done", 0)]
    assert run.steps[1].detail == "approve"


@pytest.mark.parametrize("way", ["by itself", "streamed", "all"])
def test_a_call_that_is_not_approved_is_over_and_no_failure(way):
    run = asyncio.run(watch_beside(lambda run: with_approval(run, way, approve=False), auto=auto(way)))
    assert [(state, detail) for _, state, detail in [(s.tool, s.state, s.detail) for s in run.steps]] == [
        ("cancelled", ""),
        ("done", "reject"),
    ]


def test_approval_inside_an_agent_that_is_a_tool_goes_on_under_the_same_rows():
    async def scenario(run):
        keeper = make([call("delete", 7, path="/tmp/x")], [assistant_message("It is gone.")], tools=[delete])
        boss = make([call("ask_keeper", 1, input="?")], [assistant_message("Done.")], tools=[keeper.as_tool("ask_keeper", "asks")])
        result = await Runner.run(boss, "hi")
        state = result.to_state()
        state.approve(result.interruptions[0])
        return (await Runner.run(boss, state)).final_output

    run = asyncio.run(watch_beside(scenario))
    assert rows(run) == [
        ("ask_keeper", "done", None),
        ("Assistant", "done", 0),
        ("delete", "done", 1),
        ("Waiting on you: May `delete` run?", "done", 2),
    ]


@EVERY
def test_an_error_of_the_model_ends_the_call_and_reaches_the_user(way):
    def failing():
        return make(ModelStep.raise_error(RuntimeError("the model is down")))

    run = asyncio.run(hear(way, failing))
    assert run.raised is not None
    if auto(way):
        assert [(event.outcome, event.error) for event in of(run, ModelEnded)] == [("failed", "the model is down")]


@pytest.mark.parametrize("way", ["by itself", "streamed", "all"])
def test_a_tool_whose_error_ends_the_run_failed_and_its_sibling_was_cancelled(way):
    @function_tool(failure_error_function=None)
    async def fatal(city: str) -> str:
        await asyncio.sleep(0)
        raise ValueError("no such city")

    @function_tool
    async def slow(city: str) -> str:
        await asyncio.Event().wait()
        return "never"

    def agent():
        return make([call("slow", 1, city="Oslo"), call("fatal", 2, city="Atlantis")], tools=[fatal, slow])

    run = asyncio.run(hear(way, agent))
    assert run.raised is not None
    assert rows(run) == [("slow", "cancelled", None), ("fatal", "failed", None)]
    assert run.steps[1].detail == "ValueError: no such city"


def test_the_tool_that_ended_the_run_is_found_where_nothing_is_traced():
    @function_tool(failure_error_function=None)
    def fatal(city: str) -> str:
        raise ValueError("no such city")

    def agent():
        return make([call("weather", 1, city="Oslo"), call("fatal", 2, city="Atlantis")], tools=[fatal, weather])

    run = asyncio.run(hear("by itself", agent, run_config=RunConfig(tracing_disabled=True)))
    assert [row for row in rows(run) if row[0] == "fatal"] == [("fatal", "failed", None)]


@EVERY
def test_a_tool_that_hangs_is_cancelled_with_its_task(way):
    async def scenario(run):
        started = asyncio.Event()
        task = asyncio.ensure_future(ask(run, way, hanging(started)))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run = asyncio.run(watch_beside(scenario, auto=auto(way)))
    assert rows(run) == [("hang", "cancelled", None)]


@pytest.mark.parametrize("way", ["streamed", "stream", "all"])
def test_a_stream_that_is_cancelled_leaves_nothing_open(way):
    async def scenario(run):
        started = asyncio.Event()
        result = Runner.run_streamed(hanging(started), "hi", **options_for(run, way))
        stream = result.stream_events() if run is None or way == "streamed" else run.stream(result)
        names = []
        async for event in stream:
            names.append(event.type)
            if getattr(event, "name", "") == "tool_called":
                await started.wait()
                result.cancel()
        return names, result.is_complete

    run = asyncio.run(watch_beside(scenario, auto=auto(way)))
    assert rows(run) == [("hang", "cancelled", None)]


def test_a_stream_that_is_read_late_is_still_told_once():
    async def scenario(run):
        result = Runner.run_streamed(two_tools(), "hi")
        await result.run_loop_task
        return [event.type async for event in result.stream_events()]

    run = asyncio.run(watch_beside(scenario))
    assert run.answer_text == "Oslo is mild."
    assert [state for _, state, _ in rows(run)] == ["done", "done", "failed"]


def test_a_stream_that_nobody_reads_is_heard_by_its_hooks():
    async def scenario(run):
        result = Runner.run_streamed(two_tools(), "hi")
        await result.run_loop_task
        return result.final_output

    run = asyncio.run(watch_beside(scenario))
    assert run.answer_text == "Oslo is mild."


def test_the_raw_generator_of_a_stream_is_heard_like_its_handle():
    async def scenario(run):
        result = Runner.run_streamed(two_tools(), "hi")
        events = result.stream_events()
        return [event.type async for event in (events if run is None else run.stream(events))]

    for heard in (True, False):
        run = asyncio.run(watch_beside(scenario, auto=heard))
        assert run.answer_text == "Oslo is mild."
        assert len(of(run, ModelStarted)) == len(of(run, ModelEnded)) == 2


def test_the_users_own_hooks_are_called_as_without_us():
    class Theirs(RunHooks):
        def __init__(self):
            self.told = []

        async def on_llm_start(self, context, agent, system_prompt, input_items):
            self.told.append(("llm", agent.name, system_prompt, len(input_items)))

        async def on_tool_end(self, context, agent, tool, result):
            self.told.append((tool.name, context.tool_call_id, result))

        async def on_agent_end(self, context, agent, output):
            self.told.append(output)

    async def scenario(run):
        theirs = Theirs()
        await Runner.run(two_tools(), "hi", hooks=theirs)
        return theirs.told

    run = asyncio.run(watch_beside(scenario))
    assert run.steps[1].state == "done"


@pytest.mark.parametrize("wrong", ["hooks", agents.AgentHooks()])
def test_wrong_hooks_are_refused_as_without_us(wrong):
    run = asyncio.run(watch_beside(lambda run: Runner.run(two_tools(), "hi", hooks=wrong)))
    assert isinstance(run.raised, TypeError)


def test_a_hook_of_the_user_that_raises_does_what_it_does_without_us():
    class Raising(RunHooks):
        async def on_tool_start(self, context, agent, tool):
            raise RuntimeError("the hook is broken")

    async def scenario(run):
        return (await Runner.run(two_tools(), "hi", hooks=Raising())).final_output

    run = asyncio.run(watch_beside(scenario))
    assert run.raised is not None


def test_the_same_hooks_twice_tell_once():
    async def scenario(run):
        hooks = None if run is None else run.openai_agents()
        return (await Runner.run(two_tools(), "hi", hooks=hooks)).final_output

    run = asyncio.run(watch_beside(scenario))
    assert run.usage.total_tokens == 58
    assert len(of(run, ToolEnded)) == 2


@EVERY
def test_two_calls_in_a_row_are_two_turns_of_one_run(way):
    async def scenario(run):
        return [(await ask(run, way, two_tools())).final_output for _ in range(2)]

    run = asyncio.run(watch_beside(scenario, auto=auto(way)))
    assert [row[:2] for row in rows(run)] == [("Thinking", "done"), ("weather", "done"), ("broken", "failed")] * 2
    assert run.answer_text == "Oslo is mild.\n\nOslo is mild."
    assert run.usage.total_tokens == 116


def test_two_runs_side_by_side_hear_each_its_own_and_leave_no_hook():
    before = agents_run.get_default_agent_runner()

    async def one(city):
        with agentcell.watch(display=False) as run:
            agent = make([call("weather", 1, city=city)], [assistant_message(city)])
            result = Runner.run_streamed(agent, city)
            async for _ in result.stream_events():
                await asyncio.sleep(0)
        return run

    async def both():
        return await asyncio.gather(one("Oslo"), one("Rome"))

    for city, run in zip(("Oslo", "Rome"), asyncio.run(both()), strict=True):
        assert run.answer_text == city
        assert [step.arguments for step in run.steps] == [{"city": city}]
    assert agents_run.get_default_agent_runner() is before
    assert CURRENT.get() is None


def test_agents_side_by_side_in_one_run_are_turns_of_their_own():
    async def scenario(run):
        agents = [make([call("weather", n, city=city)], [assistant_message(city)]) for n, city in enumerate(("Oslo", "Rome"))]
        return [result.final_output for result in await asyncio.gather(*(Runner.run(agent, "hi") for agent in agents))]

    run = asyncio.run(watch_beside(scenario))
    assert sorted(step.arguments["city"] for step in run.steps) == ["Oslo", "Rome"]
    assert all(step.state == "done" for step in run.steps)


def test_without_auto_and_hooks_nothing_is_heard():
    run = asyncio.run(watch_beside(lambda run: Runner.run(two_tools(), "hi", max_turns=1), auto=False))
    assert run.raised is not None
    assert run.steps == ()


def test_an_agent_outside_of_every_block_goes_through_the_usual_runner():
    with agentcell.watch(display=False) as run:
        pass
    assert asyncio.run(Runner.run(two_tools(), "hi")).final_output == "Oslo is mild."
    assert run.steps == ()


@pytest.fixture
def loop():
    """The loop that `run_sync` uses and leaves open."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield loop
    asyncio.set_event_loop(None)
    loop.close()


def test_run_sync_is_heard_where_no_loop_runs(loop):
    with agentcell.watch(display=False) as run:
        assert Runner.run_sync(two_tools(), "hi").final_output == "Oslo is mild."
    assert run.answer_text == "Oslo is mild."


def test_run_sync_inside_a_loop_is_refused_as_without_us():
    async def scenario(run):
        return Runner.run_sync(two_tools(), "hi")

    run = asyncio.run(watch_beside(scenario))
    assert isinstance(run.raised, RuntimeError)
    assert run.steps == ()


def test_the_limit_of_turns_is_told():
    def looping():
        return make(*[[call("weather", n, city="Oslo")] for n in range(3)])

    run = asyncio.run(hear("by itself", looping, max_turns=2))
    assert run.raised is not None
    assert [(event.kind, event.limit) for event in of(run, LimitReached)] == [("turns", 2)]
    assert rows(run)[-1] == ("Reached the limit of turns", "done", None)


def test_what_a_tool_gives_as_the_whole_answer_is_the_answer():
    run = asyncio.run(hear("by itself", lambda: make([call("weather", 1, city="Oslo")], tool_use_behavior="stop_on_first_tool")))
    assert run.answer_text == "Oslo: 7 degrees"


def test_tools_that_the_provider_runs_are_told_once():
    search = ResponseFunctionWebSearch(
        id="ws_1", type="web_search_call", status="completed", action=ActionSearch(type="search", query="Oslo")
    )
    run = asyncio.run(hear("by itself", lambda: make([search, assistant_message("Mild.")])))
    assert rows(run) == [("web_search", "done", None)]
    assert (run.answer_text, len(of(run, ToolEnded))) == ("Mild.", 1)


@pytest.mark.parametrize("way", ["by itself", "streamed"])
def test_a_run_that_is_stopped_ends_the_agent(way):
    with agentcell.watch(display=False) as run:

        @function_tool
        def stopping(city: str) -> str:
            run.stop()
            return city

        agent = make([call("stopping", 1, city="Oslo")], [assistant_message("never")], tools=[stopping])
        with pytest.raises(agentcell.RunStopped):
            asyncio.run(ask(run, way, agent))
    assert run.answer_text == ""
    assert all(step.state != "running" for step in run.steps)


@pytest.mark.parametrize(("kind", "recording"), [("chat", "chat_usage"), ("responses", "responses_answer")])
@pytest.mark.parametrize("way", ["streamed", "all"])
def test_the_sdks_own_models_stream_word_by_word(kind, recording, way):
    async def scenario(run):
        with ReplayServer(RECORDINGS / f"{recording}.json") as server:
            async with openai.AsyncOpenAI(base_url=server.url, api_key="none", max_retries=0) as client:
                model = OpenAIChatCompletionsModel if kind == "chat" else OpenAIResponsesModel
                agent = Agent("A", model=model("m", client), model_settings=ModelSettings(include_usage=True))
                return (await ask(run, way, agent)).final_output

    run = asyncio.run(watch_beside(scenario))
    assert run.result == run.answer_text
    assert "".join(event.text for event in of(run, TextDelta)) == run.answer_text
    assert run.usage.total_tokens
