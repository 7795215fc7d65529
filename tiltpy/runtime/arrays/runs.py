"""Runs of rows: some successive rows of an array each, copied behind one another."""

import numpy as np
from numpy.typing import NDArray

from tiltpy.forks import cached_property
from tiltpy.routines.catalogue import COPY_RUNS, SPARE
from tiltpy.runtime.arrays.dtypes import I64Array
from tiltpy.runtime.arrays.pool import allocate
from tiltpy.runtime.arrays.repetition import repeat_numbers
from tiltpy.runtime.arrays.views import Number
from tiltpy.types import I64, U32

_WORDS = {32: U32, 64: I64}
"""The types as which values of some bits are copied by machine code."""


class Runs:
    """Runs of `counts[k]` rows each, from row `firsts[k]` on; `total` rows in all."""

    def __init__(self, firsts: I64Array, counts: I64Array, total: int) -> None:
        self.firsts = firsts
        self.counts = counts
        self.total = total

    def take(self, values: NDArray[Number]) -> NDArray[Number]:
        """Copy the values of these rows."""
        bits = 8 * values.itemsize
        if bits not in _WORDS:
            return values.take(self._rows)
        source = np.ascontiguousarray(values).view(f"u{values.itemsize}")
        target = allocate(_WORDS[bits], self.total + SPARE)
        COPY_RUNS[bits](
            *(len(self.counts), len(source)),
            *(self.firsts, self.counts, source, target),
        )
        return target[: self.total].view(values.dtype)

    @cached_property
    def _rows(self) -> I64Array:
        """The number of each row."""
        before = self.counts.cumsum() - self.counts
        rows = repeat_numbers(self.firsts - before, self.counts, self.total)
        rows += np.arange(self.total)
        return rows
