"""Over which times each output is computed, and where it is cut into chunks.

A chunk owns the cells whose grid points it holds, so chunks of any length share the
cells out among them without asking for an output's precision.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Generic

import numpy as np

from tiltpy.calendars import end_of_cell
from tiltpy.errors import DataError
from tiltpy.ir.nodes import Query, TemporalExpr
from tiltpy.lean_dataclass import dataclass, record
from tiltpy.runtime.arrays.dtypes import I64Array, Times
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.execution.call_numbers import (
    N,
    Truth,
    ceil_to,
    floor_to,
    least,
    most,
)
from tiltpy.types import MAX_TIME, Bound, TDom


@dataclass(frozen=True, slots=True)
class Domain:
    """The time range `(start, end]` over which an output is wanted."""

    start: int
    end: int

    @property
    def is_empty(self) -> bool:
        return self.start >= self.end


EMPTY = Domain(0, 0)


@record(frozen=True, slots=True, eq=False)
class OutputRange:
    """A time range of an output to compute: cells with grid points in `(low, high]`.

    `domain` is the output's whole one, so that a cut there makes no new snapshot. A
    range that is not `final` leaves its last snapshot to the next one, which begins at
    `high`, or at `through` if that is given: what lies behind that only tells whether
    the last snapshot goes on.
    """

    domain: Domain
    low: int
    high: int
    final: bool = True
    through: int | None = None

    @property
    def is_empty(self) -> bool:
        return self.low >= self.high


@dataclass(frozen=True, slots=True)
class Request:
    """A caller's request: the domain, and run-time bounds by name."""

    start: int | None = None
    end: int | None = None
    bounds: Mapping[str, int] = field(default_factory=dict)

    def resolve(self, bound: Bound) -> int | None:
        """The ticks of a bound of a time domain; None if it is infinite."""
        return self.bounds[bound] if isinstance(bound, str) else bound

    def limits(self, tdom: TDom) -> tuple[int | None, int | None]:
        """Return the bounds of an output at most; None where its rows decide."""
        start, end = self.resolve(tdom.start), self.resolve(tdom.end)
        if self.start is not None:
            start = self.start if start is None else max(start, self.start)
        if self.end is not None:
            end = self.end if end is None else min(end, self.end)
        return start, end


def check_request(query: Query, request: Request) -> None:
    """Refuse bounds that contradict each other or lie beyond all times."""
    bounds = {"start": request.start, "end": request.end, **request.bounds}
    for name, time in bounds.items():
        if time is not None and abs(time) > MAX_TIME:
            outputs = ", ".join(f"~{output}" for output in query.outputs)
            raise DataError(
                f"{name}={time} of {outputs} lies beyond ±2**62 ticks; "
                "use a coarser unit or an earlier time"
            )
    start, end = request.start, request.end
    if start is not None and end is not None and start > end:
        raise DataError(f"start={start} is later than end={end}; swap them")
    if request.bounds:
        for definition in query.definitions:
            _check_bounds(definition, request)


def _check_bounds(definition: TemporalExpr, request: Request) -> None:
    """Refuse a time domain whose run-time bounds make it end before it starts."""
    tdom = definition.tdom
    start, end = request.resolve(tdom.start), request.resolve(tdom.end)
    if start is not None and end is not None and start > end:
        low, high = (
            f"{bound}={time}" if isinstance(bound, str) else str(time)
            for bound, time in ((tdom.start, start), (tdom.end, end))
        )
        raise DataError(
            f"the time domain of ~{definition.name} starts at {low}, "
            f"later than its end at {high}"
        )


def output_domain(
    tdom: TDom, bounds: Iterable[tuple[int, int] | None], request: Request
) -> Domain:
    """The domain of an output that refers to inputs with these bounds (if any rows)."""
    spans = [span for span in bounds if span is not None]
    start, end = request.limits(tdom)
    if start is None and spans:
        start = min(spans)[0]
    if end is None and spans:
        end = end_of_cell(tdom, max(span[1] for span in spans))
    return EMPTY if start is None or end is None else Domain(start, end)


