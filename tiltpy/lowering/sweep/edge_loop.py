"""Edge scan: windows and points of a loop that steps, without bounds checks.

A visit of a sweep checks for each row bound whether there is another row, and whether
the loop ends first. Runs of visits that end before the last rows of every object and
before the loop need neither. The time after the next is loaded for each bound before it
is known which bounds move, so that no visit waits for memory.
"""

from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.output_arrays import OutputArrays, write_snapshot
from tiltpy.emit.row_access import ObjectRows, prefetch_rows
from tiltpy.ir.nodes import CutPoint, Window
from tiltpy.lean_dataclass import dataclass
from tiltpy.loops.build import add, conj, convert, i64, le, least, lt, sub
from tiltpy.loops.nodes import LExpr, Select, Var, While
from tiltpy.lowering.sweep.cursors import StepCursor
from tiltpy.lowering.sweep.fifo_window import SlidingWindow
from tiltpy.lowering.sweep.operands import SweepOperands
from tiltpy.lowering.sweep.row_bounds import RowBound
from tiltpy.types import I64


@dataclass(frozen=True, slots=True)
class EdgeStep:
    """A row bound, and the time `later` at which it is due after `due`.

    `run` is the number of visits of a run.
    """

    bound: RowBound
    later: Var
    run: int

    def look_ahead(self, block: Block) -> None:
        """Load the time after `due`."""
        block.set(self.later, self._after(self.bound.row))

    def take(self, block: Block, now: LExpr) -> None:
        """Move the bound by one row if that is due."""
        bound = self.bound
        block.set(bound.moved, le(bound.due, now))
        block.set(bound.due, Select(bound.moved, self.later, bound.due, I64, even=True))
        ahead = self._after(add(bound.row, i64(1)))
        block.set(self.later, Select(bound.moved, ahead, self.later, I64, even=True))
        block.set(bound.row, add(bound.row, convert(bound.moved, I64)))

    def _after(self, row: LExpr) -> LExpr:
        """The time at which the bound is due at the row after one."""
        rows = self.bound.rows
        if self.bound.side == "start":
            time = rows.next_start(row)
        else:
            time = rows.end_at(add(row, i64(1)))
        return sub(time, i64(self.bound.offset))

    def has_room(self) -> LExpr:
        """Return whether there are rows for a run and for what it loads ahead."""
        return lt(add(self.bound.row, i64(self.run + 1)), self.bound.rows.count)

    def latest(self) -> LExpr:
        """An upper bound on the time of a run's visits: the bound moves at each."""
        row = least(add(self.bound.row, i64(self.run)), self.bound.rows.count)
        return self.bound.due_at(row)


class EdgeLoop:
    """The unchecked visits of a loop that steps, between two ordinary ones."""

    def __init__(self, builder: KernelBuilder, operands: SweepOperands) -> None:
        self.operands = operands
        self.visits = builder.fresh("visits")
        self.run = builder.costs.run_visits
        self.steps = [
            EdgeStep(bound, builder.fresh(f"{bound.row.name}.later"), self.run)
            for bound in operands.bounds.shared.values()
        ]

    def append(
        self, block: Block, out: OutputArrays, count: Var, now: Var, last: LExpr
    ) -> None:
        """Append runs of visits from `now` on while all bounds are well inside rows."""
        run, visit = block.inner(), block.inner()
        self._visit(visit, out, count, now)
        self._fetch(run)
        for step in self.steps:
            step.look_ahead(run)
        run.set(self.visits, i64(0))
        visit.set(self.visits, add(self.visits, i64(1)))
        run.add(While(lt(self.visits, i64(self.run)), visit.body()))
        block.add(While(self._continues(last), run.body()))

    def _continues(self, last: LExpr) -> LExpr:
        """Test whether another run ends before the loop and the rows, all begun."""
        begun = [
            cursor.exists for cursor in self._cursors().values() if cursor.begun is None
        ]
        occupied = [lt(i64(0), slide.hi.row) for slide in self._windows().values()]
        room = [step.has_room() for step in self.steps]
        soonest = least(*(step.latest() for step in self.steps))
        return conj(le(soonest, last), *room, *occupied, *begun)

    def _cursors(self) -> dict[CutPoint, StepCursor]:
        cursors = self.operands.cursors.items()
        return {p: c for p, c in cursors if isinstance(c, StepCursor)}

    def _windows(self) -> dict[Window, SlidingWindow]:
        windows = self.operands.windows.items()
        return {w: s for w, s in windows if isinstance(s, SlidingWindow)}

    def _visit(self, block: Block, out: OutputArrays, count: Var, now: Var) -> None:
        for step in self.steps:
            step.take(block, now)
        points = {
            point: cursor.without_checks().advance(block, now)
            for point, cursor in self._cursors().items()
        }
        windows = {
            window: slide.without_checks() for window, slide in self._windows().items()
        }
        for slide in windows.values():
            slide.advance(block, now)
        change = block.name("next", least(*(step.bound.due for step in self.steps)))
        value = self.operands.value(block, points, windows)
        begin, end = (sub(time, i64(1)) for time in (now, change))
        write_snapshot(block, out, count, value, begin, end)
        block.set(count, add(count, convert(value.valid, I64)))
        block.set(now, change)

    def _fetch(self, block: Block) -> None:
        """Prefetch the rows of a later run at the foremost bound of each object."""
        newest: dict[ObjectRows, RowBound] = {}
        for step in self.steps:
            bound = newest.setdefault(step.bound.rows, step.bound)
            if bound.offset < step.bound.offset:
                newest[step.bound.rows] = step.bound
        rows_ahead = [(rows, bound.row) for rows, bound in newest.items()]
        prefetch_rows(block, rows_ahead, self.run)
