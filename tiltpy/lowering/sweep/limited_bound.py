"""Left bounds of windows that a number of rows, or a restart, limits.

Such a bound moves after the window's right one, which decides how many rows there are.
"""

from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.ir.nodes import Window
from tiltpy.loops.build import (
    FALSE,
    INF,
    NEVER,
    add,
    conj,
    convert,
    disj,
    greatest,
    i64,
    le,
    least,
    lt,
    negate,
    select,
    sub,
)
from tiltpy.loops.nodes import LExpr, While
from tiltpy.lowering.sweep.restart import Restart
from tiltpy.lowering.sweep.row_bounds import RowBound
from tiltpy.types import ALL_PAST, I64


class LimitedBound:
    """The first row of a window: of its last `count` rows, or since its `restart`.

    The window's distance limits it as well, if it has one.
    """

    def __init__(
        self,
        builder: KernelBuilder,
        window: Window,
        hi: RowBound,
        *,
        count: int | None,
        restart: Restart | None,
    ) -> None:
        self.window = window
        self.hi = hi
        self.rows = hi.rows
        self.count = count
        self.restart = restart
        self.row = builder.fresh(f"{self.rows.name}.first")
        self.counted = builder.fresh(f"{self.rows.name}.counted")
        self.size = builder.fresh(f"{self.rows.name}.size")
        self.due: LExpr = INF

    def start(self, block: Block) -> None:
        """Move to before the first row."""
        counters = (self.counted, self.size) if self._counts else ()
        for position in (self.row, *counters):
            block.set(position, i64(0))
        if self.restart is not None:
            self.restart.start(block)
            if self.restart.lasts:
                self.restart.take_over(block)

    def set(self, block: Block, row: LExpr) -> None:
        """Move to a row, with none in the window."""
        block.set(self.row, row)
        if self._counts:
            block.set(self.counted, row)
            block.set(self.size, i64(0))

    @property
    def _counts(self) -> bool:
        """Tell whether rows must be counted: null rows have numbers, too."""
        return self.count is not None and not self.rows.complete

    def find_limit(self, block: Block, now: LExpr) -> LExpr:
        """Advance the restarts, and find the time that the right bound follows.

        Before the first restart that bound does not move: the rows that last stay to
        come.
        """
        if self.restart is None:
            return now
        self.restart.advance(block, now)
        if self.window.by_row:
            return now
        return block.name("until", select(self.restart.has_come(), now, NEVER))

    @property
    def arrival(self) -> LExpr:
        """The next time at which its right bound may move."""
        if self.restart is None:
            return self.hi.due
        return select(self.restart.has_come(), self.hi.due, INF)

    def low_at(self, block: Block, now: LExpr) -> LExpr:
        """The time after which rows end that the window holds."""
        terms: list[LExpr] = [NEVER]
        if self.window.start > ALL_PAST:
            terms.append(add(now, i64(self.window.start)))
        if self.restart is not None and not self.window.by_row:
            terms.append(self.restart.at)
        return block.name("low", greatest(*terms))

    def run(self, block: Block, now: LExpr, passing: Block) -> None:
        """Move past the rows that have left; `passing` runs before each move."""
        free = self.restart is None and self.window.start == ALL_PAST
        if free and self.count is not None and not (self._counts or passing.statements):
            beyond = sub(self.hi.row, i64(self.count))
            block.set(self.row, greatest(self.row, beyond))
            return
        leaves: list[LExpr] = []
        if self.restart is not None:
            row = self.rows.clamp(self.row)
            holds = self.restart.holds(self.rows, row, self.restart.at)
            leaves.append(negate(holds))
        if self.window.start != ALL_PAST:
            low = block.name("low", add(now, i64(self.window.start)))
            leaves.append(negate(self._overlaps(low)))
        if self.count is not None:
            size: LExpr = sub(self.hi.row, self.row)
            if self._counts:
                size = self.size
                self._count_arrivals(block)
                gone = self.rows.exists(self.row)
                passing.set(self.size, sub(self.size, convert(gone, I64)))
            leaves.append(lt(i64(self.count), size))
        passing.set(self.row, add(self.row, i64(1)))
        more = lt(self.row, self.hi.row)
        block.add(While(conj(more, disj(FALSE, *leaves)), passing.body()))
        self.due = self._due(block)

    def _count_arrivals(self, block: Block) -> None:
        """Count the existing rows that the right bound has passed since."""
        arriving = block.inner()
        exists = self.rows.exists(self.counted)
        arriving.set(self.size, add(self.size, convert(exists, I64)))
        arriving.set(self.counted, add(self.counted, i64(1)))
        block.add(While(lt(self.counted, self.hi.row), arriving.body()))

    def _overlaps(self, low: LExpr) -> LExpr:
        row = self.rows.clamp(self.row)
        if self.window.edge == "start":
            return le(low, self.rows.start_at(row))
        return lt(low, self.rows.end_at(row))

    def _due(self, block: Block) -> LExpr:
        """The first time of the loop at which its row may leave, but for new ones."""
        times: list[LExpr] = []
        if self.restart is not None:
            times.append(self.restart.due)
        if self.window.start != ALL_PAST:
            row = self.rows.clamp(self.row)
            edge = self.rows.end_at(row)
            if self.window.edge == "start":
                edge = add(self.rows.start_at(row), i64(1))
            occupied = lt(self.row, self.hi.row)
            leaving = sub(edge, i64(self.window.start))
            times.append(select(occupied, leaving, INF))
        return block.name("due", least(*times)) if times else INF
