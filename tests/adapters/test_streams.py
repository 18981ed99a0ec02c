"""A watched stream: events pass through untouched, ends are told once, and nothing of ours reaches the caller."""

from __future__ import annotations

import asyncio
import gc

import pytest

from adapters.collector import Collector
from agentcell.adapters.streams import watch_stream
from agentcell.events import ModelEnded, ModelStarted, TextDelta

CUT = "the stream ended without its last event"
CLOSED = "the stream was closed before its last event"


def word(text, finish=None):
    return {"id": "c", "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish}]}


WORDS = (word("one "), word("two "), word("three"), word("", "stop"))


class Source:
    """A stream that knows what was done to it."""

    response = "the response"

    def __init__(self, events=WORDS, error=None):
        self.events = events
        self.error = error
        self.done = []

    def __iter__(self):
        self.done.append("iterate")
        yield from self.events
        if self.error is not None:
            raise self.error

    def close(self):
        self.done.append("close")


class AsyncSource:
    response = "the response"

    def __init__(self, events=WORDS, error=None):
        self.events = events
        self.error = error
        self.done = []

    async def __aiter__(self):
        self.done.append("iterate")
        for event in self.events:
            yield event
        if self.error is not None:
            raise self.error

    async def close(self):
        self.done.append("close")


class Manager:
    def __init__(self, source, *, suppress=False, error=None):
        self.source = source
        self.suppress = suppress
        self.error = error
        self.done = []

    def __enter__(self):
        self.done.append("enter")
        if self.error is not None:
            raise self.error
        return self.source

    def __exit__(self, kind, error, traceback):
        self.done.append(kind)
        return self.suppress


class AsyncManager:
    def __init__(self, source, *, suppress=False, error=None):
        self.sync = Manager(source, suppress=suppress, error=error)
        self.done = self.sync.done

    async def __aenter__(self):
        return self.sync.__enter__()

    async def __aexit__(self, *error):
        return self.sync.__exit__(*error)


class Both(Source):
    """LiteLLM's streams can be read either way."""

    async def __aiter__(self):
        for event in self.events:
            yield event


async def promise(value):
    return value


def ended(run):
    return run.end.outcome, run.end.error


# Passing through


@pytest.mark.parametrize("source", [WORDS, list(WORDS), iter(WORDS), Source(), Manager(Source()), Both()])
def test_every_event_passes_through_as_the_same_object(source):
    run = Collector()
    passed = list(watch_stream(run, source))
    assert all(given is event for given, event in zip(passed, WORDS, strict=True))
    assert run.text == "one two three"
    assert ended(run) == ("done", None)


@pytest.mark.parametrize(
    "make",
    [
        AsyncSource,
        Both,
        lambda: AsyncManager(AsyncSource()),
        lambda: promise(AsyncSource()),
        lambda: promise(AsyncManager(AsyncSource())),
    ],
)
def test_every_async_event_passes_through_as_the_same_object(make):
    async def listen(run):
        return [event async for event in watch_stream(run, make())]

    run = Collector()
    passed = asyncio.run(listen(run))
    assert all(given is event for given, event in zip(passed, WORDS, strict=True))
    assert run.text == "one two three"
    assert ended(run) == ("done", None)


def test_the_call_starts_before_the_first_event_is_asked_for():
    run = Collector()
    seen = []

    def source():
        seen.extend(run.events)
        yield from WORDS

    stream = watch_stream(run, source())
    assert run.events == []  # nobody reads yet
    next(stream)
    assert [type(event) for event in seen] == [ModelStarted]
    assert isinstance(run.events[-1], TextDelta)


def test_a_stream_can_be_read_by_hand():
    run = Collector()
    stream = watch_stream(run, Source())
    assert [next(stream) for _ in WORDS] == list(WORDS)
    with pytest.raises(StopIteration):
        next(stream)
    with pytest.raises(StopIteration):
        next(stream)
    assert ended(run) == ("done", None)


def test_a_stream_that_nobody_reads_records_nothing():
    run = Collector()
    watch_stream(run, Source())
    gc.collect()
    assert run.events == []


def test_everything_else_is_the_sources_own():
    source = Source()
    stream = watch_stream(Collector(), source)
    assert stream.response == "the response"
    assert stream.events is source.events
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = stream.nothing
    with pytest.raises(AttributeError, match="_private"):
        _ = stream._private


def test_a_manager_gives_its_streams_attributes_once_it_is_entered():
    with watch_stream(Collector(), Manager(Source())) as stream:
        assert stream.response == "the response"


# Leaving early


@pytest.mark.parametrize("make", [Source, lambda: Manager(Source())])
def test_leaving_the_loop_closes_the_source_and_cancels_the_call(make):
    run, source = Collector(), make()
    for event in watch_stream(run, source):
        if event is WORDS[1]:
            break
    assert run.text == "one two "
    assert ended(run) == ("cancelled", CLOSED)
    assert source.done in (["iterate", "close"], ["enter", None])


def test_leaving_the_loop_closes_a_generator():
    closed = []

    def source():
        try:
            yield from WORDS
        finally:
            closed.append(True)

    run = Collector()
    for _ in watch_stream(run, source()):
        break
    assert closed == [True]
    assert ended(run) == ("cancelled", CLOSED)


def test_an_exception_of_the_reader_closes_the_source_and_goes_on():
    run, source = Collector(), Source()

    def read():
        for _ in watch_stream(run, source):
            _ = 1 / 0

    with pytest.raises(ZeroDivisionError):
        read()
    assert source.done == ["iterate", "close"]
    assert ended(run) == ("cancelled", CLOSED)


def test_leaving_after_the_last_event_is_a_good_end():
    run = Collector()
    for event in watch_stream(run, Source()):
        if event["choices"][0]["finish_reason"]:
            break
    assert ended(run) == ("done", None)


def test_inside_a_block_a_loop_may_be_left_and_another_may_go_on():
    run, source = Collector(), Source()
    with watch_stream(run, source) as stream:
        for event in stream:
            if event is WORDS[1]:
                break
        assert run.of(ModelEnded) == []
        assert list(stream) == list(WORDS[2:])
    assert run.text == "one two three"
    assert ended(run) == ("done", None)
    assert source.done == ["iterate"]  # read to its end: nothing is left to close


def test_the_end_of_a_block_closes_the_source():
    run, source = Collector(), Source()
    with watch_stream(run, source) as stream:
        next(stream)
    assert source.done == ["iterate", "close"]
    assert ended(run) == ("cancelled", CLOSED)


def test_a_manager_is_left_with_the_exception_of_the_block():
    run, manager = Collector(), Manager(Source())

    def read():
        with watch_stream(run, manager) as stream:
            next(stream)
            _ = 1 / 0

    with pytest.raises(ZeroDivisionError):
        read()
    assert manager.done == ["enter", ZeroDivisionError]
    assert ended(run) == ("cancelled", CLOSED)


def test_a_manager_may_swallow_the_exception_of_the_block():
    with watch_stream(Collector(), Manager(Source(), suppress=True)):
        _ = 1 / 0


def test_closing_by_hand_cancels_the_call():
    run, source = Collector(), Source()
    stream = watch_stream(run, source)
    next(stream)
    stream.close()
    assert source.done == ["iterate", "close"]
    assert ended(run) == ("cancelled", CLOSED)


def test_what_fails_while_a_loop_is_left_is_reported_and_not_raised():
    class Stubborn(Source):
        def close(self):
            raise OSError("will not close")

    run = Collector()
    for _ in watch_stream(run, Stubborn()):
        break
    assert [str(fault) for fault in run.faults] == ["will not close"]


@pytest.mark.parametrize("make", [AsyncSource, lambda: AsyncManager(AsyncSource())])
def test_leaving_an_async_loop_closes_the_source_and_cancels_the_call(make):
    async def listen():
        async for event in watch_stream(run, source):
            if event is WORDS[1]:
                break
        return ended(run)  # told at once, before the event loop had time to close anything

    run, source = Collector(), make()
    assert asyncio.run(listen()) == ("cancelled", CLOSED)
    assert run.text == "one two "
    assert ended(run) == ("cancelled", CLOSED)
    assert source.done in (["iterate", "close"], ["enter", None])


def test_closing_the_async_iterator_closes_the_source_at_once():
    async def listen():
        iterator = watch_stream(run, source).__aiter__()
        await iterator.__anext__()
        await iterator.aclose()
        return list(source.done)

    run, source = Collector(), AsyncSource()
    assert asyncio.run(listen()) == ["iterate", "close"]
    assert ended(run) == ("cancelled", CLOSED)


def test_an_async_block_closes_its_source_and_passes_its_exception_on():
    async def listen(stream):
        async with stream:
            async for _ in stream:
                break
            assert run.of(ModelEnded) == []
            await stream.__anext__()
            _ = 1 / 0

    run, source = Collector(), AsyncSource()
    with pytest.raises(ZeroDivisionError):
        asyncio.run(listen(watch_stream(run, source)))
    assert source.done == ["iterate", "close"]
    assert run.text == "one two "
    assert ended(run) == ("cancelled", CLOSED)


def test_an_awaitable_can_be_entered():
    async def listen():
        async with watch_stream(run, promise(source)) as stream:
            assert stream.response == "the response"
            await stream.__anext__()
            await stream.close()

    run, source = Collector(), AsyncSource()
    asyncio.run(listen())
    assert ended(run) == ("cancelled", CLOSED)


def test_what_is_read_behind_the_end_begins_no_call():
    class Open(Source):
        def close(self):
            self.done.append("not really")

    run = Collector()
    stream = watch_stream(run, Open())
    next(stream)
    stream.close()
    assert list(stream) == list(WORDS[1:])
    assert run.text == "one "
    assert len(run.of(ModelStarted)) == 1


# Errors


def test_an_error_of_the_source_goes_on_and_fails_the_call_in_one_line():
    error = ValueError("no\nand why not")
    run = Collector()
    with pytest.raises(ValueError, match="and why not") as raised:
        list(watch_stream(run, Source(WORDS[:1], error)))
    assert raised.value is error
    assert run.text == "one "
    assert ended(run) == ("failed", "ValueError: no")


def test_an_error_of_an_async_source_goes_on_and_fails_the_call():
    async def listen():
        async for _ in watch_stream(run, AsyncSource((), OSError())):
            pass

    run = Collector()
    with pytest.raises(OSError, match=r"^$"):
        asyncio.run(listen())
    assert ended(run) == ("failed", "OSError")


def test_an_interrupt_cancels_the_call():
    run = Collector()
    with pytest.raises(KeyboardInterrupt):
        list(watch_stream(run, Source(WORDS[:1], KeyboardInterrupt())))
    assert ended(run) == ("cancelled", "KeyboardInterrupt")


def test_the_cancelling_of_a_task_cancels_the_call():
    class Waiting(AsyncSource):
        async def __aiter__(self):
            yield WORDS[0]
            await asyncio.Event().wait()

    async def listen():
        async for _ in watch_stream(run, source):
            heard.set()

    async def cancel():
        task = asyncio.create_task(listen())
        await heard.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return task.cancelled()

    heard = asyncio.Event()
    run, source = Collector(), Waiting()
    assert asyncio.run(cancel())
    assert source.done == ["close"]
    assert ended(run) == ("cancelled", "CancelledError")


@pytest.mark.parametrize("way", ["loop", "block"])
def test_a_manager_that_cannot_be_entered_fails_the_call(way):
    run = Collector()
    stream = watch_stream(run, Manager(None, error=ConnectionError("refused")))
    with pytest.raises(ConnectionError):
        list(stream) if way == "loop" else stream.__enter__()
    assert ended(run) == ("failed", "ConnectionError: refused")


@pytest.mark.parametrize("way", ["loop", "block"])
def test_an_async_manager_that_cannot_be_entered_fails_the_call(way):
    async def listen():
        stream = watch_stream(run, AsyncManager(None, error=ConnectionError("refused")))
        await (stream.__anext__() if way == "loop" else stream.__aenter__())

    run = Collector()
    with pytest.raises(ConnectionError):
        asyncio.run(listen())
    assert ended(run) == ("failed", "ConnectionError: refused")


# What is no stream, or not in this way


@pytest.mark.parametrize("given", [None, 7, "text", b"bytes", {"choices": []}, object()])
def test_what_is_no_stream_is_refused_in_words(given):
    with pytest.raises(TypeError, match=r"must be given a stream of events.*It got .*Is stream=True missing"):
        watch_stream(Collector(), given)


def test_an_awaitable_that_gives_no_stream_is_refused_and_fails_the_call():
    async def listen():
        async for _ in watch_stream(run, promise({"choices": []})):
            pass

    run = Collector()
    with pytest.raises(TypeError, match="Is stream=True missing"):
        asyncio.run(listen())
    assert run.end.outcome == "failed"


def test_an_async_stream_is_not_for_a_plain_loop():
    stream = watch_stream(Collector(), AsyncSource())
    with pytest.raises(TypeError, match="must be read with `async for`: it is a AsyncSource"):
        iter(stream)
    with pytest.raises(TypeError, match="async for"), stream:
        pass


def test_a_plain_stream_is_not_for_an_async_loop():
    async def enter():
        async with stream:
            pass

    stream = watch_stream(Collector(), Source())
    with pytest.raises(TypeError, match="must be read with `for`: it is a Source"):
        stream.__aiter__()
    with pytest.raises(TypeError, match="must be read with `for`"):
        asyncio.run(enter())


# Faults of ours


class Hostile:
    """An event that cannot be looked at."""

    def __getattr__(self, name):
        raise RuntimeError(f"do not ask for {name}")


def test_an_event_that_cannot_be_looked_at_is_a_reported_fault_and_passes_through():
    run, hostile = Collector(), Hostile()
    passed = list(watch_stream(run, [WORDS[0], hostile, *WORDS[1:]]))
    assert passed[1] is hostile
    assert [str(fault) for fault in run.faults] == ["do not ask for type"]
    assert run.text == "one two three"
    assert ended(run) == ("done", None)


def test_a_hostile_part_of_an_event_is_a_reported_fault_and_the_rest_is_heard():
    run = Collector()
    list(watch_stream(run, [WORDS[0], {"choices": [{"index": 0, "delta": Hostile()}]}, *WORDS[1:]]))
    assert len(run.faults) == 1
    assert run.text == "one two three"


def test_a_run_that_cannot_record_does_not_stop_the_stream():
    class Full(Collector):
        def record(self, event, within=None):
            raise MemoryError("full")

    run = Full()
    assert list(watch_stream(run, Source())) == list(WORDS)
    assert {str(fault) for fault in run.faults} == {"full"}


# Shapes


def test_an_empty_stream_was_cut():
    run = Collector()
    assert list(watch_stream(run, [])) == []
    assert ended(run) == ("cancelled", CUT)


def test_a_stream_of_a_shape_that_nobody_knows_is_counted_by_kind():
    run, odd = Collector(), object()
    events = [{"type": "surprise"}, {"type": "text", "text": "nobody's"}, odd, 7, {}]
    assert list(watch_stream(run, events)) == events
    assert run.unknown == ["surprise", "text", "object", "int", "dict"]
    assert ended(run) == ("done", None)  # who cannot read it cannot say that it was cut


def test_a_stream_of_a_shape_that_nobody_knows_can_be_left_early():
    run = Collector()
    for _ in watch_stream(run, [7, 8]):
        break
    assert ended(run) == ("cancelled", CLOSED)


def test_a_stream_of_strings_that_is_left_early_is_cancelled():
    run = Collector()
    for _ in watch_stream(run, iter(["Oslo ", "is mild."])):
        break
    assert (run.text, *ended(run)) == ("Oslo ", "cancelled", CLOSED)


def test_streams_of_two_shapes_are_two_calls():
    run = Collector()
    message = [
        {"type": "message_start", "message": {"id": "m", "model": "tiny"}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "four"}},
        {"type": "message_stop"},
    ]
    list(watch_stream(run, [*WORDS, *message]))
    assert run.text == "one two threefour"
    assert len(run.of(ModelStarted)) == 2
    assert sorted(end.response_id for end in run.of(ModelEnded)) == ["c", "m"]
    assert {end.outcome for end in run.of(ModelEnded)} == {"done"}


