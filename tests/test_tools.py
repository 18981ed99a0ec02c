"""@agentcell.tool: a function's calls are seen, and the function is what it was."""

import asyncio
import dataclasses
import functools
import inspect
import traceback

import pytest

import agentcell
from agentcell.events import ModelStarted, ToolStarted
from agentcell.run import Run
from agentcell.tools import tool


@tool
def search(query: str, limit: int = 10) -> list[str]:
    """Searches."""
    return [query] * limit


@tool
async def fetch(url: str) -> str:
    """Fetches."""
    await asyncio.sleep(0)
    return url.upper()


@tool(name="look_up")
def named(word: str) -> str:
    return word


@tool(name="look_up_later")
async def named_async(word: str) -> str:
    return word


@tool
def many(*args: int, sep: str = ",", **kwargs: int) -> int:
    return len(args) + len(kwargs)


@dataclasses.dataclass
class Library:
    books: int = 3

    @tool
    def count(self, shelf: str) -> int:
        return self.books

    @classmethod
    @tool
    def build(cls, books: int) -> "Library":
        return cls(books)

    @staticmethod
    @tool
    def shelf(number: int) -> str:
        return f"shelf {number}"

    @tool
    async def read(self, title: str) -> str:
        return title


class Callable:
    @tool
    def __call__(self, x: int) -> int:
        return x + 1


class Unsigned:
    """Something that can be called, but does not say how, as some functions of Python's own."""

    __signature__ = "unknown"
    __name__ = "add_up"

    def __call__(self, *args: int, **kwargs: int) -> int:
        return sum(args) + sum(kwargs.values())


@pytest.mark.parametrize(
    ("call", "result", "name", "arguments"),
    [
        (lambda: search("p95"), ["p95"] * 10, "search", {"query": "p95"}),
        (lambda: search("p95", 2), ["p95"] * 2, "search", {"query": "p95", "limit": 2}),
        (lambda: search(limit=1, query="p95"), ["p95"], "search", {"query": "p95", "limit": 1}),
        (lambda: named("x"), "x", "look_up", {"word": "x"}),
        (many, 0, "many", {}),
        (lambda: many(1, 2, sep=";", a=3), 3, "many", {"args": [1, 2], "sep": ";", "kwargs": {"a": 3}}),
        (lambda: Library().count("A"), 3, "count", {"shelf": "A"}),
        (lambda: Library.build(5), Library(5), "build", {"books": 5}),
        (lambda: Library.shelf(7), "shelf 7", "shelf", {"number": 7}),
        (lambda: Callable()(1), 2, "__call__", {"x": 1}),
        (lambda: asyncio.run(fetch("a")), "A", "fetch", {"url": "a"}),
        (lambda: asyncio.run(fetch(url="a")), "A", "fetch", {"url": "a"}),
        (lambda: asyncio.run(named_async("x")), "x", "look_up_later", {"word": "x"}),
        (lambda: asyncio.run(Library().read("x")), "x", "read", {"title": "x"}),
        (lambda: tool(len)([1, 2]), 2, "len", {"obj": [1, 2]}),
        (lambda: tool(Unsigned())(3, 5, x=7), 15, "add_up", {"0": 3, "1": 5, "x": 7}),
        (lambda: tool(functools.partial(search.__wrapped__, limit=1))("x"), ["x"], "partial", {"query": "x"}),
        (lambda: tool(lambda x: x)(1), 1, "<lambda>", {"x": 1}),
    ],
)
def test_a_call_is_seen_and_gives_what_the_function_gives(call, result, name, arguments):
    assert call() == result, "outside a run it is just the function"
    with Run() as run:
        assert call() == result
    (step,) = run.steps
    assert (step.tool, step.state, step.arguments) == (name, "done", arguments)


def test_a_result_is_the_same_object():
    things = []
    keep = tool(lambda: things)
    with Run() as run:
        assert keep() is things
        things.append("later")
    assert run.steps[0].result == [], "what was seen is a copy"


