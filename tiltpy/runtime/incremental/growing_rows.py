"""Rows that grow at their end and are forgotten at their start, in one piece.

What comes costs its own rows, not those that are held: arrays have room behind the last
row, and are moved when that is full. What nobody needs is passed over until then.
"""

from collections.abc import Sequence

from tiltpy.abi.layouts import TimeLayout
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.arrays.steps import layout_of_steps
from tiltpy.runtime.arrays.time_layout import LOOSER
from tiltpy.runtime.incremental.concat import drop_before, drop_first, gather
from tiltpy.runtime.incremental.growing_arrays import GrowingArrays
from tiltpy.runtime.incremental.stamped_rows import (
    EventLength,
    StampedRows,
    join_rows,
    join_steps,
)
from tiltpy.types import Type

SHARED_ROWS = 1 << 11
"""So many rows are held as they came, or joined, where there are no others: arrays with
room would be other memory each time, which is in no cache."""

_RANKS = {TimeLayout.SAMPLED: 0, **{each: 1 + n for n, each in enumerate(LOOSER)}}
"""Each layout holds where one of a lower rank does."""


class GrowingRows:
    """The rows of an object: some come behind the others, and old ones are dropped.

    Views that were handed out stay as they are. The rows have the tightest layout of
    those that are held and of those that came, which nobody has to look at again.
    """

    def __init__(self, payload: Type) -> None:
        self.payload = payload
        self.rows = SnapshotBuffer.empty(payload)
        """All rows."""
        self._arrays: GrowingArrays | None = None
        """The memory of the rows, once it has room behind them."""

    def replace(self, rows: SnapshotBuffer) -> None:
        """Hold other rows instead."""
        self.rows, self._arrays = rows, None

    def append(self, fresh: SnapshotBuffer) -> None:
        """Put rows behind those that are held."""
        if not fresh.n:
            return
        layout = self._find_layout(fresh) if self.rows.n else None
        if layout is None:
            self.replace(gather([self.rows, fresh], self.payload))
            return
        nullable = [column.validity is not None for column in fresh.columns]
        arrays = self._make_room(fresh.n, nullable, layout[0])
        self.rows = arrays.append(self.rows, fresh, layout)

    def append_stamped(self, fresh: Sequence[StampedRows], length: EventLength) -> int:
        """Put rows of one length behind those that are held, which have it, too.

        Returns how many there are.
        """
        count = 0
        for rows in fresh:
            count += len(rows.starts)
        if not self._append_in_place(fresh, count, length):
            self.append(length.lay_out(join_rows(fresh)))
        return count

    def _append_in_place(
        self, fresh: Sequence[StampedRows], count: int, length: EventLength
    ) -> bool:
        """Write rows into the arrays, unless they serve as they are, or need flags."""
        held = self.rows
        if not held.n and count >= SHARED_ROWS:
            return False
        steps = join_steps(held.row(held.n - 1)[0] if held.n else None, fresh)
        kind = layout_of_steps(length.ticks, steps)
        if _RANKS[kind] < _RANKS[held.layout]:
            kind = held.layout
        if kind is TimeLayout.CONTIGUOUS:
            return False
        if count == 1 and not held.n and self._arrays is not None:
            kind = self._arrays.find_layout(kind)
        arrays = self._make_room(count, (False,) * len(held.columns), kind)
        if arrays.has_bits:
            return False
        stop = arrays.put_stamped(arrays.first + held.n, fresh, length.ticks)
        if not held.n:
            held = length.lay_out_none(int(fresh[0].starts[0]), held.columns)
        self.rows = arrays.view(held, held, stop, (kind, held.fifo), held.points)
        return True

    def _make_room(
        self, count: int, nullable: Sequence[bool], kind: TimeLayout
    ) -> GrowingArrays:
        """Find the arrays with room for so many more rows, of columns that may be null.

        Those that are held are moved where there is too little, or other columns.
        """
        arrays, rows = self._arrays, self.rows
        if arrays is None or not arrays.can_take(rows.n + count, nullable, kind):
            arrays = self._arrays = GrowingArrays.move(
                rows, count, nullable, kind, self.payload
            )
        return arrays

    def view_with(self, fresh: SnapshotBuffer) -> SnapshotBuffer:
        """View the rows with fresh ones behind them, until others are put there."""
        held = self.rows
        self.append(fresh)
        whole, self.rows = self.rows, held
        return whole

    def _find_layout(self, fresh: SnapshotBuffer) -> tuple[TimeLayout, bool] | None:
        """Find the layout of the rows with fresh ones behind, and whether ends ascend.

        None where strings have to be given one dictionary.
        """
        held, sampled = self.rows, TimeLayout.SAMPLED
        if any(each.strings is not None for each in (*held.columns, *fresh.columns)):
            return None
        last, first = held.row(held.n - 1)[1], fresh.row(0)[0]
        kinds = {held.layout, fresh.layout} - {sampled}
        if not kinds and held.period == fresh.period and last == first:
            return sampled, True
        meets = LOOSER[0] if last == first else LOOSER[1] if last < first else LOOSER[2]
        loosest = max(map(LOOSER.index, kinds | {meets}))
        ascends = held.fifo and fresh.fifo and last <= fresh.row(0)[1]
        return LOOSER[loosest], ascends

    def drop_before(self, time: int, last_rows: int) -> None:
        """Forget rows that end by a time, but not the last that start before it."""
        held = self.rows
        in_place = held.layout is not TimeLayout.OVERLAPPING or (
            self._arrays is not None and _overlap_in_order(held)
        )
        drop = drop_first if in_place else drop_before
        left = drop(held, time, last_rows, self.payload)
        if left.n == held.n:
            return
        if self._arrays is None or (left.n and not in_place):
            self.replace(left)
        else:  # a view of the last rows, or none
            self._arrays.first += held.n - left.n
            self.rows = left


def _overlap_in_order(rows: SnapshotBuffer) -> bool:
    """Tell whether some rows overlap, and all end in the order in which they start.

    Those behind are likely to overlap as well, so that what stays keeps its layout.
    Where none overlaps any more, it is laid out anew.
    """
    if not rows.fifo:
        return False
    starts, ends = rows.times()
    return bool((starts[1:] < ends[:-1]).any())
