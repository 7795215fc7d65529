"""Distinct codes of keys, in the order in which they come.

    for each code: list it, unless it stands where its place says

A place is that of a code in the list, if the code stands there, and anything else if
not: so places are never cleared.
"""

from tiltpy.loops.build import (
    add,
    conj,
    eq,
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
from tiltpy.loops.nodes import Assign, For, LoopKernel, Prefetch, Store
from tiltpy.routines.kernels.arguments import RoutineArguments

AHEAD = 16
"""Codes ahead of which their places are prefetched."""
ITEM, CODE, PLACE, COUNT, LATER = map(
    number, ("item", "code", "place", "count", "later")
)


def build_touch() -> LoopKernel:
    """Build the loop over codes."""
    arguments = RoutineArguments()
    codes_count, known = arguments.number("codes"), arguments.number("distinct")
    codes = arguments.array("codes that come")
    distinct, places = (
        arguments.array(name, written=True) for name in ("distinct codes", "places")
    )
    later = least(add(ITEM, i64(AHEAD)), sub(codes_count, i64(1)))
    there = least(greatest(PLACE, i64(0)), greatest(sub(COUNT, i64(1)), i64(0)))
    is_known = conj(
        le(i64(0), PLACE), lt(PLACE, COUNT), eq(load(distinct, there), CODE)
    )
    each = (
        Assign(LATER, load(codes, later)),
        Prefetch(places, LATER),
        Assign(CODE, load(codes, ITEM)),
        Assign(PLACE, load(places, CODE)),
        Assign(PLACE, select(is_known, PLACE, COUNT)),
        Store(places, CODE, PLACE),
        Store(distinct, PLACE, CODE),
        Assign(COUNT, add(COUNT, select(eq(PLACE, COUNT), i64(1), i64(0)))),
    )
    return arguments.kernel(
        Assign(COUNT, known),
        For(ITEM, i64(0), codes_count, each),
        arguments.write_back(known, COUNT),
    )
