"""What DSPy streams: the pieces of the fields that the user listens to (`dspy.streamify(program, stream_listeners=[…])`).

They are heard where the listeners are, so it makes no difference who reads the stream. Of a program that is not heard by itself
(`auto=False`, with the callback given), `run.stream(…)` around its stream hears them.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, ClassVar

from agentcell.adapters.fields import text_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentcell.adapters.dspy import DSPyAdapter
    from agentcell.adapters.model_call import ModelCall


def attach_listeners(adapter_here: Callable[[], DSPyAdapter | None]) -> Callable[[], None]:
    """Hears what listeners hand on to the user; returns what ends that."""
    try:
        from dspy.streaming.streaming_listener import StreamListener
    except ModuleNotFoundError:  # before DSPy 2.6.11 nothing streams
        return lambda: None
    asked = {name: getattr(StreamListener, name) for name in ("receive", "finalize") if hasattr(StreamListener, name)}

    def heard(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def hear(self: Any, *args: Any) -> Any:
            response = method(self, *args)
            adapter = adapter_here() if response is not None else None
            if adapter is not None:
                adapter.hear_piece(self.predict, self.signature_field_name, text_of(response, "chunk"))
            return response

        return hear

    ours = {name: heard(method) for name, method in asked.items()}
    for name, method in ours.items():
        setattr(StreamListener, name, method)

    def detach() -> None:
        for name, method in ours.items():
            if getattr(StreamListener, name) is method:
                setattr(StreamListener, name, asked[name])

    return detach


class DSPyStreamReader:
    """Reads what a streaming program gives, unless it is heard without that."""

    derived: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, call: ModelCall) -> None:
        from agentcell.adapters.dspy import callback_class

        self.call = self
        self._adapter = call.run.adapter(callback_class())

    @staticmethod
    def takes(_kind: str, event: Any, /) -> bool:
        """Whether this is a piece of a field, a status, the prediction, or a chunk that nobody listens to."""
        return type(event).__module__.startswith("dspy.")

    def read(self, event: Any) -> None:
        """Takes one of these."""
        name = text_of(event, "signature_field_name")
        if name and not self._adapter.run.options.auto:
            self._adapter.hear_piece(self._adapter.calls.named(text_of(event, "predict_name")), name, text_of(event, "chunk"))

    def finish(self, error: BaseException | None = None, *, closed: bool = False) -> None:
        """The stream is over; the callback tells what of it is."""
