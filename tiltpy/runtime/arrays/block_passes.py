"""Passes over rows block by block, in portions that threads share.

Temporaries of a block stay in the cache; what is found does not depend on portions.
"""

from collections.abc import Callable, Iterator

from tiltpy.costs import DEFAULT_COSTS
from tiltpy.runtime.arrays.dtypes import BoolArray
from tiltpy.runtime.concurrency.workers import map_portions

CACHE_BLOCK = DEFAULT_COSTS.memory.cache_block
"""Items of a temporary that stays in the cache."""


def cache_blocks(rows: int, first: int = 0) -> Iterator[slice]:
    """Split rows, from the `first` one on, into ranges of at most `CACHE_BLOCK`."""
    for low in range(first, rows, CACHE_BLOCK):
        yield slice(low, min(low + CACHE_BLOCK, rows))


def for_each_block(work: Callable[[slice], object], rows: int) -> None:
    """Do something with each block of rows, in any order."""

    def do(portion: slice) -> None:
        for block in cache_blocks(portion.stop, portion.start):
            work(block)

    map_portions(do, rows)


def any_block(test: Callable[[slice], bool], rows: int) -> bool:
    """Tell whether something holds of any block of rows."""

    def find(portion: slice) -> bool:
        return any(map(test, cache_blocks(portion.stop, portion.start)))

    return any(map_portions(find, rows))


def find_row(test: Callable[[slice], BoolArray], rows: int) -> int | None:
    """Find the first row of all of which something holds, tested block by block."""

    def find(portion: slice) -> int | None:
        for block in cache_blocks(portion.stop, portion.start):
            holds = test(block)
            if holds.any():
                return int(block.start + holds.argmax())
        return None

    found = map_portions(find, rows)
    return next((row for row in found if row is not None), None)
