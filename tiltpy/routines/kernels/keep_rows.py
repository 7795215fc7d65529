"""Rows of keys that are still needed: those that end late, and the last ones before.

    for each key:
        find the first of the last rows that start before its horizon
        for each row: list it if it is one of those or later, or ends behind the horizon

Of points, which end in order of their starts, those are the rows from one on: it is
looked for from behind, where few rows are needed.
"""

from tiltpy.loops.build import (
    add,
    conj,
    convert,
    disj,
    greatest,
    i64,
    le,
    least,
    load,
    lt,
    number,
    select,
    sub,
)
from tiltpy.loops.nodes import (
    Array,
    Assign,
    Branch,
    For,
    LExpr,
    LoopKernel,
    Stmt,
    Store,
    Var,
    While,
)
from tiltpy.routines.kernels.arguments import RoutineArguments
from tiltpy.types import I64

KEY, ROW, FIRST, STOP, HORIZON, LAST, COUNT, BEFORE = map(
    number, ("key", "row", "first", "stop", "horizon", "last", "count", "before")
)


def build_keep() -> LoopKernel:
    """Build the loop over keys, and those over the rows of each."""
    arguments = RoutineArguments()
    keys, total = arguments.number("keys"), arguments.number("rows needed")
    points, last_rows = arguments.number("points"), arguments.number("last rows")
    counts, starts, ends, horizons = map(
        arguments.array, ("counts", "starts", "ends", "horizons")
    )
    needed, rows = (
        arguments.array(name, written=True) for name in ("counts needed", "needed")
    )
    find_before: tuple[Stmt, ...] = (
        Assign(BEFORE, FIRST),
        For(
            ROW,
            FIRST,
            STOP,
            (
                Assign(
                    BEFORE,
                    add(BEFORE, convert(lt(load(starts, ROW), HORIZON), I64)),
                ),
            ),
        ),
        Assign(LAST, sub(BEFORE, last_rows)),
    )
    list_any: tuple[Stmt, ...] = (
        Assign(LAST, STOP),
        Branch(lt(i64(0), last_rows), find_before),
        For(
            ROW,
            FIRST,
            STOP,
            (
                Store(rows, COUNT, ROW),
                Assign(
                    COUNT,
                    select(
                        disj(le(LAST, ROW), lt(HORIZON, load(ends, ROW))),
                        add(COUNT, i64(1)),
                        COUNT,
                    ),
                ),
            ),
        ),
    )
    list_points: tuple[Stmt, ...] = (
        _go_back(LAST, lt(HORIZON, _before(ends, LAST))),
        Branch(
            lt(i64(0), last_rows),
            (
                _go_back(BEFORE, le(HORIZON, _before(starts, BEFORE))),
                Assign(LAST, greatest(FIRST, least(LAST, sub(BEFORE, last_rows)))),
            ),
        ),
        For(ROW, LAST, STOP, (Store(rows, COUNT, ROW), _count())),
    )
    each: tuple[Stmt, ...] = (
        Assign(STOP, add(FIRST, load(counts, KEY))),
        Assign(HORIZON, load(horizons, KEY)),
        *(Assign(var, STOP) for var in (LAST, BEFORE)),
        Store(needed, KEY, COUNT),
        Branch(lt(i64(0), points), list_points, list_any),
        Store(needed, KEY, sub(COUNT, load(needed, KEY))),
        Assign(FIRST, STOP),
    )
    return arguments.kernel(
        Assign(FIRST, i64(0)),
        Assign(COUNT, i64(0)),
        For(KEY, i64(0), keys, each),
        arguments.write_back(total, COUNT),
    )


def _count() -> Assign:
    return Assign(COUNT, add(COUNT, i64(1)))


def _before(times: Array, row: Var) -> LExpr:
    """Look up the time of the row before one, or any where there is none."""
    return load(times, greatest(sub(row, i64(1)), i64(0)))


def _go_back(row: Var, condition: LExpr) -> While:
    """Go back to the first row of a key from which on a condition holds."""
    return While(conj(lt(FIRST, row), condition), (Assign(row, sub(row, i64(1))),))
