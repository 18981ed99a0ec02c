"""The model in the page is the model in Python, whatever way its values came."""

from __future__ import annotations

from browser.lab import Lab, NotebookPage, expect
from browser.notebooks import notebook

EVERYTHING = """\
run = agentcell.watch("All kinds of things")
with run:
    for place in range(30):
        run.step(f"Step {place} of <thirty> & more")
        time.sleep(0.02)
    for piece in ("First <b>thoughts</b>,", " then 'second' & \\ud83d\\ude00", " \\ud83d", " and a broken sign"):
        run.think(piece)
        time.sleep(0.06)
    with run.tool("search", query="<script>alert(1)</script>"):
        with run.tool("fetch", url="https://example.com") as call:
            time.sleep(0.06)
            call.fail(ValueError("no <such> page"))
    run.write("A draft that is replaced")
    time.sleep(0.06)
    run.answer("# Not so\\n\\n")
    for word in "the *answer* comes in **many** pieces \\ud83d\\ude00 | with `code`\\n\\n- one\\n- two\\n".split(" "):
        run.write(word + " ")
        time.sleep(0.02)
    run.write("\\n\\n|a|b|\\n|-|-|\\n|1|2|\\n")
"""

NAMES = (
    *("run_id", "protocol", "seq", "task", "live_steps", "expand", "status", "outcome", "clock", "elapsed_seconds"),
    *("title", "facts", "status_line", "sentence", "steps", "blocks"),
)


def test_at_rest_the_page_holds_what_python_holds(jupyterlab: Lab):
    page = jupyterlab.open(notebook(EVERYTHING))
    page.run(0, 1)
    check_equal(page)
    seq = page.evaluate("run.cell.seq")
    assert 10 < seq < 100  # it came by patches


def test_a_lost_patch_is_made_good(jupyterlab: Lab):
    lost = """\
run = agentcell.watch("A message gets lost", live_steps=10)
with run:
    run.step("First")
    wait_at("first")
    send = run.cell.send
    run.cell.send = lambda *_: None
    run.step("Lost")
    run.cell.flush()
    run.cell.send = send
    run.step("Third")
    wait_at("third")
    run.step("Fourth")
    wait_at("fourth")
"""
    page = jupyterlab.open(notebook(lost))
    page.run(0)
    page.start(1)
    texts = page.output(1).locator(".agentcell .ac-text")
    expect(texts).to_have_text(["First"])
    page.open_gate("first")
    expect(texts).to_have_text(["First", "Lost", "Third"])
    page.open_gate("third")
    expect(texts).to_have_text(["First", "Lost", "Third", "Fourth"])
    page.open_gate("fourth")
    page.finish(1)
    check_equal(page)


def check_equal(page: NotebookPage) -> None:
    """The model of `run.cell` in the page, as soon as it knows that the run is over, equals the one in Python."""
    model = page.model(page.evaluate("run.cell.model_id"))
    page.wait("(model) => model.get('status') === 'complete'", model)
    there = model.evaluate("(model, names) => Object.fromEntries(names.map((name) => [name, model.get(name)]))", NAMES)
    python = page.evaluate(f"{{name: getattr(run.cell, name) for name in {NAMES}}}")
    python["elapsed_seconds"] = round(python["elapsed_seconds"], 3)
    assert there == python
