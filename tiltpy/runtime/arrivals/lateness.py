"""The lateness rule of an input, and what becomes of late rows.

A row is late if its event starts before the time through which its input is complete
when the row is read. That time follows the rows in order of arrival, so that batches
never decide which rows are late.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa

from tiltpy.errors import DataError
from tiltpy.ir.nodes import Input
from tiltpy.lean_dataclass import dataclass
from tiltpy.messages import quantity
from tiltpy.runtime.arrays.dtypes import BoolArray, I64Array, Steps, Times
from tiltpy.runtime.arrays.views import plain_array
from tiltpy.runtime.arrivals.ingress_options import IngressOptions
from tiltpy.runtime.arrow.timestamps import StampType, format_stamp
from tiltpy.types import MAX_TIME, Unit

BEGINNING = -MAX_TIME
"""Through when an input is complete of which nothing is known."""
NO_COLUMNS = pa.Table.from_arrays([], names=[])
"""The late rows that nobody wants."""


@dataclass(frozen=True, slots=True, eq=False)
class LateRows:
    """Late rows: the columns of the first frame, row numbers, and ticks of delay."""

    rows: pa.Table
    numbers: I64Array
    ticks: I64Array

    @staticmethod
    def none(schema: pa.Schema) -> "LateRows":
        """Make no late rows, with the columns of a schema."""
        nothing = np.empty(0, np.int64)
        return LateRows(pa.Table.from_batches([], schema), nothing, nothing)

    def table(self) -> pa.Table:
        """Make a table with the columns `row` and `late_by` behind the others."""
        table = self.rows
        for name, values in (("row", self.numbers), ("late_by", self.ticks)):
            free = name
            while free in table.schema.names:
                free += "_"
            table = table.append_column(free, plain_array(values))
        return table


class LatenessRule:
    """The lateness rule of an input by its options; `before` is as in its lifetime."""

    def __init__(
        self,
        declared: Input,
        options: IngressOptions,
        column: str,
        stamps: StampType,
        unit: Unit | None,
    ) -> None:
        assert declared.lifetime is not None
        self._input = declared.name
        self._options = options
        self._column = column
        self._stamps = stamps
        self._unit = unit
        self._before = declared.lifetime.before
        self._is_interval = bool(declared.lifetime.columns)

    def follow(
        self, starts: Times, steps: Steps | None, complete: int, greatest: int
    ) -> tuple[I64Array | None, int, int]:
        """Follow rows in order of arrival, with the `steps` between those in order.

        The input was complete through `complete` before, with the `greatest` start.
        Returns through when it is complete before each row if any is late, else None;
        then that and the greatest start behind all rows. Raises `DataError` where a row
        starts far beyond all before it.
        """
        options = self._options
        if not len(starts):
            return None, max(complete, _reduce(greatest, options.reorder)), greatest
        if steps is not None:
            ends = starts.item(0), starts.item(-1)
            order = self.follow_order(*ends, steps, complete, greatest)
            if order is not None:
                return None, *order
        bounds = self._bounds_before(starts, complete, greatest)
        complete, bounds = int(bounds[-1]), bounds[:-1]
        if starts[0] >= bounds[0] and (starts >= bounds).all():
            return None, complete, max(greatest, int(starts.max()))
        return bounds, complete, greatest

    def follow_order(
        self, first: int, last: int, steps: Steps, complete: int, greatest: int
    ) -> tuple[int, int] | None:
        """Follow rows in order, from the first start to the last.

        None where some are late or far beyond the others.
        """
        reorder, jump = self._options.reorder, self._options.jump
        if first < complete or first < greatest - reorder:
            return None
        if jump is not None:
            beyond = 0 if greatest == BEGINNING else first - greatest
            if steps[1] > jump or beyond > jump:
                return None
        most = max(last, greatest)
        behind = most - reorder
        return max(behind, complete), most

    def _bounds_before(
        self, starts: I64Array, complete: int, greatest: int
    ) -> I64Array:
        """Find through when the input is complete before each row, and behind all.

        Late rows raise no bound: they start before others that did.
        """
        bounds = np.empty(len(starts) + 1, np.int64)
        bounds[0] = greatest
        np.maximum.accumulate(starts, out=bounds[1:])
        np.maximum(bounds[1:], greatest, out=bounds[1:])
        jump = self._options.jump
        if jump is not None and len(starts):
            self._check_jumps(starts, bounds, jump)
        bounds -= np.minimum(self._options.reorder, bounds - BEGINNING)
        np.maximum(bounds, complete, out=bounds)
        return bounds

    def _check_jumps(self, starts: I64Array, most: I64Array, jump: int) -> None:
        """Refuse a row that starts far beyond all before it."""
        far = starts - most[:-1] > jump
        far[most[:-1] == BEGINNING] = False
        if far.any():
            row = int(far.argmax())
            stamp, before = (int(each[row]) + self._before for each in (starts, most))
            raise DataError(
                f"the time {self._show(stamp)} is {quantity(stamp - before, 'tick')} "
                f"beyond the greatest one before it, {self._show(before)}, which is "
                "more than jump= allows; drop the row, or push what lies between",
                input=self._input,
                column=self._column,
                row=row,
            )

    def sort_out(
        self,
        take: Callable[[I64Array], pa.Table],
        ticks: list[I64Array],
        mask: BoolArray,
        bounds: I64Array,
        first: int,
    ) -> tuple[LateRows | None, BoolArray | None, list[I64Array]]:
        """Deal with the late rows of a table, which a mask marks.

        `take` takes rows of it by their numbers. Returns late rows that are left out,
        which rows are accepted, and their ticks.
        """
        places = np.flatnonzero(mask)
        delays = bounds[places] - (ticks[0][places] - self._before)
        match self._options.late:
            case "throw":
                row = int(places[0])
                complete = int(bounds[row])
                raise DataError(
                    f"the row is late: {self._show(int(ticks[0][row]))} is "
                    f"{quantity(int(delays[0]), 'tick')} behind what is complete, "
                    f"through {self._show(complete)}; allow more with reorder=, or "
                    'choose late="drop", "adjust" or "side"',
                    input=self._input,
                    column=self._column,
                    row=row,
                )
            case "adjust":
                moved = [each.copy() for each in ticks]
                moved[0][places] += delays
                if not self._is_interval:
                    return None, None, moved
                some = moved[0] < moved[1]
                return None, some, moved
            case "drop" | "side" as way:
                rows = take(places) if way == "side" else NO_COLUMNS
                return LateRows(rows, places + first, delays), ~mask, ticks

    def _show(self, stamp: int) -> str:
        """Format a stamp in ticks."""
        if self._unit is None or self._stamps.unit is None:
            return str(stamp)
        return format_stamp(stamp, replace(self._stamps, unit=self._unit))


def _reduce(time: int, ticks: int) -> int:
    """Go back from a time, not beyond the beginning."""
    return max(time - ticks, BEGINNING)
