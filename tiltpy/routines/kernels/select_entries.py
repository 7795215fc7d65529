"""Selected entries of an array, one behind another."""

from tiltpy.abi.signature import LANES
from tiltpy.loops.build import add, convert, i64, load, number, sub
from tiltpy.loops.nodes import (
    Assign,
    CountTrue,
    For,
    LoopKernel,
    Pack,
    Store,
    Var,
    Wide,
)
from tiltpy.routines.kernels.arguments import RoutineArguments
from tiltpy.types import BOOL, I64


def build_selection() -> LoopKernel:
    """Build the loops over whole vectors, and over the entries behind them."""
    arguments = RoutineArguments()
    entries = arguments.number("entries")
    source, flags = arguments.array("source"), arguments.array("flags", BOOL)
    target = arguments.array("target", written=True)
    entry, rest, count = map(number, ("entry", "rest", "count"))
    mask = Var("mask", BOOL)
    vectors = For(
        entry,
        i64(0),
        sub(entries, i64(LANES - 1)),
        (
            Assign(mask, Wide(flags, entry, BOOL)),
            Pack(target, count, Wide(source, entry, I64), mask),
            Assign(count, add(count, CountTrue(mask, I64))),
        ),
        LANES,
    )
    singles = For(
        rest,
        entry,
        entries,
        (
            Store(target, count, load(source, rest)),
            Assign(count, add(count, convert(load(flags, rest), I64))),
        ),
    )
    return arguments.kernel(Assign(count, i64(0)), vectors, singles)
