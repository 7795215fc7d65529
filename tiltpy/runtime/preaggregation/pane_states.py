"""Folding rows by key as they come, without grouping them: the direct way.

Where windows tumble or hop, each event lies between two points of their grid, and there
are not too many keys, the states of all keys in a pane are one row of a matrix. A
kernel visits the events in order of time and adds each to its key's state (see
`abi.PaneAggregation`). `finalize` computes results from the matrices on demand.
"""

from collections.abc import Callable, Mapping
from copy import copy

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltpy.abi.layouts import TimeLayout
from tiltpy.abi.signature import PaneAggregation, RowCount, Signature
from tiltpy.abi.slots import SlotKind
from tiltpy.array_address import address
from tiltpy.calendars import cell_numbers, cell_starts
from tiltpy.costs import PreaggregationCosts
from tiltpy.lean_dataclass import dataclass
from tiltpy.runtime.arrays.block_passes import CACHE_BLOCK
from tiltpy.runtime.arrays.dictionary import Strings
from tiltpy.runtime.arrays.distinct import distinct
from tiltpy.runtime.arrays.dtypes import I64Array, Times
from tiltpy.runtime.arrays.pool import Array, ScratchArrays, allocate
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.execution.call_queue import CallQueue
from tiltpy.runtime.execution.call_table import NO_ARRAYS, CallTable
from tiltpy.runtime.execution.kernel import Kernel
from tiltpy.runtime.execution.row_slices import RowSlices
from tiltpy.runtime.execution.slot_map import OutputSlot
from tiltpy.types import Calendar, Scalar


@dataclass(frozen=True, slots=True, eq=False)
class CodedKeys:
    """The keys of some rows as numbers, in the order of the keys.

    Key `k` has the number `least + k` in `values`, which are of the type `scalar`
    (unsigned: of 32 bits at most); there are `count` of them, or are believed to be:
    not all need occur. `columns` gives the key columns of some of them.
    """

    values: NDArray[np.integer]
    scalar: Scalar
    least: int
    count: int
    columns: Callable[[I64Array], tuple[pa.Array, ...]]


@dataclass(frozen=True, slots=True, eq=False)
class Panes:
    """The rows in order of time, divided into panes.

    Pane `j` has the rows `rows[j]` to `rows[j + 1]`; the first is number `first` of the
    grid.
    """

    first: int
    rows: I64Array

    def __len__(self) -> int:
        return len(self.rows) - 1

    @property
    def longest(self) -> int:
        """The most rows that a pane has."""
        return int(np.diff(self.rows).max())


@dataclass(frozen=True, slots=True)
class TimeGrid:
    """Time split into ranges `(start(n), start(n + 1)]`, numbered by `n`.

    Each has `length` ticks, from `phase` on, or is a cell of a `calendar`.
    """

    length: int
    phase: int
    calendar: Calendar | None

    def numbers(self, times: Times) -> I64Array:
        """The ranges that hold some ticks."""
        if self.calendar is not None:
            return cell_numbers(self.calendar, times)
        numbers: I64Array = (times - 1 - self.phase) // self.length
        return numbers

    def starts(self, numbers: I64Array) -> Times:
        """The ticks after which some ranges start."""
        if self.calendar is not None:
            return cell_starts(self.calendar, numbers)
        return self.phase + numbers * self.length

    def ends(self, numbers: I64Array) -> Times:
        """The last ticks of some ranges."""
        return self.starts(numbers + 1)

    def span(self, bounds: tuple[int, int]) -> tuple[int, int]:
        """The first of the ranges from a start to an end, and how many they are."""
        ticks = np.array([bounds[0] + 1, bounds[1]])
        first, last = (int(number) for number in self.numbers(ticks))
        return first, last - first + 1


def pane_grid(aggregation: PaneAggregation) -> TimeGrid:
    """The grid of the panes of an aggregation."""
    return TimeGrid(aggregation.pane, aggregation.phase, aggregation.calendar)


