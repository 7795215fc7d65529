"""The payload of rows that lie by number, or by key, in arrays that grow."""

from collections.abc import Sequence

import numpy as np

from tiltpy.runtime.arrays.dtypes import BoolArray, I64Array
from tiltpy.runtime.arrays.pool import Array, allocate
from tiltpy.runtime.arrays.snapshot_buffer import Column, pack_validity
from tiltpy.types import Scalar, Type, columns


class PayloadTable:
    """An array for each column, with an entry for each row. None has strings."""

    def __init__(self, payload: Type) -> None:
        self._scalars: list[Scalar] = [scalar for _, scalar in columns(payload)]
        self._values: list[Array] = [allocate(each, 0) for each in self._scalars]
        self._valid: list[BoolArray | None] = [None] * len(self._scalars)
        """Which values are not null, of columns that ever had any null."""

    def resize(self, room: int, used: int) -> None:
        """Make room for so many rows, of which the first are in use."""
        for number, (values, scalar) in enumerate(
            zip(self._values, self._scalars, strict=True)
        ):
            larger = allocate(scalar, room)
            larger[:used] = values[:used]
            self._values[number] = larger
        for number, valid in enumerate(self._valid):
            if valid is not None:
                behind = np.ones(room - used, np.bool_)
                self._valid[number] = np.concatenate([valid[:used], behind])

    def take(self, rows: I64Array) -> tuple[Column, ...]:
        """Copy some rows."""
        taken = []
        for values, valid in zip(self._values, self._valid, strict=True):
            nulls = None if valid is None else pack_validity(valid[rows])
            taken.append(Column(values[rows], nulls))
        return tuple(taken)

    def write(
        self, rows: slice | I64Array, columns: Sequence[Column], count: int
    ) -> None:
        """Write so many rows of columns to some places."""
        for number, column in enumerate(columns):
            self._values[number][rows] = column.values[:count]
            valid = self._valid[number]
            if column.validity is not None:
                if valid is None:
                    valid = np.ones(len(self._values[number]), np.bool_)
                    self._valid[number] = valid
                valid[rows] = column.valid(count)
            elif valid is not None:
                valid[rows] = True

    def drop(self, rows: I64Array) -> None:
        """Let some rows go: others take their place, and nothing is to be done."""
