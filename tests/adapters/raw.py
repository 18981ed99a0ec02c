"""Reads recordings without the adapters: raw server-sent events, json and plain loops, to compare with."""

from __future__ import annotations

import json
from dataclasses import dataclass, field


@dataclass
class Reading:
    text: str = ""
    thinking: str = ""
    asked: list = field(default_factory=list)  # (id, name, arguments); id None where the provider gave none
    hosted: list = field(default_factory=list)  # (id, name, arguments)
    signatures: list = field(default_factory=list)
    usage: tuple | None = None  # input, output, cache read, cache write, reasoning
    finish: str | None = None
    model: str | None = None
    response_id: str | None = None


HOSTED = {
    "mcp_call": lambda item: (item["name"], json.loads(item["arguments"])),
    "mcp_list_tools": lambda item: ("mcp_list_tools", {"server_label": item["server_label"]}),
    "web_search_call": lambda item: (
        "web_search",
        {name: item["action"][name] for name in item["action"] if name != "sources"},
    ),
}


def payloads(body):
    for line in body.replace("\r\n", "\n").split("\n"):
        if line.startswith("data:") and line[5:].strip() != "[DONE]":
            yield json.loads(line[5:])


def chat(body):
    out, calls = Reading(), {}
    for chunk in payloads(body):
        if "error" in chunk:  # the SDK raises here and gives out nothing of this chunk
            break
        out.model, out.response_id = chunk["model"], chunk["id"]
        usage = chunk.get("usage")
        if usage:
            details = usage.get("prompt_tokens_details") or {}
            reasoning = (usage.get("completion_tokens_details") or {}).get("reasoning_tokens", 0)
            cached, written = details.get("cached_tokens", 0), details.get("cache_write_tokens", 0)
            out.usage = (usage["prompt_tokens"], usage["completion_tokens"], cached, written, reasoning)
        for choice in chunk["choices"]:
            delta = choice["delta"]
            content = delta.get("content") or ""
            if isinstance(content, list):
                for part in content:
                    out.thinking += "".join(piece["text"] for piece in part["thinking"])
            else:
                out.text += content
            out.thinking += delta.get("reasoning_content") or delta.get("reasoning") or ""
            out.signatures += [d["signature"] for d in delta.get("reasoning_details") or [] if d.get("signature")]
            for piece in delta.get("tool_calls") or []:
                call = calls.setdefault(piece["index"], ["", "", ""])
                call[0] += piece.get("id") or ""
                call[1] += piece["function"].get("name") or ""
                call[2] += piece["function"].get("arguments") or ""
            out.finish = choice["finish_reason"] or out.finish
    out.asked = [(call[0], call[1], json.loads(call[2])) for call in calls.values()]
    return out


def responses(body):
    """What the deltas say; the items only for what has no deltas."""
    out, parts = Reading(), {}
    for event in payloads(body):
        kind = event["type"]
        if kind == "response.output_text.delta":
            out.text += event["delta"]
        elif kind == "response.reasoning_summary_text.delta":
            place = (event["item_id"], event["summary_index"])
            parts[place] = parts.get(place, "") + event["delta"]
        elif kind == "response.output_item.done":
            item = event["item"]
            if item["type"] == "function_call":
                out.asked.append((item["call_id"], item["name"], json.loads(item["arguments"])))
            elif item["type"] in HOSTED:
                out.hosted.append((item["id"], *HOSTED[item["type"]](item)))
            elif item["type"] == "reasoning":
                out.signatures.append(item["encrypted_content"])
        elif kind == "response.completed":
            response, usage = event["response"], event["response"]["usage"]
            cached, reasoning = (
                usage["input_tokens_details"]["cached_tokens"],
                usage["output_tokens_details"]["reasoning_tokens"],
            )
            out.usage = (usage["input_tokens"], usage["output_tokens"], cached, 0, reasoning)
            out.finish, out.model, out.response_id = "completed", response["model"], response["id"]
    out.thinking = "\n\n".join(parts.values())
    return out


def messages(body):
    out, blocks, arguments = Reading(), {}, {}
    for event in payloads(body):
        kind, index = event["type"], event.get("index")
        if kind == "message_start":
            out.model, out.response_id = event["message"]["model"], event["message"]["id"]
        elif kind == "content_block_start":
            blocks[index] = event["content_block"]
            arguments[index] = ""
            if "data" in event["content_block"]:
                out.signatures.append(event["content_block"]["data"])
        elif kind == "content_block_delta":
            delta = event["delta"]
            out.text += delta.get("text", "")
            out.thinking += delta.get("thinking", "")
            arguments[index] += delta.get("partial_json", "")
            if "signature" in delta:
                out.signatures.append(delta["signature"])
        elif kind == "message_delta":
            usage, out.finish = event["usage"], event["delta"]["stop_reason"]
            written, read = usage["cache_creation_input_tokens"], usage["cache_read_input_tokens"]
            out.usage = (usage["input_tokens"] + written + read, usage["output_tokens"], read, written, 0)
    for index, block in blocks.items():
        if "input" in block:
            call = (block["id"], block["name"], json.loads(arguments[index]))
            (out.asked if block["type"] == "tool_use" else out.hosted).append(call)
    return out


def gemini(body):
    out = Reading()
    for chunk in payloads(body):
        (candidate,) = chunk["candidates"]
        for part in candidate["content"]["parts"]:
            if part.get("thought"):
                out.thinking += part["text"]
            else:
                out.text += part.get("text", "")
            if "functionCall" in part:
                out.asked.append((None, part["functionCall"]["name"], part["functionCall"]["args"]))
        usage = chunk["usageMetadata"]
        thoughts = usage.get("thoughtsTokenCount", 0)
        out.usage = (usage["promptTokenCount"], usage["candidatesTokenCount"] + thoughts, 0, 0, thoughts)
        out.finish = candidate.get("finishReason") or out.finish
        out.model, out.response_id = chunk["modelVersion"], chunk["responseId"]
    return out
