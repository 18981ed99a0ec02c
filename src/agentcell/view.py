"""The view model of one run, kept up to date, and the patch that brings a copy of it up to date.

Rendering happens here and once: live view, snapshot and late views all take what is kept here.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from agentcell.calm import CalmLine
from agentcell.cost import PRICES, Cost, cost_of, needs_prices
from agentcell.markdown import markdown_renderer
from agentcell.markdown_stream import MarkdownStream
from agentcell.markup import html_text, joined, showable, tag
from agentcell.panel import render_panel
from agentcell.render import BODY_LIMIT, LINE_LIMIT, cut, one_line, render_header, render_step

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager
    from typing import Any, Literal

    from agentcell import wire
    from agentcell.projections.run import RunProjection
    from agentcell.projections.step import Step
    from agentcell.text.growing import GrowingText

ANSWER_LIMIT = 200_000
"""Characters of an answer that are shown; the whole answer stays in Python."""

THINKING_LIMIT = 50_000
"""Characters of one stretch of thinking that are shown."""


class Source(Protocol):
    """A run, as far as a view needs one."""

    @property
    def lock(self) -> AbstractContextManager[Any]:
        """Held while reading from the projection."""

    def catch_up(self) -> RunProjection:
        """The projection, with everything that has come in."""

    def now(self) -> float:
        """Seconds since the run's start."""

    @property
    def controls(self) -> wire.Controls:
        """What the reader can do about the run, as long as it is under way."""


