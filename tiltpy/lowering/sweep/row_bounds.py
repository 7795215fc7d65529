"""Row bounds: positions in the rows of an object that follow the loop's time.

A row bound counts the rows that have started, or ended, at a fixed distance from the
loop's time. `~x[t]` is the row after those that ended before `t`; the rows of a window
are those that started before its end without those that ended by its start. Each bound
knows when it is due to move, and the loop jumps to the earliest of these times.

In a loop that visits all of them a bound moves by one row at most, since rows last a
tick at least: it *steps*, without a branch. Where times are skipped it *runs*.
"""

from functools import reduce
from typing import Literal

from tiltpy.abi.layouts import TimeLayout
from tiltpy.abi.slots import SlotKind
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.row_access import ObjectRows
from tiltpy.lean_dataclass import dataclass
from tiltpy.loops.build import add, convert, i64, le, least, sub
from tiltpy.loops.nodes import LExpr, Var, While
from tiltpy.lowering.sweep.far_rows import jump
from tiltpy.types import BOOL, I64

Side = Literal["start", "end"]


@dataclass(frozen=True, slots=True)
class RowBound:
    """A position in rows: those before `row` start, or end, by `now + offset`.

    `due` is the first time of the loop at which the next one does; `moved` says whether
    the last step moved it. If it `jumps`, the loop may visit few times beside the rows.
    """

    rows: ObjectRows
    side: Side
    offset: int
    row: Var
    due: Var
    moved: Var
    jumps: bool

    def start(self, block: Block) -> None:
        """Move to before the first row."""
        self.set(block, i64(0))

    def set(self, block: Block, row: LExpr) -> None:
        """Move to before a row."""
        block.set(self.row, row)
        block.set(self.due, self.due_at(self.row))

    def step(self, block: Block, now: LExpr) -> None:
        """Move by one row if that is due."""
        block.set(self.moved, le(self.due, now))
        self.set(block, add(self.row, convert(self.moved, I64)))

    def run(
        self,
        block: Block,
        now: LExpr,
        passing: Block | None = None,
        *,
        to_row: LExpr | None = None,
        idle: bool = False,
    ) -> None:
        """Move for as long as that is due, or behind a row if one is given.

        `passing` runs before each move; `idle`: there is nothing to do for rows that
        are passed, and it may jump to one that is far.
        """
        inner = passing or block.inner()
        inner.set(self.row, add(self.row, i64(1)))
        if idle:
            self._jump(inner, now)
        inner.set(self.due, self.due_at(self.row))
        more = le(self.due, now) if to_row is None else le(self.row, to_row)
        block.add(While(more, inner.body()))

    def leap(self, block: Block, now: LExpr, rows: int) -> None:
        """Move by the rows that are due, at most `rows`, without a branch."""
        passed = [le(self.due_at(self._ahead(k)), now) for k in range(rows)]
        total: LExpr = self.row
        for due in passed:
            total = add(total, convert(due, I64))
        self.set(block, total)

    def catch_up(self, block: Block, now: LExpr, rows: int) -> None:
        """Move by all rows that are due, the first `rows` of them without a branch.

        `due` stays what it was, which saves time where a loop does not read it.
        """
        until = block.name("until", add(now, i64(self.offset)))
        passed = [le(self._bound(self._ahead(k)), until) for k in range(rows)]
        moves = reduce(add, (convert(due, I64) for due in passed))
        block.set(self.row, add(self.row, moves))
        inner = block.inner()
        inner.set(self.row, add(self.row, i64(1)))
        self._jump(inner, now)
        block.add(While(le(self._bound(self.row), until), inner.body()))

    def _ahead(self, rows: int) -> LExpr:
        """The row that many ahead, or the one behind the last row, but none further.

        Rows without gaps start where the row before them ends, which is read.
        """
        row = add(self.row, i64(rows))
        reads_before = (
            self.side == "start" and self.rows.layout.time is TimeLayout.CONTIGUOUS
        )
        return least(row, self.rows.count) if rows and reads_before else row

    def due_at(self, row: LExpr) -> LExpr:
        """The first time of the loop at which a row has its bound."""
        return sub(self._bound(row), i64(self.offset))

    def _jump(self, block: Block, now: LExpr) -> None:
        """Move to a row that is far, where the loop may visit few times beside them."""
        if not self.jumps:
            return
        edge = self.rows.start_at if self.side == "start" else self.rows.end_at

        def is_due(row: LExpr) -> LExpr:
            return le(sub(edge(row), i64(self.offset)), now)

        jump(block, self.rows, self.row, is_due)

    def _bound(self, row: LExpr) -> LExpr:
        start = self.side == "start"
        return self.rows.start_or_never(row) if start else self.rows.end_or_never(row)


def own_number(builder: KernelBuilder, row: LExpr, rows: ObjectRows) -> LExpr:
    """The number of a loop's own row among those of an object."""
    return sub(row, first_number(builder, rows))


def first_number(builder: KernelBuilder, rows: ObjectRows) -> LExpr:
    """The number of an object's first row among the rows of its input.

    A row object that windows by row read has a row for each of its input's.
    """
    return builder.number(SlotKind.FIRST, rows.name) if rows.derived else i64(0)


class RowBounds:
    """The row bounds of a loop; it steps the `shared` ones.

    `visited` is the object of which it visits each row, if there is one.
    """

    def __init__(self, builder: KernelBuilder, visited: str | None) -> None:
        self.builder = builder
        self.visited = visited
        self.shared: dict[tuple[str, Side, int], RowBound] = {}

    def new_bound(self, rows: ObjectRows, side: Side, offset: int) -> RowBound:
        """A bound that the caller moves."""
        label = f"{rows.name}.{side}"
        return RowBound(
            rows,
            side,
            offset,
            self.builder.fresh(label),
            self.builder.fresh(f"{label}.due"),
            self.builder.fresh(f"{label}.moved", BOOL),
            self.jumps_in(rows),
        )

    def jumps_in(self, rows: ObjectRows) -> bool:
        """Tell whether the loop may visit few times beside the rows of an object."""
        return rows.name != self.visited

    def shared_bound(self, rows: ObjectRows, side: Side, offset: int) -> RowBound:
        """The bound at an offset that the loop steps, one for all operands."""
        key = rows.name, side, offset
        if key not in self.shared:
            self.shared[key] = self.new_bound(rows, side, offset)
        return self.shared[key]

    def start(self, block: Block, first: LExpr) -> None:
        """Move them before the loop to the tick before its first time."""
        for row_bound in self.shared.values():
            row_bound.start(block)
            row_bound.run(block, sub(first, i64(1)))

    def step(self, block: Block, now: LExpr) -> None:
        """Move those that are due."""
        for row_bound in self.shared.values():
            row_bound.step(block, now)
