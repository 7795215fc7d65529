"""Calls of a vector kernel, and the chunks of a run that it computes."""

from collections.abc import Iterator, Mapping
from typing import Any, Generic

import numpy as np

from tiltpy.abi.signature import LANES, Loop, RowCount
from tiltpy.abi.slots import SlotKind
from tiltpy.forks import cached_property
from tiltpy.runtime.arrays.bitmap_snapshots import BitmapSnapshots
from tiltpy.runtime.arrays.dictionary import NO_STRINGS, Strings
from tiltpy.runtime.arrays.dtypes import Bits
from tiltpy.runtime.arrays.pool import Array
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.arrays.time_layout import make_sampled
from tiltpy.runtime.execution.call_batches import Done
from tiltpy.runtime.execution.call_numbers import N, item
from tiltpy.runtime.execution.call_states import CallStates
from tiltpy.runtime.execution.call_table import (
    NO_ARRAYS,
    CallTable,
    SharedArrays,
    is_sparse,
)
from tiltpy.runtime.execution.dense_output import DenseOutput
from tiltpy.runtime.execution.kernel import Kernel
from tiltpy.runtime.execution.row_slices import RowSlices
from tiltpy.runtime.execution.slot_map import BITS, OutputSlot
from tiltpy.runtime.execution.stitch import Piece
from tiltpy.types import columns


class VectorCalls(Generic[N]):
    """Calls over the time ranges `(low, high]`: ints for one call, columns for many.

    `rows` are those that calls may see of each input, of which they get what they need.
    """

    def __init__(
        self,
        kernel: Kernel,
        rows: Mapping[str, RowSlices[N]],
        low: N,
        high: N,
    ) -> None:
        assert kernel.signature.aligned_range is not None
        self.signature = kernel.signature
        self.aligned_range = kernel.signature.aligned_range
        self.low: N = low
        self.high: N = high
        self.count = 1 if isinstance(low, int) else len(low)
        self.slices: dict[str, RowSlices[N]] = {
            read.object: rows[read.object].narrow(low + read.low, high + read.high)
            for read in self.aligned_range.reads
        }

    def cells(self, loop: Loop) -> N:
        """Count the cells of an output that each call computes."""
        return (self.high - self.low) // loop.tdom.precision

    def bytes_of(self, loop: Loop) -> N:
        """The bytes of a bitmap of each call's cells, and of what is written behind."""
        return (self.cells(loop) + 7) // 8 + 8

    def number(self, kind: SlotKind, name: str, column: int) -> N:
        """Return where the time range of each call begins or ends."""
        del name, column
        assert kind in (SlotKind.LOW, SlotKind.HIGH)
        return self.low if kind is SlotKind.LOW else self.high

    def rows_of(self, rows: RowCount, constant: int) -> N:
        """The values of a row count: `""` are the multiples in a time range."""
        assert all(name == "" for name, _ in rows)
        multiples = (self.high - self.low) // self.aligned_range.multiple
        return constant + sum(factor for _, factor in rows) * multiples

    def room(self, slot: OutputSlot) -> N:
        """Bound the entries that each call writes to the array of a slot."""
        if slot.kind in BITS:
            return self.bytes_of(slot.loop)
        return self.cells(slot.loop) + LANES


def call_over(
    kernel: Kernel, rows: Mapping[str, SnapshotBuffer], low: N, high: N
) -> VectorCalls[N]:
    """Calls of a vector kernel over `(low, high]` that may see all rows."""
    zero = low - low
    whole = {name: RowSlices.all_of(buffer, zero) for name, buffer in rows.items()}
    return VectorCalls(kernel, whole, low, high)


