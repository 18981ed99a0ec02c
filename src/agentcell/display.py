"""watch(): a run that is shown where this code runs: as a widget in a notebook, as lines in a terminal, or not at all."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from agentcell.cell_output import CellOutput
from agentcell.console import sent_by_console
from agentcell.errors import describe, must_be_count, must_be_flag, must_be_one_of, must_be_text
from agentcell.marimo import MarimoSurface, running_marimo
from agentcell.options import RunOptions
from agentcell.pacer import PACER, Pacer
from agentcell.projections.status import compose_templates, validate_templates
from agentcell.redact import Redact, mask_secrets
from agentcell.run import Run, Surface
from agentcell.shelf import SHELF, Shelf
from agentcell.snapshot import snapshot_html, snapshot_text
from agentcell.terminal import TextSurface

if TYPE_CHECKING:
    from collections.abc import Callable

AGAIN = 1.0
"""Seconds after the end until the final output is sent once more: a server that was flooded may have dropped the first."""


def watch(
    task: str = "",
    *,
    agent: str = "Agent",
    model: str | None = None,
    asker: str = "you",
    live_steps: int = 4,
    expand: Literal["auto", "open", "closed"] = "auto",
    thinking: Literal["show", "hide"] = "show",
    split: Literal["auto", "off"] = "auto",
    images: Literal["link", "all"] = "link",
    persist: Literal["snapshot", "widget"] = "snapshot",
    expand_trace: bool = False,
    auto: bool = True,
    redact: Redact = mask_secrets,
    templates: Mapping[str, str] | None = None,
    display: bool = True,
    clock: Callable[[], float] = time.monotonic,
) -> Run:
    """A run to be watched: `with agentcell.watch("Why is checkout slow?") as run:`.

    Args:
        task: What the agent is asked to do.
        agent: The agent's name.
        model: The model's name, if one name is right for the whole run.
        asker: Who asks.
        live_steps: How many of the newest bullets show while it runs; the others are a click away.
        expand: `auto` opens the block while the agent reasons and folds it when the answer starts; `open` and `closed` keep it
            so. The reader's own click always wins.
        thinking: `hide` keeps the model's own thinking out of what is shown, and out of the log where it came apart from the text.
        split: `auto` looks for reasoning inside text (`<think>` and its like), where its source has no channel of its own for it;
            `off` takes text literally.
        images: `link` shows a picture in the answer as a link, because loading it can carry data out; `all` loads it.
        persist: What the notebook keeps at the end: `snapshot` is HTML that needs nothing; `widget` keeps the live view as well,
            which shows only as long as its kernel lives.
        expand_trace: Whether the tool trace below the answer is open from the beginning; else the reader opens it.
        auto: Whether frameworks whose hooks allow it are heard without another word; False hears only what the run is told.
        redact: Masks secrets in a text, before it enters the log.
        templates: Your own status lines, by the keys of `agentcell.projections.status.DEFAULT_TEMPLATES` or by `tool.<name>`, like
            `{"tool.search": "Looking it up…"}`.
        display: False shows nothing; the traits of `run.cell` still tell everything.
        clock: Monotonic seconds; for tests.

    Raises:
        TypeError: an option of the wrong type.
        ValueError: an option with a value that it does not know.
    """
    if not callable(redact):
        raise TypeError(f"redact must be a function that takes a text and returns one, not {describe(redact)}")
    if not callable(clock):
        raise TypeError(f"clock must be a function that returns seconds, not {describe(clock)}")
    must_be_one_of("expand", expand, ("auto", "open", "closed"))
    must_be_one_of("thinking", thinking, ("show", "hide"))
    must_be_one_of("split", split, ("auto", "off"))
    must_be_one_of("images", images, ("link", "all"))
    must_be_one_of("persist", persist, ("snapshot", "widget"))
    options = RunOptions(
        task=must_be_text("task", task),
        agent=must_be_text("agent", agent),
        model=None if model is None else must_be_text("model", model),
        asker=must_be_text("asker", asker),
        live_steps=must_be_count("live_steps", live_steps, at_least=1),
        expand=expand,
        thinking=thinking,
        split=split,
        images=images,
        persist=persist,
        expand_trace=must_be_flag("expand_trace", expand_trace),
        auto=must_be_flag("auto", auto),
        redact=redact,
        templates=None if templates is None else _checked_templates(templates),
    )
    return Run(options, clock=clock, surface=_surface() if must_be_flag("display", display) else None)


def _checked_templates(templates: object) -> Mapping[str, str]:
    if not isinstance(templates, Mapping):
        raise TypeError(f"templates must be a mapping of status lines by their keys, not {describe(templates)}")
    composed = compose_templates(templates)
    validate_templates(composed)
    return composed


def _surface() -> Surface:
    shell = _kernel_shell()
    if shell is not None:
        return TextSurface() if sent_by_console(shell) else NotebookSurface()
    marimo = running_marimo()
    return TextSurface() if marimo is None else MarimoSurface(marimo)


def _kernel_shell() -> Any:
    """IPython's shell where this is a Jupyter kernel, else None; IPython is not imported to find out."""
    if "IPython" not in sys.modules:
        return None
    from IPython import get_ipython

    shell = get_ipython()
    return shell if hasattr(shell, "kernel") else None


class NotebookSurface:
    """A run in a notebook's cell: live as a widget, and at the end as HTML in its place, in every page that shows it.

    A page that has run the cell is told to replace the output, by the name that Jupyter gave it. One that has not (it was reloaded
    meanwhile, the cell was copied or moved, it is a second page on the notebook) knows no such name: there the widget does it, so it
    is closed only when it is out of sight for long. An output that was cleared meanwhile is shown anew.
    """

    def __init__(self, *, pacer: Pacer = PACER, shelf: Shelf = SHELF) -> None:
        self._pacer = pacer
        self._shelf = shelf
        self._output: CellOutput | None = None

    def open(self, run: Run) -> None:
        """Shows the widget, with an HTML and a text version beside it for where no widget can be."""
        data, metadata = run.cell._repr_mimebundle_()
        self._output = CellOutput(data, metadata=metadata)
        # It takes a tenth of a second: as a part of the first answer's flush it would make the pacer rest for a whole one.
        self._pacer.later(0.0, run.view.make_ready)

    def close(self, run: Run) -> None:
        """Puts the final output in the widget's place, now and once more a second later."""
        output = self._output
        if output is None:
            return
        data, metadata = _final(run)
        show = output.show_anew if output.cleared or run.reach.gone else output.replace
        output.let_go()
        show(data, metadata=metadata)
        self._pacer.later(AGAIN, lambda: self._settle(run, output))

    def before_asking(self) -> None:
        """Nothing: a page shows what is new within a moment, and the question elsewhere."""

    def _settle(self, run: Run, output: CellOutput) -> None:
        # Where the page has said that it came, showing it once more would only close what the reader has opened in it meanwhile.
        if not run.reach.delivered:
            data, metadata = _final(run)
            output.replace(data, metadata=metadata)
        if run.options.persist == "snapshot":
            # Not before: the page that ran the cell has had the time to say that the notebook holds the end.
            run.cell.end_with(lambda: _final(run)[0])
        self._shelf.put(run, output)


def _final(run: Run) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the notebook keeps of a run, and its metadata."""
    bundle: dict[str, Any] = {"text/html": snapshot_html(run), "text/plain": snapshot_text(run)}
    if run.options.persist == "snapshot":
        return bundle, {}
    data, metadata = run.cell._repr_mimebundle_()
    return {**data, **bundle}, metadata
