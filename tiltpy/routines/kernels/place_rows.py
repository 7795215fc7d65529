"""Stable order of rows by small codes: counted first, then placed."""

from tiltpy.loops.build import add, convert, i64, load, number
from tiltpy.loops.nodes import Assign, For, LoopKernel, Store
from tiltpy.routines.kernels.arguments import RoutineArguments
from tiltpy.types import I64, U32


def build_counts() -> LoopKernel:
    """Build the loop that adds one to the count of each row's code."""
    arguments = RoutineArguments()
    first, stop = arguments.number("first"), arguments.number("stop")
    codes = arguments.array("codes", U32)
    counts = arguments.array("counts", written=True)
    row, code = number("row"), number("code")
    each = (
        Assign(code, convert(load(codes, row), I64)),
        Store(counts, code, add(load(counts, code), i64(1))),
    )
    return arguments.kernel(For(row, first, stop, each))


def build_places() -> LoopKernel:
    """Build the loop that gives each row the next place of its code."""
    arguments = RoutineArguments()
    first, stop = arguments.number("first"), arguments.number("stop")
    codes = arguments.array("codes", U32)
    places = arguments.array("places", written=True)
    taken = arguments.array("taken", U32, written=True)
    row, code, place = number("row"), number("code"), number("place")
    each = (
        Assign(code, convert(load(codes, row), I64)),
        Assign(place, load(places, code)),
        Store(taken, row, convert(place, U32)),
        Store(places, code, add(place, i64(1))),
    )
    return arguments.kernel(For(row, first, stop, each))
