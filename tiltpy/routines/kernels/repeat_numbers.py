"""Numbers of 64 bits, each repeated as often as a count says.

A whole vector is written for each, so that those of few repetitions take no branch.
What it writes behind is written again by those that follow.
"""

from tiltpy.abi.signature import LANES
from tiltpy.loops.build import add, i64, load, number
from tiltpy.loops.nodes import Assign, For, LoopKernel, Splat, Store
from tiltpy.routines.kernels.arguments import RoutineArguments
from tiltpy.types import I64


def build_repetition() -> LoopKernel:
    """Build the loop over numbers, and over the vectors of each behind the first."""
    arguments = RoutineArguments()
    keys = arguments.number("numbers")
    counts, numbers = arguments.array("counts"), arguments.array("source")
    target = arguments.array("target", written=True)
    key, row, stop, further, value = map(
        number, ("key", "row", "stop", "further", "value")
    )
    each = (
        Assign(value, load(numbers, key)),
        Assign(stop, add(row, load(counts, key))),
        Store(target, row, Splat(value, I64)),
        For(
            further,
            add(row, i64(LANES)),
            stop,
            (Store(target, further, Splat(value, I64)),),
            LANES,
        ),
        Assign(row, stop),
    )
    return arguments.kernel(Assign(row, i64(0)), For(key, i64(0), keys, each))
