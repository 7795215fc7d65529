"""Arrays written entry by entry, the most of them past the caches."""

from collections.abc import Callable

from tiltpy.abi.signature import LANES
from tiltpy.loops.build import binary, i64, load, number, sub
from tiltpy.loops.nodes import (
    Array,
    Assign,
    For,
    LExpr,
    LoopKernel,
    Splat,
    Stmt,
    Store,
    Var,
    Wide,
)
from tiltpy.routines.kernels.arguments import RoutineArguments
from tiltpy.types import Scalar

Form = Callable[[LExpr, Callable[[LExpr], LExpr]], LExpr]
"""Makes what is written of an entry. The other argument has numbers take its width."""


def build_copy(scalar: Scalar) -> LoopKernel:
    """Build the loops that copy entries of a type."""
    arguments = RoutineArguments()
    rows, cached = arguments.number("rows"), arguments.number("cached")
    source = arguments.array("source", scalar)
    target = arguments.array("target", scalar, written=True)
    loops = store_entries(source, target, rows, cached, lambda each, _: each)
    return arguments.kernel(*loops)


def store_entries(
    source: Array, target: Array, rows: Var, cached: Var, form: Form
) -> tuple[Stmt, ...]:
    """Make the loops that write an entry for each one of a source.

    The first `cached` go through the caches, then whole vectors past them.
    """
    row, whole = number("row"), number("whole")
    one = form(load(source, row), lambda each: each)
    several = form(Wide(source, row, source.type), lambda each: Splat(each, each.type))
    rest = binary("%", sub(rows, cached), i64(LANES))
    return (
        Assign(whole, sub(rows, rest)),
        For(row, i64(0), cached, (Store(target, row, one),)),
        For(row, cached, whole, (Store(target, row, several, past=True),), LANES),
        For(row, whole, rows, (Store(target, row, one),)),
    )
