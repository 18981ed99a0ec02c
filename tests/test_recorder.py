"""What people and adapters call: what it records, what it refuses, what it costs, and that its faults stay its own."""

import gc
import itertools
import math
import threading
import tracemalloc
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from agentcell.errors import AgentcellError, AgentcellWarning
from agentcell.events import (
    AgentEnded,
    ContextEvaluated,
    LimitReached,
    ModelEnded,
    ModelStarted,
    Noted,
    PauseRequested,
    PauseResumed,
    Reported,
    Routed,
    RunStarted,
    TextDelta,
    ThinkingBlock,
    ThinkingDelta,
    ThinkingEnded,
    ToolEnded,
    ToolProgressed,
    ToolStarted,
    TurnEnded,
    Usage,
)
from agentcell.intake import INBOX_LIMIT
from agentcell.options import RunOptions
from agentcell.run import Run
from agentcell.testing.clock import FakeClock

KEY = "sk-proj-abcdef0123456789abcdef"


class Watcher:
    """Counts what it is told; it may raise."""

    def __init__(self, error: Exception | None = None) -> None:
        self.news = 0
        self.states: list[tuple[str, str | None]] = []
        self.run: Run | None = None
        self.error = error

    def has_news(self) -> None:
        self.news += 1
        if self.error is not None:
            raise self.error

    def state_changed(self) -> None:
        assert self.run is not None
        self.states.append((self.run.status, self.run.outcome))
        if self.error is not None:
            raise self.error


def watched(error: Exception | None = None, **options) -> tuple[Run, Watcher]:
    run, watcher = Run(RunOptions(**options)), Watcher(error)
    watcher.run = run
    run.subscribe(watcher)
    return run, watcher


@contextmanager
def warned() -> Iterator[list[str]]:
    """The sentences of the warnings inside the block."""
    said: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield said
    assert all(one.category is AgentcellWarning for one in caught)
    said += [str(one.message) for one in caught]


def kinds(run: Run) -> list[str]:
    return [type(event).__name__ for event in run.events]


# What is recorded


def test_every_call_is_an_event_in_order_with_its_time():
    clock = FakeClock(1000.0)
    with Run(RunOptions(task="Why?", agent="Atlas", model="m-1", asker="Kim"), clock=clock) as run:
        clock.advance(1)
        run.step("Looking")
        clock.advance(1)
        run.step("Searched", tool="search")
        run.think("hm")
        with run.tool("search", query="p95") as call:
            clock.advance(1)
            call.progress("page 2")
            call.progress({"message": "page 3"})
            call.result([1])
        with run.tool_call("fetch", {"url": "x"}) as call:
            call.fail("no route")
        with run.tool("fetch") as call:
            call.fail(OSError("no route\nto host"))
        run.write("The ")
        clock.advance(1)
        run.answer("The answer")
    started, *events = run.events
    assert (started.task, started.agent, started.model, started.asker, started.time) == ("Why?", "Atlas", "m-1", "Kim", 0.0)
    assert started.started_at > 1_500_000_000
    assert [event.seq for event in run.events] == list(range(len(run.events)))
    assert [(type(event).__name__, event.time) for event in events] == [
        ("Noted", 1.0),
        ("Noted", 2.0),
        ("ThinkingDelta", 2.0),
        ("ToolStarted", 2.0),
        ("ToolProgressed", 3.0),
        ("ToolProgressed", 3.0),
        ("ToolEnded", 3.0),
        ("ToolStarted", 3.0),
        ("ToolEnded", 3.0),
        ("ToolStarted", 3.0),
        ("ToolEnded", 3.0),
        ("TextDelta", 3.0),
        ("TurnEnded", 4.0),
        ("RunEnded", 4.0),
    ]
    assert [event.payload for event in events if isinstance(event, ToolProgressed)] == [
        {"message": "page 2"},
        {"message": "page 3"},
    ]
    assert [(end.outcome, end.result, end.error, end.error_type) for end in events if isinstance(end, ToolEnded)] == [
        ("done", [1], None, None),
        ("failed", None, "no route", None),
        ("failed", None, "no route", "OSError"),
    ]
    assert len({event.call_id for event in events if isinstance(event, ToolStarted)}) == 3
    assert run.answer_text == "The answer"
    assert repr(run) == "<agentcell.Run 'Why?': answered, 6 steps>"


