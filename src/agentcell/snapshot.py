"""A run as something to keep: HTML without scripts, plain text, markdown.

The HTML goes into the notebook's file. It must be readable when a sanitizer has taken away what it likes (styles, classes,
details), in light and in dark pages; so it sets no text colour, uses only inline styles that JupyterLab's sanitizer keeps, and says
in words what the live view says by shape and colour.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentcell.markup import html_text, html_words, showable, tag
from agentcell.redact import plain
from agentcell.render import LINE_LIMIT, cut, one_line, running_title
from agentcell.text.duration import short_duration_text
from agentcell.view import ANSWER_LIMIT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from agentcell import wire
    from agentcell.run import Run

MAX_ROWS = 500
"""Rows that a snapshot holds; of more, the newest."""

MAX_BODIES = 120_000
"""Characters of bodies, all rows together, that a snapshot holds; later rows go without."""

# MathJax 3 and later, as in JupyterLab, and MathJax 2, as in nbconvert's pages, pass over what has the class that each was taught.
# An agent's `$5 and $10` is money, and the live view shows it so.
_CLASSES = "agentcell-snapshot mathjax_ignore tex2jax_ignore"
_DIM = "opacity:0.75"
_ROOT = "max-width:60em;overflow-wrap:break-word;margin:0;padding:4px 0;font-size:13px;line-height:1.54;text-align:left"
_HEAD = "padding:2px 0"
_ANSWER = "margin:8px 0 4px 0;font-size:14px;max-width:80ch"
_OPENABLE = "list-style:none;margin-left:-15px"  # the triangle stands where the bullet would
_LIST = "margin:4px 0 8px 0;padding-left:22px"
_UNDER = "margin:4px 0 4px 22px"
_SCROLL = "overflow-x:auto;max-width:100%"
_PRE = (
    "overflow-x:auto;margin:0 0 8px 0;padding:8px 12px;border-radius:6px;background:rgba(127,127,127,0.1);font-size:13px;"
    "line-height:1.54;word-break:normal"
)
_QUOTE = "margin:0 0 8px 0;padding-left:12px;border-left:2px solid rgba(127,127,127,0.4)"
_CELL = "padding:3px 14px 3px 0;line-height:1.54;border:none;border-bottom:1px solid rgba(127,127,127,0.3);background:rgba(0,0,0,0)"
# The answer's HTML was made by us, so its tags have these very forms. A host has styles of its own for them; with ours the answer
# looks as it did while it was live, and nothing moves when it takes the widget's place.
_STYLES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"<p>"), '<p style="margin:0 0 8px 0">'),
    (re.compile(r"<(h[1-6])>"), r'<\1 style="margin:16px 0 8px 0;font-size:1.1em;font-weight:bold">'),
    (re.compile(r"<(ul|ol)( start=\"\d+\")?>"), r'<\1\2 style="margin:0 0 8px 0;padding-left:22px">'),
    (re.compile(r"<dl>"), '<dl style="margin:4px 0 8px 0">'),
    (re.compile(r"<dt>"), f'<dt style="float:none;width:auto;font-weight:normal;{_DIM}">'),
    (re.compile(r"<dd><pre>"), f'<dd style="float:none;width:auto;margin:0"><pre style="{_PRE};white-space:pre-wrap">'),
    (re.compile(r"<pre>"), f'<pre style="{_PRE};white-space:pre">'),
    # JupyterLab folds the lines of code, whatever the `pre` around it says.
    (re.compile(r"(<pre[^>]*><code)"), r'\1 style="background:rgba(0,0,0,0);padding:0;white-space:pre"'),
    (re.compile(r'<div class="ac-scroll">'), f'<div class="ac-scroll" style="{_SCROLL}">'),
    (re.compile(r"<table>"), '<table style="border-collapse:collapse;margin:0 0 8px 0;font-size:13px">'),
    (re.compile(r"<tr>"), '<tr style="background:rgba(0,0,0,0)">'),  # else JupyterLab stripes them
    # JupyterLab's own style puts cells to the right, whatever their `align` says.
    (re.compile(r"<(t[hd])>"), rf'<\1 style="{_CELL};text-align:left">'),
    (re.compile(r'<(t[hd]) align="([a-z]+)">'), rf'<\1 align="\2" style="{_CELL};text-align:\2">'),
    (
        re.compile(r"<blockquote>"),
        f'<blockquote style="{_QUOTE}">',
    ),
)
# What the trace panel's classes look like, likewise.
_PANEL: Mapping[str, str] = {
    "ac-trace": "margin:8px 0 4px 0;font-size:12px;font-family:ui-monospace,Menlo,monospace",
    "ac-calls": "max-height:280px;overflow:auto;list-style:none;margin:0;padding-left:22px;border-top:1px solid rgba(127,127,127,0.3)",
    "ac-shut": "padding:3px 0;list-style:circle",
    "ac-cols": "display:inline-flex;width:100%;align-items:center;gap:8px",
    "ac-name": "flex:1;overflow:hidden;white-space:nowrap;text-overflow:ellipsis",
    "ac-bar": "flex:0 0 112px;background:rgba(127,127,127,0.15);font-size:0",
    "ac-num": f"white-space:pre;{_DIM}",
    "ac-faint": _DIM,
}
_SUMMARY = "list-style-position:outside;padding:3px 0"
_BARS: Mapping[str, str] = {"tool": "#5585d6", "model": "#8c8c8c", "agent": "#8c8c8c", "failed": "#c4453c"}
_MARKS: Mapping[str, tuple[str, str]] = {"failed": ("✕", "#c4453c"), "cancelled": ("■", "#808080"), "limited": ("■", "#b7791f")}

_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ margin: 0 auto; padding: 24px; max-width: 60em; font: 14px/1.5 system-ui, sans-serif; }}
pre, code {{ font-family: ui-monospace, "SF Mono", Menlo, "DejaVu Sans Mono", monospace; font-size: 12.5px; }}
p, li {{ overflow-wrap: anywhere; }}
summary {{ cursor: pointer; min-height: 24px; }}
</style>
<body>
{body}
</body>
</html>
"""