class ViewModel:
    """Header, rows and answer blocks of a run, as they cross to the browser.

    Attributes:
        header: As it is now, all keys.
        steps: All rows; a new list whenever a row changed, so that an old one can be told from it.
        blocks: The answer's blocks as HTML; a new list whenever one changed.
        trace: The trace panel as HTML, made once when the run has ended; "" before, and when there is nothing in it.
        cost: What is known of its cost; None for nothing.
        awaits_prices: Whether there are costs that are not shown, because nobody has loaded the prices yet.
        look_again: Seconds after which `take_patch` has a line that it held back now; None when it has none.
    """

    def __init__(self, source: Source, *, images: Literal["link", "all"] = "link", expand_trace: bool = False) -> None:
        self.header: wire.Header = {}
        self.steps: Sequence[wire.Step] = []
        self.blocks: Sequence[str] = []
        self.trace: str = ""
        self.cost: Cost | None = None
        self.awaits_prices = False
        self.look_again: float | None = None
        self._source = source
        self._images = images
        self._expand_trace = expand_trace
        self._ended = False
        self._cost_version = 0
        self._now = 0.0
        self._line = CalmLine()
        self._lock = threading.RLock()
        self._answer = _Answer(images)
        self._thoughts: dict[int, tuple[GrowingText, int]] = {}  # the text of each stretch of thinking, and how much is in its body
        self._sent_header: wire.Header = {}
        self._sent_blocks: list[str] = []
        self._sent_trace = ""
        self._dirty_steps: dict[int, None] = {}
        self._pieces: dict[int, list[str]] = {}

    def make_ready(self) -> None:
        """Loads, for the thread that calls it, what the first answer needs; else its first word would wait for that."""
        markdown_renderer(self._images)

    def refresh(self, *, prices: bool = True) -> None:
        """Takes in what happened since the last time.

        Args:
            prices: Whether to load the list of prices if it is needed and not there, which takes a second, once in a process. Without
                it, costs that only the list tells are shown from the first time after it was loaded.
        """
        with self._lock:
            run = self._source.catch_up()
            self._count_cost(run, prices=prices)
            with self._source.lock:  # no body is rendered while this is held: the agent's thread may wait for it
                rows, thoughts = self._take_rows(run)
                life = run.life
                answer = life.answer
                over = life.rewrites != self._answer.rewrites
                added = answer.since(0 if over else self._answer.taken)
                self._now = self._source.now()
                header = render_header(run, self._now, cost=self.cost)
                rewrites = life.rewrites
            self.header = {**header, **self._controls(header)}
            if rows or thoughts:
                self._take_steps(rows, thoughts)
            if over:
                self._answer = _Answer(self._images, rewrites)
            if added or over:
                self._answer.feed(added)
                self.blocks = self._answer.blocks()
            if header["status"] == "complete" and self._answer.finish():
                self.blocks = self._answer.blocks()
            if header["status"] == "complete" and not self._ended:  # nothing of the run changes any more
                self._ended = True
                self.trace = render_panel(run, self.steps, expanded=self._expand_trace)

    def _count_cost(self, run: RunProjection, *, prices: bool) -> None:
        with self._source.lock:
            if self._cost_version == run.usage.version and not self.awaits_prices:
                return
            version, bill, started_at = run.usage.version, run.usage.bill, run.life.started_at
        self.awaits_prices = needs_prices(bill)
        if self.awaits_prices and prices:
            PRICES.load()
            self.awaits_prices = False
        cost = None if self.awaits_prices else cost_of(bill, started_at)
        if cost != self.cost:
            self.cost, self._ended = cost, False  # the trace panel tells costs too
        self._cost_version = version

    def _controls(self, header: wire.Header) -> wire.Controls:
        if header["status"] in ("idle", "complete"):
            return {"stop": "none", "questions": []}
        controls = self._source.controls
        for question in controls["questions"]:
            question["text"] = cut(showable(question["text"]), BODY_LIMIT)
            question["choices"] = [one_line(choice, LINE_LIMIT) for choice in question["choices"]]
        return controls

    def take_patch(self) -> wire.Patch:
        """What changed since the last patch was taken; empty when nothing did but the clock."""
        with self._lock:
            patch: wire.Patch = {}
            steps = [self.steps[step_id] for step_id in sorted(self._dirty_steps)]
            texts: list[wire.StepText] = [
                {"id": step_id, "html": "".join(pieces)}
                for step_id, pieces in self._pieces.items()
                if step_id not in self._dirty_steps
            ]
            if steps:
                patch["steps"] = steps
            if texts:
                patch["texts"] = texts
            self._dirty_steps.clear()
            self._pieces.clear()
            self._patch_blocks(patch)
            if self.trace != self._sent_trace:
                patch["trace"] = self._sent_trace = self.trace
            self._patch_header(patch)
            return patch

    def _take_rows(self, run: RunProjection) -> tuple[list[Step], list[_Growth]]:
        steps = run.steps
        rows = [steps.row(step_id) for step_id in steps.changed]
        grown = dict.fromkeys(steps.grown)
        grown.update(dict.fromkeys(row.id for row in rows if row.kind == "thinking"))
        thoughts = []
        for step_id in grown:
            text = steps.thinking_text(step_id)
            if text is not None:
                known, shown = self._thoughts.get(step_id, (None, 0))
                if known is not text:  # it is another text, not a longer one
                    shown = 0
                more = text.since(shown) if shown < THINKING_LIMIT else ""
                thoughts.append(_Growth(step_id, text, more, len(text), known is not None and known is not text))
        steps.changed.clear()
        steps.grown.clear()
        return rows, thoughts

    def _take_steps(self, rows: list[Step], thoughts: list[_Growth]) -> None:
        steps = list(self.steps)
        for row in sorted(rows, key=lambda one: one.id):
            step = render_step(row)
            if row.id < len(steps):
                if row.kind == "thinking":
                    step["body"] = steps[row.id]["body"]
                steps[row.id] = step
            else:
                steps.append(step)
            self._dirty_steps[row.id] = None
        for growth in thoughts:
            step_id = growth.step_id
            step = steps[step_id] = {**steps[step_id]}
            shown = 0 if growth.anew else self._thoughts.get(step_id, (None, 0))[1]
            piece = growth.more[: THINKING_LIMIT - shown]
            shown += len(piece)
            self._thoughts[step_id] = growth.text, shown
            html = html_text(piece)
            step["body"] = html if growth.anew else step["body"] + html
            if growth.length > shown:
                step["detail"] = f"… {growth.length - shown:,} more characters"
            if growth.anew or growth.length > shown:
                self._dirty_steps[step_id] = None
            elif piece:
                self._pieces.setdefault(step_id, []).append(html)
        self.steps = steps

    def _patch_blocks(self, patch: wire.Patch) -> None:
        sent, now = self._sent_blocks, self.blocks
        if now is sent:
            return
        if len(now) < len(sent):
            patch["blocks_count"] = len(now)
        changed: list[wire.Block] = []
        for block_id, (before, html) in enumerate(zip(sent, now, strict=False)):
            if html is not before and html != before:
                same = _common_prefix(before, html)
                changed.append({"id": block_id, "keep": _utf16_units(html[:same]), "html": html[same:]})
        if changed:
            patch["blocks"] = changed
        if len(now) > len(sent):
            patch["blocks_added"] = list(now[len(sent) :])
        self._sent_blocks = list(now)

    def _patch_header(self, patch: wire.Patch) -> None:
        before = self._sent_header
        held = self._line.held
        now: wire.Header = {**self.header, "status_line": self._calm_line()}
        changed: Any = {key: value for key, value in now.items() if before.get(key, _NOTHING) != value}
        if held and not self._line.held:  # the traits may have been sent meanwhile, with the line that no patch has sent
            changed["status_line"] = now["status_line"]
        only_time = set(changed) <= {"elapsed_seconds"}
        if changed and (patch or not only_time):
            patch["header"] = changed
            # The browser counts on from this, so it goes along whenever something goes.
            patch["header"]["elapsed_seconds"] = self.header["elapsed_seconds"]
            self._sent_header = now

    def _calm_line(self) -> str:
        """The status line to send: held back where it would flicker, at once where the run waits, goes on or is over."""
        before, now = self._sent_header, self.header
        urgent = any(before.get(key) != now.get(key) for key in ("status", "clock"))
        line = self._line.show(now["status_line"], self._now, urgent=urgent)
        self.look_again = self._line.wait(self._now) if self._line.held else None
        return line