def test_what_is_read_right_after_a_call_is_true_already():
    run = Run()
    assert (run.status, run.outcome, run.steps, run.answer_text, run.elapsed_seconds) == ("idle", None, (), "", 0.0)
    with run:
        assert run.status == "reasoning"
        run.write("a")
        assert (run.status, run.answer_text) == ("collapsed", "a")
        run.write("b")
        assert run.answer_text == "ab"
        run.step("Looking")
        assert [step.text for step in run.steps] == ["Looking"]
        with run.tool("search") as call:
            assert (run.status, run.status_line) == ("reasoning", "Working on `search`…")
            call.progress("page 2")
            assert (run.status_line, run.steps[-1].progress) == ("page 2", {"message": "page 2"})
        run.record(ModelEnded(usage=Usage(10, 2)))
        assert run.usage == Usage(10, 2)
        assert [type(event) for event in run.events][-1] is ModelEnded
    assert (run.status, run.outcome) == ("complete", "answered")


def test_a_state_changes_in_the_call_that_changes_it():
    run, watcher = watched()
    with run:
        run.write("a")
        run.write("b")
        run.think("hm")
        run.record(TextDelta(text="x" * 300, model_call_id="m"))
        run.record(TextDelta(text="y", model_call_id="m"))
    assert watcher.states == [
        ("reasoning", None),
        ("collapsed", None),
        ("reasoning", None),
        ("collapsed", None),
        ("complete", "answered"),
    ]


def test_news_is_told_once_until_somebody_has_looked():
    run, watcher = watched()
    with run:
        run.write("a")
        told = watcher.news
        for _ in range(1000):
            run.write("b")
        assert watcher.news == told
        assert run.answer_text == "a" + "b" * 1000
        run.write("c")
        assert watcher.news == told + 1
        run.catch_up()
        run.catch_up()
        run.write("d")
        run.write("e")
        assert watcher.news == told + 2
        run.record(TextDelta(text="x" * 2000, model_call_id="m"))
        told = watcher.news
        run.catch_up()
        for _ in range(1000):
            run.record(TextDelta(text="y", model_call_id="m"))
        assert watcher.news == told + 1


def test_nothing_is_recorded_for_an_empty_text():
    with Run() as run:
        run.write("")
        run.think("")
        run.record(TextDelta(text="", model_call_id="m"))
        run.record(ThinkingDelta(text=""))
        run.step(" ")
    assert kinds(run) == ["RunStarted", "Noted", "RunEnded"]
    assert run.steps == ()
    assert run.status == "complete"


def test_thinking_that_is_to_be_hidden_is_recorded_nowhere():
    with Run(RunOptions(thinking="hide")) as run:
        run.think("secret thought")
        run.record(ThinkingDelta(text="another", model_call_id="m"))
        run.record(ThinkingEnded(model_call_id="m", blocks=(ThinkingBlock(content="another"),)))
        run.write("The answer")
        assert run.status == "collapsed"
    assert kinds(run) == ["RunStarted", "TextDelta", "RunEnded"]


def test_what_comes_after_the_end_is_kept_and_told_of_once_but_not_shown():
    with Run() as run:
        run.write("The answer")
    steps, usage = run.steps, run.usage
    with warned() as said:
        run.write("late")
        run.step("late")
        with run.tool("late"):
            pass
        run.record(ModelEnded(usage=Usage(5, 5)))
    assert said == ["the run has ended: what came after is kept in run.events but not shown"]
    assert kinds(run)[3:] == ["TextDelta", "Noted", "ToolStarted", "ToolEnded", "ModelEnded"]
    assert (run.status, run.outcome, run.answer_text, run.steps, run.usage) == ("complete", "answered", "The answer", steps, usage)


