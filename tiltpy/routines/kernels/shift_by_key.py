"""Time ranges of concatenated keys behind one another, and times shifted to them."""

from tiltpy.abi.signature import LANES
from tiltpy.loops.build import add, eq, i64, le, least, load, lt, number, select, sub
from tiltpy.loops.nodes import (
    Assign,
    Bin,
    Branch,
    For,
    LExpr,
    LoopKernel,
    Splat,
    Stmt,
    Store,
    Var,
    While,
    Wide,
)
from tiltpy.routines.kernels.arguments import RoutineArguments
from tiltpy.types import I64

SINGLES = 4
"""Rows of a key that are shifted before a look at how many it has."""


def build_layout() -> LoopKernel:
    """Build the loop over keys, each behind the one before.

    No sum wraps: all are cut where they are too long anyway.
    """
    arguments = RoutineArguments()
    keys, apart, precision, longest = map(
        arguments.number, ("keys", "apart", "precision", "longest")
    )
    lows, highs = arguments.array("lows"), arguments.array("highs")
    shifts = arguments.array("shifts", written=True)
    key, begin, low, length, shift, shortest = map(
        number, ("key", "begin", "low", "length", "shift", "shortest")
    )
    too_long = add(longest, i64(1))

    def each(placed: LExpr) -> For:
        steps = (
            Assign(low, load(lows, key)),
            Assign(length, sub(load(highs, key), low)),
            Assign(shift, sub(begin, low)),
            Store(shifts, key, placed),
            Assign(begin, add(add(begin, apart), least(length, longest))),
            Assign(begin, least(begin, too_long)),
            Assign(shortest, least(shortest, length)),
        )
        return For(key, i64(0), keys, steps)

    rounded = sub(shift, Bin("%", shift, precision, I64))
    # A division takes longer than all the rest.
    return arguments.kernel(
        *(Assign(var, i64(0)) for var in (begin, shortest)),
        Branch(eq(precision, i64(1)), (each(shift),), (each(rounded),)),
        Store(shifts, keys, select(lt(shortest, i64(0)), too_long, begin)),
    )


def build_shifts(*, points: bool) -> LoopKernel:
    """Build the loop over keys, and those over the rows of each.

    Up to the last rows, as many are written as keys mostly have at least, and whole
    vectors; those of the next keys are written again. Times of points are their ends:
    the ticks before go with them.
    """
    arguments = RoutineArguments()
    keys, rows = arguments.number("keys"), arguments.number("rows")
    counts, shifts = arguments.array("counts"), arguments.array("shifts")
    times, target = arguments.array("times"), arguments.array("target", written=True)
    starts = arguments.array("starts", written=True) if points else None
    key, row, stop, shift = map(number, ("key", "row", "stop", "shift"))

    def write(time: Var, value: LExpr, at: LExpr) -> tuple[Stmt, ...]:
        before = () if starts is None else (Store(starts, at, sub(time, i64(1))),)
        return Assign(time, value), Store(target, at, time), *before

    def single(at: LExpr) -> tuple[Stmt, ...]:
        return write(number("time"), add(shift, load(times, at)), at)

    few = [stmt for n in range(SINGLES) for stmt in single(add(row, i64(n)))]
    wide = add(Splat(shift, I64), Wide(times, row, I64))
    vectors = write(number("times"), wide, row)
    each = (
        Assign(row, stop),
        Assign(stop, add(row, load(counts, key))),
        Assign(shift, load(shifts, key)),
        Branch(
            le(add(row, i64(SINGLES)), rows),
            (*few, Assign(row, least(add(row, i64(SINGLES)), stop))),
        ),
        While(
            lt(row, least(stop, add(rows, i64(1 - LANES)))),
            (*vectors, Assign(row, add(row, i64(LANES)))),
        ),
        While(lt(row, stop), (*single(row), Assign(row, add(row, i64(1))))),
    )
    return arguments.kernel(Assign(stop, i64(0)), For(key, i64(0), keys, each))
