"""Restarts: the latest start of a true snapshot, for windows `since ~c`."""

from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.lasting_states import LastingStates
from tiltpy.emit.row_access import ObjectRows
from tiltpy.ir.nodes import Window
from tiltpy.loops.build import INF, add, conj, i64, le, least, lt, ne, select, sub
from tiltpy.loops.nodes import LExpr, Var
from tiltpy.lowering.sweep.row_bounds import RowBound, RowBounds, first_number
from tiltpy.types import BOOL


class LeavesRestart:
    """A window that leaves its restart to the next call, which sees its rows again."""

    restart: "Restart | None"

    @property
    def keeps_states(self) -> bool:
        """Tell whether there is a restart that the next call can take over."""
        return self.restart is not None and self.restart.lasts

    def finish(self, block: Block, last: LExpr) -> None:
        """Leave the last restart to the next call."""
        if self.restart is not None:
            self.restart.leave(block, last)


class Restart:
    """The latest start `at` of a true row of a condition, before the window's end.

    It never comes (`INF`) before the first one, nor, with an `origin`, between a start
    of that and the next one. `moved` says whether the last advance moved it, and
    `before` is where it was until then. For a window by row, `at` is the number of the
    first row that is in: that of the true one, or of the next.
    """

    def __init__(
        self,
        builder: KernelBuilder,
        bounds: RowBounds,
        rows: ObjectRows,
        window: Window,
        origin: "Restart | None" = None,
    ) -> None:
        assert origin is None or not window.by_row, "rows have no origin in time"
        self.builder = builder
        self.origin = origin
        self.rows = rows
        self.window = window
        self.own_row: LExpr | None = None
        self.bound: RowBound = bounds.new_bound(rows, "start", window.end - 1)
        self.at = builder.fresh(f"{rows.name}.restart")
        self.before = builder.fresh(f"{rows.name}.before")
        self.moved = builder.fresh(f"{rows.name}.restarted", BOOL)
        self.reached = builder.fresh(f"{rows.name}.reached")
        self.lasting = LastingStates(builder, rows.name)

    @property
    def due(self) -> LExpr:
        """The next time at which it may move."""
        if self.origin is None:
            return self.bound.due
        return least(self.bound.due, self.origin.due)

    def start(self, block: Block) -> None:
        """Start before the loop."""
        if self.origin is not None:
            self.origin.start(block)
        self.bound.start(block)
        block.set(self.at, INF)
        block.set(self.before, INF)

    @property
    def variables(self) -> tuple[Var, ...]:
        """The variables that the next call takes over."""
        return (self.at,)

    def resume(self, block: Block, reached: LExpr) -> None:
        """Pass over the rows that started before a time, which `at` knows."""
        if self.window.by_row:  # before all rows, of which the first may restart
            block.set(self.at, select(self.has_come(), i64(-1), INF))
        block.set(self.before, self.at)
        self.bound.run(block, sub(reached, i64(self.bound.offset + 1)))

    @property
    def lasts(self) -> bool:
        """Tell whether it can be taken over where rows before it are there again."""
        return not (self.window.by_row or self.window.folds_on)

    def take_over(self, block: Block) -> None:
        """Take over the last restart that a call before has seen."""
        self.lasting.add((self.at, self.reached))
        behind = block.inner()
        self.resume(behind, self.reached)
        self.lasting.take_over(block, behind)

    def leave(self, block: Block, last: LExpr) -> None:
        """Move to the loop's last time, and leave the last restart to the next call."""
        behind = block.inner()
        self.advance(behind, last)
        behind.set(self.reached, add(last, i64(self.bound.offset + 1)))
        self.lasting.leave(block, behind)

    def advance(self, block: Block, now: LExpr) -> None:
        """Move to the loop's time."""
        block.set(self.before, self.at)
        passing, begin = block.inner(), block.inner()
        row = self.bound.row
        value = self.rows.value(row, self.rows.exists(row))
        at = self.rows.start_at(row)
        if self.window.by_row:
            behind = i64(1 if self.window.edge == "start" else 0)
            at = add(add(row, first_number(self.builder, self.rows)), behind)
        begin.set(self.at, at)
        passing.when(passing.name("true", conj(value.valid, value.scalar)), begin)
        self.bound.run(block, now, passing, to_row=self.own_row)
        if self.origin is not None:
            self.origin.advance(block, now)
            block.set(self.at, select(lt(self.origin.at, self.at), self.at, INF))
        block.set(self.moved, ne(self.at, self.before))

    def settle(self, block: Block) -> None:
        """Restore the bounds after visits that did not check them."""
        for each in filter(None, (self, self.origin)):
            each.bound.set(block, each.bound.row)

    def pace(self, block: Block, row: LExpr) -> LExpr:
        """Pass a row that starts just before the time; test whether it restarts."""
        value = self.rows.value(row, self.rows.exists(row))
        restarts = block.name("restarts", conj(value.valid, value.scalar))
        block.set(self.at, select(restarts, self.rows.start_at(row), self.at))
        block.set(self.bound.row, add(row, i64(1)))
        return restarts

    def holds(self, rows: ObjectRows, row: LExpr, at: LExpr) -> LExpr:
        """Decide whether a window holds a row since it restarted somewhere."""
        if self.window.by_row:
            return le(at, add(row, first_number(self.builder, rows)))
        if self.window.edge == "start":
            return lt(at, rows.start_at(row))
        return lt(at, rows.end_at(row))

    def has_come(self) -> LExpr:
        """Decide whether there was one yet."""
        return lt(self.at, INF)