_NOTHING = object()


@dataclass(frozen=True, slots=True)
class _Growth:
    """A stretch of thinking that has more text than its row shows; or, `anew`, another text than it shows."""

    step_id: int
    text: GrowingText
    more: str
    length: int
    anew: bool


class _Answer:
    """The answer as blocks, up to the limit, and a last block that says how much more there is."""

    def __init__(self, images: Literal["link", "all"], rewrites: int = 0) -> None:
        self.rewrites = rewrites
        self.taken = 0  # characters of the run's answer, which may hold an emoji as two
        self.length = 0
        self._half = ""
        self._stream = MarkdownStream(images=images)

    def feed(self, text: str) -> None:
        self.taken += len(text)
        text = self._half + text
        # An emoji may come in two halves: the first one waits for the other.
        self._half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        self._show(joined(text[: len(text) - len(self._half)]))

    def finish(self) -> bool:
        """Nothing follows: half a character stays half a character. Whether that is more to show."""
        half, self._half = self._half, ""
        self._show(half)
        return bool(half)

    def _show(self, text: str) -> None:
        if self.length < ANSWER_LIMIT:
            self._stream.feed(text[: ANSWER_LIMIT - self.length])
        self.length += len(text)

    def blocks(self) -> list[str]:
        more = self.length - ANSWER_LIMIT
        note = [tag("p", f"… {more:,} more characters", class_="ac-cut")] if more > 0 else []
        return [*self._stream.blocks, *note]


def _common_prefix(one: str, other: str) -> int:
    """How many characters two texts begin with in common."""
    low, high = 0, min(len(one), len(other))
    while low < high:  # halving compares at C speed
        middle = (low + high + 1) // 2
        if one.startswith(other[:middle]):
            low = middle
        else:
            high = middle - 1
    return low


def _utf16_units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
