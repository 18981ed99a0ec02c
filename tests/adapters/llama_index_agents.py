"""LlamaIndex's agents with its own fake model, the ways to run one, and what a run knows of it then."""

from __future__ import annotations

import asyncio

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, TextBlock, ThinkingBlock, ToolCallBlock
from llama_index.core.llms.callbacks import llm_chat_callback
from llama_index.core.llms.mock import MockFunctionCallingLLM

from adapters.beside import watch_beside
from agentcell.events import TextDelta


def of(run, *kinds):
    return [event for event in run.events if isinstance(event, kinds)]


def rows(run):
    return [(step.tool, step.state, step.result) for step in run.steps if step.tool]


def text_of(run):
    return "".join(event.text for event in of(run, TextDelta))


def results_in(messages):
    return sum(message.role == "tool" for message in messages)


def call(name, call_id, **arguments):
    return ToolCallBlock(tool_call_id=call_id, tool_name=name, tool_kwargs=arguments)


def says(*blocks):
    return ChatMessage(role="assistant", blocks=[TextBlock(text=one) if isinstance(one, str) else one for one in blocks])


class Streaming(MockFunctionCallingLLM):
    """Says what its script gives piece by piece, as the models of the providers do: `think:` marks a piece of reasoning."""

    @llm_chat_callback()
    async def astream_chat(self, messages, **_):
        pieces = self.response_generator(messages)

        async def stream():
            text = thought = ""
            calls = []
            for number, piece in enumerate(pieces):
                more, delta = {}, ""
                if not isinstance(piece, str):
                    calls.append(piece)
                elif piece.startswith("think:"):
                    thought += piece[6:]
                    more = {"thinking_delta": piece[6:]}
                else:
                    delta = piece
                    text += piece
                blocks = [ThinkingBlock(content=thought)] * bool(thought) + [TextBlock(text=text)] * bool(text) + calls
                last = number == len(pieces) - 1
                raw = (
                    {"model": "tiny", "id": f"r{len(messages)}", "usage": {"prompt_tokens": 20, "completion_tokens": 5}}
                    if last
                    else None
                )
                message = ChatMessage(role="assistant", blocks=blocks)
                yield ChatResponse(message=message, delta=delta, additional_kwargs=more, raw=raw)

        return stream()


def forecast(messages, **_):
    if results_in(messages) == 0:
        return ["think:Let me ", "think:see.", "Look", "ing.", call("weather", "w", city="Oslo"), call("traffic", "t")]
    return ["Oslo ", "is mild."]


async def weather(city: str) -> str:
    """Tells the weather."""
    return f"7 degrees in {city}"


async def traffic() -> str:
    """Tells of jams."""
    raise ValueError("no roads")


def agent_of(script, *tools, name="forecaster", **options):
    return FunctionAgent(tools=list(tools), llm=Streaming(response_generator=script), name=name, **options)


def forecaster():
    return agent_of(forecast, weather, traffic)


async def awaited(run, handler):
    return str(await handler)


async def consumed(run, handler):
    return str(await (handler if run is None else run.consume(handler)))


async def streamed(run, handler):
    async for _ in handler.stream_events() if run is None else run.stream(handler):
        pass
    return str(await handler)


async def streamed_by_events(run, handler):
    events = handler.stream_events()
    async for _ in events if run is None else run.stream(events):
        pass
    return str(await handler)


WAYS = [
    (way, auto) for way in (awaited, consumed, streamed, streamed_by_events) for auto in (True, False) if auto or way is not awaited
]
"""How a workflow is run, and whether the block hears it by itself."""


def watched(make, *, way=awaited, auto=True):
    """Runs what `make` begins, in a block and without."""
    return asyncio.run(watch_beside(lambda run: way(run, make()), auto=auto))
