"""What splitting reasoning from the answer costs: time a character and memory beside the text, for 1 MB and for 10 MB."""

from __future__ import annotations

import gc
import sys
import time
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType

from agentcell.text.think import ReasoningSplitter
from agentcell.text.think_delimiters import Alternatives, Delimiters, Inside, Pair, Wrapper

MEGABYTE = 1_000_000
THOUGHT = "<think>\nThe p95 rose: is `latency < 40` still true? Check the deploy, then the queue.\n"
ANSWER = "</think>\n\nThe p95 rose after the deploy, because `pool_size < 8` on two hosts.\n"
LINE = "Most of the rest is ordinary text, with a < b, `code` and a stray ` here and there.\n"
# What belongs to all splitters, or to Python, is no part of one splitter's state.
SHARED = (type, ModuleType, FunctionType, BuiltinFunctionType, Delimiters, Inside, Alternatives, Pair, Wrapper)


def message(length: int) -> str:
    """Half reasoning, half answer."""
    half = LINE * (length // 2 // len(LINE))
    return (THOUGHT + half + ANSWER + half + LINE)[:length]


def feed(text: str) -> tuple[ReasoningSplitter, float]:
    """A splitter that was fed one character after the other, and the seconds of processor time that it took."""
    splitter = ReasoningSplitter()
    start = time.process_time()
    for character in text:
        splitter.feed(character)
    return splitter, time.process_time() - start


def size(root: object) -> int:
    """Bytes of everything that `root` holds."""
    seen: dict[int, object] = {}
    waiting = [root]
    while waiting:
        held = waiting.pop()
        if id(held) in seen or isinstance(held, SHARED):
            continue
        seen[id(held)] = held
        waiting += [held.__self__] if isinstance(held, MethodType) else gc.get_referents(held)
    return sum(sys.getsizeof(held) for held in seen.values())


def main() -> None:
    feed(message(MEGABYTE // 10))  # so that patterns are compiled and the processor is awake
    empty = size(ReasoningSplitter())
    costs = []
    for length in (MEGABYTE, 10 * MEGABYTE):
        text = message(length)
        splitter, seconds = feed(text)
        costs.append(seconds / length)
        beside = size(splitter) - len(text)
        each = f"{costs[-1] * 1e6:.2f} µs each"
        print(f"{length // MEGABYTE:3} MB, a character at a time: {each}; {beside} bytes beside the text")
    print(f"a character of 10 MB costs {costs[1] / costs[0]:.2f} times one of 1 MB; a new splitter is {empty} bytes")


if __name__ == "__main__":
    main()
