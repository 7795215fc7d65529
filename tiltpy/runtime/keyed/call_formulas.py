"""The formulas of what calls for keys cover, compiled for rows and outputs of one form.

They are those of a `SweepBatch`, which evaluates them for each batch. Where batches are
small and of one form, as in a session, that takes most of their time.
"""

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from tiltpy.abi.signature import Loop, Signature
from tiltpy.lean_dataclass import record
from tiltpy.runtime.arrays.dtypes import I64Array
from tiltpy.runtime.execution.call_table import CallTable, list_numbers, list_sizes
from tiltpy.runtime.execution.key_domains import RowsByKey
from tiltpy.runtime.execution.row_slices import RowSlices, slice_by_key
from tiltpy.runtime.execution.slot_map import BITS
from tiltpy.runtime.execution.supports import bounds_by_key, find_supports
from tiltpy.runtime.execution.time_domain import Cells, Request
from tiltpy.runtime.execution.traced_numbers import (
    Operand,
    Trace,
    TracedBuffer,
    TracedNumber,
    form_of,
)
from tiltpy.runtime.execution.visit_bounds import Coverage
from tiltpy.runtime.ingest.keys import Groups
from tiltpy.runtime.keyed.sweep_calls import AllCells

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
        self._signature = table.kernel.signature
        self._table = table
        trace = _ColumnTrace()
        slices = _slice_rows(rows, keys)
        bounds = _find_bounds(self._signature, rows, keys)
        coverage = trace.cover(self._signature, rows, slices, bounds, cells, request)
        loops = [each for each in self._signature.loops if each.name in cells]
        shared = [each for each in loops if each.implicit_times]
        self._loops = [each.name for each in loops]
        self._shared = [each.name for each in shared]
        sizes = list(list_sizes(table.map, coverage))
        self._sized = [index for index, _ in sizes]
        results: list[Operand] = [size for _, size in sizes]
        for loop in loops:
            results += coverage.extents[loop.name]
        for loop in shared:
            results += coverage.row_range(loop)
        stores = [
            (f"slots[:, {index}]", number)
            for index, number in list_numbers(table.map, coverage)
            if isinstance(number, TracedNumber)
        ]
        self._compute = trace.compile(results, stores)

    def prepare(
        self, rows: Rows, cells: AllCells, keys: I64Array
    ) -> tuple[CallTable, CoverageByFormulas]:
        """Prepare the calls for some keys, over what they cover."""
        slices = _slice_rows(rows, keys)
        bounds = _find_bounds(self._signature, rows, keys)
        count = len(keys)
        table = self._table.repeat(count)
        found = self._compute(
            table.slots, *_list_arguments(rows, slices, bounds, cells)
        )
        assert found is not None
        place = len(self._sized)
        table.take_sizes(dict(zip(self._sized, found, strict=False)))
        numbers = [
            np.full(count, each) if isinstance(each, int) else each
            for each in found[place:]
        ]
        ranges = [*zip(numbers[::2], numbers[1::2], strict=True)]
        extents = dict(zip(self._loops, ranges, strict=False))
        behind = ranges[len(extents) :]
        row_ranges = dict(zip(self._shared, behind, strict=True))
        return table, CoverageByFormulas(slices, extents, row_ranges)


def _slice_rows(rows: Rows, keys: I64Array) -> dict[str, RowSlices[I64Array]]:
    return {name: slice_by_key(each, keys) for name, each in rows.items()}


def _find_bounds(
    signature: Signature, rows: Rows, keys: I64Array
) -> Mapping[str, Range]:
    """Find the bounds of rows by key, where loops that visit every cell must know."""
    if not any(loop.every_cell for loop in signature.loops):
        return {}
    return bounds_by_key(rows, keys)


def _list_arguments(
    rows: Rows,
    slices: Mapping[str, RowSlices[I64Array]],
    bounds: Mapping[str, Range],
    cells: AllCells,
) -> list[Any]:
    """List the arguments of compiled formulas, behind the slots."""
    arguments: list[Any] = []
    for name, each in rows.items():
        taken = slices[name]
        arguments.append(taken.buffer)
        if isinstance(each, Groups):
            arguments += taken.first, taken.count, taken.start
        arguments += bounds.get(name, ())
    for owned in cells.values():
        arguments += owned.first, owned.last, owned.seam
    return arguments


class _ColumnTrace:
    """A trace of formulas over columns, whose arguments have names."""

    def __init__(self) -> None:
        self._trace = Trace(columns=True)
        self._arguments = ["slots"]

    def _name(self, value: Any) -> Any:
        """Trace a column that is an argument."""
        text = f"c{len(self._arguments)}"
        self._arguments.append(text)
        return TracedNumber(self._trace, text, value)

    def cover(
        self,
        signature: Signature,
        rows: Rows,
        slices: Mapping[str, RowSlices[I64Array]],
        bounds: Mapping[str, Range],
        cells: AllCells,
        request: Request,
    ) -> Coverage[Any]:
        """Trace what calls cover; the arguments are those of `_list_arguments`."""
        whole: dict[str, RowSlices[Any]] = {}
        others: dict[str, RowSlices[Any]] = {}
        traced_bounds: dict[str, tuple[Any, Any]] = {}
        for name, each in rows.items():
            taken = slices[name]
            text = f"rows{len(self._arguments)}"
            self._arguments.append(text)
            buffer: Any = TracedBuffer(self._trace, text, taken.buffer)
            if isinstance(each, Groups):
                columns = map(self._name, (taken.first, taken.count, taken.start))
                whole[name] = RowSlices(buffer, *columns, keyed=True)
            else:
                others[name] = RowSlices.all_of(buffer, 0)
            if name in bounds:
                low, high = map(self._name, bounds[name])
                traced_bounds[name] = low, high
        owned = {}
        for name, each_cells in cells.items():
            numbers = each_cells.first, each_cells.last, each_cells.seam
            owned[name] = Cells(*map(self._name, numbers))
        support: dict[str, tuple[Any, Any]] = {}
        if bounds:
            support = find_supports(signature, traced_bounds, request, 0)
        return Coverage(signature, 0, others, owned, request, support, {}, whole)

    def compile(self, results: list[Operand], stores: list[tuple[str, Operand]]) -> Any:
        """Compile the formulas."""
        return self._trace.compile(self._arguments, results, stores)
