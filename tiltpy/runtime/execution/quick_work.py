"""Work that is surely done soon: it needs no thread of its own (`offload`).

To hand work over takes 50 to 100 microseconds, as long as a short run. So bounds on the
rows and visits say what the caller's thread may do by itself, which hears of no
interrupt meanwhile.
"""

from collections.abc import Iterable, Mapping
from itertools import accumulate

import numpy as np
import pyarrow as pa

from tiltpy.ir.nodes import Input, Query
from tiltpy.runtime.ingest.binding import InputBinding
from tiltpy.runtime.ingest.read_input import is_known
from tiltpy.runtime.ingest.samples import share_samples
from tiltpy.types import Unit

QUICK = 10**8
"""Nanoseconds that kernels may run in the caller's thread."""
VECTOR_VISIT = 50
"""Nanoseconds that a visit of a vector kernel takes for an output, at most: its windows
are folded in lanes, pane by pane or as they slide, and those folded anew are short."""
QUICK_ROWS = 1 << 13
"""Rows below which a step over all of them takes less than a millisecond."""
KNOWN_ROWS = 1 << 10
"""Rows that have been read before count as one: only passes in machine code are left.
"""
TABLES, ARRAYS = (pa.Table, pa.RecordBatch), (np.ndarray, pa.Array, list)
FRAMES = ("pandas", "polars")
"""Packages whose frames and series know their rows."""


def sweep_cost(visits: int, rows: int) -> int:
    """A bound on the nanoseconds of a sweep kernel that makes so many visits.

    As if each visit went through all rows, a nanosecond each, and took another
    microsecond: nobody knows how many rows its windows have.
    """
    return visits * (1000 + rows)


def vector_cost(visits: int, outputs: int) -> int:
    """Bound the nanoseconds of a vector kernel by its visits, for each output."""
    return visits * outputs * VECTOR_VISIT


def are_quick(costs: Iterable[int]) -> bool:
    """Whether kernels of such costs are surely done soon."""
    return all(total < QUICK for total in accumulate(costs))


def reads_quickly(
    query: Query, bindings: Mapping[str, InputBinding], *, allow_sort: bool
) -> bool:
    """Whether all inputs of a query are surely read soon.

    Frames that do not know their rows may have any number. Rows by key may be folded
    as they come, by which nothing is known of them beforehand.
    """
    rows = {one.name: _rows(bindings[one.name].frame) for one in query.inputs}
    if sum(rows.values()) < QUICK_ROWS:
        return True
    for one in query.inputs:
        if _is_at_hand(one, bindings[one.name], query.unit, allow_sort=allow_sort):
            rows[one.name] //= KNOWN_ROWS
    return sum(rows.values()) < QUICK_ROWS


def _is_at_hand(
    declared: Input, binding: InputBinding, unit: Unit | None, *, allow_sort: bool
) -> bool:
    """Whether rows need not be read, for they have been or are shared as they are."""
    if declared.keys:
        return False
    if (
        binding.samples is not None
        and share_samples(declared, binding.frame) is not None
    ):
        return True
    return is_known(declared, binding, unit=unit, allow_sort=allow_sort)


def _rows(frame: object) -> int:
    if isinstance(frame, TABLES):
        return int(frame.num_rows)
    if isinstance(frame, ARRAYS):
        return len(frame)
    package = type(frame).__module__.partition(".")[0]
    shape = getattr(frame, "shape", ()) if package in FRAMES else ()
    return int(shape[0]) if shape else QUICK_ROWS
