"""Snapshots of concatenated keys, cut to the time range of each and shifted back.

Snapshots and time ranges are in order, and one snapshot may be in several ranges:

    for each key:
        pass the snapshots that end up to its range
        search the first one that starts behind it, in steps that double
        look at the last one again if it goes on beyond the range

    for each key:
        store the times of its snapshots, shifted, in whole vectors
        cut the first one and the last
"""

from tiltpy.abi.signature import LANES
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
from tiltpy.loops.nodes import (
    Array,
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

KEY, FIRST, COUNT = (Var(name, I64) for name in ("key", "first", "count of key"))
LOW, HIGH, SHIFT = (Var(name, I64) for name in ("low", "high", "shift"))


def build_ranges() -> LoopKernel:
    """Build the loop that searches the snapshots of each key."""
    arguments = RoutineArguments()
    count, keys = arguments.number("count"), arguments.number("keys")
    starts, ends = arguments.array("starts"), arguments.array("ends")
    ranges = {var: arguments.array(f"{var.name} of key") for var in (LOW, HIGH)}
    firsts, counts = (
        arguments.array(name, written=True) for name in ("firsts", "counts")
    )
    row, again, stop, step, probe, middle = map(
        number, ("row", "again", "stop", "step", "probe", "middle")
    )
    beyond = number("beyond")

    def read(array: Array, row: LExpr) -> LExpr:
        """Read the time of a row, or of the nearest one that there is."""
        return load(array, greatest(least(row, sub(count, i64(1))), i64(0)))

    halve = (
        Assign(middle, Bin("//", add(stop, probe), i64(2), I64)),
        Branch(
            lt(load(starts, middle), HIGH),
            (Assign(stop, add(middle, i64(1))),),
            (Assign(probe, middle),),
        ),
    )
    end = read(ends, sub(stop, i64(1)))
    each: tuple[Stmt, ...] = (
        *(Assign(var, load(array, KEY)) for var, array in ranges.items()),
        While(
            conj(lt(row, count), le(read(ends, row), LOW)),
            (Assign(row, add(row, i64(1))),),
        ),
        Assign(stop, row),
        Assign(step, i64(1)),
        While(
            conj(lt(stop, count), lt(read(starts, probe), HIGH)),
            (Assign(stop, add(probe, i64(1))), Assign(step, add(step, step))),
            (Assign(probe, sub(least(add(stop, step), count), i64(1))),),
        ),
        Assign(probe, greatest(probe, stop)),
        While(lt(stop, probe), halve),
        Assign(beyond, convert(conj(lt(row, stop), lt(HIGH, end)), I64)),
        Store(firsts, KEY, row),
        Store(counts, KEY, sub(stop, row)),
        Assign(row, sub(stop, beyond)),
        Assign(again, add(again, beyond)),
    )
    return arguments.kernel(
        *(Assign(var, i64(0)) for var in (row, again)),
        For(KEY, i64(0), keys, each),
        Store(counts, keys, again),
    )


def build_cut() -> LoopKernel:
    """Build the loop that stores the times of each key's snapshots.

    It may write where it reads from: no snapshot moves to a later entry.
    """
    arguments = RoutineArguments()
    keys = arguments.number("keys")
    of_key = {
        var: arguments.array(f"{var.name} of key")
        for var in (FIRST, COUNT, LOW, HIGH, SHIFT)
    }
    starts, ends = arguments.array("starts"), arguments.array("ends")
    cut_starts, cut_ends = (
        arguments.array(name, written=True) for name in ("cut starts", "cut ends")
    )
    filled, at, start, end, last = map(number, ("filled", "at", "start", "end", "last"))
    row, entry = add(FIRST, at), add(filled, at)

    def move(by: LExpr, *times: LExpr) -> tuple[Stmt, ...]:
        targets = cut_starts, cut_ends
        pairs = zip(targets, times, strict=True)
        return tuple(Store(target, entry, sub(time, by)) for target, time in pairs)

    wide = move(Splat(SHIFT, I64), Wide(starts, row, I64), Wide(ends, row, I64))
    single = move(SHIFT, load(starts, row), load(ends, row))
    nonempty = (
        Assign(last, sub(COUNT, i64(1))),
        Assign(start, greatest(load(starts, FIRST), LOW)),
        Assign(end, least(load(ends, add(FIRST, last)), HIGH)),
        Assign(at, i64(0)),
        While(le(add(at, i64(LANES)), COUNT), (*wide, Assign(at, add(at, i64(LANES))))),
        While(lt(at, COUNT), (*single, Assign(at, add(at, i64(1))))),
        Store(cut_starts, filled, sub(start, SHIFT)),
        Store(cut_ends, add(filled, last), sub(end, SHIFT)),
        Assign(filled, add(filled, COUNT)),
    )
    each: tuple[Stmt, ...] = (
        *(Assign(var, load(array, KEY)) for var, array in of_key.items()),
        Branch(lt(i64(0), COUNT), nonempty),
    )
    return arguments.kernel(Assign(filled, i64(0)), For(KEY, i64(0), keys, each))
