"""The formulas of what one call covers, compiled for rows and ranges of one form."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.execution.call_table import CallTable, list_numbers, list_sizes
from tiltpy.runtime.execution.row_slices import RowSlices
from tiltpy.runtime.execution.sweep_calls import SweepOutput, list_outputs
from tiltpy.runtime.execution.time_domain import (
    Cells,
    Domain,
    OutputRange,
    Request,
    cells_of,
)
from tiltpy.runtime.execution.traced_numbers import (
    Trace,
    TracedBuffer,
    TracedNumber,
    form_of,
    text_of,
)
from tiltpy.runtime.execution.visit_bounds import Coverage
from tiltpy.types import TDom

Rows = Mapping[str, SnapshotBuffer]
Ranges = Mapping[str, OutputRange]


class RangeFormulas:
    """The numbers of one call that follow from the rows of inputs and outputs' ranges.

    They are traced over some rows and ranges, and serve all of the same form.
    """

    def __init__(
        self,
        table: CallTable,
        rows: Rows,
        ranges: Ranges,
        tdoms: Mapping[str, TDom],
        request: Request,
    ) -> None:
        trace = Trace()
        arguments = ["slots"]
        slices: dict[str, RowSlices[Any]] = {}
        for number, (name, buffer) in enumerate(rows.items()):
            traced: Any = TracedBuffer(trace, f"rows{number}", buffer)
            slices[name] = RowSlices.all_of(traced, 0)
            arguments.append(f"rows{number}")
        cells: dict[str, Cells[Any]] = {}
        for number, (name, each) in enumerate(ranges.items()):
            times: list[Any] = [
                TracedNumber(trace, f"{time}{number}", value)
                for time, value in zip(RANGE_TIMES, _list_times(each), strict=True)
            ]
            arguments += [time.text for time in times]
            start, end, low, high = times
            owned: Cells[Any] = cells_of(tdoms[name], Domain(start, end), low, high)
            if owned.some:
                cells[name] = owned
        signature = table.kernel.signature
        coverage = Coverage[Any](signature, 0, slices, cells, request, {}, {})
        coverage.check_ranked()
        outputs = list_outputs(coverage)
        self.outputs = [
            (each.loop, each.may_have_others, each.owns_rows) for each in outputs
        ]
        """Of each output what no number decides, as in `SweepOutput`."""
        needs: dict[str, tuple[Any, list[int]]] = {}
        for index, size in list_sizes(table.map, coverage):
            needs.setdefault(text_of(size), (size, []))[1].append(index)
        self._slots_by_size = [indices for _, indices in needs.values()]
        sizes = [size for size, _ in needs.values()]
        results = [number for each in outputs for number in _numbers_of(each)]
        stores = [
            (f"slots[{index}]", number)
            for index, number in list_numbers(table.map, coverage)
        ]
        self._compute = trace.compile(arguments, [*sizes, *results], stores)
        self._room: list[int] = []
        self._version = -1

    def fill(
        self, table: CallTable, rows: Rows, ranges: Ranges
    ) -> Sequence[int] | None:
        """Fill the slots that say what the call covers.

        Returns `NUMBERS` of each output, at the end: its first and last grid point,
        whether there is a seam, and `begin` and `stop` as in `SweepOutput`. None where
        it has not the room for them, or something else decides what it covers.
        """
        arguments: list[Any] = [*rows.values()]
        for each in ranges.values():
            arguments += _list_times(each)
        numbers: Sequence[int] | None = self._compute(table.view, *arguments)
        if numbers is None:
            return None
        if self._version != table.version:
            self._room = [
                min(table.rooms[index] for index in indices)
                for indices in self._slots_by_size
            ]
            self._version = table.version
        for size, room in zip(numbers, self._room, strict=False):
            if size > room:
                return None
        return numbers

    def describe(self, numbers: Sequence[int]) -> list[SweepOutput]:
        """Describe the outputs by their numbers."""
        outputs, place = [], -NUMBERS * len(self.outputs)
        for loop, may_have_others, owns_rows in self.outputs:
            first, last, seam, begin, stop = numbers[place : place + NUMBERS or None]
            cells = Cells(first, last, bool(seam))
            outputs.append(
                SweepOutput(loop, cells, may_have_others, begin, stop, owns_rows)
            )
            place += NUMBERS
        return outputs


NUMBERS = 5
"""The number of results that the formulas of an output have."""


def _numbers_of(output: SweepOutput) -> tuple[Any, ...]:
    """List the numbers of an output."""
    owned = output.cells
    return owned.first, owned.last, owned.seam, output.begin, output.stop


RANGE_TIMES = "start", "end", "low", "high"
"""The times of a range that formulas look at: those of its domain, and its own."""


def _list_times(range_: OutputRange) -> tuple[int, ...]:
    """List the `RANGE_TIMES`."""
    domain = range_.domain
    return domain.start, domain.end, range_.low, range_.high


def find_form(rows: Rows, ranges: Ranges) -> Hashable:
    """Find what formulas take for granted: the layouts of rows, and which outputs."""
    return *[form_of(buffer) for buffer in rows.values()], *ranges
