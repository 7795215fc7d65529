"""Interim."""

import numpy as np
import pyarrow as pa

from tiltpy.runtime.arrays.dtypes import I64Array


class ReorderBuffer:
    """Rows that wait, sorted by start and arrival when they are released."""

    def __init__(self) -> None:
        self._rows: list[tuple[I64Array, pa.Table]] = []

    def __len__(self) -> int:
        return sum(len(s) for s, _ in self._rows)

    def add(self, starts: I64Array, rows: pa.Table) -> None:
        self._rows.append((starts, rows))

    def release(self, time: int) -> list[tuple[I64Array, pa.Table]]:
        if not self._rows:
            return []
        starts = np.concatenate([s for s, _ in self._rows])
        table = pa.concat_tables([t for _, t in self._rows])
        ready = starts < time
        if not ready.any():
            return []
        numbers = np.flatnonzero(ready)
        order = numbers[np.argsort(starts[numbers], kind="stable")]
        rest = np.flatnonzero(~ready)
        self._rows = (
            [(starts[rest], table.take(pa.array(rest)).combine_chunks())]
            if len(rest)
            else []
        )
        return [(starts[order], table.take(pa.array(order)).combine_chunks())]

    def rows(self) -> tuple[I64Array, pa.Table] | None:
        if not self._rows:
            return None
        return np.concatenate([s for s, _ in self._rows]), pa.concat_tables(
            [t for _, t in self._rows]
        )
