"""Runs over few rows, each one call of a sweep kernel that is made again and again.

A `TimeRun` chooses kernels, cuts time into chunks and shares calls out among threads,
which takes longer than to compute a few rows. Here one call computes all that is
wanted, in the caller's thread, and what it is made with is kept for the next one: its
memory, and the formulas of what it covers, compiled once the same form of rows comes
again.
"""

from collections.abc import Mapping, Sequence

from tiltpy.array_address import address
from tiltpy.costs import RunCosts
from tiltpy.runtime.arrays.dictionary import Strings
from tiltpy.runtime.arrays.pool import ScratchArrays, allocate
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.concurrency.offload import stop_flag
from tiltpy.runtime.concurrency.threads import StopWork
from tiltpy.runtime.execution.call_states import CallStates
from tiltpy.runtime.execution.call_table import CallTable
from tiltpy.runtime.execution.kernel import Kernel
from tiltpy.runtime.execution.range_formulas import RangeFormulas
from tiltpy.runtime.execution.row_slices import RowSlices
from tiltpy.runtime.execution.run_options import RunOptions
from tiltpy.runtime.execution.stitch import Stitcher
from tiltpy.runtime.execution.supports import changes_of
from tiltpy.runtime.execution.sweep_calls import SweepOutput, list_outputs
from tiltpy.runtime.execution.time_domain import OutputRange, Request, cells_of
from tiltpy.runtime.execution.visit_bounds import Coverage
from tiltpy.runtime.execution.visit_warnings import LoopVisits
from tiltpy.types import TDom

MOST_ROOM = 1 << 12
"""Entries by which memory of a call is larger than what is needed at first, at most."""
Rows = Mapping[str, SnapshotBuffer]
Ranges = Mapping[str, OutputRange]


def find_most_rows(kernel: Kernel, costs: RunCosts, *, alone: bool = False) -> int:
    """Find for how many rows of all inputs one call serves.

    `alone`: there is one worker in any case.
    """
    if not all(loop.linear for loop in kernel.signature.loops):
        return costs.single_call_rows
    return find_linear_rows(costs, alone=alone)


def find_linear_rows(costs: RunCosts, *, alone: bool) -> int:
    """Find for how many rows one call serves where all loops are linear."""
    return costs.lone_call_rows if alone else costs.linear_call_rows


def _with_room(size: int) -> int:
    """Choose a size for memory, so that somewhat more fits the next time."""
    return size + min(size, MOST_ROOM)


class RepeatedCall:
    """A call of a sweep kernel, with the memory that it keeps from time to time."""

    def __init__(self, kernel: Kernel, request: Request, options: RunOptions) -> None:
        self.kernel = kernel
        self.request = request
        loops = kernel.signature.loops
        self.is_bounded = not any(loop.beyond_rows for loop in loops)
        """True if the rows that it reads bound its visits."""
        self.most_rows = find_most_rows(
            kernel, options.costs.run, alone=options.workers == 1
        )
        """The rows of all inputs, at most, for which one call serves."""
        self.is_unbounded = any(loop.is_unbounded for loop in loops)
        """True if it has windows or looks without a bound."""
        self._scratch = ScratchArrays()
        self._version = -1
        """The version of the table whose slots have the addresses of scratch."""
        self._slots = 0
        """The address of those slots."""
        self.table: CallTable | None = None

    def fill(
        self, coverage: Coverage[int], strings: Strings, states: CallStates | None
    ) -> CallTable:
        """Fill all slots, and allocate what they need."""
        table = self.table
        if table is None:
            table = CallTable(self.kernel, coverage, strings, states)
            table.is_reused = True
            self.table = table
        else:
            table.move(coverage, strings, states)
        outputs = self.kernel.signature.outputs
        for slot in table.map.outputs:
            if slot.loop.name not in outputs:
                table.put_in_scratch(slot)
                continue
            room, held = int(coverage.room(slot)), table.arrays.get(slot.key)
            if held is None or len(held.array) < room:
                table.put_at(slot, allocate(slot.type, _with_room(room)), 0)
        table.prepare()
        table.leave()
        for need in table.needs.values():
            need.size = _with_room(need.size)
        return table

    def make(self, table: CallTable) -> None:
        """Make the call. What it wrote and did not lend is overwritten by the next."""
        flag = stop_flag()
        table.replace_lent()
        if self._version != table.version:
            table.take_scratch(self._scratch)
            self._slots, self._version = address(table.slots), table.version
        table.code.call(self._slots, flag.address)
        if flag.is_set:
            raise StopWork


