"""Real programs in a real terminal: what stands on the screen, while they run and after."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from hosts.terminal import SPINNER, check_line_is_alone, script, terminal, untimed

CHECKOUT = """
with agentcell.watch("Why is checkout slow?") as run:
    run.step("Reading the deploy log of Tuesday")
    with run.tool("search_notes", query="connection pool") as call:
        wait_at("searching")
        call.result(["Checkout p95", "Deploy 4121"])
    run.write("The p95 rose after **Tuesday's deploy**.")
    wait_at("writing")
print("And on.")
"""


def test_a_script_has_a_live_line_and_leaves_its_rows_and_its_answer(tmp_path: Path):
    with terminal(tmp_path, script(tmp_path, CHECKOUT)) as shown:
        shown.until("• Searching notes", "Reasoning", "Working on `search_notes`…")
        assert shown.text.splitlines()[:2] == ["  • Reading the deploy log of Tuesday", "  • Searching notes for “connection pool”"]
        shown.until("Reasoning · 1s")  # the clock runs, and so does the spinner
        assert sum(sign in "".join(shown.frames) for sign in SPINNER) > 3
        shown.open_gate("searching")
        shown.until("s · 1 tool  Writing the answer…")
        shown.open_gate("writing")
        assert shown.finish() == 0
    check_line_is_alone(shown)
    *rows, last = shown.text.split("\n", 3)
    assert rows[:2] == ["  • Reading the deploy log of Tuesday", "  • Searching notes for “connection pool”"]
    assert untimed(rows[2]) == "  ✓ Searching notes for “connection pool” — Found 2 relevant notes · N s"
    assert untimed(last) == "Thought for N s · 1 tool\n\nThe p95 rose after **Tuesday's deploy**.\nAnd on."


def test_what_others_write_meanwhile_is_whole(tmp_path: Path):
    code = """
import logging, sys
logging.basicConfig(format="%(levelname)s %(message)s")  # it keeps the stream that it finds now
with agentcell.watch("x") as run:
    for number in range(3):
        run.step(f"Step {number}")
        wait_at(f"step {number}")
        print("printed", number)
        logging.warning("logged %d", number)
        print("half", end="", flush=True)
        wait_at(f"half {number}")
        print(" and half")
    run.write("Done.")
print(vars(sys.stdout), vars(sys.stderr), input is __builtins__.input, input)
"""
    with terminal(tmp_path, script(tmp_path, code), columns=120) as shown:
        for number in range(3):
            shown.until(f"Step {number}\n", "Reasoning")
            assert shown.text.splitlines()[-1][0] in SPINNER
            shown.open_gate(f"step {number}")
            shown.until(f"logged {number}\nhalf")
            assert shown.text.endswith("\nhalf")
            shown.open_gate(f"half {number}")
        assert shown.finish() == 0
    check_line_is_alone(shown)
    expected = [line for n in range(3) for line in (f"  • Step {n}", f"printed {n}", f"WARNING logged {n}", "half and half")]
    *lines, left = shown.text.splitlines()
    assert list(map(untimed, lines)) == [*expected, "Thought for N s", "", "Done."]
    assert left == "{'mode': 'w'} {'mode': 'w'} True <built-in function input>"


def test_a_row_that_comes_while_a_line_is_half_written_begins_a_line(tmp_path: Path):
    code = """
with agentcell.watch("x") as run:
    run.step("First")
    wait_at("first")
    print("half", end="", flush=True)
    run.step("Second")
    wait_at("second")
    print("more")
"""
    with terminal(tmp_path, script(tmp_path, code)) as shown:
        shown.until("First", "Reasoning")
        shown.open_gate("first")
        shown.until("half\n  • Second")
        shown.open_gate("second")
        shown.finish()
    assert shown.text.startswith("  • First\nhalf\n  • Second\nmore\n")
    check_line_is_alone(shown)


@pytest.mark.parametrize("ask", ["run.pause('Name?')", "input('Name? ')", "__import__('getpass').getpass('Name? ')"])
def test_the_line_is_gone_while_the_person_is_asked(tmp_path: Path, ask: str):
    code = f"""
