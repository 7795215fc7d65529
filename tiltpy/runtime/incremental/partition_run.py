"""A stretch of a run by itself, for engines that spread a run over machines.

A piece `(low, high]` owns the cells whose grid points it holds, like a chunk. What is
known of its seams comes with its snapshots, so that somebody else can stitch them: the
end of a snapshot that an earlier piece began, and whether the last one goes on.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from tiltpy.abi import Layout, TimeLayout
from tiltpy.ir.nodes import Query, TemporalExpr
from tiltpy.runtime.arrays.bitmap_snapshots import BitmapSnapshots
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.arrow.encode_strings import Vocabulary, encode
from tiltpy.runtime.arrow.timestamps import OutputStamp
from tiltpy.runtime.execution.kernel import Kernels
from tiltpy.runtime.execution.stitch import Piece, Stitcher
from tiltpy.runtime.execution.time_domain import (
    Cells,
    Request,
    Wanted,
    cells_of,
    output_domain,
)
from tiltpy.runtime.execution.time_run import RunOptions, TimeRun
from tiltpy.runtime.ingest.read_input import InputRows
from tiltpy.runtime.results.result import OutputTable
from tiltpy.types import Scalar

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class PartitionRange:
    """What to compute: `(low, high]`, and the bounds of each input's events, if any.

    The bounds are those of all rows of the run, and decide the outputs' domains.
    """

    low: int
    high: int
    bounds: Mapping[str, Span | None]


@dataclass(frozen=True, slots=True)
class PieceOutput:
    """The snapshots of an output that begin in a piece, and what to do at its seams.

    `carried` is the end (in ticks) of a snapshot that an earlier piece began; it goes
    on behind this piece, too, if `carried_on`. If `open`, the last snapshot of the
    table goes on in later pieces, and ends where they say.
    """

    table: OutputTable
    carried: int | None = None
    carried_on: bool = False
    open: bool = False


VECTORS = 128
"""Cells that vector kernels read beyond what they need, at most."""


def halo(query: Query, *, same_bits: bool = False) -> dict[str, tuple[int, int]]:
    """How far before and behind a piece it needs events of each input, in ticks.

    From the boundaries of the query, for the cells of the piece and the one on either
    side that its seams need. An input that nothing refers to is not in it. With
    `same_bits` there is more: vector kernels read beyond what they need, and must serve
    up to the seams if sums are to round as in a whole run.
    """
    rounding = sum(one.tdom.precision for one in query.definitions)
    found: dict[str, tuple[int, int]] = {}
    for output, reach in query.boundaries:
        definition = query.definition(output)
        assert definition is not None
        step = definition.tdom.precision
        for name, boundary in reach:
            back, ahead = found.get(name, (0, 0))
            found[name] = (
                max(back, boundary.back.ticks + step + rounding),
                max(ahead, boundary.ahead.ticks + step),
            )
    if same_bits:
        for name, (back, ahead) in found.items():
            more = back + ahead + VECTORS * rounding
            found[name] = back + more, ahead + more
    return found


def run_piece(
    query: Query,
    inputs: Mapping[str, InputRows],
    compile_for: Callable[[Mapping[str, Layout]], Kernels],
    request: Request,
    options: RunOptions,
    stretch: PartitionRange,
    stamp: OutputStamp,
) -> dict[str, PieceOutput]:
    """Compute a piece of every output over the rows that it needs, halo included.

    `stamp` is the kind of the outputs' times.
    """
    rows = {name: one.buffer for name, one in inputs.items()}
    kernels = compile_for({name: one.abi_layout() for name, one in rows.items()})
    coded, strings = encode(Vocabulary.of(query), rows)
    reaches = dict(kernels.query.boundaries)
    parts = {}
    for name in query.outputs:
        definition = query.definition(name)
        assert definition is not None
        spans = (stretch.bounds[one] for one, _ in reaches[name])
        parts[name] = _Part(definition, spans, request, stretch)
    wanted = {n: one.wanted for n, one in parts.items() if one.wanted is not None}
    if wanted:
        stitchers = {name: parts[name].stitcher for name in wanted}
        TimeRun(kernels, coded, strings, request, options, wanted).stitch(stitchers)
    found = {}
    for name, part in parts.items():
        pieces, opened = part.pieces()
        carried = part.stitcher.carried
        table = OutputTable(name, part.definition.type, pieces, stamp, strings)
        found[name] = PieceOutput(table, carried, part.goes_on(carried), opened)
    return found


class _Part:
    """An output in a stretch."""

    def __init__(
        self,
        definition: TemporalExpr,
        spans: Iterable[Span | None],
        request: Request,
        stretch: PartitionRange,
    ) -> None:
        self.definition = definition
        tdom = definition.tdom
        domain = output_domain(tdom, spans, request)
        self.stitcher = Stitcher(tdom, domain)
        cells = cells_of(tdom, domain, stretch.low, stretch.high)
        self.cells: Cells[int] | None = cells if cells.some else None
        self.wanted: Wanted | None = None
        if self.cells is not None:
            # One cell more tells whether the last snapshot goes on.
            more = 0 if self.cells.final else tdom.precision
            low = max(stretch.low, domain.start)
            self.wanted = Wanted(domain, low, self.cells.last + more)

    def goes_on(self, end: int | None) -> bool:
        """Whether a snapshot with this end goes on behind the stretch."""
        if end is None or self.cells is None or self.cells.final:
            return False
        return end > self.cells.last

    def pieces(self) -> tuple[list[Piece], bool]:
        """The snapshots that begin in the stretch, and whether the last one goes on."""
        pieces = self.stitcher.finish()
        if self.cells is None or self.cells.final or not pieces:
            return pieces, False
        *others, last = pieces
        rows = _with_times(last)
        start, _ = rows.row(rows.n - 1)
        if start >= self.cells.last:  # the cell more
            rows = rows.slice(0, rows.n - 1)
            if rows.n:
                last = rows
            elif not others:
                return [], False
            else:
                *others, last = others
                rows = _with_times(last)
        _, end = rows.row(rows.n - 1)
        return [*others, last], self.goes_on(end) and self._is_event(rows)

    def _is_event(self, rows: SnapshotBuffer) -> bool:
        """Whether the last row is a snapshot: a scalar that is null is none."""
        if not isinstance(self.definition.type, Scalar):
            return True
        return bool(rows.columns[0].slice(rows.n - 1, 1).valid(1)[0])


def _with_times(piece: Piece) -> SnapshotBuffer:
    """The piece as rows with their times."""
    if not isinstance(piece, BitmapSnapshots):
        return piece
    layout, (starts, ends) = TimeLayout.INTERVALS, piece.times()
    return SnapshotBuffer(layout, piece.n, 0, 1, starts, ends, piece.columns)
