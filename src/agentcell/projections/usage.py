"""Tokens of a run: each model call counts once, whatever the number of times its usage was told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentcell.events import AnyEvent, ModelEnded, ModelStarted, RunEnded, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

UNKNOWN_MODEL = "unknown"


class UsageProjection:
    """The tokens of the events it was fed, in all and by model."""

    def __init__(self) -> None:
        self._model_of: dict[str, str] = {}
        self._calls: dict[object, tuple[str, Usage]] = {}
        self._total = Usage()
        self._over = False

    def feed(self, event: AnyEvent) -> None:
        """Takes one event. After the end nothing changes any more."""
        if self._over:
            return
        match event:
            case RunEnded():
                self._over = True
            case ModelStarted(model=str(model)):
                self._model_of[event.model_call_id] = model
            case ModelEnded(usage=Usage() as usage):
                # The last word on a response counts: providers repeat a usage, and let it grow.
                # One that nobody can tell from others is a call of its own.
                key = event.response_id or event.model_call_id or object()
                before = self._calls.get(key)
                if before is not None:
                    self._total = self._total + _negative(before[1])
                model = event.model or self._model_of.get(event.model_call_id) or UNKNOWN_MODEL
                self._calls[key] = (model, usage)
                self._total = self._total + usage
            case _:
                pass

    @property
    def total(self) -> Usage:
        """All model calls together."""
        return self._total

    @property
    def known(self) -> bool:
        """Whether any model call said how many tokens it took."""
        return bool(self._calls)

    @property
    def by_model(self) -> Mapping[str, Usage]:
        """The same by the model's name."""
        found: dict[str, Usage] = {}
        for model, usage in self._calls.values():
            found[model] = found.get(model, Usage()) + usage
        return found


def _negative(usage: Usage) -> Usage:
    return Usage(
        -usage.input_tokens,
        -usage.output_tokens,
        -usage.cache_read_tokens,
        -usage.cache_write_tokens,
        -usage.reasoning_tokens,
    )