import threading
with agentcell.watch("x") as run:
    run.step("First")
    wait_at("first")
    run.write(f"Hello {{{ask}}}.")
    wait_at("answered")
"""
    with terminal(tmp_path, script(tmp_path, code)) as shown:
        shown.until("First", "Reasoning")
        shown.open_gate("first")
        shown.until("Name?")
        asked = len(shown.frames)
        shown.type("Ada")
        if "getpass" not in ask:
            shown.until("Name? Ada")
        shown.type("\n")
        shown.until("Writing the answer…")
        shown.open_gate("answered")
        assert shown.finish() == 0
    assert shown.text.endswith("\n\nHello Ada.")
    if "getpass" in ask:  # it writes past Python's streams, and is glued to the line; but nothing is written over it
        assert re.search(r"Reasoning · \d+sName\?\n", shown.text)
    else:
        check_line_is_alone(shown)
        assert not any(sign in frame for frame in shown.frames[asked - 1 : asked + 1] for sign in SPINNER)
        assert "\nName? Ada\n" in shown.text


def test_rows_wait_while_the_person_types(tmp_path: Path):
    code = """
import threading
with agentcell.watch("x") as run:
    def work():
        wait_at("asked")
        run.step("Second")
        pathlib.Path("told").touch()
    thread = threading.Thread(target=work)
    thread.start()
    run.step("First")
    input("Name? ")
    thread.join()
    wait_at("answered")
"""
    with terminal(tmp_path, script(tmp_path, code)) as shown:
        shown.until("Name?")
        shown.open_gate("asked")
        shown.type("Ada")
        shown.until("Name? Ada")
        while not (tmp_path / "told").exists():
            pass
        shown.type(" Lovelace\n")
        shown.until("  • Second")
        shown.open_gate("answered")
        assert shown.finish() == 0
    assert shown.text.splitlines()[:3] == ["  • First", "Name? Ada Lovelace", "  • Second"]
    check_line_is_alone(shown)


def test_a_debugger_has_the_terminal_for_itself(tmp_path: Path):
    code = """
with agentcell.watch("x") as run:
    run.step("First")
    wait_at("first")
    breakpoint()
    wait_at("debugged")
"""
    with terminal(tmp_path, script(tmp_path, code)) as shown:
        shown.until("First", "Reasoning")
        shown.open_gate("first")
        shown.until("(Pdb)")
        asked = len(shown.frames)
        shown.type("p 6 * 7\n")
        shown.until("\n42\n(Pdb)")
        assert not any(sign in frame for frame in shown.frames[asked - 1 :] for sign in SPINNER)
        shown.type("c\n")
        shown.until("Reasoning")
        shown.open_gate("debugged")
        assert shown.finish() == 0
    check_line_is_alone(shown)


@pytest.mark.parametrize(
    ("leave", "end"),
    [
        ("raise ValueError('no route')", "✕ Failed after N s\nValueError: no route\nTraceback (most recent call last):"),
        ("raise SystemExit(3)", "■ Stopped after N s\nThe program exited."),
        ("time.sleep(40)", "■ Stopped after N s\nYou interrupted it.\nTraceback (most recent call last):"),
    ],
)
def test_every_way_out_takes_the_line_along(tmp_path: Path, leave: str, end: str):
    code = f"""
with agentcell.watch("x") as run:
    run.step("First")
    wait_at("first")
    print("Now.")
    {leave}
"""
    with terminal(tmp_path, script(tmp_path, code)) as shown:
        shown.until("First", "Reasoning")
        shown.open_gate("first")
        shown.until("Now.")
        if "sleep" in leave:
            shown.type("\x03")
        assert shown.finish() != 0
    check_line_is_alone(shown)
    assert untimed(shown.text).replace("^C", "").startswith(f"  • First\nNow.\n{end}")


def test_a_program_that_ends_in_the_middle_of_a_run_leaves_no_line(tmp_path: Path):
    code = """