def test_two_runs_are_equal_when_their_events_are():
    def make(text: str) -> Run:
        with Run(clock=FakeClock()) as run:
            run.write(text)
        return Run.of([event for event in run.events if not isinstance(event, RunStarted)])

    assert make("a") == make("a")
    assert make("a") != make("b")
    assert make("a") != "a"
    with pytest.raises(TypeError, match="unhashable"):
        hash(make("a"))


# Values on their way in


def test_secrets_are_masked_before_they_enter_the_log():
    with Run() as run:
        with run.tool(
            "fetch", api_key="whatever", url=f"https://kim:{KEY}@example.org", headers={"Authorization": "Bearer x"}
        ) as call:
            call.progress(f"using {KEY}")
            call.result({"token": KEY, "text": f"it was {KEY}"})
        with run.tool("fetch") as call:
            call.fail(ValueError(f"{KEY} is wrong"))
        run.step(f"Trying {KEY}")
        run.record(ModelEnded(outcome="failed", error=f"{KEY} was refused"))
        run.record(AgentEnded(agent_id="a", outcome="failed", error=f"{KEY} was refused"))
        run.record(PauseResumed(pause_id="p", answer={"password": "hunter2", "text": KEY}))
    assert KEY not in repr(run.events)
    assert "hunter2" not in repr(run.events)
    assert run.steps[0].arguments == {
        "api_key": "[secret]",
        "url": "https://kim:[secret]@example.org",
        "headers": {"Authorization": "[secret]"},
    }


def test_a_function_of_ones_own_masks_what_it_knows():
    with Run(RunOptions(redact=lambda text: text.replace("Kim", "…"))) as run, run.tool("greet", name="Kim", password="x") as call:
        call.result("Hello Kim")
    assert (run.steps[0].arguments, run.steps[0].result) == ({"name": "…", "password": "[secret]"}, "Hello …")


@pytest.mark.parametrize("redact", [lambda text: 1 / 0, lambda text: None, lambda text: 5], ids=["raises", "None", "a number"])
def test_a_redact_function_that_fails_lets_nothing_through(redact):
    with Run(RunOptions(redact=redact)) as run:
        with run.tool("fetch", url="hunter2") as call:
            call.progress("hunter2")
            call.result(["hunter2", 5])
        run.step("hunter2")
    assert "hunter2" not in repr(run.events)
    assert [step.arguments for step in run.steps] == [{"[secret]": "[secret]"}, {}]
    assert run.steps[1].text == "[secret]"


def test_a_value_that_changes_later_does_not_change_the_event():
    arguments, result, payload = {"rows": [1]}, [{"a": 1}], {"message": "one"}
    with Run() as run, run.tool_call("search", arguments) as call:
        call.progress(payload)
        call.result(result)
        arguments["rows"].append(2)
        result[0]["a"] = 2
        payload["message"] = "two"
    (step,) = run.steps
    assert (step.arguments, step.result, step.progress) == ({"rows": [1]}, [{"a": 1}], {"message": "one"})


def test_values_that_no_file_can_hold_are_made_so_before_they_enter_the_log(tmp_path):
    from agentcell.run import load

    loop: list[object] = []
    loop.append(loop)
    with Run() as run:
        run.record(PauseResumed(pause_id="p", answer={1: {2, 3}, "x": math.inf}))
        run.record(ToolStarted(call_id="a", name="b", arguments={"n": 10**5000, "loop": loop, "kind": object}))
        run.record(ToolProgressed(call_id="a", payload=object()))
        run.record(ToolEnded(call_id="a", result=b"\0"))
        run.record(Routed(route="a", confidence=math.nan))
        run.record(LimitReached(kind="cost", limit=math.inf))
    run.save(tmp_path / "run.jsonl")
    assert load(tmp_path / "run.jsonl") == run
    assert run.outcome == "limited"


@pytest.mark.parametrize("kind", [Routed, ContextEvaluated, Reported])
def test_evidence_is_copied_and_masked_like_arguments(kind):
    evidence = {"scores": {"a": math.inf}, "api_key": "x", "asked": (1, {2})}
    with Run() as run:
        run.record(kind(evidence=evidence))
        run.record(kind(evidence=f"key {KEY}"))
        evidence["scores"]["b"] = 1
    assert [event.evidence for event in run.events[1:3]] == [
        {"scores": {"a": "inf"}, "api_key": "[secret]", "asked": [1, [2]]},
        {"evidence": "key [secret]"},
    ]


