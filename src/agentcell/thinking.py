"""A model's own reasoning, whoever the provider is: which handler reads it, and what becomes of a handler that fails.

Your own handlers are asked before the shipped ones, so a provider may be taken over or added. A handler that raises costs the
run nothing but that reasoning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from agentcell.errors import first_line
from agentcell.events import ThinkingBlock, ThinkingEnded, ThinkingFailed
from agentcell.thinking_handlers import Anthropic, Gemini, Mistral, Ollama, OpenAI, OpenRouter, ReasoningField

if TYPE_CHECKING:
    from collections.abc import Sequence


class ThinkingHandler(Protocol):
    """Reads the reasoning of some providers."""

    @property
    def id(self) -> str:
        """Its name, lower case with dashes."""
        ...

    @property
    def provider_names(self) -> Sequence[str]:
        """The providers whose reasoning it reads, as frameworks name them."""
        ...

    def normalize(self, raw: Any) -> Sequence[ThinkingBlock]:
        """The blocks of one complete model call; none for a `raw` that holds none."""
        ...

    def parse_chunk(self, chunk: Any) -> str | None:
        """The reasoning that a piece of a stream adds, None for a piece of something else."""
        ...


HANDLERS: tuple[ThinkingHandler, ...] = (
    Anthropic(),
    OpenAI(),
    Ollama(),
    ReasoningField(),
    Mistral(),
    OpenRouter(),
    Gemini(),
)
"""The shipped handlers; no two know the same provider."""


def handler_for(provider: str, handlers: Sequence[ThinkingHandler] = ()) -> ThinkingHandler | None:
    """The first handler that knows `provider`, yours before the shipped ones; None when no one does."""
    return next((handler for handler in (*handlers, *HANDLERS) if provider in handler.provider_names), None)


def normalize_thinking(
    provider: str,
    raw: Any,
    *,
    iteration: int = 0,
    handlers: Sequence[ThinkingHandler] = (),
) -> ThinkingEnded | ThinkingFailed | None:
    """The event for what `provider` brought along, never an exception.

    Args:
        provider: As the framework names it.
        raw: What its handler takes; call this only when there is something.
        iteration: Which model call of the turn it was, so that a failure can be found again.
        handlers: Yours.

    Returns:
        The blocks, or what failed; None when nobody knows the provider.
    """
    handler = handler_for(provider, handlers)
    if handler is None:
        return None
    try:
        return ThinkingEnded(blocks=tuple(_plain(block) for block in handler.normalize(raw)))
    except Exception as error:  # noqa: BLE001 - a handler is anybody's code, and showing a run never breaks it
        return ThinkingFailed(
            provider=provider,
            handler=handler.id,
            error=first_line(error),
            error_type=type(error).__name__,
            iteration=iteration,
        )


def _plain(block: ThinkingBlock) -> ThinkingBlock:
    if not isinstance(block, ThinkingBlock):
        raise TypeError(f"a thinking handler must give ThinkingBlocks, not {type(block).__name__}")
    # A block of somebody's own class may carry more, and that has no place in a log.
    return ThinkingBlock(block.type, block.content, block.signature, block.summary)