def find_whole_ranges(
    query: Query, rows: Mapping[str, SnapshotBuffer], request: Request
) -> dict[str, OutputRange]:
    """Find the whole domains of the outputs of a query that has its boundaries.

    Outputs without any cell are left out.
    """
    ranges = {}
    for name, reach in query.boundaries:
        definition = query.definition(name)
        assert definition is not None
        bounds = (rows[source].bounds() for source, _ in reach)
        domain = output_domain(definition.tdom, bounds, request)
        if not domain.is_empty:
            high = definition.tdom.ceil(domain.end)
            ranges[name] = OutputRange(domain, domain.start, high)
    return ranges


@record(frozen=True, slots=True, eq=False)
class Cells(Generic[N]):
    """The grid points of an output that calls own, from `first` to `last`.

    A call owns none if its first is beyond its last. `seam` tells that the output has
    a cell before `first`, `final` that it has none after `last`. Numbers of one call,
    or columns of many.
    """

    first: N
    last: N
    seam: Truth
    final: Truth = False

    @property
    def some(self) -> Truth:
        """Return the calls that own any."""
        return self.first <= self.last

    def of(self, call: int) -> "Cells[int]":
        """Those of one call."""
        if isinstance(self.first, int):
            return self
        seam, final = (
            flag if isinstance(flag, bool) else bool(flag[call])
            for flag in (self.seam, self.final)
        )
        return Cells(int(self.first[call]), int(self.last[call]), seam, final)

    def select(self: "Cells[I64Array]", calls: I64Array) -> "Cells[I64Array]":
        """Those of some of many calls."""
        seam, final = (
            flag if isinstance(flag, bool) else flag[calls]
            for flag in (self.seam, self.final)
        )
        return Cells(self.first[calls], self.last[calls], seam, final)


def cells_of(tdom: TDom, domain: Domain, low: N, high: N) -> Cells[N]:
    """The cells of an output whose grid points lie in `(low, high]`, for each call."""
    begin, stop = tdom.ceil(domain.start + 1), tdom.ceil(domain.end)
    if domain.is_empty:
        stop = begin - 1
    first = most(ceil_to(tdom, low + 1), begin)
    last = least(floor_to(tdom, high), stop)
    return Cells(first, last, first > begin, last == stop)


LONGEST_CHUNK = 1 << 61
"""In ticks; longer ones are cut, so that differences of times in a kernel fit."""


def cut_chunks(
    low: int,
    high: int,
    interval: int | None,
    edges: list[int],
    rows: Mapping[str, SnapshotBuffer],
    *,
    most: int,
    every_cell: bool = False,
    phase: int = 0,
) -> Times:
    """Cut `(low, high]` into chunks: at `edges`, and at multiples of an interval.

    `interval`: ticks between cuts, if it is cut at all; `phase`: how far beyond its
    multiples they lie; `most`: how many chunks it is cut into, about, at most.
    Where the interval is far shorter than the data is dense, time ranges without a
    change point are not cut: only multiples beside some row's start or end are kept,
    unless something happens in `every_cell`.
    """
    cuts = {low, high, *(edge for edge in edges if low < edge < high)}
    length = high - low
    if interval is not None:
        chunks = length // interval
        total = sum(buffer.n for buffer in rows.values())
        if not every_cell and chunks > 4 * total + 1024:
            cuts.update(_beside_rows(low, high, interval, rows, most))
        else:
            step = interval * (chunks // most + 1)
            cuts.update(_multiples(low, high, step, phase))
    if length > LONGEST_CHUNK:
        cuts.update(_multiples(low, high, LONGEST_CHUNK, phase))
    return np.array(sorted(cuts), np.int64)


def _multiples(low: int, high: int, interval: int, phase: int) -> range:
    """The times between two others that lie a phase beyond multiples of an interval."""
    return range(low + interval - (low - phase) % interval, high, interval)


def _beside_rows(
    low: int, high: int, interval: int, rows: Mapping[str, SnapshotBuffer], most: int
) -> list[int]:
    numbers: set[int] = set()
    for buffer in rows.values():
        for times in buffer.times():
            chunks = times // interval
            chunks = chunks[np.flatnonzero(np.diff(chunks, prepend=chunks[:1] - 1))]
            chunks = chunks[:: chunks.size // most + 1].tolist()
            numbers.update(chunks)
            numbers.update(k + 1 for k in chunks)
    cuts = [k * interval for k in sorted(numbers) if low < k * interval < high]
    return cuts[:: len(cuts) // most + 1]
