"""LlamaIndex 0.13, the version before, whose models tell of tools in other words than 0.14's; heard by the same adapter.

It reads the annotations of tools as they stand, so there are no postponed ones here. Runs in an environment of its own; where a
newer one is installed, its tests are those in `tests/adapters`.
"""

import asyncio
from importlib.metadata import PackageNotFoundError, version

import pytest


def release():
    try:
        return version("llama-index-core").split(".")[:2]
    except PackageNotFoundError:
        return []


if release() != ["0", "13"]:
    pytest.skip("needs llama-index-core 0.13: `make test-frameworks` makes an environment for it", allow_module_level=True)

from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent  # noqa: E402
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, LLMMetadata  # noqa: E402
from llama_index.core.instrumentation import get_dispatcher  # noqa: E402
from llama_index.core.llms.callbacks import llm_chat_callback  # noqa: E402
from llama_index.core.llms.function_calling import FunctionCallingLLM, ToolSelection  # noqa: E402
from llama_index.core.workflow import Context, HumanResponseEvent, InputRequiredEvent  # noqa: E402

import agentcell  # noqa: E402
from adapters.beside import watch_beside  # noqa: E402
from agentcell.events import (  # noqa: E402
    ModelEnded,
    ModelStarted,
    PauseRequested,
    PauseResumed,
    TextDelta,
    ToolEnded,
    ToolStarted,
    Usage,
)

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::pydantic.warnings.PydanticDeprecationWarning")

COUNTED = {"usage": {"prompt_tokens": 20, "completion_tokens": 5}, "model": "scripted-1"}


