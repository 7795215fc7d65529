"""The engine over one time partition, for runs that are spread over machines.

A partition `(low, high]` owns the cells whose grid points it holds, like a chunk. Its
seams come with its snapshots, to be stitched elsewhere: the end of a snapshot that an
earlier partition began, and whether the last one goes on.
"""

from collections.abc import Mapping
from math import lcm

from tiltpy.abi.signature import LANES
from tiltpy.engines.engine import Engine
from tiltpy.ir.nodes import Query, TemporalExpr
from tiltpy.ir.reductions import adds_floats
from tiltpy.lean_dataclass import dataclass
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.arrow.timestamps import OutputStamp
from tiltpy.runtime.execution.kernel import Kernels
from tiltpy.runtime.execution.output_group import OutputGroup
from tiltpy.runtime.execution.run_options import RunOptions
from tiltpy.runtime.execution.stitch import Piece, with_times
from tiltpy.runtime.execution.time_domain import (
    Cells,
    Domain,
    OutputRange,
    Request,
    cells_of,
    output_domain,
)
from tiltpy.runtime.ingest.read_input import InputRows
from tiltpy.runtime.results.output_table import OutputTable
from tiltpy.runtime.results.table import format_of
from tiltpy.types import Scalar

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class PartitionRange:
    """A partition's range `(low, high]`, and the bounds of each input's events, if any.

    The bounds are those of all rows of the run, and decide the outputs' domains.
    """

    low: int
    high: int
    bounds: Mapping[str, Span | None]


@dataclass(frozen=True, slots=True)
class PartitionOutput:
    """The snapshots of an output that begin in a partition, and its seams.

    `carried` is the end (in ticks) of a snapshot that an earlier partition began; it
    goes on behind this one, too, if `carried_on`. If `open`, the last snapshot of the
    table goes on in later partitions, and ends where they say.
    """

    table: OutputTable
    carried: int | None = None
    carried_on: bool = False
    open: bool = False


VECTORS = 128
"""Cells that vector kernels read beyond what they need, at most."""


def seam_interval(query: Query) -> int:
    """Find the ticks of which partitions are multiples.

    If the query adds up floats those are whole vectors of the cells of each object:
    vector kernels then serve from seam to seam, and round as in a whole run.
    """
    if not adds_floats(query):
        return 1
    return LANES * lcm(*(made.tdom.precision for made in query.definitions))


def halo_lengths(query: Query) -> dict[str, tuple[int, int]]:
    """Ticks before and behind a partition in which it needs events, by input.

    From the boundaries of the query, for its own cells and the one on either side that
    its seams need. An input that nothing refers to is not in it. If the query adds up
    floats there is more: vector kernels read beyond what they need, and must serve up
    to the seams, and blocks of time are as long as their windows.
    """
    rounding = sum(made.tdom.precision for made in query.definitions)
    reach_of: dict[str, tuple[int, int]] = {}
    for output, reach in query.boundaries:
        definition = query.definition(output)
        assert definition is not None
        step = definition.tdom.precision
        for name, boundary in reach:
            back, ahead = reach_of.get(name, (0, 0))
            reach_of[name] = (
                max(back, boundary.back.ticks + step + rounding),
                max(ahead, boundary.ahead.ticks + step),
            )
    if seam_interval(query) > 1:
        for name, (back, ahead) in reach_of.items():
            more = back + ahead + VECTORS * rounding
            reach_of[name] = back + more, ahead + more
    return reach_of


def run_partition(
    group: OutputGroup[Kernels],
    inputs: Mapping[str, InputRows],
    request: Request,
    options: RunOptions,
    partition: PartitionRange,
    stamp: OutputStamp,
) -> dict[str, PartitionOutput]:
    """Compute a partition of every output over the rows that it needs, halo included.

    The group's query has its boundaries. `stamp` is the kind of the outputs' times.
    """
    query = group.query
    owned = {}
    for name, reach in query.boundaries:
        definition = query.definition(name)
        assert definition is not None
        bounds = (partition.bounds[source] for source, _ in reach)
        domain = output_domain(definition.tdom, bounds, request)
        owned[name] = _OwnedCells(definition, domain, partition)
    ranges = {
        n: owned_cells.range
        for n, owned_cells in owned.items()
        if owned_cells.range is not None
    }
    rows = {name: read.buffer for name, read in inputs.items()}
    evaluation = Engine(group, request, options).evaluate(ranges, rows)
    outputs = {}
    for name, cells in owned.items():
        pieces, is_open = cells.trim(evaluation.pieces.get(name, []))
        carried = evaluation.seams.get(name)
        form = format_of(name, query.type_of(name), stamp)
        table = OutputTable(form, pieces, evaluation.strings)
        outputs[name] = PartitionOutput(table, carried, cells.goes_on(carried), is_open)
    return outputs


class _OwnedCells:
    """The cells of an output that a partition owns, and the range that tells all."""

    def __init__(
        self, definition: TemporalExpr, domain: Domain, partition: PartitionRange
    ) -> None:
        self.definition = definition
        tdom = definition.tdom
        self.over_rows = tdom.rows is not None
        cells = cells_of(tdom, domain, partition.low, partition.high)
        self.cells: Cells[int] | None = cells if cells.some else None
        self.range: OutputRange | None = None
        if self.cells is not None:
            # One cell more tells whether the last snapshot goes on.
            more = 0 if self.cells.final or self.over_rows else tdom.precision
            low = max(partition.low, domain.start)
            self.range = OutputRange(domain, low, self.cells.last + more)

    def goes_on(self, end: int | None) -> bool:
        """Return whether a snapshot with this end goes on behind the partition."""
        if end is None or self.cells is None or self.cells.final:
            return False
        return end > self.cells.last

    def trim(self, pieces: list[Piece]) -> tuple[list[Piece], bool]:
        """Drop what begins in the cell more; whether the last snapshot goes on.

        Rows go on nowhere: each is in the partition that holds its stamp.
        """
        if self.cells is None or self.cells.final or self.over_rows or not pieces:
            return pieces, False
        *others, last = pieces
        rows = with_times(last)
        start, _ = rows.row(rows.n - 1)
        if start >= self.cells.last:  # the cell more
            rows = rows.slice(0, rows.n - 1)
            if rows.n:
                last = rows
            elif not others:
                return [], False
            else:
                *others, last = others
                rows = with_times(last)
        _, end = rows.row(rows.n - 1)
        return [*others, last], self.goes_on(end) and self._is_event(rows)

    def _is_event(self, rows: SnapshotBuffer) -> bool:
        """Return whether the last row is a snapshot: a scalar that is null is none."""
        if not isinstance(self.definition.type, Scalar):
            return True
        return bool(rows.columns[0].slice(rows.n - 1, 1).valid(1)[0])
