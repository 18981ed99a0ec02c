"""Spans by the GenAI conventions and by OpenInference's, as frameworks emit them: what a run shows of them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
import threading
from importlib import import_module
from pkgutil import iter_modules

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import Status, StatusCode

import agentcell
import agentcell.adapters
from agentcell.adapters.ambient import AMBIENCE, FRAMEWORKS
from agentcell.adapters.claude_agent import ClaudeAgentAdapter
from agentcell.adapters.opentelemetry import _ADAPTERS
from agentcell.events import Usage


@pytest.fixture
def provider(monkeypatch):
    """A provider that is the process's one for as long as the test goes on; OpenTelemetry itself lets one be set only once."""
    provider = TracerProvider()
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    yield provider
    provider.shutdown()


class Emitter:
    """Emits spans in one of the ways in which frameworks do."""

    def __init__(self, provider, scope="some.framework"):
        self._tracer = provider.get_tracer(scope)

    def span(self, name, **attributes):
        return self._tracer.start_as_current_span(name, attributes=dotted(attributes))


def dotted(attributes):
    return {name.replace("__", "."): value for name, value in attributes.items()}


def say(span, **attributes):
    span.set_attributes(dotted(attributes))


@pytest.fixture
def emit(provider):
    return Emitter(provider)


def chat(emit, text=None, *, model="gpt-5-mini", usage=(10, 5), calls=(), thinking="", **attributes):
    with emit.span(f"chat {model}", gen_ai__operation__name="chat", gen_ai__request__model=model) as span:
        parts = [{"type": "thinking", "content": thinking}] if thinking else []
        parts += [{"type": "text", "content": text}] if text else []
        parts += [{"type": "tool_call", "id": one, "name": one, "arguments": {}} for one in calls]
        say(span, gen_ai__output__messages=json.dumps([{"role": "assistant", "parts": parts}]), **attributes)
        say(span, gen_ai__usage__input_tokens=usage[0], gen_ai__usage__output_tokens=usage[1], gen_ai__response__model=model)


def agent(emit, name="main"):
    return emit.span(f"invoke_agent {name}", gen_ai__operation__name="invoke_agent", gen_ai__agent__name=name)


def tool(emit, name, call_id=None, arguments=None, **attributes):
    known = (
        {} if call_id is None else {"gen_ai__tool__call__id": call_id, "gen_ai__tool__call__arguments": json.dumps(arguments or {})}
    )
    return emit.span(f"execute_tool {name}", gen_ai__operation__name="execute_tool", gen_ai__tool__name=name, **known, **attributes)


def rows(run):
    return [(step.tool or step.text, step.state) for step in run.steps]


def models(run):
    return [(row.model, row.state, row.usage) for row in run.catch_up().calls.models]


def test_an_agent_with_two_model_calls_and_two_tools_of_which_one_raises(emit):
    with agentcell.watch("Weather?", display=False) as run, agent(emit):
        chat(emit, "Let me look.", calls=("weather", "boom"), thinking="Two calls.")
        with tool(emit, "weather", "c1", {"city": "Oslo"}) as span:
            assert run.status_line
            say(span, gen_ai__tool__call__result=json.dumps({"degrees": 7}))
        with pytest.raises(ValueError, match="no such city"), tool(emit, "boom", "c2"):
            raise ValueError("no such city")
        chat(emit, "It is mild.", usage=(30, 7))
    assert rows(run)[-2:] == [("weather", "done"), ("boom", "failed")]
    weather, boom = run.steps[-2:]
    assert (weather.arguments, weather.result) == ({"city": "Oslo"}, {"degrees": 7})
    assert boom.detail == "no such city"
    assert any(step.content == "Two calls." for step in run.steps)
    assert run.answer_text == "It is mild."
    assert models(run) == [("gpt-5-mini", "done", Usage(10, 5)), ("gpt-5-mini", "done", Usage(30, 7))]
    assert (run.usage, run.outcome, run.faults) == (Usage(40, 12), "answered", {})


