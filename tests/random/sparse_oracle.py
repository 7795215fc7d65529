"""The meaning of an expression over events that lie very far apart.

The interpreter goes from tick to tick, which is hopeless over 2^62 of them. Here an
expression is a function of what its references see, evaluated only near the times at
which they can see something else. Python's integers do not wrap.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tiltpy.types import TDom

Events = Sequence[tuple[int, int, int]]
Seen = tuple[int, ...]
"""The rows that a window holds, or the one that a point sees (none in a gap)."""


class Point(NamedTuple):
    """`~x[t + offset]`."""

    offset: int


class Stretch(NamedTuple):
    """`~x[t + low : t + high]`."""

    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Case:
    """An expression of one reference, as text and as a function of its values."""

    text: str
    reference: Point | Stretch
    value: Callable[[list[int]], int | None]


def snapshots(
    case: Case, events: Events, tdom: TDom, start: int | None, end: int | None
) -> list[tuple[int, int, int]]:
    """The snapshots of `case` over `tdom`, cut to `(start, end]`."""
    if not events and (start is None or end is None):
        return []
    low = min(e[0] for e in events) if start is None else start
    high = tdom.ceil(max(e[1] for e in events)) if end is None else end
    found: list[tuple[int, int, int]] = []
    before: object = None
    for first, last in _runs(case, events, tdom, low, high):
        seen, place = _see(case.reference, events, first)
        value = case.value([events[row][2] for row in seen])
        if value is not None:
            same = before == (seen, place) and found
            begin = found.pop()[0] if same else first - tdom.precision
            found.append((begin, last, value))
        before = seen, place
    cut = ((max(a, low), min(b, high), value) for a, b, value in found)
    return [row for row in cut if row[0] < row[1]]


def _runs(
    case: Case, events: Events, tdom: TDom, low: int, high: int
) -> Iterator[tuple[int, int]]:
    """Runs of grid points, from the first to the last, that see the same for sure."""
    first, last = tdom.ceil(low + 1), tdom.ceil(high)
    if low >= high:
        return
    times = (
        time - offset for e in events for time in e[:2] for offset in case.reference
    )
    near = (
        tdom.ceil(time) + k * tdom.precision for time in times for k in (-1, 0, 1, 2)
    )
    starts = sorted({first, *(g for g in near if first < g <= last)})
    ends = [*(start - tdom.precision for start in starts[1:]), last]
    yield from zip(starts, ends, strict=True)


def _see(reference: Point | Stretch, events: Events, now: int) -> tuple[Seen, int]:
    """The rows seen, and for a gap which one it is."""
    if isinstance(reference, Stretch):
        low, high = now + reference.low, now + reference.high
        return tuple(i for i, e in enumerate(events) if e[0] < high and e[1] > low), 0
    time = now + reference.offset
    alive = [i for i, e in enumerate(events) if e[0] < time <= e[1]]
    if alive:
        return (alive[-1],), 0
    return (), sum(1 for e in events if e[1] < time)
