"""Values moved to other rows: written to the place of each, or read in a new order."""

from tiltpy.loops.build import convert, load, number
from tiltpy.loops.nodes import For, LoopKernel, Store
from tiltpy.routines.kernels.arguments import RoutineArguments
from tiltpy.types import I64, U32, Scalar


def build_scatter(of: Scalar) -> LoopKernel:
    """Build the loop that writes each value to the place of its row."""
    arguments = RoutineArguments()
    first, stop = arguments.number("first"), arguments.number("stop")
    places = arguments.array("places", U32)
    source, target = (
        arguments.array("source", of),
        arguments.array("target", of, written=True),
    )
    row = number("row")
    place = convert(load(places, row), I64)
    return arguments.kernel(
        For(row, first, stop, (Store(target, place, load(source, row)),))
    )


def build_gather(of: Scalar) -> LoopKernel:
    """Build the loop that reads a value for each row, from where its order says."""
    arguments = RoutineArguments()
    first, stop = arguments.number("first"), arguments.number("stop")
    order = arguments.array("order", U32)
    source, target = (
        arguments.array("source", of),
        arguments.array("target", of, written=True),
    )
    row = number("row")
    origin = convert(load(order, row), I64)
    return arguments.kernel(
        For(row, first, stop, (Store(target, row, load(source, origin)),))
    )