def test_a_sub_agent_stands_under_the_tool_that_called_it(emit):
    with agentcell.watch(display=False) as run, agent(emit), tool(emit, "research", "c1"), agent(emit, "researcher"):
        chat(emit, "Nothing there.")
        with tool(emit, "search", "c2"):
            pass
    research, researcher, search = run.steps
    assert (research.parent, researcher.parent, search.parent) == (None, research.id, researcher.id)
    assert (researcher.kind, researcher.text, researcher.state) == ("agent", "researcher", "done")
    assert run.answer_text == ""


def test_the_agents_of_a_workflow_stand_side_by_side(emit):
    with agentcell.watch(display=False) as run, emit.span("invoke_workflow crew", gen_ai__operation__name="invoke_workflow"):
        for name in ("planner", "writer"):
            with agent(emit, name):
                chat(emit, name)
    assert [(step.text, step.parent) for step in run.steps] == [("planner", None), ("writer", None)]


def test_a_span_that_lies_between_changes_nothing(emit):
    with agentcell.watch(display=False) as run, agent(emit), emit.span("execute_event_loop_cycle"):
        outer, inner = tool(emit, "outer", "c1"), tool(emit, "inner", "c2")
        with outer, emit.span("GET /"), inner:
            pass
    outer, inner = run.steps
    assert inner.parent == outer.id


def test_a_tool_whose_attributes_come_at_its_end_is_one_row_with_all_of_them(emit):
    with agentcell.watch(display=False) as run, agent(emit), emit.span("execute_tool weather") as span:
        assert rows(run) == [("weather", "running")]
        say(span, gen_ai__operation__name="execute_tool", gen_ai__tool__call__id="c1", gen_ai__tool__name="weather")
        say(span, gen_ai__tool__call__arguments='{"city": "Oslo"}', gen_ai__tool__call__result="7 degrees")
    [weather] = run.steps
    assert (weather.arguments, weather.result, weather.state) == ({"city": "Oslo"}, "7 degrees", "done")


def test_the_older_conventions_put_what_was_said_into_events(emit):
    with agentcell.watch(display=False) as run, agent(emit):
        with emit.span("chat", gen_ai__operation__name="chat", gen_ai__system="strands-agents") as span:
            span.add_event("gen_ai.choice", {"finish_reason": "end_turn", "message": json.dumps([{"text": "It is mild."}])})
            say(span, gen_ai__usage__prompt_tokens=10, gen_ai__usage__completion_tokens=5)
        with emit.span("execute_tool weather", gen_ai__operation__name="execute_tool") as span:
            span.add_event("gen_ai.choice", {"message": json.dumps([{"text": "7"}]), "id": "c1"})
    assert run.answer_text == "It is mild."
    assert run.usage == Usage(10, 5)
    assert run.steps[-1].result == [{"text": "7"}]


def test_openinference_is_heard_by_its_own_attributes_also_when_they_come_at_the_end(provider):
    emit = Emitter(provider, "openinference.instrumentation.agno")
    with agentcell.watch(display=False) as run, emit.span("Agent.run", openinference__span__kind="AGENT"):
        with emit.span("OpenAIChat.invoke") as span:
            say(span, openinference__span__kind="LLM", llm__model_name="gpt-5-mini", llm__provider="openai")
            say(span, llm__token_count__prompt=20, llm__token_count__completion=9, llm__token_count__prompt_details__cache_read=4)
            say(span, llm__token_count__completion_details__reasoning=3, llm__cost__total=0.5)
            say(span, **{"llm.output_messages.0.message.content": "It is mild."})
        with emit.span("weather") as span:
            say(span, openinference__span__kind="TOOL", tool__name="weather", input__value='{"city": "Oslo"}', output__value="7")
    assert run.answer_text == "It is mild."
    assert models(run) == [("gpt-5-mini", "done", Usage(20, 9, 4, 0, 3))]
    assert str(run.cost) == "0.5"
    [weather] = [step for step in run.steps if step.tool]
    assert (weather.tool, weather.arguments, weather.result) == ("weather", {"city": "Oslo"}, 7)


