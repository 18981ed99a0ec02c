"""Whose run it is: found through the context, never mixed up, and put back when a block is left."""

import asyncio
import contextvars
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import agentcell
from agentcell.context import current_run
from agentcell.errors import AgentcellError
from agentcell.options import RunOptions
from agentcell.run import Run


@agentcell.tool
def search(query: str) -> str:
    return f"found {query}"


@agentcell.tool
async def fetch(url: str) -> str:
    await asyncio.sleep(0)
    return f"body of {url}"


def calls(run: Run) -> list[tuple[str | None, object]]:
    return [(step.tool, next(iter(step.arguments.values()), None)) for step in run.steps]


def task_of_current() -> str | None:
    run = current_run()
    return None if run is None else run.options.task


def named(task: str) -> Run:
    return Run(RunOptions(task=task))


def test_there_is_none_outside_a_block():
    assert current_run() is None
    with Run() as run:
        assert current_run() is run
    assert current_run() is None


def test_nested_functions_find_it():
    def outer():
        return inner()

    def inner():
        (found,) = [current_run() for _ in range(1)]
        return found

    with Run() as run:
        assert outer() is run


def test_a_nested_run_is_the_current_one_until_it_is_left():
    with named("outer") as outer:
        search("a")
        with named("inner") as inner:
            search("b")
            assert current_run() is inner
        assert current_run() is outer
        with pytest.raises(ValueError, match="inner failed"), named("failing"):
            raise ValueError("inner failed")
        assert current_run() is outer
        search("c")
    assert current_run() is None
    assert calls(outer) == [("search", "a"), ("search", "c")]
    assert calls(inner) == [("search", "b")]


def test_two_runs_in_two_threads_never_mix():
    together = threading.Barrier(2, timeout=20)

    def agent(name: str) -> Run:
        with named(name) as run:
            for number in range(50):
                together.wait()
                assert current_run() is run
                search(f"{name}{number}")
                run.write(name)
        assert current_run() is None
        return run

    with ThreadPoolExecutor(2) as threads:
        one, two = threads.map(agent, ["a", "b"])
    assert calls(one) == [("search", f"a{number}") for number in range(50)]
    assert calls(two) == [("search", f"b{number}") for number in range(50)]
    assert (one.answer_text, two.answer_text) == ("a" * 50, "b" * 50)


def test_two_runs_in_two_tasks_never_mix():
    async def agent(name: str) -> Run:
        async with named(name) as run:
            for number in range(20):
                search(f"{name}{number}")
                await fetch(f"{name}{number}")
                assert current_run() is run
                run.write(name)
                await asyncio.sleep(0)
        return run

    async def main() -> list[Run]:
        return await asyncio.gather(agent("a"), agent("b"))

    for name, run in zip("ab", asyncio.run(main()), strict=True):
        assert calls(run) == [(tool, f"{name}{number}") for number in range(20) for tool in ("search", "fetch")]
        assert {step.parent for step in run.steps} == {None}
        assert run.answer_text == name * 20


def test_tasks_and_threads_that_copy_the_context_are_in_the_run():
    async def main() -> Run:
        async with Run() as run:
            await asyncio.gather(fetch("gathered"), asyncio.to_thread(search, "in a thread"))
            task = asyncio.create_task(fetch("in a task"))
            await task
            context = contextvars.copy_context()
            thread = threading.Thread(target=context.run, args=(search, "in a copied context"))
            thread.start()
            thread.join()
        return run

    run = asyncio.run(main())
    assert {argument for _, argument in calls(run)} == {"gathered", "in a thread", "in a task", "in a copied context"}
    assert all(step.state == "done" for step in run.steps)


def test_a_tool_in_a_thread_without_context_belongs_to_the_only_run_that_is_open():
    def in_a_bare_thread(argument: str) -> None:
        thread = threading.Thread(target=search, args=(argument,))
        thread.start()
        thread.join()

    in_a_bare_thread("before")
    with Run() as run:
        in_a_bare_thread("in the only run")
        with Run() as inner:
            in_a_bare_thread("in one of two")
    in_a_bare_thread("after")
    assert [argument for _, argument in calls(run)] == ["in the only run"]
    assert calls(inner) == []


@pytest.mark.skipif(sys.version_info < (3, 11), reason="TaskGroup came with Python 3.11")
def test_tasks_of_a_group_are_in_the_run():
    async def main() -> Run:
        async with Run() as run, asyncio.TaskGroup() as group:
            for number in range(3):
                group.create_task(fetch(str(number)))
        return run

    assert calls(asyncio.run(main())) == [("fetch", "0"), ("fetch", "1"), ("fetch", "2")]


def test_a_run_that_is_left_in_another_context_clears_that_one_up_as_well():
    outer = named("outer")

    def leave(run: Run) -> str | None:
        assert current_run() is run
        run.__exit__(None, None, None)
        return task_of_current()

    with outer:
        run = named("inner").__enter__()
        assert contextvars.copy_context().run(leave, run) == "outer"
        assert run.status == "complete"
        assert task_of_current() == "outer", "also here, where it was entered"
    assert task_of_current() is None


def test_a_run_that_is_left_where_it_never_was_changes_nothing_there():
    run = named("elsewhere")
    contextvars.Context().run(run.__enter__)
    with named("here"):
        run.__exit__(None, None, None)
        assert task_of_current() == "here"
    assert run.status == "complete"


def test_runs_that_are_left_in_the_order_in_which_they_were_entered():
    one, two = named("one"), named("two")
    one.__enter__()
    two.__enter__()
    one.__exit__(None, None, None)
    assert task_of_current() == "two"
    two.__exit__(None, None, None)
    assert task_of_current() is None


