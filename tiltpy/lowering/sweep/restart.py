"""Restarts: the latest start of a true snapshot, for windows `since ~c`."""

from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.row_access import ObjectRows
from tiltpy.loops.build import INF, conj, i64, lt, ne, sub
from tiltpy.loops.nodes import LExpr, Var
from tiltpy.lowering.sweep.row_bounds import RowBound, RowBounds
from tiltpy.types import BOOL


class Restart:
    """The latest start `at` of a true row of a condition, before the window's end.

    It never comes (`INF`) before the first one. `moved` says whether the last advance
    moved it, and `before` is where it was until then.
    """

    def __init__(
        self, builder: KernelBuilder, bounds: RowBounds, rows: ObjectRows, end: int
    ) -> None:
        self.builder = builder
        self.rows = rows
        self.bound: RowBound = bounds.new_bound(rows, "start", end - 1)
        self.at = builder.fresh(f"{rows.name}.restart")
        self.before = builder.fresh(f"{rows.name}.before")
        self.moved = builder.fresh(f"{rows.name}.restarted", BOOL)

    @property
    def due(self) -> LExpr:
        """The next time at which it may move."""
        return self.bound.due

    def start(self, block: Block) -> None:
        """Start before the loop."""
        self.bound.start(block)
        block.set(self.at, INF)
        block.set(self.before, INF)

    @property
    def variables(self) -> tuple[Var, ...]:
        """The variables that the next call takes over."""
        return (self.at,)

    def resume(self, block: Block, reached: LExpr) -> None:
        """Pass over the rows that started before a time, which `at` knows."""
        block.set(self.before, self.at)
        self.bound.run(block, sub(reached, i64(self.bound.offset + 1)))

    def advance(self, block: Block, now: LExpr) -> None:
        """Move to the loop's time."""
        block.set(self.before, self.at)
        passing, begin = block.inner(), block.inner()
        row = self.bound.row
        value = self.rows.value(row, self.rows.exists(row))
        begin.set(self.at, self.rows.start_at(row))
        passing.when(passing.name("true", conj(value.valid, value.scalar)), begin)
        self.bound.run(block, now, passing)
        block.set(self.moved, ne(self.at, self.before))

    def has_come(self) -> LExpr:
        """Decide whether there was one yet."""
        return lt(self.at, INF)
