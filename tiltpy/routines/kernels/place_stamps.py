"""Starts and ends of events by their stamps, and the steps between those."""

from tiltpy.loops.build import add, i64, load, sub
from tiltpy.loops.nodes import LoopKernel
from tiltpy.routines.kernels.arguments import RoutineArguments
from tiltpy.routines.kernels.find_steps import find_steps
from tiltpy.routines.kernels.store_entries import store_entries


def build_times() -> LoopKernel:
    """Build loops for each array, which are vectors then."""
    arguments = RoutineArguments()
    rows, before, after, cached = map(
        arguments.number, ("rows", "before", "after", "cached")
    )
    stamps = arguments.array("stamps")
    starts = arguments.array("starts", written=True)
    ends = arguments.array("ends", written=True)
    shortest, longest, body = find_steps(rows, stamps)
    return arguments.kernel(
        *body,
        *store_entries(
            stamps, starts, rows, cached, lambda each, wide: sub(each, wide(before))
        ),
        *store_entries(
            stamps, ends, rows, cached, lambda each, wide: add(each, wide(after))
        ),
        arguments.write_back(after, load(stamps, i64(0))),
        arguments.write_back(cached, load(stamps, sub(rows, i64(1)))),
        arguments.write_back(rows, shortest),
        arguments.write_back(before, longest),
    )