import threading
threading.Thread(target=lambda: agentcell.watch("x").__enter__().step("First") or time.sleep(40), daemon=True).start()
wait_at("first")
"""
    with terminal(tmp_path, script(tmp_path, code)) as shown:
        shown.until("First", "Reasoning")
        shown.open_gate("first")
        assert shown.finish() == 0
    assert shown.text == "  • First"


SEVERAL = {
    "threads": """
import threading
def work(name):
    with agentcell.watch(name) as run:
        run.step(f"Step of {name}")
        wait_at(name)
        run.write(f"Answer of {name}")
threads = [threading.Thread(target=work, args=(f"run {n}",)) for n in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
""",
    "tasks": """
import asyncio
async def work(name):
    async with agentcell.watch(name) as run:
        run.step(f"Step of {name}")
        await asyncio.to_thread(wait_at, name)
        run.write(f"Answer of {name}")
async def main():
    await asyncio.gather(*(work(f"run {n}") for n in range(3)))
asyncio.run(main())
""",
}


@pytest.mark.parametrize("code", SEVERAL.values(), ids=SEVERAL)
def test_several_runs_share_one_line(tmp_path: Path, code: str):
    with terminal(tmp_path, script(tmp_path, code)) as shown:
        shown.until(*(f"  • Step of run {n}" for n in range(3)), "· +2 more")
        shown.open_gate("run 1")
        shown.until("Answer of run 1", "· +1 more")
        shown.open_gate("run 0")
        shown.open_gate("run 2")
        assert shown.finish() == 0
    check_line_is_alone(shown)
    for number in range(3):
        assert shown.text.count(f"Answer of run {number}") == 1
    assert shown.text.count("Thought for") == 3
    assert not set(SPINNER) & set(shown.text)


def test_a_line_fits_whatever_the_width_and_whatever_stands_in_it(tmp_path: Path):
    code = """
with agentcell.watch("x") as run:
    with run.tool("検索", query="x") as call:
        call.progress("東京の結合プールを探しています 🙂 " * 9)
        wait_at("found")
"""
    with terminal(tmp_path, script(tmp_path, code), columns=41) as shown:
        shown.until("東京の")
        for columns in (60, 25, 33, 12, 80):
            shown.resize(columns, 40)
            before = len(shown.frames)
            shown.wait(lambda: len(shown.frames) > before + 3, "it is drawn anew")  # noqa: B023
            row, line = shown.text.splitlines()
            assert row.startswith("  • Call")
            assert line[0] in SPINNER
            assert line.endswith(("…", "s"))
        shown.open_gate("found")
        shown.finish()
    assert shown.text.endswith("It ended without an answer.")


def test_no_color_leaves_the_line_and_takes_the_colours(tmp_path: Path):
    with terminal(tmp_path, script(tmp_path, CHECKOUT), environment={"NO_COLOR": "1"}) as shown:
        shown.until("Reasoning")
        shown.open_gate("searching")
        shown.open_gate("writing")
        shown.finish()
    assert b"\r" in shown.raw.replace(b"\r\n", b"")
    assert re.findall(rb"\x1b\[[0-9;]*m", shown.raw) == []


def test_a_dumb_terminal_gets_plain_lines(tmp_path: Path):
    with terminal(tmp_path, script(tmp_path, CHECKOUT), environment={"TERM": "dumb"}) as shown:
        shown.until("Searching")
        shown.open_gate("searching")
        shown.open_gate("writing")
        shown.finish()
    assert b"\x1b" not in shown.raw
    assert b"\r" not in shown.raw.replace(b"\r\n", b"")
    assert "Reasoning" not in shown.text


def piped(folder: Path, code: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    for gate in ("searching", "writing"):
        (folder / gate).touch()
    command = [sys.executable, script(folder, code)]
    return subprocess.run(
        command, cwd=folder, env={"HOME": str(folder), **environment}, capture_output=True, timeout=60, check=True
    )


@pytest.mark.parametrize(
    ("encoding", "row"),
    [
        ("utf-8", "  • Searching notes for “connection pool”"),
        ("cp1252", "  • Searching notes for “connection pool”"),
        ("cp437", '  * Searching notes for "connection pool"'),
        ("ascii", '  * Searching notes for "connection pool"'),
    ],
)
def test_a_pipe_gets_lines_in_its_encoding_and_nothing_is_rewritten(tmp_path: Path, encoding: str, row: str):
    done = piped(tmp_path, CHECKOUT, PYTHONIOENCODING=encoding)
    assert done.stderr == b""
    assert b"\r" not in done.stdout.replace(b"\r\n", b"\n")
    assert b"\x1b" not in done.stdout
    text = done.stdout.decode(encoding)
    assert row in text
    assert "Found 2 relevant notes" in text
    assert text.endswith("1 tool\n\nThe p95 rose after **Tuesday's deploy**.\nAnd on.\n")


def test_with_display_off_nothing_is_printed(tmp_path: Path):
    done = piped(tmp_path, CHECKOUT.replace('slow?"', 'slow?", display=False'))
    assert (done.stdout, done.stderr) == (b"And on.\n", b"")


def test_who_catches_what_a_tool_prints_catches_that_alone(tmp_path: Path):
    code = """
import contextlib, io
with agentcell.watch("x") as run:
    with contextlib.redirect_stdout(io.StringIO()) as caught:
        run.step("First")
        print("the tool's own")
        while run.steps and not told():
            time.sleep(0.02)
    run.write(f"Caught: {caught.getvalue()!r}")
"""
    told = "import sys\nout = open('log', 'w')\nsys.stdout = out\ndef told(): return '• First' in pathlib.Path('log').read_text()\n"
    piped(tmp_path, told + code)
    assert (tmp_path / "log").read_text().endswith('\n\nCaught: "the tool\'s own\\n"\n')


def test_a_forked_child_prints_and_has_no_line(tmp_path: Path):
    code = """
import os
with agentcell.watch("x") as run:
    run.step("First")
    wait_at("first")
    for number in range(20):
        child = os.fork()
        if child == 0:
            print("child", number, "write" in vars(__import__("sys").stdout))
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    wait_at("forked")
"""
    with terminal(tmp_path, script(tmp_path, code)) as shown:
        shown.until("First", "Reasoning")
        shown.open_gate("first")
        shown.until("child 19 False")
        shown.open_gate("forked")
        assert shown.finish() == 0
    assert re.findall(r"child \d+ False", shown.text) == [f"child {number} False" for number in range(20)]


def test_ipython_has_the_line_while_a_cell_runs_and_rows_above_its_prompt_afterwards(tmp_path: Path):
    (tmp_path / "cells.py").write_text(
        "import threading\nfrom script import *\n"
        "def work():\n"
        "    with agentcell.watch('x') as run:\n"
        "        run.step('First'); wait_at('first')\n"
        "        run.step('Second'); wait_at('second')\n"
        "        run.write('The answer.')\n"
    )
    script(tmp_path, "")
    with terminal(tmp_path, "-m", "IPython", "--no-banner", "--no-confirm-exit") as shown:
        shown.until("In [1]:")
        shown.type("from cells import *\r")
        shown.until("In [2]:")
        shown.type("work()\r")
        shown.until("  • First", "Reasoning")
        shown.open_gate("first")
        shown.until("  • Second", "Reasoning")
        shown.open_gate("second")
        shown.until("The answer.", "In [3]:")
        check_line_is_alone(shown)
        for gate in ("first", "second"):
            (tmp_path / gate).unlink()
        shown.type("thread = threading.Thread(target=work); thread.start()\r")
        shown.until("In [4]:")
        shown.open_gate("first")
        shown.type("6 * 7")
        shown.until("In [4]: 6 * 7")
        shown.open_gate("second")
        shown.until("The answer.\n", "In [4]: 6 * 7")
        shown.type("\r")
        shown.until("Out[4]: 42", "In [5]:")
        shown.type("exit\r")
        assert shown.finish() == 0
    check_line_is_alone(shown)
