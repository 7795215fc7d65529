"""Jumps to a row that is far ahead, in a time logarithmic in the rows between.

The loops of cursors and bounds pass row by row: the next one mostly is near. Where a
loop visits few times beside an object with many rows, as each key does of an object
without keys, it is far.
"""

from collections.abc import Callable

from tiltpy.abi.signature import LANES
from tiltpy.emit.builder import Block
from tiltpy.emit.row_access import ObjectRows
from tiltpy.loops.build import TRUE, add, conj, i64, least, lt, mul, select, sub
from tiltpy.loops.nodes import Bin, LExpr, Var, While
from tiltpy.types import BOOL, I64

NEAR = LANES
"""Rows that are passed one by one."""


def jump(
    block: Block, rows: ObjectRows, row: Var, passed: Callable[[LExpr], LExpr]
) -> None:
    """Move `row` to the first that is not passed, if that is far ahead.

    `passed` says of an existing row whether it is; those before one that is are, too.
    Steps double until one goes too far, and are halved from there on (exponential
    search).
    """
    step = block.builder.fresh("step")
    grows = block.builder.fresh("grows", BOOL)
    far, leap = block.inner(), block.inner()
    far.set(step, i64(NEAR))
    far.set(grows, TRUE)
    last = leap.name("goal", sub(add(row, step), i64(1)))
    leaps = leap.name("leaps", _is_passed(rows, last, passed))
    leap.set(row, add(row, select(leaps, step, i64(0))))
    leap.set(grows, conj(grows, leaps))
    halved = Bin("//", step, i64(2), I64)
    leap.set(step, select(grows, mul(step, i64(2)), halved))
    far.add(While(lt(i64(0), step), leap.body()))
    block.when(_is_passed(rows, add(row, i64(NEAR)), passed), far, rarely=True)


def _is_passed(rows: ObjectRows, row: LExpr, passed: Callable[[LExpr], LExpr]) -> LExpr:
    """Return whether there is a row and it is passed."""
    return conj(lt(row, rows.count), passed(least(row, rows.last)))
