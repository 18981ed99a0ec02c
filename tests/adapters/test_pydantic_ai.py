"""What pydantic-ai's agents do is told to the run, whichever way they are run, and they do what they do without it."""

import asyncio
import contextlib
import threading

import pytest
from pydantic import BaseModel
from pydantic_ai import (
    Agent,
    AgentRunResultEvent,
    CallDeferred,
    DeferredToolRequests,
    DeferredToolResults,
    ModelRetry,
    RunContext,
    ToolDenied,
)
from pydantic_ai.capabilities import HandleDeferredToolCalls
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models import Model
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.function import DeltaThinkingPart, DeltaToolCall, FunctionModel
from pydantic_ai.models.test import TestModel

import agentcell
from adapters.beside import watch_beside
from adapters.scripted import scripted
from agentcell.events import (
    AgentStarted,
    ModelEnded,
    ModelStarted,
    PauseRequested,
    PauseResumed,
    TextDelta,
    ThinkingDelta,
    ThinkingEnded,
    ToolEnded,
    ToolStarted,
)


def of(run, *kinds):
    return [event for event in run.events if isinstance(event, kinds)]


def rows(run):
    return [(step.tool, step.state, step.result) for step in run.steps if step.tool]


def text_of(run):
    return "".join(event.text for event in of(run, TextDelta))


def round_of(messages):
    return sum(isinstance(message, ModelResponse) for message in messages)


async def forecast(messages, info):
    """Thinks, asks for two tools, and then answers."""
    if round_of(messages) % 2 == 0:
        yield {0: DeltaThinkingPart(content="Let me ")}
        yield {0: DeltaThinkingPart(content="see.", signature="sig")}
        yield {1: DeltaToolCall(name="weather", json_args='{"city":', tool_call_id="w")}
        yield {1: DeltaToolCall(json_args='"Oslo"}')}
        yield {2: DeltaToolCall(name="traffic", json_args="{}", tool_call_id="t")}
    else:
        yield "Oslo is "
        yield "mild."


def forecaster(*, traffic=None, model=None, **options):
    agent = Agent(model or scripted(forecast), name="forecaster", **options)

    @agent.tool_plain
    async def weather(city: str) -> str:
        return f"7 degrees in {city}"

    def busy() -> str:
        raise ModelRetry("try later")

    traffic = traffic or busy
    traffic.__name__ = "traffic"
    agent.tool_plain(traffic)
    return agent


async def by_run(agent, **options):
    return (await agent.run("hi", **options)).output


async def by_run_sync(agent, **options):
    return await asyncio.to_thread(run_in_a_thread, agent, options)


def run_in_a_thread(agent, options):
    loop = asyncio.new_event_loop()  # the framework would make one, and leave it open
    asyncio.set_event_loop(loop)
    try:
        return agent.run_sync("hi", **options).output
    finally:
        asyncio.set_event_loop(None)
        loop.close()


async def by_iter(agent, **options):
    async with agent.iter("hi", **options) as agent_run:
        async for _ in agent_run:
            pass
    return agent_run.result.output


async def by_run_stream(agent, **options):
    async with agent.run_stream("hi", **options) as response:
        return "".join([text async for text in response.stream_text(delta=True)])


async def by_events(agent, **options):
    async with agent.run_stream_events("hi", **options) as events:
        kinds = [event async for event in events]
    return kinds[-1].result.output, [type(event) for event in kinds]


WAYS = [by_run, by_run_sync, by_iter, by_run_stream, by_events]


def assert_forecast(run):
    assert run.outcome == "answered"
    assert sorted(rows(run)) == [("traffic", "failed", None), ("weather", "done", "7 degrees in Oslo")]
    assert {step.tool: step.arguments for step in run.steps if step.tool} == {"weather": {"city": "Oslo"}, "traffic": {}}
    assert [event.error for event in of(run, ToolEnded) if event.error] == ["try later"]
    assert "".join(event.text for event in of(run, ThinkingDelta)) == "Let me see."
    assert [[(one.content, one.signature) for one in event.blocks] for event in of(run, ThinkingEnded)] == [
        [("Let me see.", "sig")]
    ]
    assert run.answer_text == text_of(run) == "Oslo is mild."
    first, second = of(run, ModelEnded)
    assert (first.tool_calls, second.tool_calls, first.outcome, second.outcome) == (2, 0, "done", "done")
    assert {event.model_call_id for event in of(run, ToolStarted)} == {first.model_call_id}
    assert len({event.model_call_id for event in of(run, ModelStarted)}) == 2


