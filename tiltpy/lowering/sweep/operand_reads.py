"""Time ranges that a sweep loop reads of its operands, for the runtime."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import assert_never

from tiltpy.abi.signature import Read
from tiltpy.aggregates.user_defined import Slide, slide_of
from tiltpy.emit.references import derived_bounds, reductions
from tiltpy.emit.row_access import ObjectRows
from tiltpy.ir.cuts import leaf_cuts
from tiltpy.ir.nodes import CutWindow, IntervalSpan, LastRows, Since, Window
from tiltpy.lowering.sweep.fifo_window import SlidingWindow
from tiltpy.lowering.sweep.look_window import LookWindow, NearestLook
from tiltpy.lowering.sweep.operands import SweepOperands
from tiltpy.lowering.sweep.tumbling_rows import TumblingWindow
from tiltpy.lowering.sweep.unordered_window import UnorderedWindow
from tiltpy.types import ALL_FUTURE, ALL_PAST


class OperandReads:
    """The time ranges that the cursors and windows of a loop read."""

    def __init__(self, operands: SweepOperands) -> None:
        self.operands = operands
        self.definition = operands.definition
        self.builder = operands.builder
        self.objects = operands.objects
        self.windows = operands.windows
        self.present = operands.present

    def ranges(self) -> tuple[Read, ...]:
        """List the time ranges that the loop reads of each object."""
        points = (Read(p.object, p.offset - 1, p.offset) for p in self.operands.cursors)
        windows = (r for window in self._every_window() for r in window_reads(window))
        return self.whole_cells((*points, *windows, *self._blocks()))

    def further_ranges(self) -> Iterator[Read]:
        """Yield the time ranges in which other times than the loop's own matter.

        Those of snapshots whose bounds it sees, and those by which rows leave a window
        that is limited by their number, or by restarts, too.
        """
        for name, which in derived_bounds(self.definition, self.builder.rows):
            if which == "start":
                yield Read(name, ALL_PAST, 0)
            else:
                yield Read(name, -1, ALL_FUTURE)
        for window in self._every_window():
            if window.limit is not None and window.start > ALL_PAST:
                yield Read(window.object, window.start - 1, window.end)

    def clipping_windows(self) -> tuple[Read, ...]:
        """List the windows whose edges may clip rows, which point rows do not allow.

        There a snapshot may begin at times at which no row starts or ends.
        """
        windows = (
            cut.window
            for cut in leaf_cuts(self.definition.cuts)
            if isinstance(cut, CutWindow)
            and cut.bounds
            and not self.objects[cut.window.object].layout.points
        )
        return self.whole_cells(
            Read(window.object, _cut_low(window), window.end)
            for window in dict.fromkeys(windows)
        )

    def recomputed_windows(self) -> tuple[Read, ...]:
        """List the windows that are recomputed at each visit."""
        reads = {
            window: Read(window.object, window.start, window.end)
            for (window, _), present in self.present.items()
            if present.matches is None and present.kept is None and window.limit is None
        }
        for node in reductions(self.definition):
            reduction = self.builder.user_reductions.get(node.reduction)
            rows = self.objects[node.window.object]
            if reduction is None:
                continue
            slide = slide_of(
                reduction, in_order=rows.layout.fifo, disjoint=rows.disjoint
            )
            if slide is Slide.RECOMPUTE and node.window.is_fixed:
                reads[node.window] = Read(rows.name, node.window.start, node.window.end)
        return self.whole_cells(reads.values())

    @property
    def resumes(self) -> bool:
        """Tell whether states hold all that it knows of rows that only they have seen.

        The last rows of an input are there by their number.
        """
        if any(derived_bounds(self.definition, self.builder.rows)):
            return False
        lasting = set(self.operands.lasting_windows())
        return all(
            window in lasting or _is_held(window.window, window.rows)
            for window in (*self.windows.values(), *self.present.values())
        )

    def structures(self) -> tuple[str, ...]:
        """Name the structures of windows, as `explain` prints them."""
        wholes = (
            (whole.rows.name, whole.describe())
            for window in self.windows.values()
            if not isinstance(window, TumblingWindow | LookWindow | NearestLook)
            for whole in window.wholes.values()
        )
        matches = (
            (window.rows.name, f"{window.matches.counts.name} for matches")
            for window in self.present.values()
            if window.matches is not None
        )
        ends = (
            (window.rows.name, "the order of ends")
            for window in self.windows.values()
            if isinstance(window, UnorderedWindow)
        )
        structures = dict.fromkeys((*wholes, *matches, *ends))
        return tuple(f"~{name}: {words}" for name, words in structures)

    def whole_cells(self, reads: Iterable[Read]) -> tuple[Read, ...]:
        """Widen time ranges by the ticks from a time to the end of its cell.

        Only calendars have times that are no ends of cells.
        """
        calendar = self.operands.cells is not None
        ahead = self.definition.tdom.longest - 1 if calendar else 0
        return tuple(
            replace(read, high=min(read.high + ahead, ALL_FUTURE)) for read in reads
        )

    def _blocks(self) -> Iterator[Read]:
        """Yield the time ranges in which a row has left a window, but not its block."""
        for window, slide in self.windows.items():
            if isinstance(slide, SlidingWindow) and slide.blocks is not None:
                low = window.start - slide.blocks.ticks
                yield Read(window.object, low, window.end)

    def _every_window(self) -> Iterable[Window]:
        return dict.fromkeys((*self.windows, *(window for window, _ in self.present)))


def _cut_low(window: Window) -> int:
    """Find how far back edges may cut rows: without a length only the end does."""
    return window.start if window.start > ALL_PAST else window.end - 1


def _is_held(window: Window, rows: ObjectRows) -> bool:
    """Decide whether a stream holds all rows of a window that may be in it again."""
    if window.last_rows or window.look is not None:
        return window.is_fixed or not rows.derived
    endless = window.start == ALL_PAST or window.end == ALL_FUTURE
    return not (endless or isinstance(window.limit, Since))


def window_reads(window: Window) -> Iterator[Read]:
    """Yield the time ranges that a window reads, of its object and of what limits it.

    Those are restarts, and the intervals with one of which it begins.
    """
    match window.limit:
        case None if isinstance(window.cells, IntervalSpan):
            for name in (window.object, window.cells.input):
                yield Read(name, window.start, 0, cells=window.cells.count)
        case None:
            low = window.start - (window.edge is not None)
            if window.look == "nearest":  # a read has a bound on one side
                yield Read(window.object, low, window.center)
                low = window.center - 2
            yield Read(window.object, low, window.end, rows=window.last_rows)
        case LastRows() | Since():
            rows = window.last_rows
            yield Read(window.object, ALL_PAST, window.end, rows=rows)
        case _:
            assert_never(window.limit)
    for name in window.restarts:
        yield Read(name, ALL_PAST, window.end)
