"""Keys of which nothing is to be computed before they have other rows.

for each of them that is not among those that are computed:
it is done up to now, and no more live if nothing of it goes on
list it
"""

from tiltpy.loops.build import (
    FALSE,
    add,
    conj,
    eq,
    greatest,
    i64,
    le,
    least,
    load,
    lt,
    mul,
    ne,
    negate,
    number,
    sub,
)
from tiltpy.loops.nodes import Assign, Branch, For, LoopKernel, Prefetch, Stmt, Store
from tiltpy.routines.kernels.arguments import RoutineArguments
from tiltpy.routines.kernels.key_records import number_of, truth_of
from tiltpy.types import BOOL

AHEAD = 16
"""Keys ahead of which their entries are prefetched."""
ITEM, CODE, ENTRY, COUNT = map(number, ("item", "code", "entry", "count"))


def build_retire() -> LoopKernel:
    """Build the loop over keys."""
    arguments = RoutineArguments()
    keys, touched = arguments.number("keys"), arguments.number("keys computed")
    now, ends = arguments.number("now"), arguments.number("nothing goes on")
    listed = arguments.number("keys listed")
    codes, distinct, entries = map(
        arguments.array, ("codes", "codes computed", "entries of codes")
    )
    done = arguments.array("done", written=True)
    live = arguments.array("live", BOOL, written=True)
    others = arguments.array("codes listed", written=True)
    later = load(codes, least(add(ITEM, i64(AHEAD)), sub(keys, i64(1))))
    there = least(greatest(ENTRY, i64(0)), greatest(sub(touched, i64(1)), i64(0)))
    is_touched = conj(
        le(i64(0), ENTRY), lt(ENTRY, touched), eq(load(distinct, there), CODE)
    )
    retire = (
        Store(done, number_of(CODE), now),
        Branch(ne(ends, i64(0)), (Store(live, truth_of(CODE), FALSE),)),
        Store(others, COUNT, CODE),
        Assign(COUNT, add(COUNT, i64(1))),
    )
    each: tuple[Stmt, ...] = (
        Assign(CODE, later),
        Prefetch(entries, CODE),
        Prefetch(done, number_of(CODE)),
        Assign(CODE, load(codes, ITEM)),
        Assign(ENTRY, load(entries, CODE)),
        Branch(negate(is_touched), retire),
    )
    return arguments.kernel(
        Assign(COUNT, i64(0)),
        For(ITEM, i64(0), keys, each),
        arguments.write_back(listed, COUNT),
    )


def build_drop() -> LoopKernel:
    """Build the loop over keys that drops their rows."""
    arguments = RoutineArguments()
    keys, dropped = arguments.number("keys"), arguments.number("rows dropped")
    codes = arguments.array("codes")
    held = arguments.array("rows of codes", written=True)
    later = load(codes, least(add(ITEM, i64(AHEAD)), sub(keys, i64(1))))
    count = add(mul(load(codes, ITEM), i64(2)), i64(1))
    each = (
        Assign(CODE, later),
        Prefetch(held, mul(CODE, i64(2))),
        Assign(ENTRY, count),
        Assign(COUNT, add(COUNT, load(held, ENTRY))),
        Store(held, ENTRY, i64(0)),
    )
    return arguments.kernel(
        Assign(COUNT, i64(0)),
        For(ITEM, i64(0), keys, each),
        arguments.write_back(dropped, COUNT),
    )
