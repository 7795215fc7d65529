"""Ends of rows that hold until the next greater start."""

from tiltpy.loops.build import (
    INF,
    NEVER,
    add,
    eq,
    i64,
    least,
    load,
    lt,
    number,
    select,
    sub,
)
from tiltpy.loops.nodes import Assign, For, LoopKernel, Store
from tiltpy.routines.kernels.arguments import RoutineArguments


def build_ends() -> LoopKernel:
    """Build the loop from the last row to the first: rows with one start end alike."""
    arguments = RoutineArguments()
    rows, behind, longest = map(arguments.number, ("rows", "behind", "longest"))
    starts = arguments.array("starts")
    ends = arguments.array("ends", written=True)
    number_, row, start, following, end, most, first, limited = map(
        number,
        ("number", "row", "start", "following", "end", "most", "first", "limited"),
    )
    last = sub(rows, i64(1))
    each = (
        Assign(row, sub(last, number_)),
        Assign(start, load(starts, row)),
        Assign(following, load(starts, least(add(row, i64(1)), last))),
        Assign(end, select(lt(start, following), following, end)),
        Assign(most, select(lt(start, limited), add(start, longest), INF)),
        Store(ends, row, least(end, most)),
        Assign(first, select(eq(start, load(starts, last)), row, first)),
    )
    return arguments.kernel(
        Assign(end, behind),
        Assign(first, last),
        Assign(limited, select(lt(longest, INF), sub(INF, longest), NEVER)),
        For(number_, i64(0), rows, each),
        arguments.write_back(rows, first),
    )