def test_a_model_call_inside_a_model_call_is_the_same_and_so_is_a_tool_inside_itself(provider, emit):
    sdk = Emitter(provider, "com.anthropic.sdk.python")
    with agentcell.watch(display=False) as run, agent(emit):
        with emit.span("chat m", gen_ai__operation__name="chat") as outer:
            with sdk.span("anthropic.messages.create", gen_ai__operation__name="chat") as span:
                say(span, gen_ai__usage__input_tokens=10, gen_ai__usage__output_tokens=5)
            say(outer, gen_ai__usage__input_tokens=10, gen_ai__usage__output_tokens=5)
        with tool(emit, "weather", "c1"), tool(emit, "weather"):
            pass
    assert len(models(run)) == 1
    assert run.usage == Usage(10, 5)
    assert rows(run) == [("weather", "done")]


def test_a_model_call_that_the_run_reads_as_a_stream_is_told_by_the_stream_alone(provider):
    sdk = Emitter(provider, "com.anthropic.sdk.python")
    chunk = {"object": "chat.completion.chunk", "id": "c", "model": "m"}

    def stream():
        with sdk.span("anthropic.messages.create", gen_ai__operation__name="chat") as span:
            yield {**chunk, "choices": [{"index": 0, "delta": {"content": "It is mild."}}]}
            yield {**chunk, "choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5}}
            say(span, gen_ai__usage__input_tokens=10, gen_ai__usage__output_tokens=5)

    with agentcell.watch(display=False) as run:
        list(run.stream(stream()))
    assert run.usage == Usage(10, 5)
    assert len(models(run)) == 1


def test_a_model_call_by_the_users_own_code_is_told_when_it_is_over(emit):
    with agentcell.watch(display=False) as run:
        chat(emit, "It is mild.")
        chat(emit, "It is wet.")
    assert [usage for _, _, usage in models(run)] == [Usage(10, 5)] * 2
    assert run.answer_text == "It is mild.\n\nIt is wet."


@pytest.mark.parametrize("scope", ["pydantic-ai", "openinference.instrumentation.langchain"])
def test_a_framework_that_an_adapter_of_its_own_hears_is_left_to_that(provider, monkeypatch, scope):
    emit, other = Emitter(provider, scope), Emitter(provider)
    monkeypatch.setattr(type(AMBIENCE), "hears", lambda _, name: name in ("pydantic-ai", "LangChain"))
    with agentcell.watch(display=False) as run, agent(emit), tool(emit, "hers", "c1"), agent(other, "sub"):
        chat(other, "Mild.")
    assert rows(run) == []
    assert len(models(run)) == 1


def test_a_framework_whose_stream_the_run_reads_is_left_to_that(provider):
    emit = Emitter(provider, "openinference.instrumentation.claude_agent_sdk")
    with agentcell.watch(display=False) as run:
        run.adapter(ClaudeAgentAdapter)
        with agent(emit), tool(emit, "hers", "c1"):
            pass
    assert rows(run) == []


def test_each_framework_that_is_left_to_its_adapter_is_called_as_the_adapter_calls_it():
    modules = [import_module(f"agentcell.adapters.{found.name}") for found in iter_modules(agentcell.adapters.__path__)]
    told = {kind.framework for module in modules for kind in vars(module).values() if hasattr(kind, "framework")}
    assert set(_ADAPTERS.values()) <= told
    assert {framework.name for framework in FRAMEWORKS} <= told


def test_a_span_with_a_name_that_is_no_text_passes(provider):
    with agentcell.watch(display=False) as run, provider.get_tracer("x").start_as_current_span(None):
        pass
    assert run.steps == ()
    assert run.faults == {}


def test_an_agent_that_shows_no_model_call_answers_with_what_its_span_says(emit):
    with agentcell.watch(display=False) as run, agent(emit) as span:
        say(span, gen_ai__output__messages=json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "Mild."}]}]))
    assert run.answer_text == "Mild."
    assert models(run) == []


def test_a_model_that_fails_and_a_task_that_is_cancelled(emit):
    async def wait_for_ever():
        with agent(emit), tool(emit, "slow", "c1"):
            started.set()
            await asyncio.Event().wait()

    async def cancelled():
        task = asyncio.create_task(wait_for_ever())
        await started.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    with agentcell.watch(display=False) as run:
        with agent(emit), emit.span("chat m", gen_ai__operation__name="chat") as span:
            span.set_status(Status(StatusCode.ERROR, "429: too many"))
        started = asyncio.Event()
        asyncio.run(cancelled())
    assert models(run)[0][1] == "failed"
    assert run.catch_up().calls.models[0].error == "429: too many"
    assert rows(run) == [("Model call failed", "failed"), ("slow", "cancelled")]


