"""Work that is surely done soon: it needs no thread of its own (`offload`).

To hand work over takes 50 to 100 microseconds, as long as a short run. So bounds on the
rows and visits say what the caller's thread may do by itself, which hears of no
interrupt meanwhile.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate

import pyarrow as pa

from tiltpy.abi.signature import Loop
from tiltpy.costs import RunCosts
from tiltpy.ir.nodes import Input, Query
from tiltpy.runtime.arrow.read_frame import package_of
from tiltpy.runtime.ingest.binding import InputBinding
from tiltpy.runtime.ingest.read_input import is_known
from tiltpy.runtime.ingest.samples import share_samples
from tiltpy.types import Unit

TABLES, ARRAYS = (pa.Table, pa.RecordBatch), (pa.Array, list)
FRAMES = ("pandas", "polars", "numpy")
"""Packages whose frames, series and arrays know their rows."""


def sweep_cost(visits: int, rows: int, loops: Sequence[Loop]) -> int:
    """Bound the nanoseconds of loops that make so many visits, and read so many rows.

    Loops that are linear go through the rows once. Of others nobody knows how many rows
    their windows have: it is as if each visit went through all, a nanosecond each, and
    took another microsecond.
    """
    if all(loop.linear for loop in loops):
        return 20 * (visits + rows) * sum(len(loop.reads) for loop in loops)
    return visits * (1000 + rows)


def vector_cost(visits: int, outputs: int, costs: RunCosts) -> int:
    """Bound the nanoseconds of a vector kernel by its visits, for each output."""
    return visits * outputs * costs.vector_visit_time


def are_quick(times: Iterable[int], costs: RunCosts) -> bool:
    """Return whether kernels that take such times (nanoseconds) end soon."""
    return all(total < costs.quick_time for total in accumulate(times))


def reads_quickly(
    query: Query,
    bindings: Mapping[str, InputBinding],
    costs: RunCosts,
    *,
    allow_sort: bool,
) -> bool:
    """Return whether all inputs of a query are surely read soon.

    Frames that do not know their rows may have any number. Rows by key that were read
    count for more than others: they may be folded anew in each run.
    """
    most, rows = costs.quick_rows, {}
    for declared in query.inputs:
        known = count_rows(bindings[declared.name].frame)
        rows[declared.name] = most if known is None else known
    if sum(rows.values()) < most:
        return True
    for declared in query.inputs:
        binding = bindings[declared.name]
        if declared.keys:
            if binding.has_read(declared):
                rows[declared.name] //= costs.known_keyed_rows
        elif _is_at_hand(declared, binding, query.unit, allow_sort=allow_sort):
            rows[declared.name] //= costs.known_rows
    return sum(rows.values()) < most


def _is_at_hand(
    declared: Input, binding: InputBinding, unit: Unit | None, *, allow_sort: bool
) -> bool:
    """Return whether rows need no reading: they are read, or shared as they are."""
    if (
        binding.samples is not None
        and share_samples(declared, binding.frame) is not None
    ):
        return True
    return is_known(declared, binding, unit=unit, allow_sort=allow_sort)


def count_rows(frame: object) -> int | None:
    """Count the rows of a frame that knows them."""
    if isinstance(frame, TABLES):
        return int(frame.num_rows)
    if isinstance(frame, ARRAYS):
        return len(frame)
    package = package_of(frame)
    shape = getattr(frame, "shape", ()) if package in FRAMES else ()
    return int(shape[0]) if shape else None
