"""AgentCell: the widget in the cell. It has the traits, sends the patches and takes the reader's actions."""

from __future__ import annotations

import threading
import uuid
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, cast

import anywidget
import traitlets

from agentcell import wire
from agentcell.actions import DESK, interrupt_kernel, running_cell
from agentcell.cost import PRICES
from agentcell.markup import showable
from agentcell.pacer import PACER, Pacer

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentcell.run import Run
    from agentcell.view import ViewModel


class Projected(traitlets.TraitType[Any, Any]):
    """A trait that tells the truth whenever it is read: it asks the run, and its observers hear when the answer is another one."""

    def __init__(self, default: Any, read: Callable[[AgentCell], Any], help: str) -> None:  # noqa: A002 - traitlets' own word
        super().__init__(default, read_only=True, help=help)
        self._read = read

    def get(self, obj: Any, cls: Any = None) -> Any:
        """The value now."""
        obj.bring_up_to_date(self.name)
        return super().get(obj, cls)

    def read(self, cell: AgentCell) -> Any:
        """The value as the run has it."""
        return self._read(cell)


def _header(key: str) -> Callable[[AgentCell], Any]:
    return lambda cell: cast("dict[str, Any]", cell.view.header)[key]


@cache
def _static(name: str) -> str:
    # As text, not as a path: anywidget would watch a path in a development checkout from a thread of its own.
    return resources.files("agentcell").joinpath("static").joinpath(name).read_text(encoding="utf-8")


