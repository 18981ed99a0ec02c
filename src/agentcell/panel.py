"""The tool trace below the answer: one row for each model call and each tool call, as one piece of HTML, made once at the end.

A row says in words what its bar shows; it opens to what went in and what came out. The HTML has classes for the live view;
the snapshot puts inline styles in their place.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from agentcell.cost import money_text
from agentcell.markup import html_text, html_words, tag
from agentcell.render import BODY_LIMIT, LINE_LIMIT, cut, labelled, one_line
from agentcell.spending import Spending
from agentcell.text.duration import short_duration_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from decimal import Decimal

    from agentcell import wire
    from agentcell.events import ToolOffer, Usage
    from agentcell.projections.calls import Beginning, ModelRow
    from agentcell.projections.run import RunProjection
    from agentcell.projections.step import StepState

MAX_ROWS = 500
"""Rows that the panel holds; of more, the newest."""

MAX_BODIES = 120_000
"""Characters of bodies, all rows together, that the panel holds; later rows go without."""

MAX_DEPTH = 8
"""Levels that are set in; what lies deeper stands at the last of them."""

_NAME_LIMIT = 60
_NAMES = 12
_SHORT = 80

_Kind: TypeAlias = Literal["model", "tool", "agent"]


@dataclass(frozen=True, slots=True)
class _Row:
    """A row before it is drawn; `order` puts it behind what began before it."""

    order: tuple[float, int, int]
    parent: int | None
    kind: _Kind
    step: wire.Step | None = None
    model: ModelRow | None = None

    @property
    def started(self) -> float:
        return self.order[0]


def render_panel(run: RunProjection, steps: Sequence[wire.Step], *, expanded: bool = False) -> str:
    """The panel of a run that is over; "" for one without model calls and tool calls.

    Args:
        run: The run.
        steps: Its rows as they are shown: their bodies are rendered already.
        expanded: Whether the panel is open.
    """
    rows = sorted(_rows(run, steps), key=lambda row: row.order)
    if all(row.kind == "agent" for row in rows):
        return ""
    shown = rows[-MAX_ROWS:]
    hidden = len(rows) - len(shown)
    drawing = _Drawing(run, shown)
    listed = drawing.html()
    notes = [f"… {hidden:,} earlier rows are left out"] if hidden else []
    if drawing.without:
        notes.append(f"{drawing.without:,} rows stand without their input and output: all of it would be too much here")
    note = tag("p", html_text(" · ".join(notes)), class_="ac-faint") if notes else ""
    return tag("details", tag("summary", html_text(_summary(run, steps))), note, listed, class_="ac-trace", open=expanded)


def _rows(run: RunProjection, steps: Sequence[wire.Step]) -> Iterator[_Row]:
    for number, model in enumerate(run.calls.models):
        yield _Row((model.started, model.place, number - len(run.calls.models)), model.parent, "model", model=model)
    for step in steps:
        if step["kind"] == "agent" or step["tool"] is not None:
            kind: _Kind = "agent" if step["kind"] == "agent" else "tool"
            yield _Row((step["started"], step["id"], 0), step["parent"], kind, step)


def _summary(run: RunProjection, steps: Iterable[wire.Step]) -> str:
    """The panel's first line: where the run was routed, and how often each tool was called."""
    parts = [_route(route, confidence) for route, confidence in list(run.calls.routes.items())[:_NAMES]]
    names = Counter(step["tool"] for step in steps if step["tool"] is not None)
    parts += [f"{count:,}× {_name(name)}" for name, count in list(names.items())[:_NAMES]]
    if len(names) > _NAMES:
        parts.append(f"{len(names) - _NAMES:,} more tools")
    if not names:
        parts.append(f"{len(run.calls.models):,}× model")
    return " · ".join(["Tool trace", *parts])


def _route(route: str, confidence: float | None) -> str:
    return one_line(route, _NAME_LIMIT) + ("" if confidence is None else f" ({confidence:.0%})")


def _name(tool: str | None) -> str:
    return one_line(tool or "", _NAME_LIMIT) or "tool"


