"""What model calls cost: as their framework told it, else by the list prices of the optional package genai-prices; never guessed."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from datetime import datetime, timezone
from decimal import Decimal
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from agentcell.errors import describe_error, warn
from agentcell.events import Usage
from agentcell.projections.usage import UNKNOWN_MODEL, Bill, Spent

if TYPE_CHECKING:
    from collections.abc import Callable

# What OpenTelemetry's GenAI conventions and LangChain call the providers that genai-prices knows under other names.
_PROVIDERS = {
    "aws.bedrock": "aws",
    "amazon_bedrock": "aws",
    "azure.ai.openai": "azure",
    "azure.ai.inference": "azure",
    "gcp.gemini": "google",
    "gcp.gen_ai": "google",
    "gcp.vertex_ai": "google",
    "google_genai": "google",
    "google_vertexai": "google",
    "mistral_ai": "mistral",
    "mistralai": "mistral",
    "x_ai": "x-ai",
    "xai": "x-ai",
}


@dataclass(frozen=True, slots=True)
class Cost:
    """What is known of a run's cost.

    Attributes:
        amount: US dollars of all that is known.
        unpriced: How many model calls are not in it, because nobody knows what they cost.
    """

    amount: Decimal
    unpriced: int = 0


class Prices:
    """The list prices of genai-prices, which come with that package: nothing is asked of any server.

    It takes a second to load them, once in a process. So who waits for nobody lets a thread do it.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._calculate: Callable[..., Any] | None = None
        self._broken = False
        self._waiting: dict[Callable[[], None], None] = {}
        self._thread: threading.Thread | None = None

    @property
    def missing(self) -> bool:
        """Whether there are prices that have not been loaded yet."""
        return self._calculate is None and not self._broken and find_spec("genai_prices") is not None

    def load(self) -> None:
        """Loads the prices if there are any, in this thread."""
        with self._lock:
            if not self.missing:
                return
            try:
                from genai_prices import Usage, calc_price

                # The first price makes the list, which takes a tenth of a second.
                calc_price(Usage(input_tokens=1, output_tokens=1), "gpt-4o", provider_id="openai")
                self._calculate = calc_price
            except Exception as error:  # noqa: BLE001 - whatever is wrong with that package, the run is shown without a cost
                self._broken = True
                warn(f"there will be no costs, because genai-prices does not work: {describe_error(error)}")

    def load_aside(self, then: Callable[[], None]) -> None:
        """Loads them in a thread of its own, and calls `then` when they are there."""
        with self._lock:
            self._waiting[then] = None
            if self._thread is None:
                self._thread = threading.Thread(target=self._load_and_tell, name="agentcell-prices", daemon=True)
                self._thread.start()

    def _load_and_tell(self) -> None:
        self.load()
        with self._lock:
            waiting, self._waiting, self._thread = tuple(self._waiting), {}, None
        for then in waiting:
            then()

    def price(self, call: Spent, started_at: float) -> Decimal | None:
        """The list price of a call in US dollars; None when it is not known.

        Without a provider's name it is the price of the one that makes the model. `started_at` is the run's start, in seconds since
        the epoch: prices change.
        """
        usage = call.usage
        if self._calculate is None or usage is None or call.model == UNKNOWN_MODEL:
            return None
        if not usage.total_tokens or {"input_tokens", "output_tokens"} & set(usage.unsaid):
            return None
        return _list_price(self._calculate, call, started_at)

    def forget(self) -> None:
        """After a fork: another thread may have held the lock."""
        self._lock, self._waiting, self._thread = threading.RLock(), {}, None


PRICES = Prices()
"""The process's one list."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=PRICES.forget)


def price_of(call: Spent, started_at: float) -> Decimal | None:
    """What a call cost in US dollars, as it was told or by the list, as far as that is loaded; None when nobody knows."""
    return PRICES.price(call, started_at) if call.cost is None else Decimal(str(call.cost))


def cost_of(bill: Bill, started_at: float) -> Cost | None:
    """What a run has cost so far; None when nobody knows that of any part of it. `PRICES` are used as far as they are loaded."""
    amounts = [Decimal(str(amount)) for amount in bill.charged]
    prices = [price_of(call, started_at) for call in bill.calls]
    known = [*amounts, *(price for price in prices if price is not None)]
    return Cost(sum(known, Decimal(0)), prices.count(None)) if known else None


def needs_prices(bill: Bill) -> bool:
    """Whether there are calls whose cost only a price list tells, and such a list that is not loaded yet."""
    return any(call.cost is None and call.usage is not None for call in bill.calls) and PRICES.missing


def money_text(amount: Decimal) -> str:
    """US dollars in a few letters: `$1.25`, `$0.0123`, `$0.000045`."""
    if amount >= 1:
        return f"${amount:,.2f}"
    if amount == 0 or amount >= Decimal("0.001"):
        return f"${amount:.4f}" if amount else "$0"
    return f"${amount:.{1 - amount.adjusted()}f}"  # two digits that are no leading zeros


@lru_cache(maxsize=4096)
def _list_price(calculate: Callable[..., Any], call: Spent, started_at: float) -> Decimal | None:
    from genai_prices import Usage as Tokens

    usage = call.usage or Usage()
    tokens = Tokens(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
    )
    provider = None if call.provider is None else _PROVIDERS.get(call.provider.lower(), call.provider)
    when = datetime.fromtimestamp(started_at + call.time, timezone.utc) if started_at else None
    try:
        total: Decimal = calculate(tokens, call.model, provider_id=provider, genai_request_timestamp=when).total_price
    except (LookupError, ValueError):  # nobody knows such a model, or there cannot be such a count of tokens
        return None
    return total
