"""One small agent of each framework that is heard by itself, with its own fake model; they all use the same ids for their tool calls."""

from __future__ import annotations

import asyncio

import agents
import dspy
from agents import Runner, function_tool
from agents.testing import ScriptedModel, assistant_message, function_call
from langchain.agents import create_agent
from langchain_core.tools import tool as langchain_tool
from llama_index.core.agent.workflow import FunctionAgent
from pydantic_ai import Agent
from pydantic_ai.models.function import DeltaToolCall
from smolagents import LogLevel, ToolCallingAgent
from smolagents import tool as smolagents_tool

from adapters.dspy_programs import DummyLM
from adapters.dspy_programs import step as dspy_step
from adapters.langchain_models import asking, model
from adapters.llama_index_agents import Streaming, results_in
from adapters.llama_index_agents import call as llama_index_call
from adapters.scripted import scripted
from adapters.test_smolagents import Scripted


def langchain(look, asks, answer):
    @langchain_tool
    async def search(city: str) -> str:
        """Looks."""
        return await look(city)

    script = [asking(("search", {"city": city}, "c1"), text=".") for city in asks]
    agent = create_agent(model(*script, answer), [search])

    async def call():
        return (await agent.ainvoke({"messages": [("user", "hi")]}))["messages"][-1].content

    return call


def pydantic_ai(look, asks, answer):
    async def script(messages, info):
        number = len(messages) // 2
        if number < len(asks):
            yield {0: DeltaToolCall("search", f'{{"city": "{asks[number]}"}}', tool_call_id="c1")}
        else:
            yield answer

    agent = Agent(scripted(script), name="Expert")

    @agent.tool_plain
    async def search(city: str) -> str:
        return await look(city)

    async def call():
        return (await agent.run("hi")).output

    return call


def smolagents(look, asks, answer):
    @smolagents_tool
    def search(city: str) -> str:
        """Looks.

        Args:
            city: Where.
        """
        return asyncio.run(look(city))

    script = [[("c1", "search", {"city": city})] for city in asks]
    script.append([("c1", "final_answer", {"answer": answer})])
    agent = ToolCallingAgent(tools=[search], model=Scripted(*script), verbosity_level=LogLevel.OFF)

    async def call():
        return await asyncio.to_thread(agent.run, "hi")

    return call


def openai_agents(look, asks, answer):
    @function_tool
    async def search(city: str) -> str:
        """Looks."""
        return await look(city)

    # Their runner refuses an id that was used before in the same run.
    script = [[function_call("search", {"city": city}, call_id=f"c{number}")] for number, city in enumerate(asks, 1)]
    agent = agents.Agent("Expert", model=ScriptedModel([*script, [assistant_message(answer)]]), tools=[search])

    async def call():
        return (await Runner.run(agent, "hi")).final_output

    return call


def llama_index(look, asks, answer):
    async def search(city: str) -> str:
        """Looks."""
        return await look(city)

    def say(messages):
        number = results_in(messages)
        return [llama_index_call("search", "c1", city=asks[number])] if number < len(asks) else [answer]

    agent = FunctionAgent(tools=[search], llm=Streaming(response_generator=say))

    async def call():
        return str(await agent.run("hi"))

    return call


def dspy_react(look, asks, answer):
    async def search(city: str) -> str:
        """Looks."""
        return await look(city)

    script = [dspy_step("I look.", "search", city=city) for city in asks]
    lm = DummyLM([*script, dspy_step("Done.", "finish"), {"reasoning": "I know.", "answer": answer}])
    program = dspy.ReAct("question -> answer", tools=[search])

    async def call():
        with dspy.context(lm=lm):
            return (await program.acall(question="hi")).answer

    return call


EVERY = {
    "LangChain": langchain,
    "pydantic-ai": pydantic_ai,
    "smolagents": smolagents,
    "OpenAI Agents": openai_agents,
    "LlamaIndex": llama_index,
    "DSPy": dspy_react,
}
"""Each makes an agent that asks `look` for each of the cities in turn and then answers; to be awaited once."""
