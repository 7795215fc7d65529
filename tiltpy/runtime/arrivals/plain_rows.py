"""Rows of a push whose payload was read with them, as kernels read it.

Most rows are settled soon. They go to the outputs as the arrays that they came in, few
that are out of order as sorted ones; a table of them is made where they wait long, or
are saved or archived.
"""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltpy.lean_dataclass import record
from tiltpy.runtime.arrays.dtypes import I64Array, Times
from tiltpy.runtime.arrays.snapshot_buffer import Column, pack_validity
from tiltpy.runtime.arrays.views import column_array, plain_array
from tiltpy.types import Scalar

Item = TypeVar("Item", bound=np.generic)


@record(frozen=True, slots=True, eq=False)
class PlainColumns:
    """The columns of plain rows: the types of payload, and how a table of rows is made.

    A table has columns of ticks, then the `places` of payload and key columns, counted
    through both; `names` are those of all.
    """

    scalars: Sequence[Scalar]
    places: Sequence[int]
    names: Sequence[str]


@record(frozen=True, slots=True, eq=False)
class PlainRows:
    """Rows as they arrived: ticks of their times, payload, and keys, if any."""

    columns: PlainColumns
    ticks: Sequence[Times]
    payload: Sequence[Column]
    keys: Sequence[pa.Array] = ()

    @property
    def has_nulls(self) -> bool:
        """Tell whether a value of the payload may be null."""
        for column in self.payload:  # noqa: SIM110 - pushes feel a generator
            if column.validity is not None:
                return True
        return False

    @property
    def nbytes(self) -> int:
        """The bytes of the rows."""
        arrays = [*self.ticks, *[each.values for each in self.payload], *self.keys]
        return sum(int(each.nbytes) for each in arrays)

    def table(self, first: int, count: int) -> pa.Table:
        """Make a table of some rows."""
        payload = [
            column_array(column.slice(first, count), count, scalar)
            for column, scalar in zip(self.payload, self.columns.scalars, strict=True)
        ]
        columns = [*payload, *[key.slice(first, count) for key in self.keys]]
        ticks = [plain_array(each[first : first + count]) for each in self.ticks]
        chosen = [columns[place] for place in self.columns.places]
        return pa.Table.from_arrays([*ticks, *chosen], self.columns.names)

    def take(self, rows: I64Array) -> "PlainRows":
        """Copy some rows, which have no nulls."""
        return PlainRows(
            self.columns,
            [each.take(rows) for each in self.ticks],
            [Column(each.values.take(rows)) for each in self.payload],
            [key.take(plain_array(rows)) for key in self.keys],
        )


def join_plain(parts: Sequence[tuple[PlainRows, slice]]) -> PlainRows:
    """Put rows behind one another."""
    first, _ = parts[0]
    return PlainRows(
        first.columns,
        [
            _join([rows.ticks[number][part] for rows, part in parts])
            for number in range(len(first.ticks))
        ],
        [
            _join_columns([(rows.payload[number], part) for rows, part in parts])
            for number in range(len(first.payload))
        ],
        [
            _join_keys([rows.keys[number][part] for rows, part in parts])
            for number in range(len(first.keys))
        ],
    )


def _join_columns(parts: Sequence[tuple[Column, slice]]) -> Column:
    """Put the rows of columns behind one another."""
    values = _join([column.values[part] for column, part in parts])
    if all(column.validity is None for column, _ in parts):
        return Column(values)
    valid = []
    for column, part in parts:
        count = part.stop - part.start
        valid.append(column.slice(part.start, count).valid(count))
    return Column(values, pack_validity(_join(valid)))


def _join_keys(keys: Sequence[pa.Array]) -> pa.Array:
    return keys[0] if len(keys) == 1 else pa.concat_arrays(keys)


def _join(arrays: Sequence[NDArray[Item]]) -> NDArray[Item]:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
