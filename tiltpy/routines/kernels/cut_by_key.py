"""Snapshots of concatenated keys, cut to the time range of each and shifted back.

Snapshots and time ranges are in order, and one snapshot may be in several ranges:

    for each key:
        pass the snapshots that end up to its range
        while one starts within its range:
            store its times, cut and shifted, and its number
        look at the last one again if it goes on beyond the range
"""

from tiltpy.loops.build import (
    add,
    conj,
    convert,
    greatest,
    i64,
    le,
    least,
    load,
    lt,
    number,
    sub,
)
from tiltpy.loops.nodes import Assign, For, LExpr, LoopKernel, Stmt, Store, Var, While
from tiltpy.routines.kernels.arguments import RoutineArguments
from tiltpy.types import I64

KEY, LOW, HIGH, SHIFT = (Var(name, I64) for name in ("key", "low", "high", "shift"))


def build_cut_by_key() -> LoopKernel:
    """Build the loop over keys, and those over the snapshots of each."""
    arguments = RoutineArguments()
    count, keys = arguments.number("count"), arguments.number("keys")
    starts, ends = arguments.array("starts"), arguments.array("ends")
    ranges = {var: arguments.array(f"{var.name} of key") for var in (LOW, HIGH, SHIFT)}
    cut_starts, cut_ends, rows, counts = (
        arguments.array(name, written=True)
        for name in ("cut starts", "cut ends", "rows", "counts")
    )
    row, filled, begun, reached = map(number, ("row", "filled", "begun", "reached"))
    start, end, beyond, again = map(number, ("start", "end", "beyond", "again"))
    readable = greatest(least(row, sub(count, i64(1))), i64(0))
    look = Assign(start, load(starts, readable)), Assign(end, load(ends, readable))

    def advance(var: Var, by: LExpr) -> Assign:
        return Assign(var, add(var, by))

    take: tuple[Stmt, ...] = (
        Store(cut_starts, filled, sub(greatest(start, LOW), SHIFT)),
        Store(cut_ends, filled, sub(least(end, HIGH), SHIFT)),
        Store(rows, filled, row),
        Assign(reached, end),
        advance(filled, i64(1)),
        advance(row, i64(1)),
    )
    each = For(
        KEY,
        i64(0),
        keys,
        (
            *(Assign(var, load(array, KEY)) for var, array in ranges.items()),
            While(conj(lt(row, count), le(end, LOW)), (advance(row, i64(1)),), look),
            Assign(begun, filled),
            Assign(reached, LOW),
            While(conj(lt(row, count), lt(start, HIGH)), take, look),
            Assign(beyond, convert(lt(HIGH, reached), I64)),
            Assign(row, sub(row, beyond)),
            advance(again, beyond),
            Store(counts, KEY, sub(filled, begun)),
        ),
    )
    begin = [Assign(var, i64(0)) for var in (row, filled, again)]
    return arguments.kernel(*begin, each, Store(counts, keys, again))
