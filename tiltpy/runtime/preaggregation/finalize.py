"""The snapshots of each key from the states of its panes, made on demand.

A kernel computes the cells of some keys at a time, those whose windows see a row. They
are transposed to be in order of keys, and neighbouring cells become one snapshot where
no other begins.
"""

from collections.abc import Iterator
from copy import copy
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from tiltpy.abi.layouts import TimeLayout
from tiltpy.abi.slots import SlotKind
from tiltpy.forks import cached_property
from tiltpy.lean_dataclass import dataclass
from tiltpy.routines.catalogue import JOIN_CELLS
from tiltpy.runtime.arrays.dtypes import BoolArray, I64Array, Times
from tiltpy.runtime.arrays.pool import Array, ThreadScratch
from tiltpy.runtime.arrays.snapshot_buffer import (
    Column,
    SnapshotBuffer,
    pack_validity,
)
from tiltpy.runtime.concurrency.workers import map_portions, map_shared
from tiltpy.runtime.execution.call_table import CallTable
from tiltpy.runtime.execution.kernel import Kernel
from tiltpy.runtime.execution.key_domains import EARLIEST, LATEST
from tiltpy.runtime.execution.time_domain import Request
from tiltpy.runtime.preaggregation.pane_states import Matrices, PaneCalls, TimeGrid
from tiltpy.types import TDom, Type, columns


@dataclass(frozen=True, slots=True, eq=False)
class PaneSnapshots:
    """The snapshots of some keys, key after key: `counts[i]` of key `keys[i]`."""

    keys: I64Array
    counts: I64Array
    starts: Times
    ends: Times
    columns: tuple[Column, ...]

    def buffer(self) -> SnapshotBuffer:
        """All of them; only those of one key are in order."""
        layout, count = TimeLayout.INTERVALS, len(self.starts)
        return SnapshotBuffer(layout, count, 0, 1, self.starts, self.ends, self.columns)


@dataclass(frozen=True, slots=True, eq=False)
class Events:
    """Keys that have events, the first event's start, and the last pane's end.

    And the first and the last pane with any, counted from the first of all.
    """

    keys: I64Array
    starts: Times
    ends: Times
    first: I64Array
    last: I64Array