def snapshot_html(run: Run, *, standalone: bool = False) -> str:
    """The run as it is now, as HTML without scripts; with `standalone` a whole page.

    Rows and the block are open where the reader has opened them.
    """
    view = run.view
    view.refresh()
    header, steps, blocks = view.header, view.steps, view.blocks
    opened = run.opened
    task = one_line(plain(run.options.task, redact=run.options.redact), LINE_LIMIT) or None
    heading = tag("summary" if steps else "div", _heading(header), title=task, style=_HEAD)
    if steps:
        heading = tag("details", heading, _rows(steps, opened), open=_is_open(run, header, opened))
    parts = [heading]
    if header["sentence"]:
        parts.append(tag("p", html_words(header["sentence"]), style=_UNDER))
    if header["status"] not in ("idle", "complete"):
        parts.append(tag("p", tag("em", "This was saved before the run had ended."), style=f"{_UNDER};{_DIM}"))
    if blocks:
        parts.append(tag("div", _styled("".join(blocks)), class_="ac-answer", dir="auto", style=_ANSWER))
    if view.trace:
        parts.append(_styled_panel(view.trace))
    html = tag("div", *parts, class_=_CLASSES, style=_ROOT)
    if not standalone:
        return html
    return _PAGE.format(title=html_text(run.options.task or "Agent run"), body=_question(run) + html)


def snapshot_text(run: Run, *, rows: bool = True) -> str:
    """The run as it is now, as plain text; without `rows` only its heading, how it ended and the answer."""
    view = run.view
    view.refresh()
    header, steps = view.header, view.steps
    depths = _depths(steps)
    lines = [running_title(header)]
    if rows:
        lines += _earlier(steps)
        lines += [f"  {'  ' * depths[step['id']]}• {row_words(step)}" for step in _newest(steps)]
    if header["sentence"]:
        lines.append(header["sentence"])
    answer = cut(run.answer_text.strip("\n"), ANSWER_LIMIT)
    return showable("\n".join(lines) + (f"\n\n{answer}" if answer else ""))


def snapshot_markdown(run: Run) -> str:
    """The run as it is now, as markdown: heading, bullets, and the whole answer as it was written, pictures and HTML in it too."""
    view = run.view
    view.refresh()
    header, steps = view.header, view.steps
    depths = _depths(steps)
    lines = [f"**{_escaped(header['title'])}**" + (f" · {_escaped(header['facts'])}" if header["facts"] else "")]
    if steps:
        lines += ["", *_earlier(steps)]
        lines += [f"{'  ' * depths[step['id']]}- {_escaped(row_words(step))}" for step in _newest(steps)]
    if header["sentence"]:
        lines += ["", f"*{_escaped(header['sentence'])}*"]
    answer = run.answer_text.strip("\n")
    return showable("\n".join(lines) + (f"\n\n{answer}\n" if answer else "\n"))


def _question(run: Run) -> str:
    return tag("p", tag("b", html_text(f"{run.options.asker}: ")), html_text(run.options.task)) if run.options.task else ""


