"""LangChain's own fake model, which says here also what real ones stream: reasoning, tool calls and the tokens."""

from __future__ import annotations

import re

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.utils.function_calling import convert_to_openai_tool

USAGE = {
    "input_tokens": 10,
    "output_tokens": 5,
    "total_tokens": 15,
    "input_token_details": {"cache_read": 4},
    "output_token_details": {"reasoning": 2},
}


class Model(GenericFakeChatModel):
    """Says the messages one after the other; an exception among them is raised."""

    named: str | None = None

    def _get_ls_params(self, stop=None, **options):
        return {**super()._get_ls_params(stop, **options), **({"ls_model_name": self.named} if self.named else {})}

    def bind_tools(self, tools, **options):
        return self.bind(tools=[convert_to_openai_tool(one) for one in tools], **options)

    def _generate(self, messages, stop=None, run_manager=None, **options):
        return super()._generate(messages, stop, run_manager, **options)

    def _stream(self, messages, stop=None, run_manager=None, **options):
        message = self._generate(messages, stop, None, **options).generations[0].message
        for piece in pieces(message):
            chunk = ChatGenerationChunk(message=piece)
            if run_manager:
                run_manager.on_llm_new_token(piece.content, chunk=chunk)
            yield chunk


def pieces(message):
    blocks = [{"type": "text", "text": message.content}] if isinstance(message.content, str) else message.content
    for number, block in enumerate(blocks):
        kind = block["type"]
        for word in re.findall(r"\s*\S+", block[kind]):
            whole = [{"type": kind, kind: word, "index": number}]
            yield AIMessageChunk(word if isinstance(message.content, str) else whole, id=message.id)
    asked = [
        {"name": call["name"], "args": repr(call["args"]).replace("'", '"'), "id": call["id"], "index": place}
        for place, call in enumerate(message.tool_calls)
    ]
    yield AIMessageChunk("", id=message.id, tool_call_chunks=asked, usage_metadata=message.usage_metadata)


def _raising(script):
    for one in script:
        if isinstance(one, BaseException):
            raise one
        yield one


def model(*script, named=None):
    """A model that says these: texts, messages, or exceptions that it raises."""
    said = (AIMessage(one, usage_metadata=USAGE) if isinstance(one, str) else one for one in script)
    return Model(messages=_raising(said), named=named)


def asking(*calls, text="", thinking=""):
    """A message that asks for tools: name, arguments, id."""
    content = [{"type": "reasoning", "reasoning": thinking}, {"type": "text", "text": text}] if thinking else text
    asked = [{"name": name, "args": arguments, "id": call_id, "type": "tool_call"} for name, arguments, call_id in calls]
    return AIMessage(content, tool_calls=asked, usage_metadata=USAGE)