def test_an_error_event_belongs_to_the_stream_that_is_being_read():
    run = Collector()
    start = {"type": "message_start", "message": {"id": "m", "model": "tiny"}}
    list(watch_stream(run, [start, {"type": "error", "error": {"type": "api_error", "message": "Oh no"}}]))
    assert ended(run) == ("failed", "Oh no")


def test_plain_strings_are_the_text_of_a_model_call():
    run = Collector()
    assert list(watch_stream(run, iter(["Oslo ", "", "is mild."]))) == ["Oslo ", "", "is mild."]
    assert [type(event) for event in run.events] == [ModelStarted, TextDelta, TextDelta, ModelEnded]
    assert (run.text, run.end.outcome, run.unknown) == ("Oslo is mild.", "done", [])


def test_async_strings_are_the_text_of_a_model_call():
    async def words():
        yield "Oslo "
        yield "is mild."

    async def listen():
        return [word async for word in watch_stream(run, words())]

    run = Collector()
    assert asyncio.run(listen()) == ["Oslo ", "is mild."]
    assert (run.text, run.end.outcome) == ("Oslo is mild.", "done")


def test_strings_that_break_off_by_an_error_are_a_failed_call():
    def words():
        yield "Oslo "
        raise ValueError("the socket is gone")

    run = Collector()
    with pytest.raises(ValueError, match="gone"):
        list(watch_stream(run, words()))
    assert (run.end.outcome, run.end.error) == ("failed", "ValueError: the socket is gone")


def test_a_string_alone_is_no_stream():
    with pytest.raises(TypeError, match="Is stream=True missing"):
        watch_stream(Collector(), "Oslo is mild.")


def test_a_stream_that_is_watched_already_is_watched_once():
    run = Collector()
    stream = watch_stream(run, list(WORDS))
    assert watch_stream(run, stream) is stream
    assert list(watch_stream(run, stream)) == list(WORDS)
    assert (run.text, run.end.outcome) == ("one two three", "done")
