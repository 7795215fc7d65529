"""Values moved to other rows: written to the place of each, or read in a new order."""

from tiltpy.loops.build import convert, load, number
from tiltpy.loops.nodes import For, LoopKernel, Store
from tiltpy.routines.kernels.arguments import RoutineArguments
from tiltpy.types import I64, U32, Scalar


def build_scatter(of: Scalar) -> LoopKernel:
    """Build the loop that writes each value to the place of its row."""
    return _build("places", of, scatters=True)


def build_gather(of: Scalar) -> LoopKernel:
    """Build the loop that reads a value for each row, from where its order says."""
    return _build("order", of, scatters=False)


def _build(numbers: str, of: Scalar, *, scatters: bool) -> LoopKernel:
    """Build the loop over rows that moves a value for each of some numbers of rows."""
    arguments = RoutineArguments()
    first, stop = arguments.number("first"), arguments.number("stop")
    others = arguments.array(numbers, U32)
    source, target = (
        arguments.array("source", of),
        arguments.array("target", of, written=True),
    )
    row = number("row")
    other = convert(load(others, row), I64)
    to, origin = (other, row) if scatters else (row, other)
    return arguments.kernel(
        For(row, first, stop, (Store(target, to, load(source, origin)),))
    )
