"""Binary search of one time in each of many slices of an array.

Of each slice the last time is looked at, then the first one: most times lie outside.
Else what is left is halved until it is empty.
"""

from tiltpy.loops.build import add, i64, le, load, lt, negate, number, sub
from tiltpy.loops.nodes import Assign, Bin, Branch, For, LExpr, LoopKernel, Store, While
from tiltpy.routines.kernels.arguments import RoutineArguments
from tiltpy.types import I64


def build_search(*, right: bool) -> LoopKernel:
    """Build the loop over slices; times that are equal are passed if `right`."""
    arguments = RoutineArguments()
    count = arguments.number("count")
    times = arguments.array("times")
    first, stop, wanted = map(arguments.array, ("first", "stop", "wanted"))
    found = arguments.array("found", written=True)
    each, low, high, middle, time = map(
        number, ("each", "low", "high", "middle", "time")
    )
    below = le if right else lt

    def is_below(row: LExpr) -> LExpr:
        return below(load(times, row), time)

    outside = (
        Branch(
            is_below(sub(high, i64(1))),
            (Assign(low, high),),
            (Branch(negate(is_below(low)), (Assign(high, low),)),),
        ),
    )
    halve = (
        Assign(middle, Bin("//", add(low, high), i64(2), I64)),
        Branch(
            is_below(middle),
            (Assign(low, add(middle, i64(1))),),
            (Assign(high, middle),),
        ),
    )
    search = (
        Assign(low, load(first, each)),
        Assign(high, load(stop, each)),
        Assign(time, load(wanted, each)),
        Branch(lt(low, high), outside),
        While(lt(low, high), halve),
        Store(found, each, low),
    )
    return arguments.kernel(For(each, i64(0), count, search))