def test_a_question_stops_the_clock_until_the_person_has_answered():
    clock = FakeClock()

    def ask(question: str, choices: tuple[str, ...]) -> str:
        clock.advance(100)
        assert (run.elapsed_seconds, run.steps[-1].state) == (2.0, "running")
        return choices[0]

    with Run(clock=clock) as run:
        clock.advance(2)
        assert run.pause("May I?", choices=["yes", "no"], ask=ask) == "yes"
        clock.advance(3)
    assert run.elapsed_seconds == 5.0
    assert [(step.text, step.state, step.detail) for step in run.steps] == [("Waiting on you: May I?", "done", "yes")]


def test_a_question_that_nobody_answers_lets_the_run_go_on():
    with Run() as run, pytest.raises(EOFError):
        run.pause("May I?", ask=lambda question, choices: exec("raise EOFError"))
    assert [step.state for step in run.steps] == ["done"]
    assert run.outcome == "answered"


def test_arguments_that_are_no_mapping_are_kept_all_the_same():
    with Run() as run:
        run.record(ToolStarted(call_id="a", name="search", arguments='{"query": "p9'))
    assert run.steps[0].arguments == {"arguments": '{"query": "p9'}


# What is refused


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda run: run.write(5), "the text for run.write must be a string, not 5 (int)"),
        (lambda run: run.write(None), "the text for run.write must be a string, not None (NoneType)"),
        (lambda run: run.write(b"x"), "the text for run.write must be a string, not b'x' (bytes)"),
        (lambda run: run.answer(5), "the text for run.answer must be a string, not 5 (int)"),
        (lambda run: run.step(None), "the text for run.step must be a string, not None (NoneType)"),
        (lambda run: run.step("x", tool=3), "the tool for run.step must be a string, not 3 (int)"),
        (lambda run: run.think(["x"]), "the text for run.think must be a string, not ['x'] (list)"),
        (lambda run: run.tool(3), "a tool's name must be a string, not 3 (int)"),
        (lambda run: run.tool_call("x", [1]), "a tool's arguments must be a mapping, not [1] (list)"),
        (lambda run: run.tool_call(None, {}), "a tool's name must be a string, not None (NoneType)"),
    ],
)
def test_a_wrong_value_is_refused_where_it_is_given(call, sentence):
    with Run() as run:
        with pytest.raises(TypeError) as caught:
            call(run)
        assert str(caught.value) == sentence
    assert kinds(run) == ["RunStarted", "RunEnded"]
    assert run.outcome == "answered"
    with pytest.raises(TypeError):
        call(Run())


def test_a_call_fails_with_words_or_an_exception():
    with Run() as run, run.tool("x") as call, pytest.raises(TypeError, match=r"what call\.fail is given, .* not 5 \(int\)"):
        call.fail(5)


@pytest.mark.parametrize(
    "call",
    [
        lambda run: run.write("x"),
        lambda run: run.answer("x"),
        lambda run: run.step("x"),
        lambda run: run.think("x"),
        lambda run: run.record(Noted(text="x")),
        lambda run: run.record(TextDelta(text="x")),
        lambda run: run.tool("x").__enter__(),
    ],
)
def test_nothing_is_recorded_before_the_block(call):
    run = Run()
    with pytest.raises(AgentcellError, match=r"inside its block only: use `with agentcell\.watch\(\.\.\.\) as run:`"):
        call(run)
    assert run.events == ()


