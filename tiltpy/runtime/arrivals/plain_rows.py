"""Rows of a push whose payload was read with them, as kernels read it.

Most rows come in order and are settled soon. They go to the outputs as the arrays that
they came in; a table of them is made where they have to be moved, saved, or archived.
"""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltpy.lean_dataclass import record
from tiltpy.runtime.arrays.dtypes import Times
from tiltpy.runtime.arrays.snapshot_buffer import Column
from tiltpy.runtime.arrays.views import plain_array

Item = TypeVar("Item", bound=np.generic)


@record(frozen=True, slots=True, eq=False)
class PlainRows:
    """Rows as they arrived: ticks of their times, payload, and the table they came in.

    `names` are those of a table of rows: ticks, then `columns` of the frame.
    `has_nulls`: a value of the payload may be null. `keys` are the key columns of an
    input that has any.
    """

    ticks: Sequence[Times]
    payload: tuple[Column, ...]
    frame: pa.Table
    columns: Sequence[str]
    names: Sequence[str]
    has_nulls: bool
    keys: tuple[pa.Array, ...] = ()

    @property
    def nbytes(self) -> int:
        """The bytes of the rows."""
        return int(self.frame.nbytes) + sum(each.nbytes for each in self.ticks)

    def table(self, first: int, count: int) -> pa.Table:
        """Make a table of some rows."""
        frame = self.frame.slice(first, count)
        ticks = (plain_array(each[first : first + count]) for each in self.ticks)
        return pa.Table.from_arrays(
            [*ticks, *map(frame.column, self.columns)], self.names
        )


def join_plain(
    parts: Sequence[tuple[PlainRows, slice]],
) -> tuple[tuple[Times, ...], tuple[Column, ...]]:
    """Put rows without nulls behind one another: their ticks, and their payload."""
    first, _ = parts[0]
    times = tuple(
        _join([rows.ticks[number][part] for rows, part in parts])
        for number in range(len(first.ticks))
    )
    payload = tuple(
        Column(_join([rows.payload[number].values[part] for rows, part in parts]))
        for number in range(len(first.payload))
    )
    return times, payload


def join_keys(parts: Sequence[tuple[PlainRows, slice]]) -> tuple[pa.Array, ...]:
    """Put the keys of rows behind one another, column by column."""
    pieces = [[key[part] for key in rows.keys] for rows, part in parts]
    columns = zip(*pieces, strict=True)
    return tuple(
        [
            column[0] if len(column) == 1 else pa.concat_arrays(column)
            for column in columns
        ]
    )


def _join(arrays: Sequence[NDArray[Item]]) -> NDArray[Item]:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
