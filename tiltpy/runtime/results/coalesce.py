"""Snapshots of an output that touch and have identical values, as one.

The same as `distinct` in the language, of a result that is there.
"""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from tiltpy import arrow_functions as pc
from tiltpy.runtime.arrays.dtypes import BoolArray


def coalesce_table(
    table: pa.Table, payload: list[str], keys: Iterable[slice]
) -> pa.Table:
    """Join neighbouring rows of a table, of which each key's are a slice.

    `payload` are the columns whose values decide.
    """
    count = table.num_rows
    if count < 2:
        return table
    joined = _equal(table["start"].slice(1), table["end"].slice(0, count - 1))
    for name in payload:
        joined &= _equal(table[name].slice(1), table[name].slice(0, count - 1))
    begins = np.concatenate([[True], ~joined])
    begins[[rows.start for rows in keys if rows.start < count]] = True
    first = np.flatnonzero(begins)
    last = np.append(first[1:], count) - 1
    ends, index = table["end"].take(pa.array(last)), table.column_names.index("end")
    rows = table.take(pa.array(first))
    return rows.set_column(index, table.schema.field(index), ends)


def _equal(left: pa.ChunkedArray, right: pa.ChunkedArray) -> BoolArray:
    """Compare values row by row: NaNs are equal, zeros too, and so are nulls."""
    same: BoolArray = _nulls(left) == _nulls(right)
    if pa.types.is_struct(left.type):
        for field, against in zip(left.flatten(), right.flatten(), strict=True):
            same &= _equal(field, against)
        return same
    values = pc.fill_null(pc.equal(left, right), True).to_numpy(zero_copy_only=False)
    if pa.types.is_floating(left.type):
        values = values | (_nulls(left, nans=True) & _nulls(right, nans=True))
    equal: BoolArray = same & values
    return equal


def _nulls(column: pa.ChunkedArray, *, nans: bool = False) -> BoolArray:
    """Tell which values are null, or perhaps NaN."""
    nulls = column.is_null(nan_is_null=nans)
    found: BoolArray = nulls.to_numpy(zero_copy_only=False)
    return found
