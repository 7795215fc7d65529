"""Runs over few rows, each one call of a sweep kernel that is made again and again.

A `TimeRun` chooses kernels, cuts time into chunks and shares calls out among threads,
which takes longer than to compute a few rows. Here one call computes all that is
wanted, in the caller's thread, and what it is made with is kept for the next one.
"""

from collections.abc import Mapping

from tiltpy.runtime.arrays.dictionary import Strings
from tiltpy.runtime.arrays.pool import ScratchArrays, allocate
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.concurrency.offload import stop_flag
from tiltpy.runtime.concurrency.threads import StopWork
from tiltpy.runtime.execution.call_states import CallStates
from tiltpy.runtime.execution.call_table import CallTable
from tiltpy.runtime.execution.kernel import Kernel
from tiltpy.runtime.execution.row_slices import RowSlices
from tiltpy.runtime.execution.stitch import Stitcher
from tiltpy.runtime.execution.supports import changes_of
from tiltpy.runtime.execution.sweep_calls import SweepChunks
from tiltpy.runtime.execution.time_domain import OutputRange, Request, cells_of
from tiltpy.runtime.execution.visit_bounds import Coverage
from tiltpy.types import TDom

ROOM = 2
"""Factor by which the array of an output is larger than what is needed at first."""


class RepeatedCall:
    """A call of a sweep kernel, with the memory that it keeps from time to time."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        loops = kernel.signature.loops
        self.is_bounded = not any(loop.beyond_rows for loop in loops)
        """True if the rows that it reads bound its visits."""
        self._scratch = ScratchArrays()
        self._table: CallTable | None = None

    def make(self, chunks: SweepChunks) -> CallTable:
        """Make the call. What it wrote is overwritten by the next one."""
        table = self._table
        if table is None:
            table = CallTable(
                self.kernel, chunks.coverage, chunks.strings, chunks.states
            )
            table.is_reused = True
            self._table = table
        else:
            table.move(chunks.coverage, chunks.strings, chunks.states)
        outputs = self.kernel.signature.outputs
        for slot in table.map.outputs:
            if slot.loop.name not in outputs:
                table.put_in_scratch(slot)
                continue
            room, held = int(chunks.coverage.room(slot)), table.arrays.get(slot.key)
            if held is None or len(held.array) < room:
                table.put_at(slot, allocate(slot.type, ROOM * room), 0)
        table.prepare()
        flag = stop_flag()
        table.call(self._scratch, flag)
        if flag.is_set:
            raise StopWork
        return table


class SingleRun:
    """One run of a sweep kernel that is one call.

    It has no more visits than rows, so that nobody has to be warned of them.
    """

    vector = None

    def __init__(
        self,
        call: RepeatedCall,
        rows: Mapping[str, SnapshotBuffer],
        strings: Strings,
        request: Request,
        ranges: Mapping[str, OutputRange],
        tdoms: Mapping[str, TDom],
        states: CallStates | None,
    ) -> None:
        self.strings = strings
        self.ranges = ranges
        self._call = call
        signature = call.kernel.signature
        cells = {
            name: cells_of(tdoms[name], each.domain, each.low, each.high)
            for name, each in ranges.items()
        }
        coverage = Coverage(
            signature,
            0,
            {name: RowSlices.all_of(buffer, 0) for name, buffer in rows.items()},
            {name: owned for name, owned in cells.items() if owned.some},
            request,
            {},
            changes_of(signature, rows, request),
        )
        self._chunks = SweepChunks(call.kernel, coverage, strings, states)

    def stitch(self, stitchers: Mapping[str, Stitcher]) -> None:
        """Compute what is wanted; each output's piece goes to its stitcher."""
        if not self._chunks.coverage.cells:
            return
        table = self._call.make(self._chunks)
        for _, pieces, cells in self._chunks.results(table):
            for name, piece in pieces.items():
                stitchers[name].add(piece, cells.get(name))