def _heading(header: wire.Header) -> str:
    mark, colour = _MARKS.get(header["outcome"] or "", ("", ""))
    sign = tag("span", mark, style=f"color:{colour}") + " " if mark else ""
    facts = tag("span", html_text(f" · {header['facts']}"), style=_DIM) if header["facts"] else ""
    return f"{sign}{tag('b', html_text(header['title']))}{facts}"


def _is_open(run: Run, header: wire.Header, opened: Mapping[int | None, bool]) -> bool:
    if None in opened:
        return opened[None]
    if run.options.expand != "auto":
        return run.options.expand == "open"
    # What the reader has opened, and what failed, would be out of sight in a folded block.
    return header["status"] in ("idle", "reasoning") or header["outcome"] == "failed" or any(opened.values())


def _rows(steps: Iterable[wire.Step], opened: Mapping[int | None, bool]) -> str:
    shown = _newest(list(steps))
    children: dict[int | None, list[wire.Step]] = {}
    known = {step["id"] for step in shown}
    for step in shown:
        parent = step["parent"]
        children.setdefault(parent if parent in known else None, []).append(step)
    left = MAX_BODIES

    def row(step: wire.Step) -> str:
        nonlocal left
        words = _row_html(step)
        body = step["body"] if len(step["body"]) <= left else ""
        left -= len(body)
        if step["kind"] == "thinking" and body:
            body = tag("div", body, style="white-space:pre-wrap;margin:4px 0 8px 0;" + _DIM)
        if body:
            words = tag("details", tag("summary", words), _styled(body), open=opened.get(step["id"], False))
        elif step["body"]:
            words += tag("span", " (its input and output are left out here)", style=_DIM)
        nested = children.get(step["id"])
        return tag("li", words, rows(nested) if nested else "", style=_OPENABLE if body else None)

    def rows(some: list[wire.Step]) -> str:
        return tag("ul", *(row(step) for step in some), style=_LIST)

    hidden = len(list(steps)) - len(shown)
    note = tag("p", f"… {hidden:,} earlier steps", style=f"margin:4px 0 0 22px;{_DIM}") if hidden else ""
    return note + rows(children.get(None, []))


def _row_html(step: wire.Step) -> str:
    text = html_words(step["text"])
    if step["state"] == "failed":
        text = tag("span", "✕ ", style=f"color:{_MARKS['failed'][1]}") + tag("b", text)
    elif step["kind"] == "agent":
        text = tag("b", text)
    rest = html_words(_row_rest(step))
    return text + (tag("span", rest, style=_DIM) if rest else "")


def row_words(step: wire.Step) -> str:
    """A row as plain text."""
    return step["text"] + _row_rest(step)


def _row_rest(step: wire.Step) -> str:
    """What stands faint behind a row's text: what came of it, how it ended if not well, and how long it took."""
    detail = f" — {step['detail']}" if step["detail"] else ""
    state = {"cancelled": " · stopped", "running": " · running"}.get(step["state"], "")
    took = short_duration_text(step["elapsed"]) if step["elapsed"] is not None else ""
    return f"{detail}{state}{f' · {took}' if took else ''}"


def _newest(steps: Iterable[wire.Step]) -> list[wire.Step]:
    return list(steps)[-MAX_ROWS:]


def _earlier(steps: Sequence[wire.Step]) -> list[str]:
    """A line for the rows that are left out."""
    return [f"  … {len(steps) - MAX_ROWS:,} earlier steps"] if len(steps) > MAX_ROWS else []


def _depths(steps: Iterable[wire.Step]) -> dict[int, int]:
    depths: dict[int, int] = {}
    for step in steps:
        parent = step["parent"]
        depths[step["id"]] = 0 if parent is None else depths[parent] + 1
    return depths


def _styled(html: str) -> str:
    for pattern, styled in _STYLES:
        html = pattern.sub(styled, html)
    return html


def _styled_panel(html: str) -> str:
    """The trace panel with styles in the place of its classes; in its texts every quote is escaped, so it has no such words."""
    html = re.sub(
        r'<i class="ac-([a-z]+)" style="',
        lambda found: f'<i style="display:block;height:6px;min-width:3px;background:{_BARS[found[1]]};',
        html,
    )
    html = re.sub(r'class="(?:ac-failed )?(ac-[a-z]+)"', lambda found: _panel_style(found[1]), html)
    html = html.replace("<ul>", '<ul style="list-style:none;margin:0;padding-left:22px">').replace(
        "<summary>", f'<summary style="{_SUMMARY}">'
    )
    return _styled(html.replace(_SUMMARY, f"{_SUMMARY};margin-left:22px;{_DIM}", 1))


def _panel_style(name: str) -> str:
    return f'style="{_PANEL[name]}"' if name in _PANEL else ""


def _escaped(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>#|~])", r"\\\1", text)