def test_a_span_without_an_end_is_over_with_its_agent(provider, emit):
    with agentcell.watch(display=False) as run, agent(emit):
        provider.get_tracer("x").start_span("execute_tool lost")
        assert rows(run) == [("lost", "running")]
    assert rows(run) == [("lost", "cancelled")]


def test_two_runs_side_by_side_hear_each_their_own_and_threads_follow_their_parents(emit):
    async def watched(name):
        with agentcell.watch(name, display=False) as run, agent(emit, name):
            await asyncio.sleep(0)
            with tool(emit, f"tool of {name}", name):
                await asyncio.sleep(0)
            chat(emit, name)
        return run

    async def both():
        return await asyncio.gather(watched("one"), watched("two"))

    for run, name in zip(asyncio.run(both()), ("one", "two"), strict=True):
        assert rows(run) == [(f"tool of {name}", "done")]
        assert run.answer_text == name


def test_a_thread_without_its_context_belongs_to_the_span_that_it_continues(emit):
    def work(parent):
        with trace.use_span(parent), tool(emit, "weather", "c1"):
            pass

    with agentcell.watch(display=False) as run, agent(emit) as span:
        thread = threading.Thread(target=work, args=(span,))
        thread.start()
        thread.join()
    assert rows(run) == [("weather", "done")]


def test_the_users_own_processor_beside_the_ambient_one_is_told_once(provider, emit):
    with agentcell.watch(display=False) as run:
        provider.add_span_processor(run.opentelemetry())
        provider.add_span_processor(run.opentelemetry())
        with agent(emit), tool(emit, "weather", "c1"):
            chat(emit, "Mild.")
    with agent(emit):
        chat(emit, "behind the block")
    assert rows(run) == [("weather", "done")]
    assert (run.answer_text, run.usage, run.faults) == ("Mild.", Usage(10, 5), {})


def test_without_auto_only_the_users_own_processor_hears(provider, emit):
    for asked in (False, True):
        with agentcell.watch(display=False, auto=False) as run:
            if asked:
                provider.add_span_processor(run.opentelemetry())
            with agent(emit):
                chat(emit, "Mild.")
        assert run.answer_text == ("Mild." if asked else "")


def test_nothing_stays_behind_the_last_block(provider, emit):
    before = provider._active_span_processor._span_processors
    with agentcell.watch(display=False):
        assert len(provider._active_span_processor._span_processors) == len(before) + 1
        with agentcell.watch(display=False):
            assert len(provider._active_span_processor._span_processors) == len(before) + 1
    assert provider._active_span_processor._span_processors == before


def test_a_run_that_was_asked_to_stop_ends_before_the_next_model_call(emit):
    def work(run):
        with run, agent(emit):
            chat(emit, "One.")
            run.stop()
            with tool(emit, "weather", "c1"):
                pass
            chat(emit, "Two.")

    run = agentcell.watch(display=False)
    with contextlib.suppress(agentcell.RunStopped):
        work(run)
    assert rows(run) == [("weather", "done")]
    assert run.outcome == "cancelled"


def test_two_turns_in_one_block_with_the_same_tool_ids_are_two_calls(emit):
    with agentcell.watch(display=False) as run:
        for _ in range(2):
            with agent(emit), tool(emit, "weather", "c1"):
                pass
    assert rows(run) == [("weather", "done")] * 2


AMBIENT = """
import sys
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
import agentcell
if "before" in sys.argv:
    trace.set_tracer_provider(TracerProvider())
tracer = trace.get_tracer("some.framework")
with agentcell.watch(display=False) as run:
    with tracer.start_as_current_span("invoke_agent main"), tracer.start_as_current_span("execute_tool weather"):
        pass
print([step.tool for step in run.steps], run.faults)
"""


@pytest.mark.parametrize(("when", "heard"), [("before", "['weather'] {}"), ("never", "[] {}")])
def test_a_provider_that_was_set_is_heard_and_without_one_nothing_happens(when, heard):
    done = subprocess.run([sys.executable, "-W", "error", "-c", AMBIENT, when], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == (heard, "")