class RangeCall:
    """A repeated call over rows and ranges of one form, `most_rows` at most."""

    def __init__(
        self, call: RepeatedCall, tdoms: Mapping[str, TDom], most_rows: int
    ) -> None:
        self._call = call
        self.most_rows = most_rows
        self._tdoms = tdoms
        self.formulas: RangeFormulas | None = None
        """The formulas of what the call covers, once they have been traced."""
        self._is_known = False
        """True once the form has come."""

    def make(
        self, rows: Rows, ranges: Ranges, strings: Strings, states: CallStates | None
    ) -> tuple[CallTable, list[SweepOutput]] | None:
        """Make the call, unless there are no cells in its ranges."""
        made = self.make_again(rows, ranges, strings, states)
        if made is not None:
            assert self.formulas is not None
            table, numbers = made
            return table, self.formulas.describe(numbers)
        coverage = self._cover(rows, ranges)
        if not coverage.cells:
            return None
        table = self._call.fill(coverage, strings, states)
        self._call.make(table)
        return table, list_outputs(coverage)

    def make_again(
        self, rows: Rows, ranges: Ranges, strings: Strings, states: CallStates | None
    ) -> tuple[CallTable, Sequence[int]] | None:
        """Make the call, if formulas say what it covers; with it come their numbers."""
        table = self._call.table
        if table is None or strings is not table.strings:
            return None
        if not (states is None or states is table.states):
            return None
        numbers = self._fill_again(table, rows, ranges)
        if numbers is None:
            return None
        self._call.make(table)
        return table, numbers

    def _fill_again(
        self, table: CallTable, rows: Rows, ranges: Ranges
    ) -> Sequence[int] | None:
        """Fill the slots that change; None where all must be filled."""
        if self.formulas is None:
            if not self._is_known or self._call.is_unbounded:
                self._is_known = True
                return None
            request = self._call.request
            self.formulas = RangeFormulas(table, rows, ranges, self._tdoms, request)
        return self.formulas.fill(table, rows, ranges)

    def _cover(self, rows: Rows, ranges: Ranges) -> Coverage[int]:
        """Find what the call covers."""
        signature, request = self._call.kernel.signature, self._call.request
        cells = {
            name: cells_of(self._tdoms[name], each.domain, each.low, each.high)
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
        coverage.check_ranked()
        return coverage


class SingleRun:
    """One run of a sweep kernel that is one call."""

    vector = None

    def __init__(
        self,
        call: RangeCall,
        rows: Rows,
        strings: Strings,
        ranges: Ranges,
        states: CallStates | None,
    ) -> None:
        self.strings = strings
        self.ranges = ranges
        self._call = call
        self._rows = rows
        self._states = states

    def may_visit(self, most: int) -> bool:
        """Return that no loop makes so many visits: rows bound them, and are few."""
        del most
        return False

    def visits(self) -> dict[str, LoopVisits]:
        """Bound the visits of each loop that goes beyond its rows: there are none."""
        return {}

    def stitch(self, stitchers: Mapping[str, Stitcher]) -> None:
        """Compute what is wanted; each output's piece goes to its stitcher."""
        made = self._call.make(self._rows, self.ranges, self.strings, self._states)
        if made is None:
            return
        table, outputs = made
        for output in outputs:
            if output.cells.some:
                written = output.count_snapshots(table)
                piece = output.snapshots_of(written, 0, self._rows)
                cells = output.cells if output.may_have_others else None
                stitchers[output.loop.name].add(piece, cells)