@pytest.mark.parametrize("way", WAYS)
def test_an_agent_inside_the_block_is_heard_however_it_is_run(way):
    run = asyncio.run(watch_beside(lambda run: way(forecaster())))
    assert_forecast(run)
    assert run.usage.total_tokens == 115
    assert [tool.name for tool in of(run, ModelStarted)[0].tools] == ["weather", "traffic"]


@pytest.mark.parametrize("way", WAYS)
def test_with_the_capability_it_is_heard_where_the_block_hears_nothing_by_itself(way):
    async def agent(run):
        return await way(forecaster(), capabilities=[] if run is None else [run.pydantic_ai()])

    assert_forecast(asyncio.run(watch_beside(agent, auto=False)))


def test_a_capability_that_is_there_three_times_tells_everything_once():
    async def agent(run):
        mine = [] if run is None else [run.pydantic_ai()]
        return await by_run(forecaster(capabilities=mine), capabilities=mine)

    run = asyncio.run(watch_beside(agent))
    assert_forecast(run)
    assert len(of(run, ModelStarted, ModelEnded)) == 4


@pytest.mark.parametrize("auto", [True, False])
def test_a_stream_of_events_that_passes_through_the_run_is_told_once(auto):
    async def agent(run):
        streamed = forecaster().run_stream_events("hi")
        async with streamed if run is None else run.stream(streamed) as events:
            return [type(event) async for event in events]

    run = asyncio.run(watch_beside(agent, auto=auto))
    assert_forecast_of_a_stream(run)
    assert run.usage.total_tokens == 115


def assert_forecast_of_a_stream(run):
    assert sorted(rows(run)) == [("traffic", "failed", None), ("weather", "done", "7 degrees in Oslo")]
    assert run.answer_text == text_of(run) == "Oslo is mild."
    assert len(of(run, ModelStarted)) == len(of(run, ModelEnded)) == 2


@pytest.mark.parametrize("auto", [True, False])
def test_a_stream_of_events_can_be_consumed(auto):
    async def agent(run):
        if run is None:
            return await by_run(forecaster())
        last = await run.consume(forecaster().run_stream_events("hi"))
        assert isinstance(last, AgentRunResultEvent)
        return last.result.output

    assert_forecast_of_a_stream(asyncio.run(watch_beside(agent, auto=auto)))


def test_a_stream_that_is_left_early_is_cancelled():
    async def agent(run):
        streamed = forecaster().run_stream_events("hi")
        async with streamed if run is None else run.stream(streamed) as events:
            return type(await anext(aiter(events)))

    run = asyncio.run(watch_beside(agent, auto=False))
    assert [event.outcome for event in of(run, ModelEnded)] == ["cancelled"]


def test_the_events_of_a_handler_can_be_passed_through_the_run():
    async def agent(run):
        async def handler(ctx, events):
            async for _ in events if run is None else run.stream(events):
                pass

        return await by_run(forecaster(), event_stream_handler=handler)

    for auto in (True, False):
        run = asyncio.run(watch_beside(agent, auto=auto))
        assert sorted(rows(run)) == [("traffic", "failed", None), ("weather", "done", "7 degrees in Oslo")]
        assert run.answer_text == text_of(run) == "Oslo is mild."


def test_a_handler_of_the_user_beside_it_gets_what_it_would_get():
    async def agent(run):
        seen = []

        async def handler(ctx, events):
            seen.append([type(event) async for event in events])

        output = await by_run(forecaster(), event_stream_handler=handler)
        return output, seen

    assert_forecast(asyncio.run(watch_beside(agent)))


@pytest.mark.parametrize("way", WAYS)
def test_a_tool_that_raises_ends_its_row_and_cancels_the_one_beside_it(way):
    async def agent(run):
        began = asyncio.Event()
        bot = Agent(scripted(forecast), name="forecaster")

        @bot.tool_plain
        async def weather(city: str) -> str:
            began.set()
            await asyncio.Event().wait()

        @bot.tool_plain
        async def traffic() -> str:
            await began.wait()
            raise ValueError("no roads")

        return await way(bot)

    run = asyncio.run(watch_beside(agent))
    assert isinstance(run.raised, ValueError)
    assert run.outcome == "failed"
    assert sorted(rows(run)) == [("traffic", "failed", None), ("weather", "cancelled", None)]
    assert [event.error_type for event in of(run, ToolEnded) if event.outcome == "failed"] == ["ValueError"]