def test_a_string_of_a_class_of_its_own_is_a_string():
    class Name(str):
        __slots__ = ()

    with Run() as run:
        run.write(Name("a"))
        run.write(Name("b"))
        run.record(TextDelta(text=Name("c" * 300), model_call_id=Name("m")))
        run.record(ThinkingDelta(text=Name("hm")))
    assert run.answer_text == "ab\n\n" + "c" * 300
    assert run.faults == {}


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (5, "an event must be one of those in agentcell.events, not 5 (int)"),
        ("text", "an event must be one of those in agentcell.events, not 'text' (str)"),
        (None, "an event must be one of those in agentcell.events, not None (NoneType)"),
        (TextDelta(text=5), "TextDelta.text must be a string, not 5 (int)"),
        (TextDelta(text="x", model_call_id=None), "TextDelta.model_call_id must be a string, not None (NoneType)"),
        (ThinkingDelta(text=["x"]), "ThinkingDelta.text must be a string, not ['x'] (list)"),
        (ToolStarted(call_id=["a"], name="x"), "ToolStarted.call_id must be a string, not ['a'] (list)"),
        (ToolStarted(call_id="a", name=None), "ToolStarted.name must be a string, not None (NoneType)"),
        (ToolEnded(call_id={}), "ToolEnded.call_id must be a string, not {} (dict)"),
        (ModelStarted(model_call_id=[]), "ModelStarted.model_call_id must be a string, not [] (list)"),
        (ModelEnded(usage={"input_tokens": 5}), "ModelEnded.usage must be a sound Usage or None, not {'input_tokens': 5} (dict)"),
        (ModelEnded(usage=Usage(math.nan)), "ModelEnded.usage must be a sound Usage or None"),
        (Routed(route="a", confidence="high"), "Routed.confidence must be a finite number or None, not 'high' (str)"),
        (TurnEnded(text=None), "TurnEnded.text must be a string, not None (NoneType)"),
        (PauseRequested(question=5), "PauseRequested.question must be a string, not 5 (int)"),
    ],
)
def test_an_event_that_does_not_fit_is_a_fault_and_nothing_else(event, reason, tmp_path):
    run, watcher = watched()
    with run:
        run.write("before")
        with warned() as said:
            run.record(event)
            run.record(event)
        (once,) = said
        assert once.startswith(f"recording an event failed, and the run goes on without it: TypeError: {reason}")
        run.write(" and after")
    assert run.faults == {"recording an event": 2}
    assert kinds(run) == ["RunStarted", "TextDelta", "TextDelta", "RunEnded"]
    assert (run.outcome, run.answer_text, run.steps) == ("answered", "before and after", ())
    assert watcher.states == [("reasoning", None), ("collapsed", None), ("complete", "answered")]
    run.save(tmp_path / "run.jsonl")


# Faults


class MuteError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no str")


@pytest.mark.parametrize(
    ("error", "said"), [(OSError("no screen"), "OSError: no screen"), (OSError("a\nb"), "OSError: a"), (MuteError(), "MuteError")]
)
def test_a_watcher_that_raises_is_reported_once_and_the_run_goes_on(error, said):
    run, watcher = watched(error)
    with warned() as reported, run:
        run.write("a")
        run.catch_up()
        run.write("b")
    assert run.outcome == "answered"
    assert reported == [f"telling a view failed, and the run goes on without it: {said}"]
    assert run.faults == {"telling a view": watcher.news + len(watcher.states)}
    assert run.answer_text == "ab"


def test_a_watcher_that_raises_does_not_keep_the_news_from_the_next():
    run, _ = watched(OSError("no screen"))
    second = Watcher()
    second.run = run
    run.subscribe(second)
    with pytest.warns(AgentcellWarning), run:
        pass
    assert second.states == [("reasoning", None), ("complete", "answered")]
    assert second.news == 2


