"""Calls of a grid kernel, as columns: a number for each call.

Nothing is done in Python for each call where outputs have a value for each cell.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from tiltpy.abi import LANES, Loop, SlotKind
from tiltpy.abi import Rows as RowCount
from tiltpy.runtime.arrays import pool as memory
from tiltpy.runtime.arrays.bitmap_snapshots import BitmapSnapshots
from tiltpy.runtime.arrays.dictionary import NO_STRINGS, Strings
from tiltpy.runtime.arrays.pool import Array
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.arrays.time_layout import make_sampled
from tiltpy.runtime.execution.call_queue import Batch, Needed
from tiltpy.runtime.execution.chunk_call import Kernel
from tiltpy.runtime.execution.dense_output import Sheet
from tiltpy.runtime.execution.kernel_arguments import (
    Numbers,
    OutputSlot,
    address,
    wiring_of,
    written_column,
)
from tiltpy.runtime.execution.key_domains import Rows, Times
from tiltpy.runtime.execution.row_slices import Part, part_of
from tiltpy.runtime.execution.stitch import Piece
from tiltpy.runtime.execution.time_domain import Cells
from tiltpy.types import columns

LINE = 64
"""Items that take whole cache lines."""
BITS = SlotKind.OUT_BEGINS, SlotKind.OUT_COVERED


class GridCalls:
    """Calls over the stretches `(low[k], high[k]]`, with rows of the key `keys[k]`.

    `rows` are those of the inputs, which need not have keys.
    """

    def __init__(
        self,
        kernel: Kernel,
        rows: Mapping[str, Rows],
        keys: Numbers,
        low: Times,
        high: Times,
        strings: Strings = NO_STRINGS,
    ) -> None:
        assert kernel.signature.stretch is not None
        self.kernel = kernel
        self.signature = kernel.signature
        self.stretch = kernel.signature.stretch
        self.keys = keys
        self.low = low
        self.high = high
        self.strings = strings
        self.parts: dict[str, Part] = {
            read.object: part_of(
                rows[read.object],
                keys,
                (low + read.low, high + read.high),
                near=True,
                spare=True,
            )
            for read in self.stretch.reads
        }

    def cells(self, loop: Loop) -> Times:
        """How many cells of an output each call computes."""
        return (self.high - self.low) // loop.tdom.precision

    def rows_of(self, rows: RowCount, constant: int) -> Times:
        """The values of a row count: `""` is how many multiples a stretch has."""
        assert all(name == "" for name, _ in rows)
        multiples = (self.high - self.low) // self.stretch.multiple
        return constant + sum(factor for _, factor in rows) * multiples

    def room(self, slot: OutputSlot) -> Times:
        """How many entries each call may write."""
        if slot.kind in BITS:
            return self.bytes_of(slot.loop)
        return self.cells(slot.loop) + LANES

    def bytes_of(self, loop: Loop) -> Times:
        """For the bits of each stretch, and those that are written behind them."""
        return (self.cells(loop) + 7) // 8 + 8

    def slots(self) -> Numbers:
        """A row for each call, of which those for scratch and outputs are to be filled.

        The inputs' rows must live as long as the calls.
        """
        wiring = wiring_of(self.signature, self.kernel.code)
        slots = wiring.rows(self.parts, len(self.keys), self.strings)
        for index, kind, _ in wiring.others:
            assert kind in (SlotKind.LOW, SlotKind.HIGH)
            slots[:, index] = self.low if kind is SlotKind.LOW else self.high
        return slots


@dataclass(frozen=True, slots=True, eq=False)
class Shared:
    """An array of which call `k` writes `sizes[k]` items from `firsts[k]` on."""

    array: Array
    firsts: Numbers
    sizes: Numbers

    def of(self, call: int) -> Array:
        """What a call may write."""
        first = int(self.firsts[call])
        return self.array[first : first + int(self.sizes[call])]


class GridRun(GridCalls):
    """Chunks of a run that lie side by side.

    Full outputs go to their place in the sheet. Without one, as for other outputs, each
    call has room for all its cells.
    """

    most = 0
    """Memory is taken for all cells, but what has no value in them is not many."""

    def __init__(
        self,
        kernel: Kernel,
        rows: Mapping[str, SnapshotBuffer],
        low: Times,
        high: Times,
        sheet: Sheet | None = None,
        strings: Strings = NO_STRINGS,
    ) -> None:
        super().__init__(kernel, rows, np.zeros_like(low), low, high, strings)
        self._sheet = sheet
        self._shared: dict[tuple[SlotKind, str, int], Shared] = {}
        self._counts: dict[str, Numbers] = {}

    @property
    def count(self) -> int:
        """How many chunks there are."""
        return len(self.low)

    def batch(self) -> Batch:
        """The calls, prepared."""
        code = self.kernel.code
        wiring, slots = wiring_of(self.signature, code), self.slots()
        needed = {}
        for index, number, wanted in wiring.scratch:
            size = int(self.rows_of(wanted.rows, wanted.constant).max())
            needed[index] = Needed(("grid", number), wanted.type, size)
        for slot in wiring.outputs:
            slots[:, slot.index] = self._places(slot)
        for name, index in wiring.counts.items():
            self._counts[name] = slots[:, index]
        return Batch(code.code(), slots, wiring.counts, needed, self)

    def _places(self, slot: OutputSlot) -> Numbers:
        """Where each call writes what belongs to a slot."""
        full = slot.kind is SlotKind.OUT_VALUES and slot.loop.implicit_times
        if full and self._sheet is not None:
            return self._sheet.places(slot.loop, slot.column, self.low)
        sizes = self.room(slot)
        ends = (-(-sizes // LINE) * LINE).cumsum()  # each begins with a cache line
        array = memory.allocate(slot.type, int(ends[-1]))
        firsts = np.concatenate((ends[:1] * 0, ends[:-1]))
        self._shared[slot.key] = Shared(array, firsts, sizes)
        return address(array) + array.itemsize * firsts

    def results(self) -> Iterator[tuple[int, dict[str, Piece], dict[str, Cells]]]:
        """What the calls wrote: of how many chunks, and the outputs' pieces.

        Outputs that are full, without a null, are one piece.
        """
        full = {} if self._sheet is None else self._full(self._sheet)
        others = [loop for loop in self.signature.loops if loop.name not in full]
        if not others:
            yield self.count, full, {}
            return
        for number in range(self.count):
            own = {loop.name: self._piece(loop, number) for loop in others}
            yield 1, full | own, {}
            full = {}

    def _full(self, sheet: Sheet) -> dict[str, Piece]:
        """What all calls wrote to the sheet of outputs that have nothing else."""
        low, high = int(self.low[0]), int(self.high[-1])
        with_others = {name for _, name, _ in self._shared}
        return {
            loop.name: sheet.piece(loop, low, high)
            for loop in self.signature.loops
            if loop.implicit_times and loop.name not in with_others
        }

    def _piece(self, loop: Loop, number: int) -> Piece:
        """What a call wrote of an output."""
        low, high = int(self.low[number]), int(self.high[number])
        period = loop.tdom.precision
        cells = (high - low) // period

        def array(kind: SlotKind, column: int = 0) -> Array | None:
            shared = self._shared.get((kind, loop.name, column))
            return None if shared is None else shared.of(number)

        count = cells if loop.implicit_times else int(self._counts[loop.name][number])
        payload = []
        for column in range(len(columns(loop.type))):
            values = array(SlotKind.OUT_VALUES, column)
            if values is None:
                assert self._sheet is not None
                values = self._sheet.part(loop, column, low, high)
            validity = array(SlotKind.OUT_VALIDITY, column)
            payload.append(written_column(values, validity, count))
        if loop.implicit_times:
            return make_sampled(low, period, cells, tuple(payload))
        begins, covered = array(SlotKind.OUT_BEGINS), array(SlotKind.OUT_COVERED)
        assert begins is not None
        return BitmapSnapshots(
            low,
            period,
            cells,
            begins.view(np.uint8),
            None if covered is None else covered.view(np.uint8),
            count,
            tuple(payload),
        )
