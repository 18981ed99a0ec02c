"""What is left behind: readable everywhere, and no more than the live view shows."""

from html.parser import HTMLParser

import pytest

from agentcell.events import AgentEnded, AgentStarted, LimitReached, ToolEnded, ToolStarted
from agentcell.options import RunOptions
from agentcell.redact import MASK
from agentcell.run import Run
from agentcell.testing.clock import FakeClock

# What JupyterLab's sanitizer takes out of an untrusted notebook, measured; what it lets pass stays.
LOST_TAGS = {"script", "style", "svg", "math", "iframe", "link", "main", "dialog", "picture", "template"}
LOST_ATTRIBUTES = {"id", "role", "tabindex", "name", "datetime", "download"}
LOST_IN_STYLES = (
    "inherit",
    "currentColor",
    "var(",
    "hsl(",
    "light-dark(",
    "sticky",
    "transition",
    "animation",
    "transform",
    "anywhere",
)


class Reader(HTMLParser):
    """The tags, attributes and text of a piece of HTML, and whether every tag was closed in its place."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.open: list[str] = []
        self.feed(html)
        self.close()
        assert not self.open, f"left open: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in ("br", "hr", "img", "meta"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def sample(**options) -> Run:
    clock = FakeClock()
    run = Run(RunOptions(task="Why is <checkout> slow?", **options), clock=clock)
    with run:
        run.step("Reading the deploy log of Tuesday")
        clock.advance(1.2)
        with run.tool("search_notes", query='connection "pool" <b>') as call:
            clock.advance(4)
            call.result(["Checkout p95", "Cart cache"])
        run.record(AgentStarted(agent_id="r", name="researcher"))
        run.record(ToolStarted(call_id="w", agent_id="r", name="web", arguments={"q": "pgbouncer"}))
        clock.advance(2)
        run.record(ToolEnded(call_id="w", agent_id="r", outcome="failed", error_type="TimeoutError", error="no answer in 2 s"))
        run.record(AgentEnded(agent_id="r"))
        run.think("So it <must> be the pool.")
        clock.advance(58)
        run.write("The p95 rose:\n\n| route | before |\n|---|---|\n| `/cart` | 98 |\n\n```\npool: 64\n```\n")
    return run


def test_the_html_survives_the_sanitizer_of_an_untrusted_notebook():
    for tag, attributes in Reader(sample().to_html()).tags:
        assert tag not in LOST_TAGS
        assert not LOST_ATTRIBUTES & set(attributes)
        assert not any(name.startswith(("on", "aria-", "data-")) for name in attributes)
        style = attributes.get("style") or ""
        assert not any(word in style for word in LOST_IN_STYLES)
        assert "color:" not in style.replace("background-color:", "") or tag == "span"


def test_nothing_in_it_is_mathematics_for_either_mathjax():
    name, attributes = Reader(sample().to_html()).tags[0]
    assert (name, attributes["class"]) == ("div", "agentcell-snapshot mathjax_ignore tex2jax_ignore")


@pytest.mark.parametrize(
    ("task", "title"),
    [
        ("Why is <checkout> slow?", "Why is <checkout> slow?"),
        ("", None),
        ("First line\n second", "First line second"),
        ("Use sk-proj-0A1b2C3d4E5f6G7h8lab", f"Use {MASK}"),
        ("x" * 1000, "x" * 299 + "…"),
    ],
)
@pytest.mark.parametrize("element", ["summary", "div"])
def test_the_heading_tells_the_task(task: str, title: str | None, element: str):
    run = Run(RunOptions(task=task))
    with run:
        if element == "summary":
            run.step("One")
        run.write("Done.")
    heading = next(attributes for name, attributes in Reader(run.to_html()).tags[1:] if name == element)
    assert heading.get("title") == title


def test_the_text_alone_tells_everything():
    text = Reader(sample().to_html()).text
    for words in (
        "Thought for 1m 5s",
        "2 tools",
        "Reading the deploy log of Tuesday · 1.2s",
        'connection \\"pool\\" <b>',
        "researcher",
        "Calling web failed — TimeoutError: no answer in 2 s",
        "So it <must> be the pool.",
        "/cart",
        "pool: 64",
    ):
        assert words in text


def test_no_text_colour_is_set_but_on_signs():
    spans = [a["style"] for t, a in Reader(sample().to_html()).tags if t == "span" and "color:" in (a.get("style") or "")]
    assert spans == ["color:#c4453c"]


def test_a_tables_cells_say_in_their_style_how_they_are_aligned():
    run = Run()
    with run:
        run.write("|a|b|c|\n|---|--:|:-:|\n|1|2|3|\n")
    styles = [attributes["style"] or "" for tag, attributes in Reader(run.to_html()).tags if tag in ("th", "td")]
    assert [style.rpartition("text-align:")[2] for style in styles] == ["left", "right", "center"] * 2


def test_the_standalone_page_has_no_script_and_names_the_task():
    page = sample().to_html(standalone=True)
    reader = Reader(page.replace("<!doctype html>", ""))
    assert "script" not in {tag for tag, _ in reader.tags}
    assert "Why is <checkout> slow?" in reader.text
    assert "http" not in page


def test_text_and_markdown_tell_the_same():
    run = sample()
    assert run.to_text().splitlines()[:2] == ["Thought for 1m 5s · 2 tools", "  • Reading the deploy log of Tuesday · 1.2s"]
    assert "    • Calling `web` failed — TimeoutError: no answer in 2 s · 2.0s" in run.to_text().splitlines()
    assert run.to_markdown().startswith("**Thought for 1m 5s** · 2 tools\n\n- Reading the deploy log of Tuesday · 1.2s\n")
    for text in (run.to_text(), run.to_markdown()):
        assert text.rstrip().endswith("```")


def ended_by(error: BaseException | None = None, *, limit: bool = False) -> Run:
    clock = FakeClock()
    run = Run(clock=clock)
    run.__enter__()
    clock.advance(8)
    if limit:
        run.record(LimitReached(kind="iterations", limit=5))
    run.__exit__(type(error) if error else None, error, None)
    return run


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (ended_by(ValueError("429, retry in 20 s\nmore")), ("✕ Failed after 8s", "ValueError: 429, retry in 20 s")),
        (ended_by(KeyboardInterrupt()), ("■ Stopped after 8s", "You interrupted it.")),
        (ended_by(SystemExit(1)), ("■ Stopped after 8s", "The program exited.")),
        (ended_by(limit=True), ("■ Stopped at a limit after 8s", "It reached its limit of iterations before it was done.")),
        (ended_by(), ("Thought for 8s", "It ended without an answer.")),
    ],
)
def test_every_way_out_has_a_visible_sentence(run: Run, words: tuple[str, ...]):
    text = Reader(run.to_html()).text
    for one in words:
        assert one in text


def test_a_run_that_goes_on_says_so_in_what_was_saved_of_it():
    run = Run(clock=FakeClock())
    with run:
        run.step("a")
        assert "This was saved before the run had ended." in run.to_html()
    assert "before the run had ended" not in run.to_html()


def test_under_a_second_is_never_zero_seconds():
    run = Run(clock=FakeClock())
    with run:
        run.write("quick")
    assert "Thought for less than a second" in run.to_text()
    assert "0s" not in run.to_text()


def test_thousands_of_rows_are_cut_and_the_cut_is_stated():
    run = Run(clock=FakeClock())
    with run:
        for number in range(3_000):
            with run.tool("t", number=number) as call:
                call.result("x" * 2_000)
    html = run.to_html()
    assert "2,500 earlier steps" in html
    assert "left out here" in html
    assert len(html) < 700_000
    assert len(run.steps) == 3_000


def test_showing_a_run_again_gives_the_same_html():
    run = sample()
    assert run.to_html() == run.to_html()


def test_a_loaded_run_shows_what_the_saved_one_showed(tmp_path):
    from agentcell import load

    run = sample()
    run.save(tmp_path / "run.jsonl")
    loaded = load(tmp_path / "run.jsonl")
    assert loaded == run
    assert loaded.to_html() == run.to_html()
    assert (loaded.status, loaded.outcome, loaded.elapsed_seconds) == (run.status, run.outcome, run.elapsed_seconds)
