"""Folding rows by key as they come, without grouping them: the direct way.

Where windows tumble or hop, each event lies between two points of their grid, and there
are not too many keys, the states of all keys in a pane are one row of a matrix. A
kernel visits the events in order of time and adds each to its key's state (see
`abi.Grouped`). What the matrices say is made of them when somebody asks (`folded`).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltpy.abi import Grouped, Signature, SlotKind, TimeLayout
from tiltpy.runtime.arrays.dictionary import Strings
from tiltpy.runtime.arrays.pool import allocate
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.arrays.time_layout import PIECE
from tiltpy.runtime.execution.call_queue import make
from tiltpy.runtime.execution.chunk_call import Kernel
from tiltpy.runtime.execution.kernel_arguments import Call, address, wiring_of
from tiltpy.types import Scalar

Numbers = NDArray[np.int64]

ROWS = 1 << 18
"""Rows in a call, about."""
PER_ROW = 4
"""Entries of matrices for each row, at most: to visit one takes a fraction of the time
that it takes to group a row."""
MERGED = 16
"""Entries that are merged for each row, at most, several at once: where long windows
hop by little. Samples by key are computed in less time than it takes to merge so many,
once they are grouped."""


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
    columns: Callable[[Numbers], tuple[pa.Array, ...]]


@dataclass(frozen=True, slots=True, eq=False)
class Panes:
    """The rows in order of time, cut into panes.

    Pane `j` has the rows `rows[j]` to `rows[j + 1]`; the first is number `first` of the
    grid, `(phase + first * pane, phase + (first + 1) * pane]`.
    """

    first: int
    rows: Numbers

    def __len__(self) -> int:
        return len(self.rows) - 1

    @property
    def longest(self) -> int:
        """The most rows that a pane has."""
        return int(np.diff(self.rows).max())


def pane_count(pane: int, phase: int, bounds: tuple[int, int]) -> int:
    """How many panes there are from the first start to the last end."""
    return (bounds[1] - 1 - phase) // pane - (bounds[0] - phase) // pane + 1


def cut_panes(pane: int, phase: int, buffer: SnapshotBuffer) -> Panes | None:
    """The panes of at least one row; None where a row is in more than one."""
    bounds = buffer.bounds()
    assert bounds is not None
    first = (bounds[0] - phase) // pane
    count = pane_count(pane, phase, bounds)
    edges = phase + (first + np.arange(count + 1)) * pane
    if buffer.layout is TimeLayout.SAMPLED:
        if pane % buffer.period or (buffer.start - phase) % buffer.period:
            return None
        rows = np.clip((edges - buffer.start) // buffer.period, 0, buffer.n)
        return Panes(first, rows)
    if not _inside_panes(pane, phase, buffer):
        return None
    if buffer.starts is None:
        assert buffer.ends is not None
        return Panes(first, buffer.ends[: buffer.n].searchsorted(edges, "right"))
    return Panes(first, buffer.starts[: buffer.n].searchsorted(edges))


def _inside_panes(pane: int, phase: int, buffer: SnapshotBuffer) -> bool:
    """Whether each row is in one pane; a look at all of them, if they are no points."""
    if buffer.points:
        return True
    starts, ends = buffer.times()
    for low in range(0, buffer.n, PIECE):
        some = slice(low, low + PIECE)
        first = (starts[some] - phase) // pane
        if not np.array_equal(first, (ends[some] - 1 - phase) // pane):
            return False
    return True


class Matrices:
    """The states of an output's windows: for each pane and key an entry in each."""

    def __init__(
        self,
        signature: Signature,
        rows: SnapshotBuffer,
        keys: CodedKeys,
        panes: Panes,
        strings: Strings,
    ) -> None:
        assert signature.grouped is not None
        self.grouped: Grouped = signature.grouped
        self.name = signature.outputs[0]
        self.rows = rows
        self.keys = keys
        self.panes = panes
        self.strings = strings
        size = len(panes) * keys.count
        self.arrays = tuple(allocate(kind, size) for kind in self.grouped.states)

    def counts(self) -> NDArray[np.unsignedinteger]:
        """The first matrix, in one piece."""
        (kind, *_), (entries, *_) = self.grouped.states, self.arrays
        return entries.view(f"u{kind.bits // 8}")

    def call(self, kernel: Kernel, numbers: dict[SlotKind, int]) -> Call:
        """A call of one of the kernels, with these numbers in its slots."""
        wiring = wiring_of(kernel.signature, kernel.code)
        call = wiring.call(kernel.code, {self.grouped.input: self.rows}, self.strings)
        known = {
            SlotKind.KEYS: address(self.keys.values),
            SlotKind.LEAST: self.keys.least,
            SlotKind.KEY_COUNT: self.keys.count,
            SlotKind.PANE_ROWS: address(self.panes.rows),
            SlotKind.PANE_COUNT: len(self.panes),
            SlotKind.LOST: 0,
            **numbers,
        }
        for index, slot in enumerate(kernel.signature.slots):
            if slot.kind is SlotKind.STATES:
                call.slots[index] = address(self.arrays[slot.column])
            elif slot.kind in known:
                call.slots[index] = known[slot.kind]
        return call

    def fill(self, fold: Kernel, workers: int) -> bool:
        """Fold all rows; whether no key was out of the range.

        Calls are made in machine code, stretches of panes that threads share out among
        themselves.
        """
        call = self.call(fold, {})
        kinds = [slot.kind for slot in fold.signature.slots]
        edges = self._edges()
        slots = np.repeat(call.slots[None], len(edges) - 1, axis=0)
        slots[:, kinds.index(SlotKind.FIRST)] = edges[:-1]
        slots[:, kinds.index(SlotKind.LAST)] = edges[1:]
        places = np.arange(len(slots)) * slots.strides[0] + address(slots)
        pairs = np.stack((np.full(len(slots), call.code.place), places), axis=1)
        make(call.code, [pairs] * min(workers, len(slots)), (self, call, slots))
        return not slots[:, kinds.index(SlotKind.LOST)].any()

    def _edges(self) -> Numbers:
        """Where stretches of panes begin that have about as many rows each."""
        rows = self.panes.rows
        wanted = np.arange(0, max(1, int(rows[-1])), ROWS)
        return np.unique(np.append(rows[:-1].searchsorted(wanted), len(self.panes)))