def test_it_looks_like_the_function():
    for one, name, doc in ((search, "search", "Searches."), (fetch, "fetch", "Fetches."), (named, "named", None)):
        assert (one.__name__, one.__doc__, one.__module__) == (name, doc, __name__)
    assert str(inspect.signature(search)) == "(query: str, limit: int = 10) -> list[str]"
    assert inspect.iscoroutinefunction(fetch)
    assert not inspect.iscoroutinefunction(search)
    assert search.__wrapped__("x", 1) == ["x"]


@pytest.mark.parametrize("kind", ["plain", "async"])
def test_an_exception_goes_on_and_fails_the_call(kind):
    error = LookupError("no such book\nat all")

    @tool
    def plain():
        raise error

    @tool
    async def later():
        raise error

    with Run() as run, pytest.raises(LookupError) as caught:
        plain() if kind == "plain" else asyncio.run(later())
    assert caught.value is error
    assert traceback.extract_tb(error.__traceback__)[-1].name == ("plain" if kind == "plain" else "later")
    assert [(step.state, step.detail) for step in run.steps] == [("failed", "LookupError: no such book")]
    assert run.outcome == "answered"


def test_a_wrong_call_raises_the_functions_own_error():
    with pytest.raises(TypeError) as bare:
        search.__wrapped__(1, 2, 3, 4)
    with Run() as run, pytest.raises(TypeError) as caught:
        search(1, 2, 3, 4)
    assert str(caught.value) == str(bare.value)
    assert [step.state for step in run.steps] == ["failed"]


def test_a_generator_passes_through_untouched():
    seen = []

    @tool
    def pages():
        seen.append("begun")
        yield 1
        yield 2

    with Run() as run:
        generator = pages()
        assert inspect.isgenerator(generator)
        assert seen == [], "nobody has read it"
        assert list(generator) == [1, 2]
    assert [step.state for step in run.steps] == ["done"]


def test_an_async_generator_passes_through_untouched():
    @tool
    async def pages():
        yield 1
        yield 2

    async def main():
        async with Run() as run:
            generator = pages()
            assert inspect.isasyncgen(generator)
            assert [page async for page in generator] == [1, 2]
        return run

    assert [step.state for step in asyncio.run(main()).steps] == ["done"]


@tool
def lines(path: str):
    got = yield f"first of {path}"
    yield got
    return "read"


@tool
async def messages(topic: str):
    got = yield f"first of {topic}"
    yield got


def states(run: Run) -> list[str]:
    return [step.state for step in run.steps]


def test_a_generators_call_lasts_until_nothing_more_comes():
    assert inspect.isgeneratorfunction(lines)
    assert list(lines("outside")) == ["first of outside", None]
    with Run() as run:
        generator = lines("log")
        assert run.steps == (), "nobody has asked for anything"
        assert next(generator) == "first of log"
        assert states(run) == ["running"]
        assert generator.send("sent") == "sent"
        assert states(run) == ["running"]
        with pytest.raises(StopIteration) as end:
            next(generator)
        assert end.value.value == "read"
    (step,) = run.steps
    assert (step.state, step.arguments, step.result) == ("done", {"path": "log"}, "read")


def test_an_async_generators_call_lasts_until_nothing_more_comes():
    async def main():
        assert inspect.isasyncgenfunction(messages)
        assert [message async for message in messages("outside")] == ["first of outside", None]
        async with Run() as run:
            generator = messages("log")
            assert run.steps == ()
            assert await anext(generator) == "first of log"
            assert states(run) == ["running"]
            assert await generator.asend("sent") == "sent"
            with pytest.raises(StopAsyncIteration):
                await anext(generator)
        return run

    (step,) = asyncio.run(main()).steps
    assert (step.state, step.arguments, step.result) == ("done", {"topic": "log"}, ["first of log", "sent"])


def test_what_the_caller_does_between_two_values_is_no_part_of_the_call():
    @tool
    def outer():
        search("inside", 1)
        yield 1
        search("inside too", 1)

    @tool
    async def outer_async():
        search("inside", 1)
        yield 1
        search("inside too", 1)

    async def main():
        async with Run() as run:
            for _ in outer():
                search("outside", 1)
            async for _ in outer_async():
                search("outside", 1)
        return run

    run = asyncio.run(main())
    steps = [(step.tool, step.arguments.get("query"), step.parent) for step in run.steps]
    one = [("outer", None, None), ("search", "inside", 0), ("search", "outside", None), ("search", "inside too", 0)]
    two = [("outer_async", None, None), ("search", "inside", 4), ("search", "outside", None), ("search", "inside too", 4)]
    assert steps == one + two


