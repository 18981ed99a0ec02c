"""The last line of a terminal, rewritten in place while runs go on, and out of the way whenever somebody else writes or asks.

There is one for the process, however many runs go on. What is written meanwhile through `sys.stdout` and `sys.stderr` would be glued
to it; so, while it is there, the streams' own `write` takes it away first, and so does `input`. It comes back with its next tick,
unless what was written has not ended its line. Nothing is hidden and no mode of the terminal is changed: a program that is killed
leaves at most this one line behind.
"""

from __future__ import annotations

import atexit
import builtins
import os
import shutil
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from agentcell.pacer import PACER, Pacer
from agentcell.text.cells import cell_width, fit

if TYPE_CHECKING:
    from collections.abc import Callable

TICK = 0.1
"""Seconds between two pictures of the spinner."""

_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_PLAIN_SPINNER = "|/-\\"
_PLAIN_SIGNS = str.maketrans({"•": "*", "·": "-", "—": "-", "…": "...", "✓": "+", "✕": "x", "■": "x", "“": '"', "”": '"', "×": "x"})
_ERASED = "\r\x1b[K"


class Teller(Protocol):
    """A run that has something to say in the line."""

    def tick(self) -> None:
        """Called before each picture and each question: prints what waits to be printed."""

    def tell(self) -> tuple[str, str] | None:
        """The heading and the line of what goes on now; None to show nothing."""


class LiveLine:
    """See the module.

    Args:
        pacer: Ticks on its thread.
        clock: Monotonic seconds; turns the spinner.
    """

    def __init__(self, *, pacer: Pacer = PACER, clock: Callable[[], float] = time.monotonic) -> None:
        self._pacer = pacer
        self._clock = clock
        # Held while writing, and never while a run is asked: a run that warns holds its own lock and writes to stderr.
        self._lock = threading.RLock()
        self._tellers: tuple[Teller, ...] = ()
        self._file: TextIO | None = None
        self._hooks: list[_Hook] = []
        self._drawn = ""
        self._at_start = True  # whether the cursor stands at the beginning of a line, as far as is known
        self._questions = 0
        self._ticking = False

    def join(self, file: TextIO, teller: Teller) -> bool:
        """Shows `teller` in the line; False where `file` cannot have one, or where another terminal has it."""
        if not _is_rewritable(file) or _goes_on_under_a_prompt():
            return False
        with self._lock:
            if self._file is not None and self._file is not file:
                return False
            if self._file is None:
                self._begin(file)
            self._tellers = (*self._tellers, teller)
            if not self._ticking:
                self._ticking = True
                self._pacer.later(0.0, self._tick)
        return True

    def leave(self, teller: Teller) -> None:
        """Shows `teller` no more; with the last one the line is gone."""
        with self._lock:
            self._tellers = tuple(other for other in self._tellers if other is not teller)
            self._erase()
            if not self._tellers:
                self._end()

    def print(self, file: TextIO, text: str, *, patient: bool) -> bool:
        """Writes whole lines, above the line if it is there.

        Where that would be in the way of what the person is typing, who is `patient` does not get it written now, and gets False.
        """
        with self._lock:
            if file is self._file:
                if patient and self._is_in_use(file):
                    return False
                self._erase()
                if not self._at_start:
                    text = f"\n{text}"
            file = _patched(file)
            # What the terminal's encoding does not have is shown in another way: a run is not lost for its bullets.
            file.write(f"{_encodable(text, file)}\n")
            file.flush()
            return True

    def before_fork(self) -> None:
        """Waits until nothing is being written: the child would wait for ever for the stream's own lock."""
        self._lock.acquire()
        self._erase()

    def after_fork_in_parent(self) -> None:
        """Goes on."""
        self._lock.release()

    def after_fork_in_child(self) -> None:
        """The line, the runs in it and the thread that draws it stayed with the parent."""
        for hook in self._hooks:
            hook.remove()
        self.__init__(pacer=self._pacer, clock=self._clock)  # type: ignore[misc]

    # Drawing

    def _tick(self) -> None:
        tellers = self._tellers
        for teller in tellers:
            teller.tick()
        told = next(filter(None, (teller.tell() for teller in tellers)), None)
        with self._lock:
            if not self._tellers:
                self._ticking = False
                return
            self._pacer.later(TICK, self._tick)
            if tellers == self._tellers:
                self._draw(told, others=len(tellers) - 1)

    def _draw(self, told: tuple[str, str] | None, *, others: int) -> None:
        file = self._file
        if told is None or file is None:
            self._erase()
        elif not self._questions and self._at_start and not _is_edited(file):
            line = self._composed(file, *told, others)
            if line != self._drawn:
                self._put(f"\r{line}\x1b[K")
                self._drawn = line

    def _composed(self, file: TextIO, title: str, line: str, others: int) -> str:
        frames = _SPINNER if _encodable(_SPINNER, file) == _SPINNER else _PLAIN_SPINNER
        frame = frames[round(self._clock() / TICK) % len(frames)]
        title, line = _encodable(title + (f" · +{others} more" if others else ""), file), _encodable(line, file)
        width = _columns(file) - 1  # in the last column some terminals begin another row
        title = fit(title, width - 2)
        left = width - 2 - cell_width(title) - 2
        line = fit(line, left) if left > 8 else ""
        if not has_colours():
            return f"{frame} {title}  {line}".rstrip()
        return f"\x1b[36m{frame}\x1b[0m {title}" + (f"  \x1b[2m{line}\x1b[0m" if line else "")

    def _erase(self) -> None:
        if self._drawn:
            self._drawn = ""
            self._put(_ERASED)

    def _put(self, text: str) -> None:
        """Writes what moves the cursor only within the line."""
        try:
            self._hooks[0].original(text)
            self._hooks[0].stream.flush()
        except (OSError, ValueError):  # the terminal is gone; whoever prints next hears of it, and nobody need hear of the line
            self._drawn = ""
            self._tellers = ()
            self._end()

    # Out of the way of others

    def _is_in_use(self, file: TextIO) -> bool:
        """Whether the person is being asked, or edits a line, and nobody can write above that."""
        return _patched(file) is file and (self._questions > 0 or _is_edited(file))

    def _begin(self, file: TextIO) -> None:
        self._file = file
        self._at_start = True
        self._hooks = [_Hook(file, "write", self._writing)]
        errors = sys.stderr
        if errors is not None and errors is not file and errors.isatty():
            self._hooks.append(_Hook(errors, "write", self._writing))
        self._hooks.append(_Hook(builtins, "input", self._asking))
        atexit.register(self._shut)

    def _end(self) -> None:
        for hook in self._hooks:
            hook.remove()
        self._hooks = []
        self._file = None
        atexit.unregister(self._shut)

    def _shut(self) -> None:
        """The program ends, in the middle of runs: the pacer's thread may tick once more, and draws nothing."""
        with self._lock:
            self._erase()
            self._tellers = ()
            self._end()

    def _writing(self, original: Callable[..., Any], *args: Any) -> Any:
        """Stands in for a stream's `write`."""
        with self._lock:
            self._erase()
            written = original(*args)
            if args and isinstance(args[0], str) and args[0]:
                self._at_start = args[0].endswith(("\n", "\r"))
            return written

    def _asking(self, original: Callable[..., Any], *args: Any) -> Any:
        """Stands in for `input`, which writes its prompt past `sys.stdout`."""
        for teller in self._tellers:
            teller.tick()  # what happened before the question stands before it
        with self._lock:
            self._erase()
            self._questions += 1
        answered = False
        try:
            answer = original(*args)
            answered = True
        finally:
            with self._lock:
                self._questions -= 1
                self._at_start = answered  # the person's own Enter ended the line
        return answer