def test_a_task_that_outlives_the_run_is_outside_of_it():
    async def main() -> Run:
        go_on = asyncio.Event()

        async def late() -> None:
            await go_on.wait()
            assert current_run() is None
            assert search("late") == "found late"

        async with Run() as run:
            task = asyncio.create_task(late())
            await asyncio.sleep(0)
        go_on.set()
        await task
        return run

    run = asyncio.run(main())
    assert run.steps == ()
    assert run.faults == {}


def test_a_generator_that_holds_a_run_open_gives_it_back():
    def agent(name: str):
        with named(name):
            search(name)
            yield task_of_current()
            yield task_of_current()

    one, two = agent("one"), agent("two")
    assert (next(one), next(two)) == ("one", "two")
    assert list(one) == ["two"], "a generator shares the context of whoever reads it"
    assert list(two) == ["two"]
    assert task_of_current() is None


# Tool calls inside tool calls


def test_a_call_inside_another_stands_under_it():
    with Run() as run:
        with run.tool("outer"):
            with run.tool("inner"):
                pass
            search("in between")
        with run.tool("after"):
            pass
    assert [(step.tool, step.parent) for step in run.steps] == [("outer", None), ("inner", 0), ("search", 0), ("after", None)]


def test_parallel_calls_inside_another_stand_under_it_and_not_under_each_other():
    async def main() -> Run:
        async with Run() as run, run.tool("outer"):
            await asyncio.gather(*(fetch(str(number)) for number in range(3)), asyncio.to_thread(search, "x"))
        return run

    assert [step.parent for step in asyncio.run(main()).steps] == [None, 0, 0, 0, 0]


def test_a_call_of_another_run_is_not_the_parent():
    with Run() as outer, outer.tool("outer"), Run() as inner, inner.tool("inner"):
        pass
    assert [step.parent for step in inner.steps] == [None]


def test_calls_that_are_left_in_the_order_in_which_they_were_entered():
    with Run() as run:
        one, two = run.tool("one"), run.tool("two")
        one.__enter__()
        two.__enter__()
        one.__exit__(None, None, None)
        two.__exit__(None, None, None)
        search("after")
    assert [(step.tool, step.parent) for step in run.steps] == [("one", None), ("two", 0), ("search", None)]
    assert [step.state for step in run.steps] == ["done", "done", "done"]


def test_a_call_that_is_left_in_another_context_leaves_that_one_as_it_is():
    with Run() as run:
        stray = run.tool("stray")
        contextvars.copy_context().run(stray.__enter__)
        with run.tool("here"):
            stray.__exit__(None, None, None)
            search("inside")
    assert [(step.tool, step.parent, step.state) for step in run.steps] == [
        ("stray", None, "done"),
        ("here", None, "done"),
        ("search", 1, "done"),
    ]


# Entering


def test_a_run_is_entered_once():
    run = Run()
    with run:
        with pytest.raises(AgentcellError, match=r"entered once: call agentcell\.watch\(\.\.\.\) again"):
            run.__enter__()
        assert current_run() is run
    with pytest.raises(AgentcellError, match="entered once"):
        run.__enter__()
    assert current_run() is None


def test_a_run_that_was_loaded_is_not_entered(tmp_path):
    with Run() as run:
        run.write("The answer")
    run.save(tmp_path / "run.jsonl")
    back = agentcell.load(tmp_path / "run.jsonl")
    with pytest.raises(AgentcellError, match="entered once"):
        back.__enter__()
    assert back == run


def test_a_run_that_was_not_entered_is_not_left():
    with pytest.raises(AgentcellError, match="use `with"):
        Run().__exit__(None, None, None)


def test_a_tool_call_is_entered_once():
    with Run() as run:
        call = run.tool("search")
        with call, pytest.raises(AgentcellError, match=r"entered once: call run\.tool\(\.\.\.\) again"):
            call.__enter__()
        with pytest.raises(AgentcellError, match="entered once"):
            call.__enter__()
    assert [step.state for step in run.steps] == ["done"]


@pytest.mark.parametrize("use", ["progress", "result", "fail"])
def test_a_tool_call_that_was_not_entered_records_nothing(use):
    with Run() as run:
        call = run.tool("search")
        with pytest.raises(AgentcellError, match=r"inside its block only: use `with run\.tool"):
            getattr(call, use)("x")
    assert run.steps == ()


# Processes

FORK = """
import os, threading
from agentcell.context import current_run
from agentcell.run import Run
import agentcell

class Watcher:
    def __init__(self): self.told = 0
    def state_changed(self): pass
    def has_news(self): self.told += 1

@agentcell.tool
def search(): return 1

run, watcher, held, go_on = Run(), Watcher(), threading.Event(), threading.Event()
run.subscribe(watcher)

def hold():
    with run.lock:
        held.set()
        go_on.wait()

with Run() as outer, run:
    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    told = watcher.told
    child = os.fork()
    if child == 0:
        ok = current_run() is None and search() == 1
        run.write("in the child")  # another thread held the lock when the process forked
        outer.write("in the child")
        ok = ok and run.answer_text == "in the child" and watcher.told == told
        os._exit(0 if ok else 1)
    _, status = os.waitpid(child, 0)
    go_on.set()
    thread.join()
    assert os.waitstatus_to_exitcode(status) == 0
    assert current_run() is run
    run.write("in the parent")
assert run.answer_text == "in the parent"
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_is_outside_the_run_and_never_waits_for_the_parents_threads():
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", FORK], timeout=60, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
