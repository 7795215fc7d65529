"""Runs of values, copied one behind the other, in whole vectors."""

from tiltpy.abi.signature import LANES
from tiltpy.loops.build import add, conj, i64, le, load, lt, number
from tiltpy.loops.nodes import Assign, For, LoopKernel, Store, While, Wide
from tiltpy.routines.kernels.arguments import RoutineArguments
from tiltpy.types import Scalar


def build_copies(of: Scalar) -> LoopKernel:
    """Build the loop over runs, and those over the values of each.

    A vector may go on behind its run: what it writes there is written again by those
    that follow.
    """
    arguments = RoutineArguments()
    runs, rows = arguments.number("runs"), arguments.number("rows")
    firsts, counts = arguments.array("firsts"), arguments.array("counts")
    source = arguments.array("source", of)
    target = arguments.array("target", of, written=True)
    run, first, count, filled, at = map(
        number, ("run", "first", "count", "filled", "at")
    )
    origin, to = add(first, at), add(filled, at)
    each = (
        Assign(first, load(firsts, run)),
        Assign(count, load(counts, run)),
        Assign(at, i64(0)),
        While(
            conj(lt(at, count), le(add(origin, i64(LANES)), rows)),
            (
                Store(target, to, Wide(source, origin, of)),
                Assign(at, add(at, i64(LANES))),
            ),
        ),
        While(
            lt(at, count),
            (Store(target, to, load(source, origin)), Assign(at, add(at, i64(1)))),
        ),
        Assign(filled, add(filled, count)),
    )
    return arguments.kernel(Assign(filled, i64(0)), For(run, i64(0), runs, each))
