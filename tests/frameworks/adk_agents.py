"""Agents of Google's ADK with a fake model, and the ways to hear them."""

from __future__ import annotations

import asyncio

from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types

USAGE = types.GenerateContentResponseUsageMetadata(
    prompt_token_count=20, candidates_token_count=5, thoughts_token_count=3, cached_content_token_count=4
)


class Scripted(BaseLlm):
    """Says one answer of its script after the other: lists of parts; an exception is raised, a function awaited."""

    model: str = "scripted"
    script: list = []  # noqa: RUF012 - a field of pydantic, which copies it

    async def generate_content_async(self, llm_request, stream=False):
        answer = self.script.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        answer = answer if isinstance(answer, (list, LlmResponse)) else await answer()
        if isinstance(answer, LlmResponse):
            yield answer
            return
        for part in answer if stream else ():
            for piece in (part.text[:4], part.text[4:]) if part.text else ():
                content = types.Content(role="model", parts=[types.Part(text=piece, thought=part.thought)])
                yield LlmResponse(content=content, partial=True)
        content = types.Content(role="model", parts=answer)
        yield LlmResponse(
            content=content,
            partial=False if stream else None,
            usage_metadata=USAGE,
            model_version="scripted-1",
            finish_reason="STOP",
        )


def text(words):
    return types.Part(text=words)


def thought(words):
    return types.Part(text=words, thought=True)


def call(name, call_id=None, **arguments):
    return types.Part(function_call=types.FunctionCall(id=call_id, name=name, args=arguments))


def response(call_id, name, **given):
    answer = types.FunctionResponse(id=call_id, name=name, response=given)
    return types.Content(role="user", parts=[types.Part(function_response=answer)])


def agent(*script, name="main", **options):
    return LlmAgent(name=name, description=name, model=Scripted(script=list(script)), **options)


class Weather:
    """The tools of most tests."""

    @staticmethod
    def weather(city: str) -> dict:
        """The weather of a city."""
        return {"degrees": 7}

    @staticmethod
    def boom() -> dict:
        """Fails."""
        raise ValueError("no roads")


TWO_TOOLS = [
    [thought("Two calls."), text("Let me look."), call("weather", "c1", city="Oslo"), call("boom", "c2")],
    [text("It is mild in Oslo.")],
]


def plugins(run, way):
    """What the runner is given: our plugin, unless the run is to be heard by itself."""
    return [] if run is None or way == "by itself" else [run.google_adk()]


class Conversation:
    """A runner with one session."""

    def __init__(self, root, run, way, *, stream=False, others=()):
        self.runner = InMemoryRunner(agent=root, app_name="x", plugins=[*plugins(run, way), *others])
        self.mode = StreamingMode.SSE if stream else StreamingMode.NONE
        self.events = []
        self.session = None

    async def begin(self):
        if self.session is None:
            service = self.runner.session_service
            self.session = await service.create_session(app_name="x", user_id="u")

    async def say(self, message="hi"):
        """Says something and returns what the user gets to read of the answer."""
        await self.begin()
        content = message if isinstance(message, types.Content) else types.Content(role="user", parts=[text(message)])
        told = []
        async for event in self.runner.run_async(
            user_id="u", session_id=self.session.id, new_message=content, run_config=RunConfig(streaming_mode=self.mode)
        ):
            self.events.append(event)
            told += [(event.author, part.text) for part in (event.content.parts if event.content else ()) if part.text]
        return told

    def requested(self, name):
        """The id of the newest call of this name."""
        return [one.id for event in self.events for one in event.get_function_calls() if one.name == name][-1]


async def say(root, run, way, *, stream=False, others=()):
    return await Conversation(root, run, way, stream=stream, others=others).say()


def rows(run):
    return [(step.tool or step.text, step.state, step.parent) for step in run.steps]


def of(run, *kinds):
    return [event for event in run.events if isinstance(event, kinds)]


async def cancel_when(started, running):
    """Awaits something until the event is set, and then cancels it."""
    task = asyncio.create_task(running)
    await started.wait()
    task.cancel()
    await asyncio.wait([task])
    return "cancelled" if task.cancelled() else repr(task.exception())
