"""The Claude Agent SDK itself, with a transport of ours in the place of its command line.

Needs the package `claude-agent-sdk`, whose wheel brings a whole program: it runs in an environment of its own.
"""

from __future__ import annotations

import asyncio
import json

import pytest

sdk = pytest.importorskip(
    "claude_agent_sdk", reason="claude-agent-sdk is not installed here: `make test-frameworks` makes an environment for it"
)

from adapters.beside import watch_beside  # noqa: E402
from adapters.claude_scenarios import *  # noqa: E402, F403 - the tests
from adapters.claude_scenarios import INIT, TWO_TOOLS, assistant, end, result_of, rows, text, use, watch  # noqa: E402
from test_examples import (  # noqa: E402
    test_a_notebook_is_short_has_one_line_to_change_and_keeps_its_outputs as check_what_it_keeps,
)
from test_examples import test_a_notebook_runs_as_it_stands_and_shows_what_it_keeps as check_what_it_shows  # noqa: E402


class Script(sdk.Transport):
    """Says what the command line would say; a dict `{"ask": …}` in the script is a question whether a tool may run."""

    def __init__(self, script):
        self.script = script
        self.answers = asyncio.Queue()
        self.answered = asyncio.Queue()

    async def connect(self):
        pass

    async def write(self, data):
        told = json.loads(data)
        if told.get("type") == "control_request":
            response = {"subtype": "success", "request_id": told["request_id"], "response": {}}
            await self.answers.put({"type": "control_response", "response": response})
        elif told.get("type") == "control_response":
            await self.answered.put(told["response"])

    async def read_messages(self):
        yield await self.answers.get()  # to the request that begins it
        for message in self.script:
            if isinstance(message, Exception):
                raise message
            if isinstance(message, asyncio.Event):
                await message.wait()
            elif "ask" in message:
                yield {"type": "control_request", "request_id": "r1", "request": {"subtype": "can_use_tool", **message["ask"]}}
                await self.answered.get()
            else:
                yield message

    async def close(self):
        pass

    def is_ready(self):
        return True

    async def end_input(self):
        pass


@pytest.fixture
def play():
    async def read(run, script, times=1):
        source = sdk.query(prompt="hi", transport=Script(script))
        return [type(one).__name__ async for one in (source if run is None else watch(run, source, times))]

    return read


def test_a_client_that_stays_connected_is_heard_answer_by_answer():
    async def scenario(run):
        names = []
        async with sdk.ClaudeSDKClient(transport=Script([*TWO_TOOLS, *TWO_TOOLS])) as client:
            for _ in range(2):
                await client.query("hi")
                answer = client.receive_response()
                names.append([type(one).__name__ async for one in (answer if run is None else run.stream(answer))])
        return names

    run = asyncio.run(watch_beside(scenario, auto=False))
    assert run.answer_text == "It is done.\n\nIt is done."
    assert len(run.steps) == 8


def test_consume_gives_the_result():
    async def scenario(run):
        source = sdk.query(prompt="hi", transport=Script(TWO_TOOLS))
        if run is None:
            return [one async for one in source][-1].result
        return (await run.consume(source)).result

    assert asyncio.run(watch_beside(scenario, auto=False)).result == "It is done."


def test_a_permission_that_the_users_code_asks_the_person_for_is_a_pause():
    script = [
        INIT,
        assistant("m1", use(1, "Bash", command="rm")),
        {"ask": {"tool_name": "Bash", "input": {"command": "rm"}, "tool_use_id": "t1", "permission_suggestions": []}},
        result_of(1, "gone"),
        assistant("m2", text("Done.")),
        end("Done."),
    ]
    asked = []

    async def scenario(run):
        async def permit(name, given, context):
            if run is not None:
                asked.append(run.pause(f"May `{name}` run?", choices=("yes", "no"), ask=lambda _question, choices: choices[0]))
            return sdk.PermissionResultAllow(updated_input=given)

        async def prompts():
            yield {"type": "user", "message": {"role": "user", "content": "hi"}}

        options = sdk.ClaudeAgentOptions(can_use_tool=permit)
        source = sdk.query(prompt=prompts(), options=options, transport=Script(script))
        return [type(one).__name__ async for one in (source if run is None else run.stream(source))]

    run = asyncio.run(watch_beside(scenario, auto=False))
    assert asked == ["yes"]
    assert rows(run) == [("Bash", "done", None), ("Waiting on you: May `Bash` run?", "done", None)]


def test_the_notebook_runs_as_it_stands_and_shows_what_it_keeps(tmp_path):
    check_what_it_keeps("claude_agent")
    check_what_it_shows("claude_agent", tmp_path)
