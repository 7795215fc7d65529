"""Sorting networks: which values to compare, whatever they are.

Merge exchange (Knuth, volume 3, algorithm 5.2.2 M) for any number of values, without
the comparisons that no wanted place depends on.
"""

from collections.abc import Iterator
from typing import NamedTuple


class Exchange(NamedTuple):
    """Put the smaller of two values at `low`, the greater at `high`, if needed."""

    low: int
    high: int
    needs_low: bool
    needs_high: bool


def select_exchanges(count: int, wanted: tuple[int, ...]) -> list[Exchange]:
    """The exchanges after which the values at some places are those of the order."""
    needed = set(wanted)
    exchanges = []
    for low, high in reversed(list(_merge_exchange(count))):
        if low in needed or high in needed:
            exchanges.append(Exchange(low, high, low in needed, high in needed))
            needed |= {low, high}
    return exchanges[::-1]


def _merge_exchange(count: int) -> Iterator[tuple[int, int]]:
    top = 1 << max(0, (count - 1).bit_length() - 1)
    step = top
    while step:
        until, rest, distance = top, 0, step
        while distance:
            for low in range(count - distance):
                if low & step == rest:
                    yield low, low + distance
            distance, until, rest = until - step, until // 2, step
        step //= 2