class _Hook:
    """A function in the place of another one, until `remove`; it is given that one to call, and its arguments."""

    def __init__(self, stream: Any, name: str, instead: Callable[..., Any]) -> None:
        self.stream = stream
        self.original: Callable[..., Any] = getattr(stream, name)
        self._name = name
        self._before = vars(stream).get(name)
        self._instead: Callable[..., Any] | None = instead
        setattr(stream, name, self._call)
        self._set = vars(stream)[name]

    def _call(self, *args: Any) -> Any:
        instead = self._instead
        return self.original(*args) if instead is None else instead(self.original, *args)

    def remove(self) -> None:
        """Puts back what was there. Where somebody has put something over it meanwhile, it stays and only passes on."""
        self._instead = None
        if vars(self.stream).get(self._name) is self._set:
            if self._before is None:
                delattr(self.stream, self._name)
            else:
                setattr(self.stream, self._name, self._before)


def has_colours() -> bool:
    """Whether a terminal may be written to in colours (https://no-color.org)."""
    return not os.environ.get("NO_COLOR")


def _is_rewritable(file: TextIO) -> bool:
    """Whether it is a terminal that knows how to move the cursor and whose `write` can be stood in for."""
    if os.environ.get("TERM") in ("dumb", "unknown") or not hasattr(file, "__dict__"):
        return False
    if sys.platform == "win32" and not any(map(os.environ.get, ("WT_SESSION", "ANSICON", "TERM"))):
        return False  # an old console would show the control sequences
    return not file.closed and file.isatty()


def _goes_on_under_a_prompt() -> bool:
    """Whether this is an interactive Python, and code of it that does not keep the next prompt from coming."""
    return hasattr(sys, "ps1") and threading.current_thread() is not threading.main_thread()


def _is_edited(file: TextIO) -> bool:
    """Whether the terminal is in a mode in which programs read keys: readline, prompt_toolkit, getpass, a pager."""
    try:
        import termios

        modes: int = termios.tcgetattr(file.fileno())[3]
    except (ImportError, OSError, ValueError, AttributeError):  # Windows, or no real terminal
        return False
    except termios.error:
        return False
    return modes & (termios.ICANON | termios.ECHO) != termios.ICANON | termios.ECHO


def _patched(file: TextIO) -> TextIO:
    """Where to write lines now: while IPython's prompt is open, `sys.stdout` knows how to print above it."""
    now = sys.stdout
    return now if now is not None and getattr(now, "original_stdout", None) is file else file


def _columns(file: TextIO) -> int:
    try:
        columns = os.get_terminal_size(file.fileno()).columns
    except (OSError, ValueError, AttributeError):
        columns = 0
    return columns or shutil.get_terminal_size().columns or 80  # some terminals do not say


def _encodable(text: str, file: TextIO) -> str:
    """`text` as the file's encoding can hold it: with plainer signs, and question marks for the rest."""
    encoding = getattr(file, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(_PLAIN_SIGNS).encode(encoding, "replace").decode(encoding)
    return text


LINE = LiveLine()
"""The process's one live line."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=LINE.before_fork, after_in_parent=LINE.after_fork_in_parent, after_in_child=LINE.after_fork_in_child)
