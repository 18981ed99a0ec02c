"""The main job on real input: the providers' own packages read what providers really streamed, in a cell that is seen, saved and kept."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from browser.lab import Lab, expect
from browser.notebooks import notebook
from shared import shared_path

OPENAI = """
import openai
from agentcell.testing import ReplayServer

with ReplayServer(pathlib.Path(RECORDING), pace=0.02) as server:
    client = openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0)
    with agentcell.watch("What did it say?") as run:
        for _ in range(TURNS):
            options = {"model": "m", "messages": [], "stream": True, "stream_options": {"include_usage": True}}
            for chunk in run.stream(client.chat.completions.create(**options)):
                pass
        wait_at("it was seen")
"""
ANTHROPIC = """
import anthropic
from agentcell.testing import ReplayServer

with ReplayServer(pathlib.Path(RECORDING), pace=0.05) as server:
    client = anthropic.Anthropic(base_url=server.url, api_key="none", max_retries=0)
    with agentcell.watch("How do I cross the street?") as run:
        with client.messages.stream(model="m", max_tokens=9, messages=[{"role": "user", "content": "?"}]) as stream:
            for event in run.stream(stream):
                pass
        wait_at("it was seen")
"""


RESPONSES = OPENAI.replace(
    "client.chat.completions.create(**options)", 'client.responses.create(model="m", input="?", stream=True)'
)


@dataclass(frozen=True)
class Recorded:
    """A recording: the code that reads it, and words of rows that are seen. One has no answer: its last turn calls a tool too."""

    name: str
    code: str
    rows: tuple[str, ...]
    answers: bool = True


RECORDED = (
    Recorded("openai_chat_tools_three_turns", OPENAI, ("get_country", "get_product_name", "final_result"), answers=False),
    Recorded("deepseek_reasoning_content", OPENAI, ("Thinking",)),
    Recorded("openai_responses_tool_two_turns", RESPONSES, ("get_capital",)),
    Recorded("anthropic_thinking", ANTHROPIC, ("Thinking",)),
)


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda recorded: recorded.name)
def test_a_real_stream_is_seen_live_and_stays_readable(jupyterlab: Lab, shots: Path, recorded: Recorded):
    name, recording = recorded.name, shared_path("recordings", f"{recorded.name}.json")
    turns = len(json.loads(recording.read_text(encoding="utf-8"))["exchanges"])
    page = jupyterlab.open(notebook(recorded.code.replace("RECORDING", repr(str(recording))).replace("TURNS", str(turns))))
    page.run(0)
    page.start(1)
    cell = page.output(1).locator(".agentcell")
    if recorded.answers:
        expect(cell.locator(".ac-answer")).not_to_be_empty()
        cell.locator(".ac-head").click()  # it has folded by itself
    expect(cell.locator(".ac-text").filter(has_text=recorded.rows[0]).first).to_be_visible()
    page.output(1).screenshot(path=shots / f"{name}-live.png")
    page.open_gate("it was seen")
    page.finish(1)
    answer = page.evaluate("run.answer_text").strip()
    assert bool(answer) is recorded.answers

    page.save()
    jupyterlab.close_pages()
    kept = jupyterlab.open(page.path, kernel=False)
    output = kept.output(1)
    heading = output.locator("summary").first
    expect(heading).to_have_text(re.compile(r"^Thought for .* tokens( · \$[\d.]+)?$"))
    # The reader opened the block of those that answer, and so it is kept; the others wait for a click.
    if not recorded.answers:
        heading.click()
    for row in recorded.rows:
        expect(output.locator("li").filter(has_text=row).first).to_be_visible()
    expect(output).to_contain_text(re.sub(r"[*`#]", "", answer)[:30] if answer else "It ended without an answer.")
    output.screenshot(path=shots / f"{name}-kept.png")
