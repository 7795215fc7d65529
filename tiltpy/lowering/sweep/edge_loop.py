"""Windows in a loop that steps: from edge to edge, well inside the rows.

A visit of a sweep looks at each edge whether there is another row, and whether the
loop ends first. In a stretch that ends before the last rows of every object, and before
the loop does, there is nothing to look for. What an edge's bound after the next one is
was read before, ahead of knowing which edge moves: so no visit waits for memory.
"""

from dataclasses import dataclass

from tiltpy.emit.builder import Assembly, Block
from tiltpy.emit.output_arrays import OutputArrays, write_snapshot
from tiltpy.emit.row_access import ObjectRows, prefetch_rows
from tiltpy.ir.nodes import (
    CutPoint,
    Window,
)
from tiltpy.loops.build import add, conj, convert, i64, le, least, lt, sub
from tiltpy.loops.nodes import LExpr, Select, Var, While
from tiltpy.lowering.sweep.cursors import StepCursor
from tiltpy.lowering.sweep.fifo_window import SlidingWindow
from tiltpy.lowering.sweep.operands import SweepOperands
from tiltpy.lowering.sweep.row_bounds import RowBound
from tiltpy.types import I64


@dataclass(frozen=True, slots=True)
class EdgeStep:
    """An edge, and when it is due after it is `due`."""

    edge: RowBound
    later: Var
    run: int
    """Visits of a run."""

    def look(self, block: Block) -> None:
        """Read ahead."""
        block.set(self.later, self._after(self.edge.row))

    def take(self, block: Block, now: LExpr) -> None:
        """Move on by one row if that is due."""
        edge = self.edge
        block.set(edge.moved, le(edge.due, now))
        block.set(edge.due, Select(edge.moved, self.later, edge.due, I64, even=True))
        ahead = self._after(add(edge.row, i64(1)))
        block.set(self.later, Select(edge.moved, ahead, self.later, I64, even=True))
        block.set(edge.row, add(edge.row, convert(edge.moved, I64)))

    def _after(self, row: LExpr) -> LExpr:
        """When it is due behind the row after one."""
        rows = self.edge.rows
        if self.edge.bound == "start":
            bound = rows.next_start(row)
        else:
            bound = rows.end_at(add(row, i64(1)))
        return sub(bound, i64(self.edge.offset))

    def has_room(self) -> LExpr:
        """Whether there are rows for a run, and those that are read ahead of it."""
        return lt(add(self.edge.row, i64(self.run + 1)), self.edge.rows.count)

    def latest(self) -> LExpr:
        """When it will have been due as often as there are visits in a run.

        No visit of the run is later.
        """
        row = least(add(self.edge.row, i64(self.run)), self.edge.rows.count)
        return self.edge.due_at(row)


class EdgeLoop:
    """The short visits of a loop that steps, between two that are not."""

    def __init__(self, assembly: Assembly, following: SweepOperands) -> None:
        self.following = following
        self.visits = assembly.fresh("visits")
        self.run = assembly.costs.run_visits
        self.steps = [
            EdgeStep(edge, assembly.fresh(f"{edge.row.name}.later"), self.run)
            for edge in following.edges.known.values()
        ]

    def append(
        self, block: Block, out: OutputArrays, count: Var, now: Var, last: LExpr
    ) -> None:
        """Visits from `now` on, for as long as all edges are well inside the rows."""
        run, visit = block.inner(), block.inner()
        self._visit(visit, out, count, now)
        self._fetch(run)
        for step in self.steps:
            step.look(run)
        run.set(self.visits, i64(0))
        visit.set(self.visits, add(self.visits, i64(1)))
        run.add(While(lt(self.visits, i64(self.run)), visit.body()))
        block.add(While(self._further(last), run.body()))

    def _further(self, last: LExpr) -> LExpr:
        """Whether a run ends before the loop and the rows, of which some have come."""
        begun = [one.exists for one in self._cursors().values() if one.begun is None]
        some = [lt(i64(0), slide.hi.row) for slide in self._windows().values()]
        room = [step.has_room() for step in self.steps]
        soonest = least(*(step.latest() for step in self.steps))
        return conj(le(soonest, last), *room, *some, *begun)

    def _cursors(self) -> dict[CutPoint, StepCursor]:
        cursors = self.following.cursors.items()
        return {p: c for p, c in cursors if isinstance(c, StepCursor)}

    def _windows(self) -> dict[Window, SlidingWindow]:
        windows = self.following.windows.items()
        return {w: s for w, s in windows if isinstance(s, SlidingWindow)}

    def _visit(self, block: Block, out: OutputArrays, count: Var, now: Var) -> None:
        for step in self.steps:
            step.take(block, now)
        points = {
            point: cursor.within().advance(block, now)
            for point, cursor in self._cursors().items()
        }
        windows = {window: one.within() for window, one in self._windows().items()}
        for slide in windows.values():
            slide.advance(block, now)
        change = block.name("next", least(*(step.edge.due for step in self.steps)))
        value = self.following.value(block, points, windows)
        begin, end = (sub(time, i64(1)) for time in (now, change))
        write_snapshot(block, out, count, value, begin, end)
        block.set(count, add(count, convert(value.valid, I64)))
        block.set(now, change)

    def _fetch(self, block: Block) -> None:
        """Ask for rows of a later run: those that come first, the others were read."""
        newest: dict[ObjectRows, RowBound] = {}
        for step in self.steps:
            edge = newest.setdefault(step.edge.rows, step.edge)
            if edge.offset < step.edge.offset:
                newest[step.edge.rows] = step.edge
        places = [(rows, edge.row) for rows, edge in newest.items()]
        prefetch_rows(block, places, self.run)