class VectorChunks:
    """Chunks of a run that lie side by side, as calls of a vector kernel.

    Dense outputs go to their place in `dense`. Without it, as for other outputs, each
    call has room for all its cells. They can be computed again and again. The first
    `skipped` ticks of the first one are left out.
    """

    most = 0
    """Memory is taken for all cells, but what has no value in them is not many."""

    def __init__(
        self,
        kernel: Kernel,
        calls: VectorCalls[Any],
        dense: DenseOutput | None = None,
        strings: Strings = NO_STRINGS,
        skipped: int = 0,
    ) -> None:
        self.kernel = kernel
        self.signature = kernel.signature
        self.calls = calls
        self.count = calls.count
        self.strings = strings
        self._dense = dense
        self._skipped = skipped

    @cached_property
    def _template(self) -> CallTable:
        """The calls, prepared for any number of runs."""
        table = CallTable(self.kernel, self.calls, self.strings)
        for slot in table.map.outputs:
            if self._is_dense(slot.loop) and slot.kind is SlotKind.OUT_VALUES:
                assert self._dense is not None
                first = self._dense.first(slot.loop, self.calls.low)
                table.put_in_shared(slot, first)
            else:
                table.put_apart(slot)
        table.prepare()
        return table

    def table(
        self, shared: SharedArrays = NO_ARRAYS, states: CallStates | None = None
    ) -> CallTable:
        """The calls, prepared; `shared` are the arrays of `dense`."""
        return self._template.renew(shared, states)

    def _is_dense(self, loop: Loop) -> bool:
        """Return whether the calls write an output's values side by side."""
        return loop.implicit_times and self._dense is not None

    def results(self, table: CallTable) -> Iterator[Done]:
        """Return how many chunks the calls wrote, and the outputs' pieces.

        Dense outputs without a null are one piece.
        """
        whole = self._whole(table)
        others = [loop for loop in self.signature.loops if loop.name not in whole]
        if not others:
            yield self.count, whole, {}
            return
        counts = {loop.name: self._counts(table, loop) for loop in others}
        for call in range(self.count):
            of_call = {
                loop.name: self._piece(table, loop, call, counts[loop.name])
                for loop in others
            }
            yield 1, whole | of_call, {}
            whole = {}

    def _whole(self, table: CallTable) -> dict[str, Piece]:
        """Return the values of all calls, of dense outputs that have only values."""
        if self._dense is None:
            return {}
        low = item(self.calls.low, 0) + self._skipped
        high = item(self.calls.high, self.count - 1)
        nulls = {
            name for kind, name, _ in table.arrays if kind is SlotKind.OUT_VALIDITY
        }
        pieces: dict[str, Piece] = {}
        for loop in self.signature.loops:
            if loop.implicit_times and loop.name not in nulls:
                values = [
                    table.arrays[SlotKind.OUT_VALUES, loop.name, number].array
                    for number in range(len(columns(loop.type)))
                ]
                pieces[loop.name] = self._dense.piece(loop, values, low, high)
        return pieces

    def _counts(self, table: CallTable, loop: Loop) -> list[int]:
        """Return the number of snapshots of an output that each call wrote."""
        if loop.implicit_times:
            cells = self.calls.cells(loop)
            return [item(cells, call) for call in range(self.count)]
        counts: list[int] = table.counts(loop.name).tolist()
        return counts

    def _piece(
        self, table: CallTable, loop: Loop, call: int, counts: list[int]
    ) -> Piece:
        """Return what a call wrote of an output."""
        low, period, count = (
            item(self.calls.low, call),
            loop.tdom.precision,
            counts[call],
        )
        values = table.arrays[SlotKind.OUT_VALUES, loop.name, 0].array
        copy = not self._is_dense(loop) and is_sparse(values, sum(counts))
        payload = table.payload(loop, call, count, copy=copy)
        cells = (item(self.calls.high, call) - low) // period
        skipped = self._skipped // period if call == 0 else 0
        if loop.implicit_times:
            if skipped:
                low, cells = low + self._skipped, cells - skipped
                payload = tuple(column.slice(skipped, cells) for column in payload)
            return make_sampled(low, period, cells, payload)

        def bits(kind: SlotKind) -> Array | None:
            array = table.arrays.get((kind, loop.name, 0))
            size = (cells + 7) // 8 + 8
            return None if array is None else array.of(call, size, copy=False)

        begins, covered = map(bits, BITS)
        assert begins is not None
        if skipped:
            dropped = _clear_first(begins.view(np.uint8), skipped)
            count -= dropped
            payload = tuple(column.slice(dropped, count) for column in payload)
        return BitmapSnapshots(
            low,
            period,
            cells,
            begins.view(np.uint8),
            None if covered is None else covered.view(np.uint8),
            count,
            payload,
        )


def _clear_first(bitmap: Bits, count: int) -> int:
    """Clear the first bits of a bitmap; returns how many were set."""
    head = bitmap[: (count + 7) // 8]
    bits = np.unpackbits(head, bitorder="little")
    dropped = int(bits[:count].sum())
    bits[:count] = 0
    head[:] = np.packbits(bits, bitorder="little")
    return dropped
