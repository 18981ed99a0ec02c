"""pydantic-ai's own fake model with one script for both ways to ask it, whole and streamed."""

from __future__ import annotations

from pydantic_ai.messages import ModelResponse, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.models.function import DeltaToolCall, FunctionModel


def scripted(script):
    """A model that says what `script`, an async generator function, yields."""

    async def whole(messages, info):
        text, parts = "", {}
        async for piece in script(messages, info):
            if isinstance(piece, str):
                text += piece
                continue
            for index, delta in piece.items():
                parts.setdefault(index, []).append(delta)
        return ModelResponse(parts=[*map(part_of, parts.values()), *([TextPart(text)] if text else [])])

    return FunctionModel(whole, stream_function=script)


def part_of(deltas):
    first = deltas[0]
    if isinstance(first, DeltaToolCall):
        return ToolCallPart(first.name, "".join(delta.json_args or "" for delta in deltas), first.tool_call_id)
    signatures = [delta.signature for delta in deltas if delta.signature]
    return ThinkingPart("".join(delta.content for delta in deltas), signature=signatures[-1] if signatures else None)
