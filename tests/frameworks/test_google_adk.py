"""What agents of Google's ADK do is told to the run, by itself, by a plugin or by both, and they do what they do without it.

Needs the package `google-adk`, which does not install beside the newest `google-genai`: it runs in an environment of its own.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
import threading

import pytest

pytest.importorskip("google.adk", reason="google-adk is not installed here: `make test-frameworks` makes an environment for it")

from google.adk.agents import BaseAgent, ParallelAgent, SequentialAgent
from google.adk.events.event import Event
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.plugins.plugin_manager import PluginManager
from google.adk.runners import Runner
from google.adk.tools import AgentTool, FunctionTool, LongRunningFunctionTool
from google.genai import types

import agentcell
from adapters.beside import watch_beside
from agentcell.events import (
    AgentEnded,
    AgentStarted,
    ModelEnded,
    ModelStarted,
    PauseRequested,
    PauseResumed,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolProgressed,
    ToolStarted,
    Usage,
)
from frameworks.adk_agents import (
    TWO_TOOLS,
    Conversation,
    Weather,
    agent,
    call,
    cancel_when,
    of,
    plugins,
    response,
    rows,
    say,
    text,
    thought,
)
from test_examples import (
    test_a_notebook_is_short_has_one_line_to_change_and_keeps_its_outputs as check_what_it_keeps,
)
from test_examples import test_a_notebook_runs_as_it_stands_and_shows_what_it_keeps as check_what_it_shows

QUESTION = "May `delete` run?"
WAYS = ("by itself", "by plugin", "by both")

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*EXPERIMENTAL.*:UserWarning"),
]


@pytest.fixture(params=WAYS)
def way(request):
    return request.param


@pytest.fixture(autouse=True)
def no_hook_stays():
    before = dict(vars(PluginManager)), dict(vars(Runner))
    yield
    assert (dict(vars(PluginManager)), dict(vars(Runner))) == before


def hear(make, way, **options):
    """The run of an agent that is made anew each time."""
    return watch(lambda run: say(make(), run, way, **options), way)


def watch(scenario, way):
    return asyncio.run(watch_beside(scenario, auto=way != "by plugin"))


class Forgiving(BasePlugin):
    """Tells the model of a tool that failed."""

    def __init__(self):
        super().__init__(name="forgiving")

    async def on_tool_error_callback(self, *, tool, tool_args, tool_context, error):
        return {"error": str(error)}


@pytest.mark.parametrize("stream", [False, True])
def test_two_model_calls_and_two_tools_of_which_one_raises(way, stream):
    tools = [Weather.weather, Weather.boom]
    run = hear(lambda: agent(*TWO_TOOLS, tools=tools), way, stream=stream, others=[Forgiving()])
    assert rows(run) == [
        ("Thinking", "done", None),
        ("Let me look.", "done", None),
        ("weather", "done", None),
        ("boom", "failed", None),
    ]
    thinking, _, weather, boom = run.steps
    assert (thinking.content, weather.arguments, weather.result) == ("Two calls.", {"city": "Oslo"}, {"degrees": 7})
    assert boom.detail == "ValueError: no roads"
    assert run.answer_text == "It is mild in Oslo."
    assert run.usage == Usage(40, 16, 8, 0, 6)
    assert [event.outcome for event in of(run, ModelEnded)] == ["done", "done"]
    assert {(event.model, event.finish_reason) for event in of(run, ModelEnded)} == {("scripted-1", "STOP")}
    assert [offer.name for offer in of(run, ModelStarted)[0].tools] == ["weather", "boom"]
    assert run.outcome == "answered"


def test_a_streamed_answer_comes_in_its_pieces_and_once(way):
    run = hear(lambda: agent([thought("Let me see."), text("Oslo is mild.")]), way, stream=True)
    assert [event.text for event in of(run, TextDelta)] == ["Oslo", " is mild."]
    assert [event.text for event in of(run, ThinkingDelta)] == ["Let ", "me see."]
    assert run.answer_text == "Oslo is mild."


def test_what_the_whole_says_beyond_the_pieces_is_told(way):
    def piece(words, **more):
        return LlmResponse(content=types.Content(role="model", parts=[text(words)]), **more)

    class Late(type(agent([]).model)):
        async def generate_content_async(self, llm_request, stream=False):
            yield piece("Oslo", partial=True)
            yield piece("Oslo is mild.", partial=False)

    def make():
        made = agent([])
        made.model = Late()
        return made

    run = hear(make, way, stream=True)
    assert [event.text for event in of(run, TextDelta)] == ["Oslo", " is mild."]


def test_a_tool_that_nobody_forgives_ends_the_run_with_its_error(way):
    run = hear(lambda: agent(*TWO_TOOLS, tools=[Weather.weather, Weather.boom]), way)
    assert isinstance(run.raised, ValueError)
    assert [(step.tool, step.state) for step in run.steps if step.tool] == [("weather", "done"), ("boom", "failed")]
    assert run.outcome == "failed"


def test_tools_at_the_same_time_are_both_open_and_a_tool_reports_in_its_own_row(way):
    async def scenario(run):
        both, open_at_once = asyncio.Barrier(2), []

        async def look(city: str) -> str:
            """Looks."""
            await both.wait()
            if run is not None:
                run.progress(f"in {city}")
                open_at_once.append([step.state for step in run.steps])
            await both.wait()
            return city

        root = agent([call("look", "c1", city="Oslo"), call("look", "c2", city="Bergen")], [text("Done.")], tools=[look])
        told = await say(root, run, way)
        assert run is None or open_at_once[0] == ["running", "running"]
        return told

    run = watch(scenario, way)
    progress = {event.call_id: event.payload["message"] for event in of(run, ToolProgressed)}
    assert {event.arguments["city"]: progress[event.call_id] for event in of(run, ToolStarted)} == {
        "Oslo": "in Oslo",
        "Bergen": "in Bergen",
    }


def test_an_agent_inside_a_tool_stands_under_its_call_and_its_words_are_no_answer(way):
    def make():
        inner = agent(
            [call("weather", "c1", city="Oslo")], [text("Mild, says the expert.")], name="expert", tools=[Weather.weather]
        )
        return agent([call("expert", "c1", request="Oslo?")], [text("It is mild.")], tools=[AgentTool(inner)])

    run = hear(make, way)
    tool, expert, weather = run.steps
    assert [(step.tool, step.kind, step.parent) for step in run.steps] == [
        ("expert", "tool", None),
        (None, "agent", tool.id),
        ("weather", "tool", expert.id),
    ]
    assert {step.state for step in run.steps} == {"done"}
    assert weather.result == {"degrees": 7}
    assert run.answer_text == "It is mild."
    assert len(of(run, AgentStarted)) == len(of(run, AgentEnded)) == 1


def test_an_agent_that_is_handed_the_conversation_stands_under_the_other_and_answers(way):
    def make():
        sub = agent([call("weather", None, city="Oslo")], [text("I am the expert.")], name="expert", tools=[Weather.weather])
        return agent([call("transfer_to_agent", "c1", agent_name="expert")], sub_agents=[sub])

    run = hear(make, way)
    transfer, expert, weather = run.steps
    assert (transfer.tool, expert.text, expert.state, weather.parent) == ("transfer_to_agent", "expert", "done", expert.id)
    assert run.answer_text == "I am the expert."


def test_agents_one_after_the_other_and_side_by_side(way):
    def make():
        b, c = (agent([text(f"I am {name}.")], name=name) for name in "bc")
        return SequentialAgent(
            name="all", sub_agents=[agent([text("I am a.")], name="a"), ParallelAgent(name="two", sub_agents=[b, c])]
        )

    run = hear(make, way)
    two = run.steps[1]
    assert rows(run) == [("a", "done", None), ("two", "done", None), ("b", "done", two.id), ("c", "done", two.id)]
    assert run.answer_text == "I am a.\n\nI am b.\n\nI am c."
    assert len(of(run, ModelEnded)) == 3


def test_an_agent_that_is_the_users_own_code_answers_by_its_events(way):
    class Own(BaseAgent):
        async def _run_async_impl(self, ctx):
            yield Event(author=self.name, content=types.Content(role="model", parts=[text("By hand.")]))

    run = hear(lambda: Own(name="own"), way)
    assert (run.answer_text, rows(run)) == ("By hand.", [])


@pytest.mark.parametrize("word", ["approve", "reject"])
def test_a_tool_that_has_to_be_confirmed_is_a_pause_and_goes_on_as_the_same_call(way, word):
    async def scenario(run):
        deleted = []

        def delete(path: str) -> dict:
            """Deletes a file."""
            deleted.append(path)
            return {"deleted": path}

        tool = FunctionTool(delete, require_confirmation=True)
        talk = Conversation(agent([call("delete", "c1", path="/x")], [text("So be it.")], tools=[tool]), run, way)
        before = await talk.say()
        if run is not None:
            assert rows(run) == [("delete", "running", None), (f"Waiting on you: {QUESTION}", "running", run.steps[0].id)]
        request = talk.requested("adk_request_confirmation")
        return before, await talk.say(response(request, "adk_request_confirmation", confirmed=word == "approve")), deleted

    run = watch(scenario, way)
    assert len(of(run, PauseRequested)) == len(of(run, PauseResumed)) == 1
    assert of(run, PauseRequested)[0].call_id == "c1"
    assert of(run, PauseResumed)[0].answer == word
    assert {event.call_id for event in of(run, ToolStarted)} == {"c1"}
    assert [(step.tool, step.state) for step in run.steps if step.tool] == [
        ("delete", "done" if word == "approve" else "cancelled")
    ]
    assert [step.state for step in run.steps if not step.tool] == ["done"]
    assert run.answer_text == "So be it."


def test_a_tool_whose_result_comes_from_outside_waits_for_it(way):
    async def scenario(run):
        def ask_boss(what: str) -> None:
            """Asks somebody."""

        talk = Conversation(
            agent([call("ask_boss", "c1", what="x")], [text("He agrees.")], tools=[LongRunningFunctionTool(ask_boss)]), run, way
        )
        before = await talk.say()
        return before, await talk.say(response("c1", "ask_boss", status="agreed"))

    run = watch(scenario, way)
    assert [(step.tool, step.state, step.result) for step in run.steps if step.tool] == [("ask_boss", "done", {"status": "agreed"})]
    assert len(of(run, PauseRequested)) == len(of(run, PauseResumed)) == 1


def test_a_model_that_fails_is_a_failed_model_call_and_the_error_goes_on(way):
    run = hear(lambda: agent(RuntimeError("the model is down")), way)
    assert isinstance(run.raised, RuntimeError)
    assert [(event.outcome, event.error) for event in of(run, ModelEnded)] == [("failed", "the model is down")]
    assert run.outcome == "failed"


def test_a_response_that_is_an_error_is_a_failed_model_call(way):
    run = hear(lambda: agent(LlmResponse(error_code="SAFETY", error_message="It was blocked.")), way)
    assert [(event.outcome, event.error) for event in of(run, ModelEnded)] == [("failed", "It was blocked.")]


def test_a_failing_sub_agent_fails_with_its_error(way):
    run = hear(lambda: SequentialAgent(name="all", sub_agents=[agent(RuntimeError("down"), name="a")]), way)
    assert [(event.outcome, event.error) for event in of(run, AgentEnded)] == [("failed", "down")]


@pytest.mark.parametrize("where", ["a tool", "a model", "a tool of an agent inside a tool", "a sub-agent"])
def test_cancelling_ends_what_was_open_as_cancelled(way, where):
    async def scenario(run):
        started = asyncio.Event()

        async def hang() -> str:
            """Hangs."""
            started.set()
            await asyncio.Event().wait()

        root = agent(hang if where == "a model" else [call("hang", "c1")], tools=[hang], name="inner")
        if where == "a tool of an agent inside a tool":
            root = agent([call("inner", "c1", request="x")], tools=[AgentTool(root)])
        elif where == "a sub-agent":
            root = SequentialAgent(name="all", sub_agents=[root])
        came = await cancel_when(started, say(root, run, way))
        assert run is None or "running" not in [step.state for step in run.steps]  # and the block goes on
        return came

    run = watch(scenario, way)
    assert run.result == "cancelled"
    open_calls = of(run, ModelEnded) if where == "a model" else of(run, ToolEnded)
    assert {event.outcome for event in open_calls} == {"cancelled"}
    assert {event.outcome for event in of(run, AgentEnded)} <= {"cancelled"}


def test_a_tool_that_hangs_is_stopped_with_its_agent(way):
    async def stopped():
        started = asyncio.Event()
        with agentcell.watch(display=False, auto=way != "by plugin") as run:

            async def hang() -> str:
                """Hangs."""
                started.set()
                while True:
                    await asyncio.sleep(0)
                    run.progress("still at it")

            async def stop():
                await started.wait()
                run.stop()

            stopping = asyncio.create_task(stop())
            await say(agent([call("hang", "c1")], [text("never")], tools=[hang]), run, way)
        await stopping
        return run

    run = asyncio.run(stopped())
    assert rows(run) == [("hang", "cancelled", None)]
    assert (run.outcome, run.faults) == ("cancelled", {})
    assert len(of(run, ModelStarted)) == 1


def test_a_run_that_was_asked_to_stop_ends_before_the_next_model_call(way):
    async def stopped():
        with agentcell.watch(display=False, auto=way != "by plugin") as run:

            def stopping() -> str:
                """Stops."""
                run.stop()
                return "so"

            await say(agent([call("stopping", "c1")], [text("never")], tools=[stopping]), run, way)
        return run

    run = asyncio.run(stopped())
    assert rows(run) == [("stopping", "done", None)]
    assert (run.outcome, run.answer_text, run.faults) == ("cancelled", "", {})


def test_somebody_who_stops_reading_cuts_the_model_off(way):
    async def scenario(run):
        talk = Conversation(agent([text("Oslo is mild.")]), run, way, stream=True)
        await talk.begin()
        message = types.Content(role="user", parts=[text("hi")])
        events = talk.runner.run_async(user_id="u", session_id=talk.session.id, new_message=message)
        async for event in events:
            await events.aclose()
            return event.author
        return None

    run = watch(scenario, way)
    assert len(of(run, ModelStarted)) == len(of(run, ModelEnded)) == 1


def test_the_sync_runner_is_heard_too_from_inside_a_running_loop(way):
    async def scenario(run):
        talk = Conversation(agent(*TWO_TOOLS, tools=[Weather.weather, Weather.boom]), run, way, others=[Forgiving()])
        await talk.begin()
        message = types.Content(role="user", parts=[text("hi")])
        events = list(talk.runner.run(user_id="u", session_id=talk.session.id, new_message=message))
        return [event.author for event in events]

    run = watch(scenario, way)
    assert [(step.tool, step.state) for step in run.steps if step.tool] == [("weather", "done"), ("boom", "failed")]
    assert run.answer_text == "It is mild in Oslo."


def test_two_calls_in_one_block_are_two_turns_also_with_the_same_ids(way):
    async def scenario(run):
        talk = Conversation(agent(*TWO_TOOLS, *TWO_TOOLS, tools=[Weather.weather, Weather.boom]), run, way, others=[Forgiving()])
        return await talk.say(), await talk.say()

    run = watch(scenario, way)
    assert [(step.tool, step.state) for step in run.steps if step.tool] == [("weather", "done"), ("boom", "failed")] * 2
    assert run.answer_text == "It is mild in Oslo.\n\nIt is mild in Oslo."
    assert run.usage == Usage(80, 32, 16, 0, 12)


def test_two_runs_side_by_side_hear_each_their_own(way):
    async def watched(city, both):
        async def look(where: str) -> str:
            """Looks."""
            await both.wait()
            return where

        with agentcell.watch(display=False, auto=way != "by plugin") as run:
            await say(agent([call("look", "c1", where=city)], [text(f"Mild in {city}.")], tools=[look]), run, way)
        return run

    async def two():
        both = asyncio.Barrier(2)
        return await asyncio.gather(watched("Oslo", both), watched("Bergen", both))

    for run, city in zip(asyncio.run(two()), ("Oslo", "Bergen"), strict=True):
        assert [(step.tool, step.result) for step in run.steps] == [("look", city)]
        assert run.answer_text == f"Mild in {city}."
        assert run.faults == {}


def test_the_blocks_of_two_threads_hear_each_their_own(way):
    runs = {}

    def work(city):
        with agentcell.watch(display=False, auto=way != "by plugin") as runs[city]:
            asyncio.run(say(agent([text(f"Mild in {city}.")]), runs[city], way))

    threads = [threading.Thread(target=work, args=(city,)) for city in ("Oslo", "Bergen")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {city: run.answer_text for city, run in runs.items()} == {city: f"Mild in {city}." for city in runs}


def test_a_block_of_its_own_inside_a_tool_hears_the_agent_in_there(way):
    inner = []

    async def scenario(run):
        async def ask(city: str) -> str:
            """Asks."""
            with agentcell.watch(display=False, auto=way != "by plugin") as own:
                inner.append(own)
                await say(agent([text(f"Mild in {city}.")], name="expert"), own, way)
            return "asked"

        return await say(agent([call("ask", "c1", city="Oslo")], [text("Done.")], tools=[ask]), run, way)

    run = watch(scenario, way)
    assert rows(run) == [("ask", "done", None)]
    assert (run.answer_text, inner[-1].answer_text) == ("Done.", "Mild in Oslo.")


def test_the_same_plugin_each_time():
    with agentcell.watch(display=False, auto=False) as run:
        assert run.google_adk() is run.google_adk()
        with pytest.raises(ValueError, match="already registered"):  # ADK's own word on the same plugin given twice
            Conversation(agent([]), None, "", others=[run.google_adk(), run.google_adk()])


def test_without_auto_nothing_is_heard_and_behind_the_block_neither():
    with agentcell.watch(display=False, auto=False) as run:
        asyncio.run(say(agent([text("Mild.")]), None, ""))
        [plugin] = plugins(run, "by plugin")
    asyncio.run(say(agent([text("Mild.")]), None, "", others=[plugin]))
    assert of(run, ModelStarted, TextDelta) == []
    assert run.faults == {}


def test_a_fault_of_ours_changes_nothing(way, monkeypatch):
    def fail(*_args, **_options):
        raise RuntimeError("ours")

    monkeypatch.setattr("agentcell.adapters.ledger.Turn.start_model", fail)
    with pytest.warns(agentcell.AgentcellWarning, match="ours"), agentcell.watch(display=False, auto=way != "by plugin") as run:
        told = asyncio.run(say(agent([text("Mild.")]), run, way))
    assert told == [("main", "Mild.")]


def test_spans_of_adk_itself_are_left_to_this_adapter(way):
    from opentelemetry.sdk.trace import TracerProvider

    provider = TracerProvider()

    async def scenario(run):
        if run is not None:
            provider.add_span_processor(run.opentelemetry())
        return await say(agent([text("Mild.")]), run, way)

    from opentelemetry import trace

    trace.set_tracer_provider(provider) if not isinstance(trace.get_tracer_provider(), TracerProvider) else None
    run = watch(scenario, way)
    assert len(of(run, ModelStarted)) == 1
    assert run.usage == Usage(20, 8, 4, 0, 3)


IMPORTED_INSIDE = """
import asyncio, warnings
import agentcell
with agentcell.watch(display=False) as run:
    warnings.simplefilter("ignore")
    from frameworks.adk_agents import agent, say, text
    asyncio.run(say(agent([text("Mild.")]), None, ""))
from google.adk.runners import Runner
print(run.answer_text, run.faults, hasattr(Runner.run_async, "__wrapped__"))
"""


def test_it_is_heard_also_when_it_is_imported_inside_the_block(pytestconfig):
    tests = str(pytestconfig.rootpath / "tests")
    code = f"import sys; sys.path.insert(0, {tests!r})\n" + textwrap.dedent(IMPORTED_INSIDE)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("Mild. {} False", "")


def test_the_notebook_runs_as_it_stands_and_shows_what_it_keeps(tmp_path):
    check_what_it_keeps("google_adk")
    check_what_it_shows("google_adk", tmp_path)
