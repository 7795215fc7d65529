"""The formulas of what calls for keys cover, compiled for rows and outputs of one form.

They are those of a `SweepBatch`, which evaluates them for each batch. Where batches are
small and of one form, as in a session, that takes most of their time.
"""

from collections.abc import Collection, Hashable, Mapping
from typing import Any

from tiltpy.abi.signature import Loop, Signature
from tiltpy.lean_dataclass import record
from tiltpy.runtime.arrays.dtypes import I64Array
from tiltpy.runtime.arrays.pool import ScratchArrays
from tiltpy.runtime.execution.call_table import CallTable, list_numbers, list_sizes
from tiltpy.runtime.execution.key_domains import RowsByKey
from tiltpy.runtime.execution.loop_rows import LoopBuffer, list_arguments
from tiltpy.runtime.execution.row_slices import RowSlices, slice_by_key
from tiltpy.runtime.execution.slot_map import BITS
from tiltpy.runtime.execution.supports import bounds_by_key, find_supports
from tiltpy.runtime.execution.time_domain import Cells, Request
from tiltpy.runtime.execution.traced_loops import LoopTrace
from tiltpy.runtime.execution.traced_numbers import form_of
from tiltpy.runtime.execution.traced_operands import is_traced
from tiltpy.runtime.execution.visit_bounds import Coverage
from tiltpy.runtime.ingest.keys import Groups
from tiltpy.runtime.keyed.sweep_calls import AllCells
from tiltpy.types import BOOL, I64, Scalar

Rows = Mapping[str, RowsByKey]
Range = tuple[I64Array, I64Array]


def has_formulas(table: CallTable) -> bool:
    """Tell whether formulas say all that the calls of a table depend on."""
    loops = table.kernel.signature.loops
    if any(loop.is_unbounded or loop.structures for loop in loops):
        return False
    marks = any(slot.kind in BITS for slot in table.map.outputs)
    return not (marks or table.map.strings or table.map.states)


def find_form(rows: Rows, cells: AllCells) -> Hashable:
    """Find what formulas take for granted: layouts of rows, and which outputs."""
    forms = []
    for each in rows.values():
        by_key = isinstance(each, Groups)
        buffer = each.buffer if isinstance(each, Groups) else each
        forms.append((by_key, buffer.domain_end is None, form_of(buffer)))
    return *forms, *cells


@record(frozen=True, slots=True, eq=False)
class CoverageByFormulas:
    """The rows that calls visit, and the grid points of their loops, by formulas."""

    slices: Mapping[str, RowSlices[I64Array]]
    extents: Mapping[str, Range]
    row_ranges: Mapping[str, Range]

    def row_range(self, loop: Loop) -> Range:
        """The rows that a loop visits, from the first of each slice."""
        return self.row_ranges[loop.name]


