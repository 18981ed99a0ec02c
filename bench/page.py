"""What a run costs the page it is shown in: a real JupyterLab in a headless Chromium."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import nbformat

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from browser.lab import Lab, browser  # noqa: E402 - the tests' own way of driving JupyterLab
from browser.server import jupyter_server  # noqa: E402

if TYPE_CHECKING:
    from figures import Report

# 100 tokens a second for 20 seconds, 25 characters each: an answer of 50 kB.
STREAM = """
import time
WORDS = ("The p95 rose after four, ", "so `requests` queue there ", "until the **pool** is up. ", "Look at the queue first. ")
def tokens():
    for number in range(2_000):
        yield "\\n\\n" * (number % 40 == 39) + WORDS[number % 4][:25].ljust(25)

def paced():
    began = time.perf_counter()
    for number, token in enumerate(tokens()):
        time.sleep(max(0, began + number / 100 - time.perf_counter()))
        yield token
"""
OURS = """
import agentcell
with agentcell.watch("bench", persist="widget") as run:
    run.step("one")
    for token in paced():
        run.write(token)
"""
MARKDOWN = """
from IPython.display import Markdown, display
text, handle = "", display(Markdown(""), display_id=True)
for token in paced():
    text += token
    handle.update(Markdown(text))
"""
STEPS = """
import agentcell
run = agentcell.watch("ten thousand steps", persist="widget").__enter__()
for number in range(10_000):
    with run.tool("search_notes", query=f"word {number}") as call:
        call.result([number])
run.cell.flush()
"""

WATCH = """() => {
  window.longest = []; window.seen = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) window.longest.push(entry.duration);
  });
  window.seen.observe({ type: "longtask" });
}"""
TASKS = "() => { window.seen.disconnect(); return window.longest; }"
# Script, style and layout of what `act` does; what the browser paints later is not the script's to hold up.
OPEN = """() => {
  const head = document.querySelector(".agentcell .ac-head");
  const times = [];
  for (let turn = 0; turn < 6; turn++) {
    const began = performance.now();
    head.click();
    document.querySelector(".agentcell").getBoundingClientRect();
    if (head.getAttribute("aria-expanded") === "true") times.push(performance.now() - began);
  }
  return times.sort((a, b) => a - b);
}"""
ALL = "(count) => document.querySelectorAll('.agentcell li').length >= count"
APPEND = """async () => {
  const model = window.stepsModel, times = [];
  for (let turn = 0; turn < 30; turn++) {
    const steps = model.get("steps"), last = steps[steps.length - 1];
    const began = performance.now();
    const patch = { steps: [{ ...last, id: steps.length }] };
    model.trigger("msg:custom", { type: "patch", seq: model.get("seq") + 1, patch }, []);
    document.querySelector(".agentcell").getBoundingClientRect();
    times.push(performance.now() - began);
    await new Promise((done) => setTimeout(done, 30));
  }
  return times.sort((a, b) => a - b)[15];
}"""


def measure_page(report: Report) -> None:
    """Measures and reports."""
    report.heading("In a real JupyterLab, headless Chromium")
    with tempfile.TemporaryDirectory() as folder, jupyter_server(Path(folder)) as server, browser() as context:
        context.set_default_timeout(300_000)  # what people use instead is minutes behind
        lab = Lab(server, context)
        for name, code in (("agentcell", OURS), ("display_handle.update(Markdown)", MARKDOWN)):
            notebook = lab.open(notebook_of(STREAM, code))
            notebook.run(0)
            notebook.page.evaluate(WATCH)
            notebook.run(1)
            tasks = notebook.page.evaluate(TASKS)
            ours = name == "agentcell"
            report.line(f"{name}: 50 kB at 100 tokens a second, tasks over 50 ms", len(tasks), "", at_most=0 if ours else None)
            report.line(f"{name}: the longest of them", max(tasks, default=0), "ms")
            lab.close_pages()
        notebook = lab.open(notebook_of(STEPS))
        notebook.run(0)
        notebook.wait("() => document.querySelector('.agentcell .ac-earlier')")
        keep = "(id) => lab.model(id).then((model) => { window.stepsModel = model; })"
        notebook.page.evaluate(keep, notebook.evaluate("run.cell.model_id"))
        times = notebook.page.evaluate(OPEN)
        report.line("agentcell: opening 10,000 steps, script and layout", times[len(times) // 2], "ms", at_most=150)
        notebook.wait(ALL, 10_000)
        report.line("agentcell: appending a step to 10,000, script and layout", notebook.page.evaluate(APPEND), "ms", at_most=3)
        lab.close_pages()


def notebook_of(*cells: str) -> nbformat.NotebookNode:
    """A notebook of these code cells."""
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells], metadata=kernel)