def test_where_warnings_are_errors_a_fault_is_a_line_on_stderr(capsys):
    run, _ = watched(OSError("no screen"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with run:
            run.write("a")
        run.write("late")
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "agentcell: telling a view failed, and the run goes on without it: OSError: no screen",
        "agentcell: the run has ended: what came after is kept in run.events but not shown",
    ]
    assert (run.outcome, run.answer_text) == ("answered", "a")


def test_an_interrupt_is_no_fault_and_goes_on():
    class Impatient(Watcher):
        def has_news(self) -> None:
            raise KeyboardInterrupt

    run, impatient = Run(), Impatient()
    impatient.run = run
    with pytest.raises(KeyboardInterrupt), run:
        run.subscribe(impatient)
    assert run.faults == {}
    assert run.status == "complete"


def test_shapes_that_nobody_knows_are_counted_and_told_of_once_each():
    with Run() as run, warned() as said:
        for kind in ("delta.audio", "delta.audio", "delta.video"):
            run.report_unknown(kind)
    assert run.unknown_events == {"delta.audio": 2, "delta.video": 1}
    assert [sentence.rpartition(": ")[2] for sentence in said] == ["delta.audio", "delta.video"]


# Threads


def test_eight_threads_that_write_at_once_lose_and_reorder_nothing():
    threads, each = 8, 2000
    together = threading.Barrier(threads + 1, timeout=20)

    with Run() as run:

        def work(name: int) -> None:
            together.wait()
            for number in range(each):
                run.write(f"{name}:{number} ")

        workers = [threading.Thread(target=work, args=(name,)) for name in range(threads)]
        for worker in workers:
            worker.start()
        together.wait()
        lengths = [len(run.answer_text) for _ in range(20)]  # somebody reads meanwhile
        for worker in workers:
            worker.join()
    assert lengths == sorted(lengths)
    written = [word.split(":") for word in run.answer_text.split()]
    assert len(written) == threads * each
    for name in range(threads):
        assert [int(number) for who, number in written if who == str(name)] == list(range(each))
    times = [event.time for event in run.events]
    assert times == sorted(times)
    assert "".join(event.text for event in run.events if isinstance(event, TextDelta)) == run.answer_text


def test_calls_from_many_threads_all_have_their_rows():
    threads, each = 4, 50
    together = threading.Barrier(threads, timeout=20)

    with Run() as run:

        def work(name: int) -> None:
            together.wait()
            for number in range(each):
                with run.tool("search", thread=name, number=number) as call:
                    call.result(number)
                run.write(".")

        workers = [threading.Thread(target=work, args=(name,)) for name in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    assert [step.id for step in run.steps] == list(range(threads * each))
    assert len({step.call_id for step in run.steps}) == threads * each
    assert {(step.state, step.result == step.arguments["number"]) for step in run.steps} == {("done", True)}
    for name in range(threads):
        assert [step.result for step in run.steps if step.arguments["thread"] == name] == list(range(each))
    assert run.answer_text == "." * threads * each


# What it costs, without a stopwatch


def test_writing_folds_nothing_and_reads_the_clock_once():
    readings = itertools.count()
    run, watcher = Run(clock=lambda: float(next(readings))), Watcher()
    watcher.run = run
    run.subscribe(watcher)
    with run:
        run.write("a")
        before, told = next(readings), watcher.news
        for _ in range(100_000):
            run.write("b")
        assert next(readings) - before == 100_001
        assert watcher.news - told <= 100_000 / INBOX_LIMIT + 1, "it is folded only so often that memory stays bounded"
        assert len(run._intake._inbox) <= INBOX_LIMIT + 1
        assert len(run.answer_text) == 100_001


def test_a_few_writes_wait_for_somebody_who_wants_to_see_them():
    run, watcher = watched()
    with run:
        run.write("a")
        told = watcher.news
        for _ in range(1000):
            run.write("b")
        assert (len(run._intake.log), watcher.news) == (2, told)
        run.catch_up()
        assert len(run._intake.log) == 1002


def test_a_delta_costs_the_finished_run_little_more_than_its_letters():
    count = 50_000
    with Run() as run:
        run.write("begin")
        gc.collect()
        tracemalloc.start()
        for number in range(count):
            run.write(f"{number:05}")
            if number % 1000 == 0:
                run.catch_up()
        run.catch_up()
        gc.collect()
        used, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    # The letters are there three times: in the log, in the stretch that they belong to, and in the answer.
    assert used / count <= 3 * 5 + 40


def test_a_tool_call_in_a_long_run_folds_only_what_is_new():
    readings = itertools.count()
    with Run(clock=lambda: float(next(readings))) as run:
        for _ in range(200):
            run.write("a" * 100)
            with run.tool("search"):
                pass
        rows = run.catch_up().steps
        rows.changed.clear()
        with run.tool("search"):
            assert list(rows.changed) == [200]