class _Drawing:
    """Draws rows as a list in lists, and keeps count of what their bodies take.

    Attributes:
        without: How many rows had to go without their body.
    """

    def __init__(self, run: RunProjection, rows: Sequence[_Row]) -> None:
        self._run = run
        self._rows = rows
        self.without = 0
        self._left = MAX_BODIES
        self._tools: tuple[ToolOffer, ...] = ()
        self._spending = Spending(run)
        self._spent = self._spending.of_agents({row.step["id"]: row.parent for row in rows if row.kind == "agent" and row.step})
        ends = [row.started + (_seconds(row) or 0.0) for row in rows]
        self._whole = max([run.calls.ended or 0.0, *ends])

    def html(self) -> str:
        """All rows."""
        pieces: list[str] = []
        before = -1
        for depth, row in _nested(self._rows):
            if depth > before:
                pieces.append("<ul>" if depth else '<ul class="ac-calls">')
            else:
                pieces.append("</li>" + "</ul></li>" * (before - depth))
            pieces.append(self._row(row))
            before = depth
        pieces.append("</li></ul>" * (before + 1))
        return "".join(pieces)

    def _row(self, row: _Row) -> str:
        """A row as the beginning of a list item: the rows under it come before its end."""
        if row.model is not None:
            cost = self._spending.of(row.model)
            line = "model", _model_came(row.model), row.model.state, row.model.usage, cost
            body = self._model_body(row.model)
        else:
            step = row.step
            assert step is not None  # noqa: S101 - for the type checker: a row has the one or the other
            line = self._step_line(step)
            body = _step_body(step)
        name, came, state, usage, cost = line
        failed = state == "failed"
        sign = "✕ " if failed else ""
        words = tag("span", f"{sign}{html_text(name)} ", tag("span", html_words(came), class_="ac-faint"), class_="ac-name")
        seconds = _seconds(row)
        facts = f"{short_duration_text(seconds or 0.0):>7} {_tokens(usage):>13}"
        if self._spending.tells_costs:
            facts += f" {'' if cost is None else money_text(cost):>9}"
        columns = tag("span", words, " ", self._bar(row, failed=failed), " ", tag("span", facts, class_="ac-num"), class_="ac-cols")
        kind = "ac-failed" if failed else None
        if len(body) > self._left:
            self.without += 1
            body = ""
        self._left -= len(body)
        if body:
            body = tag("div", body, class_="ac-body")
            return _opening("li", kind) + tag("details", tag("summary", columns), body, open=failed)
        return _opening("li", f"{kind} ac-shut" if kind else "ac-shut") + columns

    def _bar(self, row: _Row, *, failed: bool) -> str:
        whole, seconds = self._whole, _seconds(row) or 0.0
        left = min(97.0, max(0.0, 100 * row.started / whole)) if whole > 0 else 0.0
        width = min(100 - left, max(0.0, 100 * seconds / whole)) if whole > 0 else 0.0
        kind = "failed" if failed else row.kind
        when = f"at {row.started:.1f}s"  # for who hears it, and for a page without styles
        line = tag("i", when, class_=f"ac-{kind}", style=f"margin-left:{left:.1f}%;width:{width:.1f}%")
        return tag("span", line, class_="ac-bar", title=f"{row.started:.1f}s to {row.started + seconds:.1f}s")

    def _step_line(self, step: wire.Step) -> tuple[str, str, StepState, Usage | None, Decimal | None]:
        """Name, what came of it, state, tokens and cost of a tool call or a sub-agent."""
        state = step["state"]
        if step["kind"] == "agent":
            came = f"sub-agent → {step['detail']}" if step["detail"] else "sub-agent"
            return step["text"], came, state, *self._spent.get(step["id"], (None, None))
        return _name(step["tool"]), self._tool_came(step), state, None, None

    def _tool_came(self, step: wire.Step) -> str:
        if step["kind"] == "note":
            return "" if step["text"] == step["tool"] else step["text"]
        if step["state"] == "cancelled":
            return f"→ stopped{': ' * bool(step['detail'])}{step['detail']}"
        if step["state"] == "failed":
            return f"→ {step['detail'] or 'failed'}"
        said = step["detail"].removesuffix(f" from `{step['tool']}`").removeprefix("Found ").removeprefix("Got ")
        return f"→ {said or _value_line(self._run.steps.row(step['id']).result)}"

    def _model_body(self, model: ModelRow) -> str:
        parts: list[str] = []
        if model.usage is not None:
            parts += labelled("tokens", _split(model.usage))
        cost = self._spending.words_for(model)
        if cost:
            parts += labelled("cost", cost)
        if model.model:
            parts += labelled("model", one_line(model.model, LINE_LIMIT))
        # What the run's own agent answers stands above the panel already.
        if model.text.length and (_asked(model) or model.parent is not None):
            parts += labelled("out", _whole_text(model.text))
        if model.error:
            parts += labelled("error", model.error)
        html = tag("dl", *parts) if parts else ""
        return html + self._thinking(model) + self._tools_seen(model.tools)

    def _thinking(self, model: ModelRow) -> str:
        steps = self._run.steps
        rows = [row for row in steps.thoughts.get(model.id, ()) if row >= model.place]
        texts = [str(text) for text in map(steps.thinking_text, rows) if text]
        if texts:
            return _folded("thinking", cut("\n\n".join(texts), BODY_LIMIT))
        return tag("p", "its thinking is kept private by the provider", class_="ac-faint") if rows else ""

    def _tools_seen(self, tools: tuple[ToolOffer, ...]) -> str:
        if not tools:
            return ""
        many = f"{len(tools):,} tool{'' if len(tools) == 1 else 's'}"
        if tools == self._tools:
            return tag("p", f"saw the same {many}", class_="ac-faint")
        self._tools = tools
        lines = (" — ".join(filter(None, (_name(tool.name), one_line(tool.description, LINE_LIMIT)))) for tool in tools)
        return _folded(f"saw {many}", cut("\n".join(lines), BODY_LIMIT))


