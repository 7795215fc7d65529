"""Starts and ends of events by their stamps, and the steps between those."""

from tiltpy.loops.build import add, i64, load, number, sub
from tiltpy.loops.nodes import For, LoopKernel, Store
from tiltpy.routines.kernels.arguments import RoutineArguments
from tiltpy.routines.kernels.find_steps import find_steps


def build_times() -> LoopKernel:
    """Build a loop for each array, which are vectors then."""
    arguments = RoutineArguments()
    rows, before, after, unused = map(
        arguments.number, ("rows", "before", "after", "unused")
    )
    stamps = arguments.array("stamps")
    starts = arguments.array("starts", written=True)
    ends = arguments.array("ends", written=True)
    row = number("row")
    stamp = load(stamps, row)
    shortest, longest, body = find_steps(rows, stamps)
    return arguments.kernel(
        *body,
        For(row, i64(0), rows, (Store(starts, row, sub(stamp, before)),)),
        For(row, i64(0), rows, (Store(ends, row, add(stamp, after)),)),
        arguments.write_back(after, load(stamps, i64(0))),
        arguments.write_back(unused, load(stamps, sub(rows, i64(1)))),
        arguments.write_back(rows, shortest),
        arguments.write_back(before, longest),
    )
