"""The snapshots of each key from the states of its panes, made on demand.

A kernel computes the cells of some keys at a time, those whose windows see a row. They
are transposed to be in order of keys, and neighbouring cells become one snapshot where
no other begins.
"""

from collections.abc import Iterator
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from tiltpy.abi.layouts import TimeLayout
from tiltpy.abi.slots import SlotKind
from tiltpy.lean_dataclass import dataclass
from tiltpy.runtime.arrays.dtypes import BoolArray, I64Array, Times
from tiltpy.runtime.arrays.pool import Array, ThreadScratch
from tiltpy.runtime.arrays.snapshot_buffer import Column, pack_validity
from tiltpy.runtime.concurrency.workers import map_portions, map_shared
from tiltpy.runtime.execution.call_table import CallTable
from tiltpy.runtime.execution.kernel import Kernel
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


@dataclass(frozen=True, slots=True, eq=False)
class Events:
    """Keys that have events, the first event's start, and the last pane's end."""

    keys: I64Array
    starts: Times
    ends: Times


class PaneAggregate:
    """An output as matrices of states, and the kernel that knows what they mean."""

    def __init__(
        self,
        matrices: Matrices,
        cells: Kernel,
        tdom: TDom,
        type: Type,
        request: Request,
        firsts: Times | None = None,
    ) -> None:
        self.matrices = matrices
        self.kernel = cells
        self.tdom = tdom
        self.type = type
        self.request = request
        self.firsts = firsts
        """The start of each key's first event, where the rows are not all there."""
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
        events = self.events()
        starts, ends = self._domains(events)
        wanted = starts < ends
        keys, starts, ends = events.keys[wanted], starts[wanted], ends[wanted]
        if not len(keys):
            return
        first = np.clip(self.cells.numbers(starts + 1), self.low, self.high)
        last = np.clip(self.cells.numbers(ends), self.low, self.high)
        cells = self.matrices.costs.block_cells
        step = max(1, cells // (int(last.max()) + 1 - int(first.min())))
        begin = 0
        while begin < len(keys):
            rows = slice(begin, int(keys.searchsorted(keys[begin] + step)))
            begin = rows.stop
            yield _Block(keys[rows], starts[rows], ends[rows], first[rows], last[rows])

    @property
    def cells_in_all(self) -> int:
        """Cells of all keys together, at most."""
        return (self.high - self.low + 1) * self.matrices.keys.count

    # Where each key's output is

    def events(self) -> Events:
        """Describe the events of each key that has any."""
        first, last = self._panes()
        keys = np.flatnonzero(last >= 0)
        ends = self.matrices.grid.ends(self.matrices.panes.first + last[keys])
        if self.firsts is not None:
            return Events(keys, self.firsts[keys], ends)
        return Events(keys, self._starts(first, keys), ends)

    def _panes(self) -> tuple[I64Array, I64Array]:
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

    def _starts(self, first: I64Array, keys: I64Array) -> Times:
        """Return the start of each key's first event, which is in that pane."""
        panes = np.flatnonzero(np.bincount(first[keys]))
        bounds = self.matrices.panes.rows
        sizes = bounds[panes + 1] - bounds[panes]
        parts = np.cumsum(sizes) // self.matrices.costs.searched_rows
        cuts = np.flatnonzero(np.diff(parts)) + 1

        def find(searched: I64Array) -> I64Array:
            """Find the first row of each key in some panes; the last row if none."""
            found = np.full(len(first), self.matrices.rows.n - 1)
            counts = bounds[searched + 1] - bounds[searched]
            ahead = np.repeat(bounds[searched] - np.cumsum(counts) + counts, counts)
            rows = (ahead + np.arange(counts.sum()))[
                ::-1
            ]  # so that the first one stays
            rows = rows[self._are_events(rows)]
            found[self._codes(rows)] = rows
            return found

        row_of = reduce(np.minimum, map_shared(find, np.split(panes, cuts)))
        starts: Times = self._starts_of(row_of[keys])
        return starts

    def _are_events(self, rows: I64Array) -> BoolArray | slice:
        """Return which rows are events."""
        if not self.matrices.aggregation.nulls:
            return slice(None)
        (column,) = self.matrices.rows.columns
        assert column.validity is not None
        places = column.offset + rows
        bits = column.validity[places >> 3] >> (places & 7).astype(np.uint8)
        there: BoolArray = (bits & 1).astype(np.bool_)
        return there

    def _codes(self, rows: I64Array) -> I64Array:
        keys = self.matrices.keys
        codes: I64Array = keys.values[rows].astype(np.int64) - keys.least
        return codes

    def _starts_of(self, rows: I64Array) -> Times:
        """Return the starts of some rows."""
        buffer = self.matrices.rows
        if buffer.layout is TimeLayout.SAMPLED:
            starts: Times = buffer.start + rows * buffer.period
        elif buffer.starts is not None:
            starts = buffer.starts[rows]
        else:
            assert buffer.ends is not None
            starts = np.where(rows > 0, buffer.ends[rows - 1], buffer.start)
        return starts

    def _domains(self, events: Events) -> tuple[Times, Times]:
        """Return the domain of the output for each key, as for one without keys."""
        start, end = self.request.limits(self.tdom)
        count = len(events.keys)
        starts = events.starts if start is None else np.full(count, start)
        if end is None:
            return starts, self.cells.ends(self.cells.numbers(events.ends))
        return starts, np.full(count, end)

    # Cells and snapshots

    def _block(self, block: "_Block") -> PaneSnapshots:
        """The snapshots of some keys."""
        low, high = block.low, block.high
        keys, starts, ends = block.keys, block.starts, block.ends
        made = self._make(int(keys[0]), int(keys[-1]) + 1, low, high)
        places = keys - keys[0]
        cells = np.arange(low, high)
        inside = (cells >= block.first[:, None]) & (cells <= block.last[:, None])
        covered = made.covered.T[places] & inside
        begins = covered.copy()
        begins[:, 1:] &= made.begins.T[places, 1:] | ~covered[:, :-1]
        final = covered.copy()
        final[:, :-1] &= begins[:, 1:] | ~covered[:, 1:]
        counts = begins.sum(axis=1)
        row = np.repeat(np.arange(len(keys)), counts)
        cell = np.flatnonzero(begins) - row * len(cells)
        final_cell = np.flatnonzero(final) - row * len(cells)
        edges = self.cells.starts(np.arange(low, high + 1))
        start = np.maximum(edges[cell], starts[row])
        end = np.minimum(edges[final_cell + 1], ends[row])
        # What is beyond these cells is as they are.
        np.copyto(start, starts[row], where=cell + low == self.low)
        np.copyto(end, ends[row], where=final_cell + low == self.high)
        entry = cell * made.width + places[row]
        payload = tuple(
            Column(values[entry], pack_validity(there[entry]))
            if there is not None
            else Column(values[entry])
            for values, there in made.columns
        )
        return PaneSnapshots(keys, counts, start, end, payload)

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
        name, shape = self.matrices.name, (high - low, width)

        def flags(kind: SlotKind) -> BoolArray:
            array = table.arrays[kind, name, 0].array
            return array[:size].view(np.bool_).reshape(shape)

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