def test_an_exception_goes_into_a_generator_and_out_of_it():
    @tool
    def stubborn():
        try:
            yield 1
        except KeyError:
            yield "caught"
        raise ValueError("no more")

    @tool
    async def stubborn_async():
        try:
            yield 1
        except KeyError:
            yield "caught"
        raise ValueError("no more")

    async def main():
        async with Run() as run:
            one, two = stubborn(), stubborn_async()
            assert (next(one), await anext(two)) == (1, 1)
            assert (one.throw(KeyError()), await two.athrow(KeyError())) == ("caught", "caught")
            with pytest.raises(ValueError, match="no more"):
                next(one)
            with pytest.raises(ValueError, match="no more"):
                await anext(two)
        return run

    run = asyncio.run(main())
    assert [(step.state, step.detail) for step in run.steps] == [("failed", "ValueError: no more")] * 2


def test_a_generator_that_nobody_reads_on_is_closed_and_its_call_cancelled():
    closed = []

    @tool
    def endless():
        try:
            yield from iter(int, 1)
        finally:
            closed.append("sync")

    @tool
    async def endless_async():
        try:
            while True:
                yield 0
        finally:
            await asyncio.sleep(0)
            closed.append("async")

    async def main():
        async with Run() as run:
            for _ in endless():
                break
            generator = endless_async()
            async for _ in generator:
                break
            await generator.aclose()
        return run

    assert states(asyncio.run(main())) == ["cancelled", "cancelled"]
    assert closed == ["sync", "async"]


def test_a_generator_that_outlives_its_run_is_closed_without_a_word():
    with Run() as run:
        generator = lines("log")
        next(generator)
    generator.close()
    assert states(run) == ["cancelled"]
    assert run.faults == {}


def test_of_a_long_generator_the_first_values_are_kept():
    @tool
    def count():
        yield from range(1_500)

    with Run() as run:
        assert sum(1 for _ in count()) == 1_500
    (step,) = run.steps
    assert step.result[-2:] == [999, "… 500 more"]


def test_a_coroutine_that_nobody_awaits_is_no_call():
    with Run() as run:
        coroutine = fetch("a")
        assert run.steps == ()
        coroutine.close()
    assert run.steps == ()


def test_it_is_a_call_that_a_model_asked_for_when_one_did():
    with Run() as run:
        run.record(ModelStarted(model_call_id="m"))
        asked = [ToolStarted(call_id=call, name="search", arguments={"query": call}, requested=True) for call in ("a", "b")]
        for event in asked:
            run.record(event)
        search("b")
        assert [(step.call_id, step.state) for step in run.steps] == [("a", "running"), ("b", "done")]
        search(query="a", limit=1)
        assert [step.state for step in run.steps] == ["done", "done"], "the only one left, although the arguments are others"
        search("a")
        assert len(run.steps) == 3, "nobody asked for it a second time"
        run.record(asked[0])
        run.record(ModelStarted(model_call_id="n"))
        assert run.steps[0].state == "done", "the model goes on, so it has got its result from somewhere"
        search("a")
    assert len(run.steps) == 4


@pytest.mark.parametrize(
    ("decorate", "sentence"),
    [
        (lambda: tool("search"), "@agentcell.tool goes on a function, not on 'search' (str)"),
        (lambda: tool(name="search")(5), "@agentcell.tool goes on a function, not on 5 (int)"),
        (lambda: tool(name=5), "the name for @agentcell.tool must be a string, not 5 (int)"),
    ],
)
def test_what_is_no_function_is_refused_at_once(decorate, sentence):
    with pytest.raises(TypeError) as caught:
        decorate()
    assert str(caught.value) == sentence


def test_it_is_the_packages_own():
    assert agentcell.tool is tool
