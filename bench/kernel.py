"""What a streamed token costs the agent's thread in a real ipykernel, what it sends, and what a long run keeps in memory."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from jupyter_client.manager import start_new_kernel

if TYPE_CHECKING:
    from typing_extensions import Self

    from figures import Report

SIZES = (1_000, 10_000, 100_000, 1_000_000)

# Runs in the kernel; everything is timed there, by the thread's own CPU time and by the wall.
AGENTCELL = """
import gc, json, statistics, threading, time, tracemalloc
import agentcell

def stream(write, n, token="token "):
    for _ in range(n):
        write(token)

found = {}
with agentcell.watch("warm up") as run:
    stream(run.write, 1000)
for n in SIZES:
    times, walls = [], []
    for _ in range(5 if n < 1_000_000 else 3):
        with agentcell.watch("bench") as run:
            run.write("start ")
            gc.collect()
            wall, cpu = time.perf_counter(), time.thread_time()
            stream(run.write, n)
            run.status  # folds what waits, so that all of the work is in the figure, whoever would have done it
            walls.append((time.perf_counter() - wall) / n * 1e6)
            times.append((time.thread_time() - cpu) / n * 1e6)
    found[str(n)] = {"cpu": statistics.median(times), "wall": statistics.median(walls)}
print(json.dumps(found))
"""

LATENCY = """
import json, threading, time
import agentcell

taken = []
ready = threading.Barrier(8)

def work():
    mine, write, now = [], run.write, time.perf_counter
    ready.wait()
    for number in range(20_000):
        began = now()
        write("token ")
        mine.append(now() - began)
        if number % 50 == 0:
            time.sleep(0)  # a model's stream waits for its socket now and then
    taken.extend(mine)

with agentcell.watch("eight threads") as run:
    run.write("start ")
    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
taken.sort()
print(json.dumps({"p50": taken[len(taken) // 2] * 1e6, "p999": taken[int(len(taken) * 0.999)] * 1e6, "max": taken[-1] * 1e6}))
"""

MEMORY = """
import gc, json, tracemalloc
import agentcell

with agentcell.watch("warm up") as run:
    run.write("a")
gc.collect()
tracemalloc.start()
with agentcell.watch("a million tokens") as run:
    for number in range(1_000_000):
        run.write(f"{number % 10} abc")
gc.collect()
kept, peak = tracemalloc.get_traced_memory()
tracemalloc.stop()
print(json.dumps({"kept": kept / 1e6, "peak": peak / 1e6}))
"""

# What people use instead, each as its documentation shows it. The text grows, and is sent whole each time. The pauses are not counted:
# without them the kernel's socket overflows and drops its own last word.
OTHERS = """
import json, time
from IPython.display import Markdown, display
import ipywidgets

N = 10_000
found = {}

def measure(name, show):
    text, spent = "", 0.0
    for number in range(N):
        text += "token "
        began = time.perf_counter()
        show(text)
        spent += time.perf_counter() - began
        if number % 20 == 19:
            time.sleep(0.03)
    found[name] = spent / N * 1e6

handle = display(Markdown(""), display_id=True)
measure("display_handle.update(Markdown)", lambda text: handle.update(Markdown(text)))
widget = ipywidgets.HTML()
display(widget)
measure("ipywidgets.HTML value", lambda text: setattr(widget, "value", text))
print(json.dumps(found))
"""

PACED = """
import agentcell, time
with agentcell.watch("100 tokens a second") as run:
    for _ in range(500):
        run.write("token ")
        time.sleep(0.01)
"""

IMPORT = """
import json, sys, time
before = set(sys.modules)
began = time.perf_counter()
import agentcell
took = (time.perf_counter() - began) * 1e3
new = {name.split(".")[0] for name in set(sys.modules) - before}
print(json.dumps({"ms": took, "heavy": sorted(new & {"anywidget", "ipywidgets", "IPython", "markdown_it", "bleach"})}))
"""


class Kernel:
    """A kernel that runs code and tells what it printed and sent."""

    def __enter__(self) -> Self:
        self._manager, self._client = start_new_kernel(kernel_name="python3")
        return self

    def __exit__(self, *_error: object) -> None:
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)

    def run(self, code: str, *, weigh: bool = False) -> tuple[Any, Counter[str], int]:
        """What the code printed, as JSON; how many messages of each type it sent; and, to `weigh`, their bytes of content."""
        printed, sent, size = "", Counter[str](), 0

        def look(message: dict[str, Any]) -> None:
            nonlocal printed, size
            sent[message["msg_type"]] += 1
            if message["msg_type"] == "stream":
                printed += message["content"]["text"]
            elif message["msg_type"] == "error":
                raise RuntimeError("\n".join(message["content"]["traceback"]))
            elif weigh:
                size += len(json.dumps(message["content"], ensure_ascii=False))

        self._client.execute_interactive(code, allow_stdin=False, output_hook=look, timeout=600)
        return json.loads(printed) if printed.strip() else None, sent, size


def measure_kernel(report: Report) -> None:
    """Measures and reports."""
    report.heading("In a real ipykernel, one token at a time")
    with Kernel() as kernel:
        ours, _, _ = kernel.run(AGENTCELL.replace("SIZES", repr(SIZES)))
        for size in SIZES:
            report.line(f"agentcell: the agent's thread, {size:,} tokens", ours[str(size)]["wall"], "µs/token", at_most=3)
        first, last = ours[str(SIZES[0])]["wall"], ours[str(SIZES[-1])]["wall"]
        report.line(f"agentcell: {SIZES[-1]:,} tokens over {SIZES[0]:,}", last / first, "times", at_most=2)
        others, _, _ = kernel.run(OTHERS)
        for name, cost in others.items():
            report.line(f"{name}, 10,000 tokens", cost, "µs/token")
        markdown = others["display_handle.update(Markdown)"]
        report.line("… Markdown update over agentcell, 10,000 tokens", markdown / ours["10000"]["wall"], "times", at_least=100)
    with Kernel() as kernel:
        latency, _, _ = kernel.run(LATENCY)
        report.line("agentcell: write with 8 threads at once, median", latency["p50"], "µs")
        report.line("agentcell: write with 8 threads at once, 99.9th percentile", latency["p999"], "µs", at_most=200)
    with Kernel() as kernel:
        memory, _, _ = kernel.run(MEMORY)
        report.line("agentcell: a run of a million tokens keeps", memory["kept"], "MB", at_most=60)
        report.line("agentcell: and needs at its most", memory["peak"], "MB", at_most=60)
    with Kernel() as kernel:
        imported, _, _ = kernel.run(IMPORT)
        report.line("import agentcell in a kernel", imported["ms"], "ms")
        report.line("… heavy packages that it loads", len(imported["heavy"]), "")
        _, sent, size = kernel.run(PACED, weigh=True)
        report.line("agentcell: messages for 500 tokens at 100 a second", sent["comm_msg"], "", at_most=110)
        report.line("agentcell: bytes of all messages, the widget's script included", size, "bytes")