def test_a_model_that_fails_ends_its_call():
    async def breaks(messages, info):
        yield "Oslo "
        raise RuntimeError("no model")

    run = asyncio.run(watch_beside(lambda run: by_run(forecaster(model=scripted(breaks)))))
    assert run.outcome == "failed"
    assert [(event.outcome, event.error) for event in of(run, ModelEnded)] == [("failed", "no model")]


def test_a_cancelled_agent_ends_the_tool_that_hangs():
    async def agent(run):
        began = asyncio.Event()

        async def hang() -> str:
            began.set()
            await asyncio.Event().wait()

        task = asyncio.create_task(by_run(forecaster(traffic=hang)))
        await began.wait()
        task.cancel()
        return await task

    run = asyncio.run(watch_beside(agent))
    assert isinstance(run.raised, asyncio.CancelledError)
    assert run.outcome == "cancelled"
    assert [(name, state) for name, state, _ in sorted(rows(run))] == [("traffic", "cancelled"), ("weather", "done")]


def test_a_cancelled_agent_ends_the_model_call_that_hangs():
    async def agent(run):
        began = asyncio.Event()

        async def hangs(messages, info):
            yield "Oslo "
            began.set()
            await asyncio.Event().wait()

        task = asyncio.create_task(by_run(forecaster(model=scripted(hangs))))
        await began.wait()
        task.cancel()
        return await task

    run = asyncio.run(watch_beside(agent))
    assert [event.outcome for event in of(run, ModelEnded)] == ["cancelled"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("place", ["model", "token", "tool"])
def test_a_run_that_is_asked_to_stop_stops_the_agent_at_its_next_step(place, way):
    ran = []

    async def script(messages, info):
        ran.append("model")
        if round_of(messages) == 0:
            yield {0: DeltaToolCall(name="weather", json_args='{"city": "Oslo"}', tool_call_id="w")}
            if place == "tool":
                run.stop()
        else:
            yield "Oslo "
            if place == "token":
                run.stop()
                for _ in range(100):
                    yield "is mild, "
            ran.append("end")

    agent = Agent(scripted(script))

    @agent.tool_plain
    def weather(city: str) -> str:
        ran.append("tool")
        if place == "model":
            run.stop()
        return "7"

    async def stopped():
        with run:
            await way(agent)

    run = agentcell.watch("hi", display=False)
    with contextlib.suppress(agentcell.RunStopped):
        asyncio.run(stopped())
    assert run.outcome == "cancelled"
    assert run.faults == {}
    assert ran == {"model": ["model", "tool"], "tool": ["model"], "token": ["model", "tool", "model"]}[place]
    assert all(step.state != "running" for step in run.steps)


@pytest.mark.parametrize("in_a_thread", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_a_tool_that_hangs_is_stopped(way, in_a_thread):
    pressed = threading.Event()

    def press_stop():
        run.stop()
        pressed.set()

    def hang() -> str:
        threading.Thread(target=press_stop).start()
        pressed.wait()
        run.raise_if_stopping()

    async def hang_async() -> str:
        await asyncio.to_thread(press_stop)
        run.raise_if_stopping()

    async def stopped():
        with run:
            await way(forecaster(traffic=hang if in_a_thread else hang_async))

    run = agentcell.watch("hi", display=False)
    asyncio.run(stopped())
    assert run.outcome == "cancelled"
    assert run.faults == {}
    assert ("traffic", "cancelled", None) in rows(run)
    assert all(step.state != "running" for step in run.steps)


def deleter():
    async def script(messages, info):
        if round_of(messages) == 0:
            yield {0: DeltaToolCall(name="delete", json_args='{"path": "a.txt"}', tool_call_id="d")}
        else:
            yield "Done."

    agent = Agent(scripted(script), output_type=[str, DeferredToolRequests])

    @agent.tool_plain(requires_approval=True)
    def delete(path: str) -> str:
        return f"{path} is gone"

    return agent


@pytest.mark.parametrize(
    ("answer", "row", "outcome"),
    [
        (True, ("delete", "done", "a.txt is gone"), "done"),
        (ToolDenied("Not this one."), ("delete", "cancelled", None), "cancelled"),
    ],
)
def test_a_call_that_needs_approval_is_a_pause_and_goes_on_as_the_same_call(answer, row, outcome):
    states = []

    async def agent(run):
        bot = deleter()
        first = await bot.run("hi")
        if run is not None:
            states.append((run.status, rows(run), len(of(run, PauseRequested)), len(of(run, PauseResumed))))
        results = DeferredToolResults(approvals={"d": answer})
        second = await bot.run(message_history=first.all_messages(), deferred_tool_results=results)
        return [call.tool_name for call in first.output.approvals], second.output

    run = asyncio.run(watch_beside(agent))
    assert states == [("reasoning", [("delete", "running", None)], 1, 0)]
    assert rows(run) == [row]
    assert [event.outcome for event in of(run, ToolEnded)] == [outcome]
    assert (len(of(run, PauseRequested)), len(of(run, PauseResumed))) == (1, 1)
    assert run.outcome == "answered"
    assert run.answer_text == "Done."


def test_a_call_that_the_users_own_code_approves_on_the_way_is_a_short_pause():
    async def agent(run):
        async def approve(ctx, requests):
            return DeferredToolResults(approvals={call.tool_call_id: True for call in requests.approvals})

        return (await deleter().run("hi", capabilities=[HandleDeferredToolCalls(handler=approve)])).output

    run = asyncio.run(watch_beside(agent))
    assert rows(run) == [("delete", "done", "a.txt is gone")]
    assert (len(of(run, PauseRequested)), len(of(run, PauseResumed))) == (1, 1)


def test_a_call_that_somebody_else_runs_is_a_pause_until_its_result_is_there():
    async def agent(run):
        bot = Agent(scripted(forecast), output_type=[str, DeferredToolRequests])

        @bot.tool_plain
        async def weather(city: str) -> str:
            raise CallDeferred

        @bot.tool_plain
        async def traffic() -> str:
            return "none"

        first = await bot.run("hi")
        if run is not None:
            assert sorted(rows(run)) == [("traffic", "done", "none"), ("weather", "running", None)]
            assert [pause.question for pause in of(run, PauseRequested)] == ["What does weather give?"]
        results = DeferredToolResults(calls={"w": "7 degrees"})
        return (await bot.run(message_history=first.all_messages(), deferred_tool_results=results)).output

    run = asyncio.run(watch_beside(agent))
    assert sorted(rows(run)) == [("traffic", "done", "none"), ("weather", "done", "7 degrees")]
    assert (len(of(run, PauseRequested)), len(of(run, PauseResumed))) == (1, 1)
    assert run.answer_text == "Oslo is mild."


def asker(inner, *, in_a_thread=False):
    async def script(messages, info):
        if round_of(messages) == 0:
            yield {0: DeltaToolCall(name="expert", json_args="{}", tool_call_id="x")}
            yield {1: DeltaToolCall(name="expert", json_args="{}", tool_call_id="y")}
        else:
            yield "As the experts say."

    agent = Agent(scripted(script), name="asker")
    if in_a_thread:

        @agent.tool_plain
        def expert() -> str:
            return asyncio.run(by_run(inner))

    else:

        @agent.tool_plain
        async def expert() -> str:
            return await by_run(inner)

    return agent


@pytest.mark.parametrize("in_a_thread", [False, True])
def test_agents_in_the_tools_of_another_stand_under_their_tool_calls(in_a_thread):
    run = asyncio.run(watch_beside(lambda run: by_run(asker(forecaster(), in_a_thread=in_a_thread))))
    first, second = of(run, AgentStarted)
    assert {first.parent_id, second.parent_id} == {"x", "y"}
    assert (first.name, second.name) == ("forecaster", "forecaster")
    for agent in (first, second):
        names = {event.name for event in of(run, ToolStarted) if event.agent_id == agent.agent_id}
        assert names == {"weather", "traffic"}
    assert run.answer_text == "As the experts say."
    assert run.outcome == "answered"
    assert all(step.state in ("done", "failed") for step in run.steps)
    assert len(of(run, ModelEnded)) == 6


def test_two_runs_side_by_side_hear_each_its_own():
    async def one(name):
        with agentcell.watch(name, display=False) as run:
            await by_run(forecaster())
        return run

    async def both():
        return await asyncio.gather(one("a"), one("b"))

    for run in asyncio.run(both()):
        assert_forecast(run)


def test_two_agents_at_once_in_one_block_are_kept_apart():
    async def agent(run):
        bot = forecaster()
        return await asyncio.gather(by_run(bot), by_run(bot))

    run = asyncio.run(watch_beside(agent))
    assert sorted(rows(run)) == [("traffic", "failed", None)] * 2 + [("weather", "done", "7 degrees in Oslo")] * 2
    assert [event.outcome for event in of(run, ModelEnded)] == ["done"] * 4


def test_a_sync_call_inside_a_running_loop_fails_as_it_does_without():
    async def agent(run):
        return forecaster().run_sync("hi")

    run = asyncio.run(watch_beside(agent))
    assert isinstance(run.raised, RuntimeError)
    assert run.outcome == "failed"


def test_an_agent_that_is_left_between_two_nodes_is_over():
    async def agent(run):
        async with forecaster().iter("hi") as agent_run:
            async for node in agent_run:
                if Agent.is_call_tools_node(node):
                    break
        return agent_run.result

    run = asyncio.run(watch_beside(agent))
    assert [event.outcome for event in of(run, ModelEnded)] == ["done"]
    assert all(step.state != "running" for step in run.steps)


def test_an_answer_that_is_turned_down_is_asked_for_again():
    async def agent(run):
        async def script(messages, info):
            yield ("Mild.", "Please: mild.")[round_of(messages)]

        bot = Agent(scripted(script))

        @bot.output_validator
        def polite(answer: str) -> str:
            if not answer.startswith("Please"):
                raise ModelRetry("politely")
            return answer

        return await by_run(bot)

    run = asyncio.run(watch_beside(agent))
    assert [event.outcome for event in of(run, ModelEnded)] == ["done", "done"]
    assert (run.outcome, rows(run), run.result) == ("answered", [], "Please: mild.")
    assert run.answer_text.endswith("Please: mild.")


def test_two_calls_in_a_row_in_one_block_are_told_both():
    async def agent(run):
        bot = forecaster()
        return [await by_run(bot), await by_run(bot)]

    run = asyncio.run(watch_beside(agent))
    assert run.answer_text == "Oslo is mild.\n\nOslo is mild."
    assert [name for name, _, _ in rows(run)] == ["weather", "traffic"] * 2


def test_behind_the_block_nothing_is_left_and_nothing_is_heard():
    original = Agent.iter
    with agentcell.watch(display=False) as run:
        assert Agent.iter is not original
        capability = run.pydantic_ai()
    assert Agent.iter is original
    before = run.events
    assert asyncio.run(by_run(forecaster(capabilities=[capability]))) == "Oslo is mild."
    assert run.events == before


def test_a_block_that_is_not_to_hear_by_itself_changes_nothing():
    original = Agent.iter
    with agentcell.watch(display=False, auto=False) as run:
        assert Agent.iter is original
        asyncio.run(by_run(forecaster()))
    assert rows(run) == []


class Whole(Model):
    """A model without a way to stream."""

    model_name = system = "whole"

    async def request(self, messages, model_settings, model_request_parameters):
        return ModelResponse(parts=[TextPart("Oslo is mild.")])


def test_a_model_that_cannot_stream_is_asked_as_before_and_heard_when_it_has_answered():
    def whole(messages, info):
        return ModelResponse(parts=[TextPart("Oslo is mild.")])

    for model in (FunctionModel(whole), Whole(), FallbackModel(Whole(), TestModel())):
        run = asyncio.run(watch_beside(lambda run, model=model: by_run(Agent(model))))
        assert run.answer_text == text_of(run) == "Oslo is mild."
        assert len(of(run, ModelEnded)) == 1


class City(BaseModel):
    name: str
    country: str = "Norway"


def test_an_answer_that_is_data_is_shown_as_such_and_the_tool_that_carries_it_is_no_row():
    async def script(messages, info):
        yield {0: DeltaToolCall(name="final_result", json_args='{"name": "Oslo"}', tool_call_id="f")}

    run = asyncio.run(watch_beside(lambda run: by_run(Agent(scripted(script), output_type=City))))
    assert rows(run) == []
    assert run.answer_text == '```json\n{\n  "name": "Oslo",\n  "country": "Norway"\n}\n```'


def test_arguments_that_the_framework_turns_down_fail_their_row():
    async def script(messages, info):
        if round_of(messages) == 0:
            yield {0: DeltaToolCall(name="weather", json_args="{}", tool_call_id="w")}
        else:
            yield "Sorry."

    run = asyncio.run(watch_beside(lambda run: by_run(forecaster(model=scripted(script)))))
    ((name, state, _),) = rows(run)
    assert (name, state) == ("weather", "failed")
    assert "city" in of(run, ToolEnded)[0].error


def test_the_tools_of_a_test_model_are_heard_too():
    def tool(ctx: RunContext[None], city: str) -> City:
        return City(name=city)

    run = asyncio.run(watch_beside(lambda run: by_run(Agent(TestModel(), tools=[tool]))))
    assert rows(run) == [("tool", "done", {"name": "a", "country": "Norway"})]
