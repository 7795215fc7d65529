"""The changes that make one table of rows another one, as multisets.

Rows are the same if all their bytes are: nothing is rounded, and NaN is NaN.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from tiltpy.runtime.arrays.dtypes import I64Array


def list_changes(old: pa.Table, new: pa.Table) -> pa.Table:
    """List what makes `old` into `new`: rows with `weight` -1, then rows with +1."""
    added, removed = _subtract(new, old)
    weights = np.repeat([-1, 1], [removed.num_rows, added.num_rows])
    rows = join_tables([removed, added])
    return _append(rows, "weight", pa.array(weights, pa.int8()))


def list_upserts(old: pa.Table, new: pa.Table, columns: int) -> pa.Table:
    """List what makes `old` into `new`: rows with the `op` delete, then with put.

    A row is known by its first `columns` columns. One is deleted where no other is put.
    """
    added, removed = _subtract(new, old)
    positions, counts = _count(*(_first(rows, columns) for rows in (removed, added)))
    gone = removed.take(pa.array(positions[counts < 0]))
    operations = ["delete"] * gone.num_rows + ["put"] * added.num_rows
    rows = join_tables([gone, added])
    return _append(rows, "op", pa.array(operations, pa.string()))


def join_tables(tables: Sequence[pa.Table]) -> pa.Table:
    """Join tables; those without rows may have columns that have no type yet."""
    with_rows = [table for table in tables if table.num_rows]
    return pa.concat_tables(with_rows) if with_rows else tables[-1]


def _subtract(new: pa.Table, old: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Return the rows that are more in `new`, each so many times, and those less."""
    if not old.num_rows or not new.num_rows:
        return new, old
    positions, counts = _count(old, new)
    rows = join_tables([old, new])
    added, removed = (
        rows.take(pa.array(np.repeat(positions, np.maximum(sign * counts, 0))))
        for sign in (1, -1)
    )
    return added, removed


def _count(old: pa.Table, new: pa.Table) -> tuple[I64Array, I64Array]:
    """Count each row, in `new` less in `old`; and where it is first, `old` before."""
    rows = join_tables([old, new])
    signs = np.repeat([-1, 1], [old.num_rows, new.num_rows])
    columns = [part for column in rows.columns for part in _list_fields(column)]
    names = [str(number) for number in range(len(columns))]
    columns += [pa.array(signs), pa.array(np.arange(rows.num_rows))]
    table = pa.table(columns, [*names, "sign", "at"])
    # One thread: groups are in order of their first rows.
    groups = table.group_by(names, use_threads=False).aggregate(
        [("sign", "sum"), ("at", "min")]
    )
    return groups["at_min"].to_numpy(), groups["sign_sum"].to_numpy()


def _list_fields(column: pa.ChunkedArray) -> Iterator[pa.ChunkedArray]:
    """List the fields of structs, which Arrow does not group by, and where they are."""
    if not pa.types.is_struct(column.type):
        yield column
        return
    yield column.is_valid()
    for field in column.flatten():
        yield from _list_fields(field)


def _first(rows: pa.Table, count: int) -> pa.Table:
    return rows.select(range(count))


def _append(rows: pa.Table, name: str, values: pa.Array) -> pa.Table:
    """Append a column, by a name that is free."""
    while name in rows.schema.names:
        name += "_"
    return rows.append_column(name, values)
