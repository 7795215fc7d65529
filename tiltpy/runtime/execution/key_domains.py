"""Over which times each key of an output is computed, for all keys at once."""

from collections.abc import Mapping, Sequence

import numpy as np

from tiltpy.calendars import round_up
from tiltpy.lean_dataclass import record
from tiltpy.runtime.arrays.dtypes import BoolArray, I64Array, Times
from tiltpy.runtime.arrays.masks import are_all
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.execution.call_numbers import ceil_to, floor_to
from tiltpy.runtime.execution.time_domain import Cells, Domain, OutputRange, Request
from tiltpy.runtime.ingest.keys import Groups
from tiltpy.types import TDom

RowsByKey = Groups | SnapshotBuffer
"""An input's rows: by key, or the same ones for every key."""
LATEST = 2**63 - 1
EARLIEST = -(2**63)
"""What is neither a time nor a grid point."""


@record(frozen=True, slots=True, eq=False)
class Domains:
    """The time range `(start[k], end[k]]` over which an output is wanted for key `k`.

    Nothing is, where start and end are the same; it is `complete` if that is nowhere.
    """

    start: Times
    end: Times
    complete: bool = False

    @property
    def wanted(self) -> BoolArray:
        """Of which keys there is something to compute."""
        if self.complete:
            return np.ones(len(self.start), np.bool_)
        return self.start < self.end

    def of(self, keys: I64Array) -> "Domains":
        """Those of some keys."""
        return Domains(self.start[keys], self.end[keys])

    def one(self, key: int) -> Domain:
        """That of a single key."""
        return Domain(int(self.start[key]), int(self.end[key]))


class KeyedRanges:
    """Time ranges of an output by key: the columns of `OutputRange`.

    Of key `k` the cells of its domain with grid points in `(low[k], high[k]]`.
    """

    __slots__ = ("_cells", "_nonempty", "domains", "high", "low")

    def __init__(
        self,
        domains: Domains,
        low: Times,
        high: Times,
        nonempty: BoolArray | None = None,
        cells: tuple[TDom, Cells[I64Array]] | None = None,
    ) -> None:
        self.domains = domains
        self.low = low
        self.high = high
        self._nonempty = nonempty
        self._cells = cells

    @staticmethod
    def whole(tdom: TDom, domains: Domains) -> "KeyedRanges":
        """All of every key's domain."""
        return KeyedRanges(domains, domains.start, ceil_to(tdom, domains.end))

    @property
    def nonempty(self) -> BoolArray:
        """Of which keys there is something to compute."""
        if self._nonempty is None:
            self._nonempty = self.domains.wanted & (self.low < self.high)
        return self._nonempty

    def of(self, keys: I64Array) -> "KeyedRanges":
        """Those of some keys."""
        cells = self._cells
        return KeyedRanges(
            self.domains.of(keys),
            self.low[keys],
            self.high[keys],
            None if self._nonempty is None else self._nonempty[keys],
            None if cells is None else (cells[0], cells[1].select(keys)),
        )

    def of_key(self, key: int) -> OutputRange:
        """That of a single key."""
        domain = self.domains.one(key)
        return OutputRange(domain, int(self.low[key]), int(self.high[key]))

    def cells(self, tdom: TDom) -> Cells[I64Array]:
        """The cells of each key; none of one of which nothing is wanted."""
        known = self._cells
        if known is None or (known[0] is not tdom and known[0] != tdom):
            known = self._cells = tdom, self._find_cells(tdom)
        return known[1]

    def _find_cells(self, tdom: TDom) -> Cells[I64Array]:
        begin = ceil_to(tdom, self.domains.start + 1)
        first = np.maximum(ceil_to(tdom, self.low + 1), begin)
        stop = ceil_to(tdom, self.domains.end)
        last = np.minimum(floor_to(tdom, self.high), stop)
        nonempty = self.nonempty
        if are_all(nonempty):
            return Cells(first, last, first > begin, last == stop)
        last = np.where(nonempty, last, first - 1)
        return Cells(first, last, first > begin, ~nonempty | (last == stop))


def key_domains(
    tdom: TDom, inputs: Sequence[RowsByKey], count: int, request: Request
) -> Domains:
    """The domains of an output that refers to these inputs; `count` keys.

    A key without a row in any of its keyed inputs has none.
    """
    start, end = request.limits(tdom)
    complete = [rows for rows in inputs if isinstance(rows, Groups) and rows.complete]
    if start is None and end is None and 0 < len(complete) == len(inputs):
        first, last = _join_spans([(rows.firsts, rows.lasts) for rows in complete])
        return Domains(first, round_up(tdom, last), complete=True)
    first, last, there = _spans(inputs, count)
    low = first if start is None else np.full(count, start)
    high = round_up(tdom, last) if end is None else np.full(count, end)
    wanted = there & (low < high)
    if wanted.all():
        return Domains(low, high, complete=True)
    return Domains(np.where(wanted, low, 0), np.where(wanted, high, 0))


def _join_spans(spans: Sequence[tuple[Times, Times]]) -> tuple[Times, Times]:
    """Find the smallest start and the largest end for each key."""
    first, last = spans[0]
    for begin, end in spans[1:]:
        first, last = np.minimum(first, begin), np.maximum(last, end)
    return first, last


def _spans(inputs: Sequence[RowsByKey], count: int) -> tuple[Times, Times, BoolArray]:
    """The smallest start and the largest end for each key, and which keys have rows.

    Both are 0 of a key without rows.
    """
    there = np.zeros(count, np.bool_)
    spans: list[tuple[Times, Times]] = []
    for rows in inputs:
        if isinstance(rows, Groups):
            nonempty = rows.nonempty
            first, last = rows.firsts, rows.lasts
            if not nonempty.all():
                first = np.where(nonempty, first, LATEST)
                last = np.where(nonempty, last, EARLIEST)
            spans.append((first, last))
            there |= nonempty
        elif (bounds := rows.bounds()) is not None:
            spans.append((np.full(count, bounds[0]), np.full(count, bounds[1])))
    if not spans:
        return np.zeros(count, np.int64), np.zeros(count, np.int64), there
    first, last = _join_spans(spans)
    if there.all():
        return first, last, there
    return np.where(there, first, 0), np.where(there, last, 0), there


def rows_by_key(inputs: Mapping[str, RowsByKey], count: int) -> Times:
    """Count the rows of each key in all keyed inputs."""
    total = np.zeros(count, np.int64)
    for rows in inputs.values():
        if isinstance(rows, Groups):
            total += np.diff(rows.offsets)
    return total