class AgentCell(anywidget.AnyWidget):
    """One run, live in a notebook's cell; and, without any notebook, the traits that a test asserts.

    `status` and `outcome` change at once. The other traits are brought up to date when a flush is due and whenever they are read,
    so a read right after a call already tells the truth. All are read-only, and none is sent when it changes: patches carry them.
    """

    _esm = traitlets.Unicode().tag(sync=True)
    _css = traitlets.Unicode().tag(sync=True)

    @traitlets.default("_esm")
    def _default_esm(self) -> str:
        return _static("widget.js")

    @traitlets.default("_css")
    def _default_css(self) -> str:
        return _static("widget.css")

    run_id = traitlets.Unicode(help="Who is meant by an action from the browser.").tag(sync=True)
    protocol = traitlets.Int(wire.PROTOCOL_VERSION, help="The version of the messages.").tag(sync=True)
    seq = traitlets.Int(0, help="The number of patches sent so far.").tag(sync=True)
    task = traitlets.Unicode(help="What the agent was asked to do.").tag(sync=True)
    live_steps = traitlets.Int(4, help="How many of the newest rows show while it runs.").tag(sync=True)
    expand = traitlets.Unicode("auto", help="`auto`, `open` or `closed`: whether the block shows its rows.").tag(sync=True)

    status = Projected("idle", lambda cell: cell.run.status, "`idle`, `reasoning`, `collapsed` or `complete`.").tag(sync=True)
    outcome = Projected(
        None, lambda cell: cell.run.outcome, "`answered`, `failed`, `cancelled` or `limited`; None before the end."
    ).tag(sync=True)
    elapsed_seconds = Projected(0.0, lambda cell: round(cell.run.elapsed_seconds, 3), "Seconds spent reasoning.").tag(sync=True)
    clock = Projected("stopped", _header("clock"), "Whether the clock is `running` or `stopped`.").tag(sync=True)
    title = Projected("Reasoning", _header("title"), "The header's words, like `Thought for 12s`.").tag(sync=True)
    facts = Projected("", _header("facts"), "Faint words behind the title, like `2 tools · 3.1k tokens`.").tag(sync=True)
    status_line = Projected("", _header("status_line"), 'What goes on now, in one line; "" for nothing.').tag(sync=True)
    sentence = Projected("", _header("sentence"), 'Why it ended without an answer; "" when it has one.').tag(sync=True)
    stop = Projected("none", _header("stop"), "`ready` when the reader can stop the run, `stopping` once that was asked.").tag(
        sync=True
    )
    questions = Projected([], _header("questions"), "What the reader may answer now (`wire.Question`).").tag(sync=True)
    steps = Projected([], lambda cell: cell.view.steps, "All rows (`wire.Step`), the whole history.").tag(sync=True)
    blocks = Projected([], lambda cell: cell.view.blocks, "The answer as blocks of safe HTML.").tag(sync=True)
    trace = Projected("", lambda cell: cell.view.trace, 'The trace panel as safe HTML; "" until the end.').tag(sync=True)
    answer = Projected("", lambda cell: cell.run.answer_text, "The answer as markdown; it stays in Python.")
    usage = Projected({}, lambda cell: cell.read_usage(), "Tokens and cost, like `input_tokens` and `cost`; it stays in Python.")

    run: Run
    view: ViewModel

    def __init__(self, run: Run, *, pacer: Pacer = PACER) -> None:
        self.run = run
        self.view = run.view
        self._pacer = pacer
        self._final: Callable[[], dict[str, str]] | None = None
        self._reading = threading.local()
        self._sending = threading.RLock()
        self._will_look = False
        self._opened = False
        options = run.options
        # Before the model opens, so that the first message holds the truth.
        self._ready = True
        self.view.refresh()
        self.view.take_patch()
        for name in _PROJECTED:
            self.bring_up_to_date(name, fresh=True)
        run_id = uuid.uuid4().hex
        # Before a page hears of it: what the page says at once is taken, and answered when the model is open.
        self._in_kernel = DESK.register(run_id, self)
        self._made_in = running_cell()
        super().__init__(
            model_id=run_id,  # one name on both sides: the browser finds the views in a notebook by it
            run_id=run_id,
            task=showable(options.task),
            live_steps=options.live_steps,
            expand=options.expand,
        )
        self._own_layout = self.layout
        _answer_on_any_shell(self.comm)
        self.on_msg(self._take_message)
        run.subscribe(self)
        # From the run's start to its end: a run that is never entered has no heart.
        self._looked_after = run.status not in ("idle", "complete")
        if self._looked_after:
            pacer.add(self)
        self._opened = True
        if run.reach.seen:
            self.has_news()

    # What the run tells

    def state_changed(self) -> None:
        """Called by the run, in the thread of whoever made it change: `status` and `outcome` are true at once."""
        self.bring_up_to_date("status")
        self.bring_up_to_date("outcome")
        if self.run.outcome is not None:
            self._pacer.remove(self)
        elif not self._looked_after:
            self._looked_after = True
            self._pacer.add(self)

    def has_news(self) -> None:
        """Called by the run, in the agent's thread: only says that a flush is due."""
        if self._opened:
            self._pacer.wake(self)

    # What the pacer asks

    def flush(self) -> bool:
        """Brings all traits up to date and sends one patch with what changed, if anything did."""
        with self._sending:
            self.view.refresh(prices=False)
            if self.view.awaits_prices:
                PRICES.load_aside(self.has_news)
            for name in _PROJECTED:
                self.bring_up_to_date(name, fresh=True)
            patch = self.view.take_patch()
            if patch:
                self.seq += 1
                message: wire.PatchMessage = {"type": "patch", "seq": self.seq, "patch": patch}
                self.send(message)
            self._look_again()
            return bool(patch)

    def send_all(self) -> None:
        """Sends all traits: what patches have brought, and what they would bring next."""
        with self._sending:
            self.view.refresh(prices=False)
            self.view.take_patch()
            for name in _PROJECTED:
                self.bring_up_to_date(name, fresh=True)
            self.send_state(list(wire.View.__annotations__))
            self._look_again()

    def beat(self) -> None:
        """Says that the run lives, and how long it has been thinking."""
        with self._sending:
            message: wire.Heartbeat = {
                "type": "heartbeat",
                "seq": self.seq,
                "elapsed_seconds": self.elapsed_seconds,
            }
            self.send(message)

    # What becomes of it after the end

    def end_with(self, final: Callable[[], dict[str, str]]) -> None:
        """Has the views that are in a page, and from now on each that comes, replaced there by a bundle of HTML and text."""
        self._final = final
        if self.run.reach.seen:
            self._send_end()

    def _send_end(self) -> None:
        if self._final is None:
            return
        output = {"output_type": "display_data", "data": self._final(), "metadata": {}}
        message: wire.EndMessage = {"type": "end", "output": output, "quiet": self.run.reach.delivered}
        self.send(message)

    def close(self) -> None:
        """Ends the widget, here and in all pages; the traits stay, and what is shown of it from now on is HTML."""
        super().close()
        self.__dict__.pop("_repr_mimebundle_", None)  # ipywidgets takes it away, and with it the HTML
        if self.layout is self._own_layout:
            self.layout.close()

    # What the browser does

    def hear(self) -> None:
        """Something comes from the browser, by this thread."""
        self.run.reach.hear()

    def act(self, action: dict[str, Any]) -> None:
        """Does an action of the reader; comes from any thread, the busy one's event loop among them, and must not keep it."""
        run = self.run
        match action:
            case {"type": "open", "row": int() | None as row, "open": bool(is_open)}:
                run.opened[row] = is_open
            case {"type": "hello", "view": str(view)}:
                run.reach.arrive(view)
                self.has_news()
                if self._final is not None:
                    self._pacer.later(0.0, self._send_end)
            case {"type": "left", "view": str(view)}:
                run.reach.leave(view, over=run.outcome is not None)
                self.has_news()
            case {"type": "stop", "again": True} if run.stopping:
                if run.outcome is None:
                    interrupt_kernel(self._made_in)
            case {"type": "stop", "again": bool()}:
                run.stop()
            case {"type": "answer", "question": str(question), "choice": int() | None as choice, "text": str(text)}:
                run.questions.answer(question, choice, text)
            case {"type": "resync"}:
                self.send_all()
            case _:
                pass

    def _take_message(self, _widget: Any, content: Any, _buffers: Any) -> None:
        DESK.take(self.run_id, content)

    def _look_again(self) -> None:
        """Sees to it that a line which was held back is sent later, whether or not anything else happens."""
        wait = self.view.look_again
        if wait is not None and not self._will_look:
            self._will_look = True
            self._pacer.later(wait, self._look)

    def _look(self) -> None:
        self._will_look = False
        self.has_news()

    # Traits

    def bring_up_to_date(self, name: str, *, fresh: bool = False) -> None:
        """Asks the run for a trait's value and tells the observers when it is another one.

        Args:
            name: The trait.
            fresh: Whether the view was refreshed a moment ago.
        """
        if not self._is_ready() or name in self._being_read():
            return
        self._being_read().add(name)
        try:
            if not fresh and name in _VIEWED:
                self.view.refresh(prices=name in _PRICED)
            self.set_trait(name, _PROJECTED[name].read(self))
        finally:
            self._being_read().discard(name)

    def read_usage(self) -> dict[str, Any]:
        """The run's usage as a dict; `cost` is in US dollars, None for unknown."""
        usage, cost = self.run.usage, self.view.cost
        names = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens", "total_tokens")
        return {**{name: getattr(usage, name) for name in names}, "cost": None if cost is None else cost.amount}

    def _is_ready(self) -> bool:
        return bool(self.__dict__.get("_ready", False))

    def _being_read(self) -> set[str]:
        names: set[str] | None = getattr(self._reading, "names", None)
        if names is None:
            names = self._reading.names = set()
        return names

    def _should_send_property(self, key: str, value: Any) -> bool:  # noqa: ARG002 - ipywidgets' own
        """Nothing is sent when it changes: patches carry it, and `send_state` sends all when all is asked for."""
        return False

    def _repr_mimebundle_(self, **_options: Any) -> Any:
        if self._in_kernel:
            self.run.reach.expect()
        bundle: Any = super()._repr_mimebundle_() if self.comm is not None else {}
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        return {**(data or {}), "text/plain": self.run.to_text(), "text/html": self.run.to_html()}, metadata


_PROJECTED: dict[str, Projected] = {name: trait for name, trait in AgentCell.class_traits().items() if isinstance(trait, Projected)}
_VIEWED = frozenset(
    {"clock", "title", "facts", "status_line", "sentence", "stop", "questions", "steps", "blocks", "trace", "usage"},
)
_PRICED = frozenset({"facts", "trace", "usage"})


def _answer_on_any_shell(comm: Any) -> None:
    """Lets messages from the browser come in on a thread of their own while the cell runs.

    ipykernel 7.4 sends them to the shell that last published on the comm, which is the one that is busy; without this attribute it
    goes by the front end's own choice, as 7.0 to 7.3 do. Other kernels do not know it.
    """
    if getattr(comm, "_reply_subshell_for", None) is not None:
        comm._reply_subshell_for = None  # noqa: SLF001 - there is no public switch