class CallFormulas:
    """The numbers of calls that follow from the rows of keys and outputs' cells.

    They are traced over some rows and cells, and serve all of the same form. A `table`
    of those is filled; its first row has the numbers that are the same in every call.
    """

    def __init__(
        self,
        table: CallTable,
        rows: Rows,
        cells: AllCells,
        keys: I64Array,
        request: Request,
    ) -> None:
        self._table = table.as_template()
        trace = LoopTrace()
        slots = trace.table(is_written=True)
        signature = table.kernel.signature
        slices, bounds = _slice_rows(rows, keys), _find_bounds(signature, rows, keys)
        coverage = _trace_coverage(trace, signature, slices, bounds, [*cells], request)
        loops = [each for each in signature.loops if each.name in cells]
        shared = [each for each in loops if each.implicit_times]
        self._loops = [each.name for each in loops]
        self._shared = [each.name for each in shared]
        sizes = {
            index: trace.greatest(size) if index in table.needs else trace.total(size)
            for index, size in list_sizes(table.map, coverage)
        }
        self._sizes = sizes
        """The fold that has what the array of a slot needs."""
        ranges = [coverage.extents[loop.name] for loop in loops]
        ranges += [coverage.row_range(loop) for loop in shared]
        for index, number in list_numbers(table.map, coverage):
            if is_traced(number):
                trace.store(slots, trace.row * table.map.size + index, number)
        numbers = [number for range_ in ranges for number in range_]
        for index in table.list_appended():
            trace.store(slots, trace.row * table.map.size + index, 0)
        self._compute = trace.compile(numbers)

    def prepare(
        self,
        rows: Rows,
        cells: AllCells,
        keys: I64Array,
        scratch: ScratchArrays,
        *,
        every: bool = False,
    ) -> tuple[CallTable, CoverageByFormulas]:
        """Prepare the calls for some keys, perhaps `every` one, over what they cover.

        They write to `scratch`, which the next ones write to as well.
        """
        calls = len(keys)
        slices = _slice_rows(rows, keys, every=every)
        bounds = _find_bounds(self._table.kernel.signature, rows, keys)
        table = self._table
        table.repeat(calls)
        arguments = [table.slots, *_list_arguments(slices, bounds, cells)]
        numbers, _ = self._compute(calls, arguments)
        folds = self._compute.folds
        sizes = {index: folds[number] for index, number in self._sizes.items()}
        table.take_sizes(sizes, scratch)
        ranges = [*zip(numbers[::2], numbers[1::2], strict=True)]
        extents = dict(zip(self._loops, ranges, strict=False))
        behind = ranges[len(extents) :]
        row_ranges = dict(zip(self._shared, behind, strict=True))
        return table, CoverageByFormulas(slices, extents, row_ranges)


def _slice_rows(
    rows: Rows, keys: I64Array, *, every: bool = False
) -> dict[str, RowSlices[I64Array]]:
    return {n: slice_by_key(each, keys, every=every) for n, each in rows.items()}


def _find_bounds(
    signature: Signature, rows: Rows, keys: I64Array
) -> Mapping[str, Range]:
    """Find the bounds of rows by key, where loops that visit every cell must know."""
    if not any(loop.every_cell for loop in signature.loops):
        return {}
    return bounds_by_key(rows, keys)


def _list_arguments(
    slices: Mapping[str, RowSlices[I64Array]],
    bounds: Mapping[str, Range],
    cells: AllCells,
) -> list[Any]:
    """List the arguments of formulas behind the slots."""
    arguments: list[Any] = []
    for taken in slices.values():
        arguments += list_arguments(taken.buffer)
        if taken.keyed:
            arguments += taken.first, taken.count, taken.start
    for low, high in bounds.values():
        arguments += low, high
    for owned in cells.values():
        arguments += owned.first, owned.last, owned.seam
    return arguments


def _trace_coverage(
    trace: LoopTrace,
    signature: Signature,
    slices: Mapping[str, RowSlices[I64Array]],
    bounds: Collection[str],
    outputs: Collection[str],
    request: Request,
) -> Coverage[Any]:
    """Trace what calls cover; the arguments are those of `_list_arguments`."""

    def trace_columns(*types: Scalar) -> list[Any]:
        return [trace.column(each) for each in types]

    whole: dict[str, RowSlices[Any]] = {}
    others: dict[str, RowSlices[Any]] = {}
    for name, taken in slices.items():
        buffer: Any = LoopBuffer(trace, taken.buffer)
        if taken.keyed:
            columns = trace_columns(I64, I64, I64)
            whole[name] = RowSlices(buffer, *columns, keyed=True)
        else:
            others[name] = RowSlices.all_of(buffer, 0)
    spans = {name: tuple(trace_columns(I64, I64)) for name in bounds}
    cells = {name: Cells(*trace_columns(I64, I64, BOOL)) for name in outputs}
    support: Any = find_supports(signature, spans, request, 0) if bounds else {}
    return Coverage(signature, 0, others, cells, request, support, {}, whole)
