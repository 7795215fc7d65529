"""The heads of sorted runs, cut and merged: the merge phase of Impatience sort.

    for each run whose first row starts before a time:
        copy the rows that do; the others are the run, which goes if there are none
    if few runs had such rows: merge the rows, from the last run to the first
    else: sort them by the digits of their starts, each packed with its slot

Rows that stay are not looked at, but for the first of each run.
"""

from functools import reduce

from tiltpy.abi.signature import LANES
from tiltpy.loops.build import (
    INF,
    NEVER,
    add,
    binary,
    conj,
    convert,
    eq,
    greatest,
    i64,
    le,
    least,
    load,
    lt,
    mul,
    number,
    select,
    sub,
)
from tiltpy.loops.nodes import (
    Array,
    Assign,
    Branch,
    For,
    LExpr,
    LoopKernel,
    Splat,
    Stmt,
    Store,
    Var,
    While,
    Wide,
)
from tiltpy.routines.catalogue import SHORT_DIGIT_BITS
from tiltpy.routines.kernels.arguments import RoutineArguments
from tiltpy.routines.kernels.merge_runs import MergeArrays, merge_all
from tiltpy.routines.kernels.sort_by_digits import BASE, OTHER, sort_by_digit
from tiltpy.routines.kernels.sorted_runs import RunArrays
from tiltpy.types import BOOL, I64, U32

RUN, TO, ROW, START, LAST = (
    Var(name, I64) for name in ("run", "to", "row", "start", "last row")
)
COUNT, HEADS, UNUSED = (Var(name, I64) for name in ("count", "heads", "unused"))
EARLIEST, LATEST = Var("earliest", I64), Var("latest", I64)
TICKS = Var("ticks", I64)
SLOT_BITS = 32
MOST_BITS = 31
"""Of the ticks between starts that are packed with slots."""
HEADS_OF_DIGIT = 16
"""Heads from which on a pass over a digit takes less than the merges that it saves."""


def build_release() -> LoopKernel:
    """Build the loop over runs, then the merges."""
    arguments = RoutineArguments()
    time, runs = arguments.number("time"), arguments.number("runs")
    rows = arguments.number("rows")
    arrays = RunArrays(arguments, appends=False)
    merged = MergeArrays(arguments)
    places = arguments.array("places", written=True)
    stay = (
        Branch(lt(TO, RUN), arrays.move_run(RUN, TO)),
        Assign(TO, add(TO, i64(1))),
    )
    each = (
        Assign(START, load(arrays.heads, RUN)),
        Branch(lt(START, time), _cut(arrays, merged, time)),
        Branch(lt(START, INF), stay),
    )
    return arguments.kernel(
        *(Assign(var, i64(0)) for var in (TO, COUNT, HEADS)),
        Assign(EARLIEST, INF),
        Assign(LATEST, NEVER),
        For(RUN, i64(0), runs, each),
        For(UNUSED, TO, runs, (Store(arrays.tails, UNUSED, NEVER),)),
        arguments.write_back(runs, TO),
        arguments.write_back(rows, COUNT),
        Assign(TICKS, sub(LATEST, EARLIEST)),
        Branch(
            _are_many(),
            _sort_by_digits(merged, places),
            merge_all(merged, HEADS, COUNT),
        ),
    )


def _are_many() -> LExpr:
    """Tell whether passes over digits take less than merges.

    They do unless there are few heads for each digit, or few rows for its values. Ticks
    that are negative are too many for 64 bits.
    """
    digits = [le(i64(1 << bit), TICKS) for bit in range(0, MOST_BITS, SHORT_DIGIT_BITS)]
    heads = reduce(add, (convert(each, I64) for each in digits))
    return conj(
        le(mul(heads, i64(HEADS_OF_DIGIT)), HEADS),
        le(i64(1 << SHORT_DIGIT_BITS), COUNT),
        le(i64(0), TICKS),
        lt(TICKS, i64(1 << MOST_BITS)),
    )


def _sort_by_digits(arrays: MergeArrays, places: Array) -> tuple[Stmt, ...]:
    """Sort rows by the ticks of their starts after the earliest."""
    row, numbers = number("head row"), arrays.right_starts
    first, slots = Splat(EARLIEST, I64), i64(1 << SLOT_BITS)
    start = sub(Wide(arrays.starts, row, I64), first)
    slot = convert(Wide(arrays.slots, row, U32), I64)
    pack = Store(numbers, row, add(mul(start, slots), slot))
    packed = Wide(numbers, add(BASE, row), I64)
    unpack = (
        Store(arrays.starts, row, add(binary("//", packed, slots), first)),
        Store(arrays.slots, row, convert(binary("%", packed, slots), U32)),
    )
    passes = (
        Branch(
            le(i64(1 << bit), TICKS),
            sort_by_digit(numbers, places, COUNT, SLOT_BITS + bit, SHORT_DIGIT_BITS),
        )
        for bit in range(0, MOST_BITS, SHORT_DIGIT_BITS)
    )
    return (
        For(row, i64(0), COUNT, (pack,), LANES),
        Assign(BASE, i64(0)),
        Assign(OTHER, COUNT),
        *passes,
        For(row, i64(0), COUNT, unpack, LANES),
    )


def _cut(arrays: RunArrays, merged: MergeArrays, time: Var) -> tuple[Stmt, ...]:
    """Copy the head of a run, whose first start is infinite then if none is left."""
    ends = Var("ends", BOOL)
    take = (
        Store(merged.starts, COUNT, START),
        Store(merged.slots, COUNT, convert(ROW, U32)),
        Assign(COUNT, add(COUNT, i64(1))),
        Assign(ends, eq(ROW, LAST)),
        Assign(ROW, convert(load(arrays.following, ROW), I64)),
        Assign(START, select(ends, INF, load(arrays.starts, ROW))),
    )
    return (
        Assign(ROW, load(arrays.firsts, RUN)),
        Assign(LAST, load(arrays.lasts, RUN)),
        Store(merged.bounds, HEADS, COUNT),
        Assign(HEADS, add(HEADS, i64(1))),
        Assign(EARLIEST, least(EARLIEST, START)),
        While(lt(START, time), take),
        Assign(LATEST, greatest(LATEST, load(merged.starts, sub(COUNT, i64(1))))),
        Store(arrays.heads, RUN, START),
        Store(arrays.firsts, RUN, ROW),
    )