class Scripted(FunctionCallingLLM):
    """Says one answer after the other: text in two pieces, then the calls (name, id, arguments); an exception is raised."""

    script: list

    @property
    def metadata(self):
        return LLMMetadata(model_name="scripted", is_function_calling_model=True)

    def _prepare_chat_with_tools(self, tools, user_msg=None, chat_history=None, **_options):
        return {"messages": [*(chat_history or []), *([user_msg] if user_msg else [])]}

    def get_tool_calls_from_response(self, response, error_on_no_tool_call=True, **_options):
        calls = response.message.additional_kwargs.get("tool_calls", [])
        return [ToolSelection(tool_id=call_id, tool_name=name, tool_kwargs=given) for name, call_id, given in calls]

    @llm_chat_callback()
    async def astream_chat(self, messages, **_options):
        answer = self.script.pop(0)

        async def pieces():
            if isinstance(answer, Exception):
                raise answer
            words, calls = answer
            for end in (len(words) // 2, len(words)):
                so_far, more = words[:end], {"tool_calls": calls} if end == len(words) else {}
                message = ChatMessage(role="assistant", content=so_far, additional_kwargs=more)
                yield ChatResponse(message=message, delta=so_far[len(words) // 2 if end == len(words) else 0 :], raw=COUNTED)

        return pieces()

    async def achat(self, messages, **options):
        return [one async for one in await self.astream_chat(messages, **options)][-1]

    async def acomplete(self, prompt, **_options):
        raise NotImplementedError

    astream_complete = acomplete

    def chat(self, messages, **_options):
        raise NotImplementedError

    stream_chat = complete = stream_complete = chat


async def weather(city: str) -> str:
    """Tells the weather."""
    return f"7 degrees in {city}"


async def traffic() -> str:
    """Tells of jams."""
    raise ValueError("no roads")


def agent_of(*script, tools=(weather, traffic), **options):
    return FunctionAgent(
        tools=list(tools), llm=Scripted(script=list(script)), **{"name": "forecaster", "description": "x", **options}
    )


TWO_TOOLS = [("Looking.", [("weather", "w", {"city": "Oslo"}), ("traffic", "t", {})]), ("Oslo is mild.", [])]


def of(run, *kinds):
    return [event for event in run.events if isinstance(event, kinds)]


def rows(run):
    return [(step.tool, step.state) for step in run.steps if step.tool]


async def awaited(_run, handler):
    return str(await handler)


async def streamed(run, handler):
    async for _ in handler.stream_events() if run is None else run.stream(handler):
        pass
    return str(await handler)


def watched(make, way=awaited, **options):
    async def scenario(run):
        return await way(run, make().run(user_msg="hi"))

    return asyncio.run(watch_beside(scenario, **options))


@pytest.mark.parametrize(("way", "auto"), [(awaited, True), (streamed, True), (streamed, False)])
def test_two_model_calls_and_two_tools_of_which_one_raises(way, auto):
    run = watched(lambda: agent_of(*TWO_TOOLS), way, auto=auto)
    assert sorted(rows(run)) == [("traffic", "failed"), ("weather", "done")]
    assert {step.tool: step.arguments for step in run.steps if step.tool} == {"weather": {"city": "Oslo"}, "traffic": {}}
    assert (run.answer_text, run.outcome) == ("Oslo is mild.", "answered")
    assert run.usage == Usage(40, 10)
    assert len({event.model_call_id for event in of(run, ModelStarted)}) == len(of(run, ModelEnded)) == 2
    assert "".join(event.text for event in of(run, TextDelta)) == "Looking.Oslo is mild."


def test_an_agent_that_is_handed_the_conversation_answers():
    def make():
        first = agent_of(("", [("handoff", "h", {"to_agent": "expert", "reason": "?"})]), name="main", can_handoff_to=["expert"])
        return AgentWorkflow(agents=[first, agent_of(("I am the expert.", []), name="expert")], root_agent="main")

    run = watched(make)
    assert ("expert", "agent") in [(step.text, step.kind) for step in run.steps]
    assert run.answer_text == "I am the expert."


def test_a_question_to_the_person_is_a_pause_where_the_stream_tells_of_it():
    async def ask(ctx: Context) -> str:
        """Asks."""
        answer = await ctx.wait_for_event(HumanResponseEvent, waiter_event=InputRequiredEvent(prefix="Which city?"))
        return answer.response

    async def scenario(run):
        handler = agent_of(("", [("ask", "c1", {})]), ("Oslo it is.", []), tools=[ask]).run(user_msg="hi")
        async for event in handler.stream_events() if run is None else run.stream(handler):
            if isinstance(event, InputRequiredEvent):
                handler.ctx.send_event(HumanResponseEvent(response="Oslo"))
        return str(await handler)

    run = asyncio.run(watch_beside(scenario, auto=False))  # its spans do not tell of waiting
    assert run.raised is None, run.raised
    assert [(event.question, event.call_id) for event in of(run, PauseRequested)] == [("Which city?", "c1")]
    assert len(of(run, PauseResumed)) == 1
    assert {event.call_id for event in of(run, ToolStarted)} == {"c1"}
    assert rows(run) == [("ask", "done")]


def test_a_model_that_fails_is_a_failed_model_call_and_the_error_goes_on():
    run = watched(lambda: agent_of(RuntimeError("the model is down")))
    assert run.raised is not None
    assert run.outcome == "failed"
    assert [event.outcome for event in of(run, ModelEnded)] == ["failed"]


def test_cancelling_ends_what_was_open_as_cancelled():
    async def scenario(_run):
        started = asyncio.Event()

        async def hang() -> str:
            """Hangs."""
            started.set()
            await asyncio.Event().wait()

        handler = agent_of(("", [("hang", "c1", {})]), tools=[hang]).run(user_msg="hi")
        await started.wait()
        await handler.cancel_run()
        try:
            await handler
        except Exception as error:  # noqa: BLE001 - it is compared
            return type(error).__name__

    run = asyncio.run(watch_beside(scenario))
    assert {event.outcome for event in of(run, ToolEnded)} == {"cancelled"}


def test_two_runs_side_by_side_hear_each_their_own_and_no_hook_stays():
    async def watch(city):
        with agentcell.watch(display=False) as run:
            await agent_of(("", [("weather", "w", {"city": city})]), (f"Mild in {city}.", []), tools=[weather]).run(user_msg="hi")
        return run

    async def both():
        return await asyncio.gather(watch("Oslo"), watch("Bergen"))

    dispatcher = get_dispatcher()
    before = list(dispatcher.span_handlers), list(dispatcher.event_handlers)
    assert [run.answer_text for run in asyncio.run(both())] == ["Mild in Oslo.", "Mild in Bergen."]
    assert (list(dispatcher.span_handlers), list(dispatcher.event_handlers)) == before
