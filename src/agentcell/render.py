"""What a run shows, as words and safe HTML: header and rows."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from agentcell.cost import Cost, money_text
from agentcell.markup import html_text, showable, tag
from agentcell.text.duration import clock_text, duration_text

if TYPE_CHECKING:
    from agentcell import wire
    from agentcell.projections.life import LifeProjection
    from agentcell.projections.run import RunProjection
    from agentcell.projections.step import Step

BODY_LIMIT = 6_000
"""Characters of one body that are shown; the whole value stays in Python."""

_KEY = re.compile(r"(&quot;(?:[^&]|&(?!quot;))*&quot;)(?=:)")  # in text that is escaped already

LINE_LIMIT = 300
"""Characters of a row's text or detail that are shown."""


def render_header(run: RunProjection, now: float, *, cost: Cost | None = None) -> wire.Header:
    """What stands above and around the rows, at `now` seconds since the run's start; `cost` is what is known of its cost."""
    life = run.life
    return {
        "status": life.status,
        "outcome": life.outcome,
        "clock": "running" if life.ticking else "stopped",
        "elapsed_seconds": round(life.elapsed_seconds(now), 3),
        "title": _title(life, now),
        "facts": _facts(run, cost),
        "status_line": one_line(run.status_line, LINE_LIMIT),
        "sentence": _stopped_by_hand(run) or _sentence(life),
    }


def render_step(step: Step) -> wire.Step:
    """A row; the body of a stretch of thinking is not in it."""
    return {
        "id": step.id,
        "parent": step.parent,
        "kind": step.kind,
        "text": one_line(_row_text(step), LINE_LIMIT),
        "tool": None if step.tool is None else one_line(step.tool, LINE_LIMIT),
        "state": step.state,
        "started": round(step.time, 3),
        "elapsed": None if step.elapsed_seconds is None else round(step.elapsed_seconds, 3),
        "detail": one_line(step.detail, LINE_LIMIT),
        "body": "" if step.kind == "thinking" else render_body(step),
    }


def render_body(step: Step) -> str:
    """What a row opens to, as HTML: what went in and what came out."""
    if step.kind != "tool":
        return ""
    parts: list[str] = []
    if step.arguments:
        parts += labelled("in", step.arguments)
    if step.result is not None:
        parts += labelled("out", step.result)
    if step.state == "failed" and len(step.detail) > LINE_LIMIT:
        parts += labelled("error", step.detail)
    return tag("dl", *parts) if parts else ""


def cut(text: str, limit: int) -> str:
    """`text`, or its first `limit` characters and how many more there are."""
    return text if len(text) <= limit else f"{text[:limit]}\n… {len(text) - limit:,} more characters"


def one_line(text: str, limit: int) -> str:
    """`text` in one line that a page can hold, cut at `limit` characters."""
    line = " ".join(showable(text[: limit * 4]).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def tokens_text(tokens: int) -> str:
    """A number of tokens in a few letters: `840`, `3.1k`, `12k`, `1.2M`."""
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if tokens >= size:
            shown = tokens / size
            return f"{shown:.1f}{letter}" if shown < 9.95 else f"{shown:.0f}{letter}"
    return str(tokens)


def cost_text(cost: Cost) -> str:
    """A run's cost in a few letters; one that is known in part says so."""
    return f"{'at least ' if cost.unpriced else ''}{money_text(cost.amount)}"


def value_text(value: Any) -> str:
    """A JSON value as people read it: strings bare, short values in a line, long ones indented."""
    if isinstance(value, str):
        return value
    line = json.dumps(value, ensure_ascii=False)
    return line if len(line) <= 100 else json.dumps(value, ensure_ascii=False, indent=2)


def labelled(label: str, value: Any) -> tuple[str, str]:
    """A value under its name, as two parts of a `dl`."""
    return tag("dt", label), tag("dd", tag("pre", _marked(html_text(cut(value_text(value), BODY_LIMIT)), value)))


def _marked(html: str, value: Any) -> str:
    """The HTML of a value's text, with the keys of JSON marked; a text is left as it is."""
    return html if isinstance(value, str) else _KEY.sub(r"<b>\1</b>", html)


def _row_text(step: Step) -> str:
    if step.kind == "tool" and step.state == "failed":
        return f"{step.text} failed"
    return step.text


def _title(life: LifeProjection, now: float) -> str:
    if life.waiting:
        return "Waiting on you"
    seconds = life.elapsed_seconds(now)
    match life.outcome:
        case "failed":
            return f"Failed after {duration_text(seconds)}"
        case "cancelled":
            return f"Stopped after {duration_text(seconds)}"
        case "limited":
            return f"Stopped at a limit after {duration_text(seconds)}"
        case _ if life.status == "idle":
            return "Not started"
        case _ if life.status == "reasoning":
            return "Reasoning"
        case _:
            return f"Thought for {duration_text(seconds)}"


def _facts(run: RunProjection, cost: Cost | None) -> str:
    tools, tokens = run.steps.tools, run.usage.total.total_tokens
    facts = [f"{tools:,} tool{'' if tools == 1 else 's'}"] if tools else []
    facts += [f"{tokens_text(tokens)} tokens"] if tokens else []
    facts += [cost_text(cost)] if cost is not None else []
    return " · ".join(facts)


def _sentence(life: LifeProjection) -> str:
    """Why it ended so; "" when the answer speaks for itself."""
    error = ": ".join(part for part in (life.error_type, life.error) if part)
    match life.outcome:
        case "failed":
            return one_line(error or "It failed.", LINE_LIMIT)
        case "cancelled":
            return _why_cancelled(life)
        case "limited":
            limit = life.limit
            kind = limit.kind if limit is not None else ""
            return f"It reached its limit of {kind or 'work'} before it was done."
        case "answered" if not str(life.answer).strip():
            return "It ended without an answer."
        case "answered":
            return one_line(life.shortfall, LINE_LIMIT)
        case _:
            return ""


def _stopped_by_hand(run: RunProjection) -> str:
    """What a run says that the reader has stopped: which tool it was at, if it was at one."""
    if run.life.outcome != "cancelled" or run.life.error_type != "RunStopped":
        return ""
    tool = next((row.tool for row in reversed(run.steps.rows) if row.kind == "tool" and row.state == "cancelled"), None)
    while_it = f" while `{one_line(tool, LINE_LIMIT)}` was running" if tool else ""
    return f"You stopped it{while_it}."


def _why_cancelled(life: LifeProjection) -> str:
    match life.error_type:
        case "KeyboardInterrupt":
            return "You interrupted it."
        case "CancelledError":
            return "Its task was cancelled."
        case "GeneratorExit":
            return "Nobody asked for more of it."
        case "SystemExit":
            return "The program exited."
        case _:
            return one_line(life.error or "It was stopped.", LINE_LIMIT)


def running_title(header: wire.Header) -> str:
    """The whole first line of the header as text, the time included while the clock runs."""
    if header["status"] == "reasoning":
        return f"{header['title']} · {clock_text(header['elapsed_seconds'])}"
    return " · ".join(part for part in (header["title"], header["facts"]) if part)
