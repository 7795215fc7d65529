"""Bounds on the work of a sweep kernel: the cells and rows that its loops visit.

They follow from the extents of its loops (`loop_extents`), and give the sizes of a
call's arrays, the lengths of chunks (`chunk_sizing`), and what a run says beforehand of
loops that visit very many cells (`visit_warnings`).
"""

from tiltpy.abi.signature import MOST_RANKED, Loop, Read, Shape
from tiltpy.abi.slots import SlotKind
from tiltpy.errors import DataError
from tiltpy.forks import cached_property
from tiltpy.runtime.execution.call_numbers import (
    N,
    choose,
    greatest,
    least,
    most,
    multiply,
    share_of,
)
from tiltpy.runtime.execution.key_domains import EARLIEST, LATEST
from tiltpy.runtime.execution.loop_extents import Extents
from tiltpy.runtime.execution.slot_map import BITS, OutputSlot

MAX_CELLS = 1 << 36
"""Cells of an object that is evaluated at every one of them: minutes of work."""


class Coverage(Extents[N]):
    """The coverage of sweep calls, and bounds on their visits."""

    def check_ranked(self) -> None:
        """Refuse what structures of windows cannot number with 32 bits."""
        if not any(loop.structures for loop in self.signature.loops):
            return
        counts = {name: rows.count for name, rows in self.slices.items()}
        for name, numbers in (counts | self.capacity).items():
            count = greatest(numbers)
            if count > MOST_RANKED:
                raise DataError(
                    f"~{name} could have {count:,} rows in a chunk, and median, mode "
                    f"and their like take {MOST_RANKED:,}; give a shorter chunk"
                )

    # -- how much work that is --------------------------------------------------------

    @cached_property
    def rows_read(self) -> N:
        """Count the rows of all inputs that each call reads."""
        count = self.zero
        for rows in self.slices.values():
            count = count + rows.count
        return count

    @cached_property
    def work(self) -> N:
        """The visits, or the rows read, of which there are most, of each call."""
        bound = self.rows_read
        for loop in self.signature.loops:
            if loop.recomputed:
                bound = most(bound, self.again(loop))
            if loop.every_cell:
                bound = most(bound, self.visits(loop))
        return bound

    def visits(self, loop: Loop) -> N:
        """Bound the visits of a loop."""
        first, last = self.extents[loop.name]
        if loop.shape is Shape.ROWS:
            bound = self.rows_of(loop.changes, 0)
        else:
            cells = (last - first) // loop.tdom.shortest + 1 + loop.tdom.irregular
            bound = least(cells, self.capacity[loop.name])
        return choose(first > last, 0, bound)

    def again(self, loop: Loop) -> N:
        """Bound the rows of inputs visited by a loop that recomputes its windows.

        Windows have as many rows as in the middle of the loop's grid points. Of an
        object that is made on the way nobody knows (`again_made`).
        """
        first, last = self.extents[loop.name]
        now = first + (last - first) // 2
        rows = self.zero
        for read in loop.recomputed:
            slices = self.rows.get(read.object)
            if slices is not None:
                begin, stop = slices.find(now + read.low, now + read.high)
                rows = rows + stop - begin
        return self.visits(loop) * rows

    def again_made(self, loop: Loop) -> N:
        """Bound the snapshots of other objects that it visits so.

        As if those that an object may have were spread evenly over its time. It may
        have few: chunks that are cut by this would make all of it again and again.
        """
        snapshots = self.zero
        for read in loop.recomputed:
            if read.object not in self.rows:
                snapshots = snapshots + self._made_in_window(read)
        return multiply(self.visits(loop), snapshots)

    def _made_in_window(self, read: Read) -> N:
        made = self._loop(read.object)
        first, last = self.extents[made.name]
        span = most(last - first, 0) + made.tdom.shortest
        return share_of(self.visits(made), read.high - read.low, span)

    # -- what stands in the slots -----------------------------------------------------

    def row_range(self, loop: Loop) -> tuple[N, N]:
        """The rows that a loop visits or shares times with, from the first of each."""
        known = self._row_ranges.get(loop.name)
        if known is not None:
            return known
        if loop.stamped or loop.shape is not Shape.ROWS:
            first, last = self.extents[loop.name]
            rows = self.slices[loop.reads[0].object]
            stamped = loop.stamped and not loop.tdom.at_ends
            find = rows.find_stamped if stamped else rows.find_ending
            row_range = find(first - 1, choose(first <= last, last, first - 1))
            self._row_ranges[loop.name] = row_range
            return row_range
        owned = self.cells.get(loop.name)
        if owned is None:
            return self.zero, self.zero
        low = owned.first - 1
        if loop.distinct:
            low = low - choose(owned.seam, loop.tdom.precision, 0)
        rows = self.slices[loop.reads[0].object]
        row_range = rows.find(low, choose(owned.some, owned.last, low))
        self._row_ranges[loop.name] = row_range
        return row_range

    def _loop(self, name: str) -> Loop:
        for loop in self.signature.loops:
            if loop.name == name:
                return loop
        raise AssertionError(f"no loop of ~{name}")

    def number(self, kind: SlotKind, name: str, column: int) -> N | int:
        """Return where the loop of an object begins or ends, or what cuts its rows."""
        del column
        loop = self._loop(name)
        match kind:
            case SlotKind.FIRST | SlotKind.LAST:
                rows = loop.shape is Shape.ROWS
                bounds = self.row_range(loop) if rows else self.extents[name]
                return bounds[kind is SlotKind.LAST]
            case SlotKind.REACHED:
                owned = self.cells.get(name)
                if owned is not None:
                    return choose(owned.some, owned.last, EARLIEST)
                first, last = self.extents[name]
                return choose(first <= last, last, EARLIEST)
            case SlotKind.CLIP_LOW:
                start = self.request.resolve(loop.tdom.start)
                return EARLIEST if start is None else start
            case SlotKind.CLIP_HIGH:
                end = self.request.resolve(loop.tdom.end)
                return LATEST if end is None else end
            case _:
                raise AssertionError(f"no number of a loop: {kind}")

    def room(self, slot: OutputSlot) -> N:
        """Bound the entries that each call writes to the array of a slot."""
        if slot.kind in BITS:  # a byte for each row that a call visits
            first, stop = self.row_range(slot.loop)
            return stop - first
        return self.zero + 1 if slot.is_implied else self.capacity[slot.loop.name]
