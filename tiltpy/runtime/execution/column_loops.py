"""Loops of formulas over columns: imported once formulas come again."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tiltpy.runtime.execution.column_formulas import (
    Columns,
    Compute,
    Formulas,
    Table,
    WholeTimes,
    find_argument,
)
from tiltpy.runtime.execution.loop_rows import LoopTimes
from tiltpy.runtime.execution.traced_loops import LoopTable, LoopTrace
from tiltpy.types import BOOL, I64


def compile_formulas(
    formulas: Formulas, operands: Mapping[str, Any], blocks: Sequence[Columns]
) -> Compute:
    """Compile formulas as a loop over rows of such operands."""
    trace = LoopTrace()
    columns: dict[str, Any] = {}
    tables: dict[str, LoopTable] = {}
    lines: set[tuple[int, int]] = set()
    for name, each in operands.items():
        if isinstance(each, int):
            columns[name] = trace.number()
            continue
        array = find_argument(each)
        of = BOOL if array.dtype == np.bool_ else I64
        if isinstance(each, WholeTimes):
            columns[name] = LoopTimes(trace, trace.table())
        elif isinstance(each, Table):
            line = each.line, each.step * array.itemsize
            array = trace.table(of, is_written=True)
            tables[name] = LoopTable(array, each.step, line not in lines)
            lines.add(line)
        else:
            columns[name] = trace.column(of)
    items, *entries = trace.entries([*tables.values()])
    columns |= zip(tables, entries, strict=True)
    for block in blocks:
        tables_of = trace.table(I64), trace.table(BOOL)
        for name, (is_truth, number) in block.places.items():
            columns[name] = trace.column_of(tables_of[is_truth], number)
    results = {}
    for name, result in formulas(columns).items():
        if name in tables:
            table = tables[name]
            trace.store(table.array, items * table.step, result)
        else:
            results[name] = result
    loop = trace.compile([*results.values()])
    places = dict(zip(results, loop.places, strict=True))
    return lambda rows, arguments: Columns(*loop(rows, arguments), places)
