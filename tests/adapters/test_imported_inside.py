"""Frameworks that a block meets only while it is open: a process imports them inside it, is heard, and keeps no hook of ours."""

from __future__ import annotations

import subprocess
import sys

import pytest

OPENAI_AGENTS = """
import os, sys, agentcell
os.environ["OPENAI_API_KEY"] = "none"
with agentcell.watch(display=False) as run:
    assert "agents" not in sys.modules
    import asyncio, agents
    from agents.testing import ScriptedModel, assistant_message, function_call
    agents.set_trace_processors([])

    @agents.function_tool
    def weather(city: str) -> str:
        return "mild"

    script = [[function_call("weather", {"city": "Oslo"}, call_id="c1")], [assistant_message("Mild.")]]
    asyncio.run(agents.Runner.run(agents.Agent("A", model=ScriptedModel(script), tools=[weather]), "hi"))
    from agents.run import get_default_agent_runner
    heard = type(get_default_agent_runner()).__name__ == "HeardRunner"
left = type(get_default_agent_runner()).__name__ == "HeardRunner"
"""

SMOLAGENTS = """
import sys, agentcell
with agentcell.watch(display=False) as run:
    assert "smolagents" not in sys.modules
    from smolagents import LogLevel, Model, MultiStepAgent, ToolCallingAgent, tool
    from smolagents.models import ChatMessage, ChatMessageToolCall, ChatMessageToolCallFunction, MessageRole

    class Scripted(Model):
        script = [("weather", {"city": "Oslo"}), ("final_answer", {"answer": "Mild."})]

        def generate(self, messages, **options):
            name, arguments = self.script.pop(0)
            call = ChatMessageToolCall(ChatMessageToolCallFunction(arguments, name), name, "function")
            return ChatMessage(MessageRole.ASSISTANT, "", [call])

    @tool
    def weather(city: str) -> str:
        '''The weather.

        Args:
            city: Which one.
        '''
        return "mild"

    ToolCallingAgent(tools=[weather], model=Scripted(), verbosity_level=LogLevel.OFF).run("hi")
    heard = hasattr(MultiStepAgent._run_stream, "__wrapped__")
left = hasattr(MultiStepAgent._run_stream, "__wrapped__")
"""

END = """
assert [step.tool for step in run.steps if step.tool] == ["weather"], run.steps
assert run.answer_text == "Mild."
assert (heard, left) == (True, False)
"""


@pytest.mark.parametrize("code", [OPENAI_AGENTS, SMOLAGENTS], ids=["OpenAI Agents", "smolagents"])
def test_a_framework_that_is_imported_inside_the_block_is_heard_and_let_go(code, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(code + END, encoding="utf-8")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
