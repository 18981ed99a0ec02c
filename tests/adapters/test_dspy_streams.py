"""DSPy's real client on what a provider sends: the answer as it streams, and the tokens."""

import asyncio
import json
import re

import pytest

import agentcell
from adapters.dspy_programs import QUIET, call, dspy, of, watched
from agentcell.events import ModelEnded, ModelStarted, TextDelta, Usage
from agentcell.testing import ReplayServer

pytestmark = QUIET

COUNTED = {
    "prompt_tokens": 20,
    "completion_tokens": 7,
    "total_tokens": 27,
    "prompt_tokens_details": {"cached_tokens": 4},
    "completion_tokens_details": {"reasoning_tokens": 2},
}
USAGE = Usage(20, 7, cache_read_tokens=4, reasoning_tokens=2)


def fields(**said):
    """What a model writes for these fields."""
    return "".join(f"[[ ## {name} ## ]]\n{text}\n\n" for name, text in [*said.items(), ("completed", "")])


def whole(text, usage=COUNTED, model="gpt-4o"):
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    answer = {"id": "c1", "object": "chat.completion", "created": 1, "model": model, "choices": [choice], "usage": usage}
    return {"response": {"status": 200, "content_type": "application/json", "body": json.dumps(answer)}}


def streamed(text):
    def chunk(delta=None, finish=None, **more):
        choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
        return {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4o", "choices": choices, **more}

    words = [chunk({"role": "assistant", "content": word}) for word in re.findall(r"\s*\S+|\s+$", text)]
    chunks = [*words, chunk({}, "stop"), chunk(usage=COUNTED)]
    body = "".join(f"data: {json.dumps(one)}\n\n" for one in chunks) + "data: [DONE]\n\n"
    return {"response": {"status": 200, "content_type": "text/event-stream", "body": body}}


def model(server, name="openai/gpt-4o", **options):
    return dspy.LM(name, api_base=server.url, api_key="none", num_retries=0, **{"cache": False, **options})


async def stream(program, exchanges, way="async", listen=("answer",), run=None):
    """Reads all of a program's stream; returns its pieces, and its prediction."""
    with ReplayServer({"exchanges": exchanges}) as server, dspy.context(lm=model(server)):
        listeners = [dspy.streaming.StreamListener(signature_field_name=name) for name in listen]
        how = {"is_async_program": way == "async", "async_streaming": way != "sync stream"}
        source = dspy.streamify(program, stream_listeners=listeners, **how)(question="?")
        if run is not None:
            source = run.stream(source)
        heard = list(source) if way == "sync stream" else [one async for one in source]
    return [one.chunk if hasattr(one, "chunk") else dict(one.items()) for one in heard if not hasattr(one, "message")]


def told(run):
    return [event.text for event in of(run, TextDelta)]


SAID = {"reasoning": "Look outside.", "answer": "It is mild in Oslo today, and it will be tomorrow."}
WORDS = re.findall(r"\s*\S+", SAID["answer"])


@pytest.mark.parametrize("way", ["async", "sync", "sync stream"])
@pytest.mark.parametrize("by", ["itself", "itself and run.stream", "run.stream"])
def test_an_answer_is_told_as_it_streams_and_once(way, by):
    async def agent(run):
        watching = None if by == "itself" else run
        ours = [run.dspy()] if run is not None and by == "run.stream" else []
        with dspy.context(callbacks=ours):
            return await stream(dspy.ChainOfThought("question -> answer"), [streamed(fields(**SAID))], way, run=watching)

    run = watched(agent, auto=by != "run.stream")
    assert "".join(told(run)) == run.answer_text == SAID["answer"]
    assert told(run)[:3] == WORDS[:3]
    assert run.usage == USAGE
    assert [step.content for step in run.steps if step.kind == "thinking"] == ["Look outside."]
    assert len(of(run, ModelStarted)) == len(of(run, ModelEnded)) == 1


class Respond(dspy.Module):
    """A program of the user's, around a module."""

    def __init__(self, name="answer"):
        super().__init__()
        self.respond = dspy.ChainOfThought("question -> answer")
        self.name = name

    async def aforward(self, question):
        return dspy.Prediction(**{self.name: (await self.respond.acall(question=question)).answer})


def test_a_field_that_streams_in_a_module_inside_is_the_answer():
    run = watched(lambda _run: stream(Respond(), [streamed(fields(**SAID))]))
    assert "".join(told(run)) == run.answer_text == SAID["answer"]
    assert told(run)[:3] == WORDS[:3]


class Revise(Respond):
    """Its answer is another than what streamed last."""

    async def aforward(self, question):
        first = await self.respond.acall(question=question)
        second = await self.respond.acall(question=first.answer)
        return dspy.Prediction(answer=second.answer.upper())


def test_what_the_program_answers_counts_not_what_streamed():
    async def agent(_run):
        before = await call_once("Before.")
        listened = [streamed(fields(reasoning="r", answer=answer)) for answer in ("It is mild.", "It is cold.")]
        return before, await stream(Revise(), listened)

    async def call_once(answer):
        with ReplayServer({"exchanges": [whole(fields(answer=answer))]}) as server:
            return await call(dspy.Predict("question -> answer"), model(server))

    run = watched(agent)
    assert run.answer_text == "Before.\n\nIT IS COLD."


def test_several_fields_stream_each_under_its_name():
    said = {"title": "Oslo today", "text": "It is mild, and it will be."}
    program = dspy.Predict("question -> title, text")
    run = watched(lambda _run: stream(program, [streamed(fields(**said))], listen=("title", "text")))
    assert run.answer_text == "**title:** Oslo today\n\n**text:** It is mild, and it will be."
    assert "".join(told(run)) == run.answer_text
    assert len(told(run)) > 4


def test_a_stream_that_nobody_listens_to_field_by_field_ends_with_the_answer():
    async def agent(_run):
        return (await stream(dspy.ChainOfThought("question -> answer"), [streamed(fields(**SAID))], listen=()))[-1]

    assert watched(agent).answer_text == SAID["answer"]


def test_a_stopped_stream_ends():
    async def agent():
        with agentcell.watch(display=False) as run, ReplayServer({"exchanges": [streamed(fields(**SAID))]}) as server:
            runs.append(run)
            with dspy.context(lm=model(server)):
                listener = dspy.streaming.StreamListener(signature_field_name="answer")
                program = dspy.streamify(dspy.Predict("question -> answer"), stream_listeners=[listener], is_async_program=True)
                async for _ in run.stream(program(question="?")):
                    run.stop()

    runs = []
    asyncio.run(agent())
    assert runs[0].outcome == "cancelled"
    assert [event.outcome for event in of(runs[0], ModelEnded)] == ["cancelled"]


def test_the_tokens_of_a_real_client_are_told_by_model():
    async def agent(_run):
        exchanges = [whole(fields(answer="Mild.")), whole(fields(answer="Cold."), model="gpt-4o-mini")]
        with ReplayServer({"exchanges": exchanges}) as server:
            first = await call(dspy.Predict("question -> answer"), model(server))
            return first, await call(dspy.Predict("question -> answer"), model(server, "openai/gpt-4o-mini"))

    run = watched(agent)
    assert run.answer_text == "Mild.\n\nCold."
    assert run.usage_by_model == {"openai/gpt-4o": USAGE, "openai/gpt-4o-mini": USAGE}
    assert of(run, ModelStarted)[0].provider == "openai"


def test_an_answer_from_the_cache_costs_no_tokens():
    async def agent(_run):
        dspy.cache.reset_memory_cache()  # of the other way's
        with ReplayServer({"exchanges": [whole(fields(answer="Mild."))]}) as server:
            lm = model(server, cache=True)
            return [await call(dspy.Predict("question -> answer"), lm) for _ in range(2)]

    run = watched(agent)
    assert run.answer_text == "Mild.\n\nMild."
    assert [event.usage for event in of(run, ModelEnded)] == [USAGE, None]


def test_an_error_of_the_provider_is_told_and_goes_on():
    refused = {"response": {"status": 401, "content_type": "application/json", "body": '{"error": {"message": "wrong key"}}'}}

    async def agent(_run):
        with ReplayServer({"exchanges": [refused]}) as server:
            return await call(dspy.Predict("question -> answer"), model(server))

    run = watched(agent, raises=Exception)
    assert of(run, ModelEnded)[0].outcome == "failed"
    assert "wrong key" in of(run, ModelEnded)[0].error
    assert run.outcome == "failed"