class PaneAggregate:
    """An output as matrices of states, and the kernel that knows what they mean."""

    def __init__(
        self,
        matrices: Matrices,
        cells: Kernel,
        tdom: TDom,
        type: Type,
        request: Request,
        starts: Times | None = None,
    ) -> None:
        self.matrices = matrices
        self.kernel = cells
        self.tdom = tdom
        self.type = type
        self.request = request
        self.starts = starts
        """The start of the domain of each key, if other rows than these decide it."""
        self.behind = 0
        """The cells that a domain has behind the last one with an event."""
        self.scratch = ThreadScratch()
        aggregation = matrices.aggregation
        panes = len(matrices.panes)
        self.cells = TimeGrid(tdom.precision, tdom.offset, tdom.calendar)
        ahead = (tdom.offset - aggregation.phase) // aggregation.pane
        self.shift = ahead + aggregation.stride - matrices.panes.first
        """The pane after cell 0, counted from the first."""
        self.low = (-self.shift - aggregation.high) // aggregation.stride
        self.high = (panes - self.shift - aggregation.low - 1) // aggregation.stride + 1
        """Cells that see no pane, and nor do those before `low` and after `high`."""

    def snapshots(self) -> list[PaneSnapshots]:
        """All snapshots, in order of keys; threads share the blocks out."""
        return map_shared(self._block, list(self._blocks()))

    def _blocks(self) -> Iterator["_Block"]:
        """The keys for which something is wanted, some at a time."""
        events = self.events
        starts, ends = self._domains(events)
        keys, first, last = events.keys, *self._edge_cells(events, starts, ends)
        wanted = starts < ends
        if not wanted.all():
            keys, starts, ends = keys[wanted], starts[wanted], ends[wanted]
            first, last = first[wanted], last[wanted]
        if not len(keys):
            return
        cells = self.matrices.costs.block_cells
        step = max(1, cells // (int(last.max()) + 1 - int(first.min())))
        begin = 0
        while begin < len(keys):
            rows = slice(begin, int(keys.searchsorted(keys[begin] + step)))
            begin = rows.stop
            yield _Block(keys[rows], starts[rows], ends[rows], first[rows], last[rows])

    def _edge_cells(
        self, events: Events, starts: Times, ends: Times
    ) -> tuple[I64Array, I64Array]:
        """Find the first and the last cell of each key's domain.

        Domains mostly begin in a key's first pane, which is in one cell, and end with
        the cell of its last: then the cells of panes are looked up.
        """
        start, end = self.request.limits(self.tdom)
        panes = self._pane_edges()
        if start is None and self.starts is None:
            first = self._clip(panes[:-1] + 1)[events.first]
        else:
            first = self._clip(starts + 1)
        if end is None and not self.behind:
            last = self._clip(panes[1:])[events.last]
        else:
            last = self._clip(ends)
        return first, last

    def _clip(self, ticks: Times) -> I64Array:
        """Return the cells of some ticks, or the nearest ones that see a pane."""
        return np.clip(self.cells.numbers(ticks), self.low, self.high)

    def _pane_edges(self) -> Times:
        """Return where panes start, and where the last one ends."""
        matrices = self.matrices
        numbers = matrices.panes.first + np.arange(len(matrices.panes) + 1)
        return matrices.grid.starts(numbers)

    @property
    def cells_in_all(self) -> int:
        """Cells of all keys together, at most."""
        return (self.high - self.low + 1) * self.matrices.keys.count

    # Where each key's output is

    def with_domains(self, starts: Times, behind: int) -> "PaneAggregate":
        """Return the aggregate with other domains: `starts`, and `behind`."""
        other = copy(self)
        other.starts, other.behind = starts, behind
        vars(other).pop("events", None)
        return other

    @property
    def cell_ends(self) -> Times:
        """The end of the last cell with an event, of each key that has any."""
        ends = self._pane_edges()[1:][self.panes[1][self.present]]
        return self.cells.ends(self.cells.numbers(ends))

    @cached_property
    def present(self) -> I64Array:
        """The keys that have events."""
        return np.flatnonzero(self.panes[1] >= 0)

    @cached_property
    def events(self) -> Events:
        """Describe the events of each key that has any."""
        first, last = self.panes
        keys = self.present
        every = len(keys) == len(last)
        firsts, lasts = (first, last) if every else (first[keys], last[keys])
        ends = self._pane_edges()[1:][lasts]
        starts = self._starts(firsts) if self.starts is None else self.starts
        return Events(keys, starts if every else starts[keys], ends, firsts, lasts)

    @cached_property
    def panes(self) -> tuple[I64Array, I64Array]:
        """The first and the last pane in which each key has an event, or -1."""
        count, total = self.matrices.keys.count, len(self.matrices.panes)
        first, last = np.full(count, -1), np.full(count, -1)
        entries = self.matrices.counts().reshape(total, count)
        if count < self.matrices.costs.many_keys:
            self._fill_panes(entries, first, last)
            return first, last

        def fill(keys: slice) -> None:
            for pane in range(total):
                there = self._have_events(entries[pane, keys])
                np.copyto(last[keys], pane, where=there)
                np.copyto(first[keys], pane, where=there & (first[keys] < 0))

        map_portions(fill, count)
        return first, last

    def _have_events(self, entries: NDArray[np.unsignedinteger]) -> BoolArray:
        """Tell which entries count events."""
        half = self.matrices.aggregation.half
        if half:
            entries = entries & entries.dtype.type((1 << half) - 1)
        there: BoolArray = entries != 0
        return there

    def _fill_panes(
        self, entries: NDArray[np.unsignedinteger], first: I64Array, last: I64Array
    ) -> None:
        """Find the panes of few keys, some panes at a time."""
        total, count = entries.shape
        step = max(1, self.matrices.costs.block_cells // count)
        for low in range(0, total, step):
            high = min(low + step, total)
            there = self._have_events(entries[low:high])
            any_there = there.any(axis=0)
            new = any_there & (first < 0)
            first[new] = low + there.argmax(axis=0)[new]
            last[any_there] = high - 1 - there[::-1].argmax(axis=0)[any_there]

    def _starts(self, first: I64Array) -> Times:
        """Return the start of each key's first event.

        `first` are the panes with the first events of those keys that have any.
        """
        if not len(first):
            return np.full(self.matrices.keys.count, LATEST)
        panes = np.flatnonzero(np.bincount(first))
        bounds = self.matrices.panes.rows
        sizes = bounds[panes + 1] - bounds[panes]
        parts = np.cumsum(sizes) // self.matrices.costs.searched_rows
        cuts = np.flatnonzero(np.diff(parts)) + 1

        def find(searched: I64Array) -> Times:
            """Find the first start of each key in some panes; `LATEST` if none."""
            found = np.full(self.matrices.keys.count, LATEST)
            runs = np.split(searched, np.flatnonzero(np.diff(searched) > 1) + 1)
            for run in reversed(runs):
                rows = slice(int(bounds[run[0]]), int(bounds[run[-1] + 1]))
                codes, starts = self._codes(rows), self._starts_of(rows)
                there = self._are_events(rows)
                # Backwards, so that the first one stays.
                found[codes[there][::-1]] = starts[there][::-1]
            return found

        starts: Times = reduce(np.minimum, map_shared(find, np.split(panes, cuts)))
        return starts

    def _are_events(self, rows: slice) -> BoolArray | slice:
        """Return which of some rows are events."""
        if not self.matrices.aggregation.nulls:
            return slice(None)
        (column,) = self.matrices.rows.columns
        return column.valid(rows.stop)[rows.start :]

    def _codes(self, rows: slice) -> I64Array:
        keys = self.matrices.keys
        codes: I64Array = keys.values[rows].astype(np.int64)
        codes -= keys.least
        return codes

    def _starts_of(self, rows: slice) -> Times:
        """Return the starts of some rows."""
        buffer = self.matrices.rows
        return buffer.slice(rows.start, rows.stop).times()[0]

    def _domains(self, events: Events) -> tuple[Times, Times]:
        """Return the domain of the output for each key, as for one without keys."""
        start, end = self.request.limits(self.tdom)
        count = len(events.keys)
        starts = events.starts
        if start is not None and self.starts is None:
            starts = np.full(count, start)
        if end is None:
            cells = self.cells.numbers(self._pane_edges()[1:]) + self.behind
            return starts, self.cells.ends(cells)[events.last]
        return starts, np.full(count, end)

    # Cells and snapshots

    def _block(self, block: "_Block") -> PaneSnapshots:
        """The snapshots of some keys."""
        low, high = block.low, block.high
        keys, starts, ends = block.keys, block.starts, block.ends
        made = self._make(int(keys[0]), int(keys[-1]) + 1, low, high)
        edges = self.cells.starts(np.arange(low, high + 1))
        # What is beyond these cells is as they are.
        if low == self.low:
            edges[0] = EARLIEST
        if high - 1 == self.high:
            edges[-1] = LATEST
        most = int((block.last - block.first).sum()) + len(keys)
        made_starts, made_ends, entries = (np.empty(most, np.int64) for _ in range(3))
        counts = np.empty(len(keys), np.int64)
        JOIN_CELLS(
            *(len(keys), made.width),
            *(keys - keys[0], block.first - low, block.last - low + 1, starts, ends),
            *(edges, made.covered, made.begins),
            *(made_starts, made_ends, entries, counts),
        )
        total = int(counts.sum())
        start, end = (
            each[:total].copy() if 2 * total < most else each[:total]
            for each in (made_starts, made_ends)
        )
        return PaneSnapshots(keys, counts, start, end, made.payload(entries[:total]))

    def _make(self, low_key: int, high_key: int, low: int, high: int) -> "_Cells":
        """Have the kernel make the cells of some keys."""
        width = high_key - low_key
        size = width * (high - low)
        numbers = {
            SlotKind.FIRST: low,
            SlotKind.LAST: high,
            SlotKind.SHIFT: self.shift,
            SlotKind.KEY_LOW: low_key,
            SlotKind.KEY_HIGH: high_key,
        }
        calls = PaneCalls(self.matrices, numbers, size=size, width=width)
        table = CallTable(self.kernel, calls, self.matrices.strings)
        for slot in table.map.outputs:
            table.put_apart(slot)
        table.fill()
        table.run_in_order(self.scratch.arrays)
        name = self.matrices.name

        def flags(kind: SlotKind) -> BoolArray:
            return table.arrays[kind, name, 0].array[:size].view(np.bool_)

        payload = []
        for number in range(len(columns(self.type))):
            nulls = table.arrays.get((SlotKind.OUT_VALIDITY, name, number))
            values = table.arrays[SlotKind.OUT_VALUES, name, number].array
            payload.append((values, None if nulls is None else nulls.array))
        return _Cells(
            width,
            flags(SlotKind.OUT_COVERED),
            flags(SlotKind.OUT_BEGINS),
            tuple(payload),
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Block:
    """Some keys, where their output is wanted, and the cells that see it."""

    keys: I64Array
    starts: Times
    ends: Times
    first: I64Array
    last: I64Array

    @property
    def low(self) -> int:
        """The first cell of all."""
        return int(self.first.min())

    @property
    def high(self) -> int:
        """The one behind the last."""
        return int(self.last.max()) + 1

    @property
    def cells(self) -> int:
        """Cells of all keys."""
        return (self.high - self.low) * len(self.keys)


@dataclass(frozen=True, slots=True, eq=False)
class _Cells:
    """Matrices `[cell][key]` of `width` keys: values, and where they are valid."""

    width: int
    covered: BoolArray
    begins: BoolArray
    columns: tuple[tuple[Array, Array | None], ...]

    def payload(self, entries: I64Array) -> tuple[Column, ...]:
        """Take the values of some entries."""
        made = []
        for values, there in self.columns:
            valid = None if there is None else there[entries].view(np.bool_)
            validity = None if valid is None else pack_validity(valid)
            made.append(Column(values[entries], validity))
        return tuple(made)
