"""Runs in threads and in asyncio tasks in JupyterLab: each has a view of its own, in its own cell, and goes on there."""

from __future__ import annotations

from pathlib import Path

from browser.lab import Lab, expect
from browser.notebooks import notebook


def test_a_thread_goes_on_in_its_own_cell_while_another_one_runs(jupyterlab: Lab, shots: Path):
    begins = """\
import threading
shown = threading.Event()

def work():
    with agentcell.watch("In a thread") as run:
        run.step("First")
        shown.set()
        wait_at("second")
        run.step("Second")
        wait_at("answer")
        run.write("The **answer**.")

thread = threading.Thread(target=work)
thread.start()
assert shown.wait(30)
"""
    page = jupyterlab.open(notebook(begins, "print('before')\nthread.join()\nprint('after')"))
    page.run(0)
    page.run(1)
    cell = page.output(1).locator(".agentcell")
    expect(cell.locator(".ac-text")).to_have_text(["First"])
    page.start(2)
    expect(page.output(2)).to_have_text("before\n")
    page.open_gate("second")
    expect(cell.locator(".ac-text")).to_have_text(["First", "Second"])
    page.page.screenshot(path=shots / "thread.png")
    page.open_gate("answer")
    page.finish(2)
    expect(page.output(1).locator(".agentcell-snapshot strong")).to_have_text("answer")
    expect(page.output(2)).to_have_text("before\nafter\n")
    saved = page.save()
    assert [set(output.data) for output in saved.cells[1].outputs] == [{"text/html", "text/plain"}]


def test_a_task_goes_on_in_its_own_cell_whenever_the_loop_is_free(jupyterlab: Lab):
    begins = """\
import asyncio
second, late, answer = asyncio.Event(), asyncio.Event(), asyncio.Event()

async def work():
    with agentcell.watch("In a task") as run:
        run.step("First")
        await second.wait()
        run.step("Second")
        await answer.wait()
        run.write("The **answer**.")

async def begin_later():
    await late.wait()
    with agentcell.watch("Later") as run:
        run.write("Too **late**?")

task, other = asyncio.create_task(work()), asyncio.create_task(begin_later())
await asyncio.sleep(0)
"""
    page = jupyterlab.open(notebook(begins, "second.set()", "late.set()\nawait other", "answer.set()\nawait task\nprint('after')"))
    page.run(0)
    page.run(1)
    cell = page.output(1).locator(".agentcell")
    expect(cell.locator(".ac-text")).to_have_text(["First"])
    page.run(2)
    expect(cell.locator(".ac-text")).to_have_text(["First", "Second"])
    page.run(3)
    # A run that begins in a task is shown in the cell that has made the task.
    expect(page.output(1).locator(".agentcell-snapshot strong")).to_have_text("late")
    page.run(4)
    expect(page.output(1).locator(".agentcell-snapshot strong")).to_have_text(["answer", "late"])
    expect(page.output(4)).to_have_text("after\n")
    saved = page.save()
    assert [len(one.outputs) for one in saved.cells[1:]] == [2, 0, 0, 1]


def test_twenty_runs_side_by_side_have_a_view_each(jupyterlab: Lab, shots: Path):
    gather = """\
import asyncio

async def agent(number):
    async with agentcell.watch(f"Question {number}") as run:
        run.step(f"Step of {number}")
        with run.tool("search", query=f"query {number}"):
            await asyncio.to_thread(wait_at, "searching")
        run.write(f"The answer of **{number}**.")
        await asyncio.to_thread(wait_at, "answered")

_ = await asyncio.gather(*(agent(number) for number in range(20)))
"""
    page = jupyterlab.open(notebook(gather))
    page.run(0)
    page.start(1)
    views = page.output(1).locator(".agentcell")
    expect(views).to_have_count(20)
    texts = views.locator(".ac-text")
    expect(texts).to_have_text([text for n in range(20) for text in (f"Step of {n}", f"Searching for “query {n}”")])
    page.page.screenshot(path=shots / "twenty-running.png")
    page.open_gate("searching")
    expect(views.locator(".ac-answer strong")).to_have_text([str(n) for n in range(20)])
    page.open_gate("answered")
    page.finish(1)
    kept = page.output(1).locator(".agentcell-snapshot")
    expect(kept.locator("strong")).to_have_text([str(n) for n in range(20)])
    page.page.screenshot(path=shots / "twenty-ended.png")
    assert [output.data["text/plain"].split()[-1] for output in page.save().cells[1].outputs] == [f"**{n}**." for n in range(20)]