def cut_panes(grid: TimeGrid, buffer: SnapshotBuffer) -> Panes | None:
    """The panes of at least one row; None where a row is in more than one."""
    bounds = buffer.bounds()
    assert bounds is not None
    first, count = grid.span(bounds)
    edges = grid.starts(first + np.arange(count + 1))
    if buffer.layout is TimeLayout.SAMPLED:
        inner = edges[1:-1] - buffer.start
        if (inner % buffer.period).any():
            return None
        rows = np.clip((edges - buffer.start) // buffer.period, 0, buffer.n)
        return Panes(first, rows)
    if not _inside_panes(grid, buffer):
        return None
    if buffer.starts is None:
        assert buffer.ends is not None
        return Panes(first, buffer.ends[: buffer.n].searchsorted(edges, "right"))
    return Panes(first, buffer.starts[: buffer.n].searchsorted(edges))


def _inside_panes(grid: TimeGrid, buffer: SnapshotBuffer) -> bool:
    """Test whether each row is in one pane; points are, and need no test."""
    if buffer.points:
        return True
    starts, ends = buffer.times()
    for low in range(0, buffer.n, CACHE_BLOCK):
        block = slice(low, low + CACHE_BLOCK)
        first = grid.numbers(starts[block] + 1)
        if not np.array_equal(first, grid.numbers(ends[block])):
            return False
    return True


class Matrices:
    """The states of an output's windows: for each pane and key an entry in each.

    There is no memory for them before `allocate`.
    """

    def __init__(
        self,
        signature: Signature,
        rows: SnapshotBuffer,
        keys: CodedKeys,
        panes: Panes,
        strings: Strings,
        costs: PreaggregationCosts,
    ) -> None:
        assert signature.pane_aggregation is not None
        self.aggregation: PaneAggregation = signature.pane_aggregation
        self.name = signature.outputs[0]
        self.rows = rows
        self.keys = keys
        self.panes = panes
        self.strings = strings
        self.costs = costs
        self.arrays: tuple[Array, ...] = ()

    def allocate(self) -> "Matrices":
        """Copy it with memory for the states."""
        made, size = copy(self), len(self.panes) * self.keys.count
        made.arrays = tuple(allocate(kind, size) for kind in self.aggregation.states)
        return made

    @property
    def grid(self) -> TimeGrid:
        """The grid of its panes."""
        return pane_grid(self.aggregation)

    def counts(self) -> NDArray[np.unsignedinteger]:
        """The first matrix, in one piece."""
        (kind, *_), (entries, *_) = self.aggregation.states, self.arrays
        return entries.view(f"u{kind.bits // 8}")


class FoldCalls:
    """The calls that fold rows by key, prepared once: each run has its own states."""

    def __init__(self, kernel: Kernel, matrices: Matrices) -> None:
        self._matrices = matrices
        edges = _edges(matrices)
        numbers = {SlotKind.FIRST: edges[:-1], SlotKind.LAST: edges[1:]}
        calls = PaneCalls(matrices, numbers, len(edges) - 1)
        self._table = CallTable(kernel, calls, matrices.strings)
        self._table.prepare()
        self._states = [
            (index, slot.column)
            for index, slot in self._table.map.numbers
            if slot.kind is SlotKind.STATES
        ]

    def run(self, workers: int) -> Matrices | None:
        """Fold all rows; None if a key is out of the range.

        Each call has some panes, and threads share the calls out among themselves.
        """
        matrices, table = self._matrices.allocate(), self._table.renew(NO_ARRAYS)
        for index, column in self._states:
            table.slots[:, index] = address(matrices.arrays[column])
        CallQueue([table], [ScratchArrays()] * min(workers, table.count)).run()
        return None if table.column(SlotKind.LOST).any() else matrices


def _edges(matrices: Matrices) -> I64Array:
    """The panes with which calls begin that have about as many rows each."""
    rows = matrices.panes.rows
    wanted = np.arange(0, max(1, int(rows[-1])), matrices.costs.call_rows)
    return distinct(np.append(rows[:-1].searchsorted(wanted), len(matrices.panes)))


class PaneCalls:
    """Calls of a kernel over the states of panes; `numbers` tells them apart.

    `size` is how many entries each writes to any output, `width` how many keys it has.
    """

    def __init__(
        self,
        matrices: Matrices,
        numbers: Mapping[SlotKind, I64Array | int],
        count: int = 1,
        *,
        size: int = 0,
        width: int = 0,
    ) -> None:
        self.count = count
        self.slices = {matrices.aggregation.input: RowSlices.all_of(matrices.rows, 0)}
        self._matrices = matrices
        self._size = size
        self._width = width
        self._numbers: dict[SlotKind, I64Array | int] = {
            SlotKind.KEYS: address(matrices.keys.values),
            SlotKind.LEAST: matrices.keys.least,
            SlotKind.KEY_COUNT: matrices.keys.count,
            SlotKind.PANE_ROWS: address(matrices.panes.rows),
            SlotKind.PANE_COUNT: len(matrices.panes),
            SlotKind.LOST: 0,
            **numbers,
        }

    def number(self, kind: SlotKind, name: str, column: int) -> I64Array | int:
        """Return what stands in a slot of keys, panes or states.

        Before states are allocated their slots stay empty: each run fills them.
        """
        del name
        if kind is SlotKind.STATES:
            arrays = self._matrices.arrays
            return address(arrays[column]) if arrays else 0
        return self._numbers[kind]

    def rows_of(self, rows: RowCount, constant: int) -> int:
        """The size of a scratch array: an entry for each key."""
        del rows, constant
        return self._width

    def room(self, slot: OutputSlot) -> int:
        """Bound the entries that a call writes to the array of a slot."""
        del slot
        return self._size