def _nested(rows: Iterable[_Row]) -> Iterator[tuple[int, _Row]]:
    """Each row with its depth, those under a row right behind it; a row whose parent is not here stands at the top."""
    rows = list(rows)
    known = {row.step["id"] for row in rows if row.step is not None}
    under: dict[int | None, list[_Row]] = {}
    for row in rows:
        under.setdefault(row.parent if row.parent in known else None, []).append(row)
    waiting = [(0, row) for row in reversed(under.get(None, ()))]
    while waiting:
        depth, row = waiting.pop()
        yield depth, row
        if row.step is not None:
            deeper = min(depth + 1, MAX_DEPTH)
            waiting += [(deeper, child) for child in reversed(under.get(row.step["id"], ()))]


def _opening(name: str, kind: str | None) -> str:
    return f'<{name} class="{kind}">' if kind else f"<{name}>"


def _seconds(row: _Row) -> float | None:
    """How long it took; None for what has a moment only."""
    if row.model is not None:
        return None if row.model.ended is None else max(0.0, row.model.ended - row.started)
    return row.step["elapsed"] if row.step is not None and row.step["kind"] != "note" else None


def _asked(model: ModelRow) -> int:
    return model.seen if model.asked is None else model.asked


def _model_came(model: ModelRow) -> str:
    asked = _asked(model)
    match model.state:
        case "failed":
            return f"→ {one_line(model.error, LINE_LIMIT) or 'failed'}"
        case "cancelled" | "running":
            return "broke off" if model.error else "stopped"
        case _ if asked:
            return f"asks for {asked:,} tool{'' if asked == 1 else 's'}"
        case _:
            return "answers"


def _step_body(step: wire.Step) -> str:
    body = step["body"]
    if step["state"] == "failed" and step["detail"] and "<dt>error</dt>" not in body:  # a long one is there already
        body += tag("dl", *labelled("error", step["detail"]))
    return body


def _whole_text(text: Beginning) -> str:
    more = text.length - len(str(text))
    return f"{text}\n… {more:,} more characters" if more else str(text)


def _folded(summary: str, text: str) -> str:
    return tag("details", tag("summary", summary), tag("pre", html_text(text)))


def _tokens(usage: Usage | None) -> str:
    return f"{usage.total_tokens:,} tokens" if usage is not None else ""


def _split(usage: Usage) -> str:
    parts = ((usage.input_tokens, "in"), (usage.output_tokens, "out"), (usage.cache_read_tokens, "cached"))
    more = ((usage.cache_write_tokens, "put into the cache"), (usage.reasoning_tokens, "reasoning"))
    return " · ".join(f"{count:,} {what}" for count, what in parts + tuple(one for one in more if one[0]))


def _value_line(value: Any) -> str:
    """A result in a few words."""
    match value:
        case None:
            return "nothing"
        case str():
            return one_line(value, _SHORT) or "an empty text"
        case list():
            return f"{len(value):,} item{'' if len(value) == 1 else 's'}"
        case dict():
            some = ((key, value[key]) for key in list(value)[:3])
            inner = (f"{key}: {_value_line(one) if not isinstance(one, dict) else '{…}'}" for key, one in some)
            return one_line(", ".join(inner) + (", …" if len(value) > 3 else ""), _SHORT) or "{}"
        case bool():
            return "yes" if value else "no"
        case _:
            return str(value)
