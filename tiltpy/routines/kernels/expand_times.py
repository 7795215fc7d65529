"""Times of snapshots over cells, from a bit for each cell.

The cells of a time range are `period` ticks long. A snapshot begins with each cell that
has a bit in `begins`, and is one cell long, or lasts until the next begins or the run
of bits in `covered` ends. Starts and ends go to successive rows:

    for each range:
        for cells, a vector at a time:
            pack the times at which the cells begin that begin a snapshot
            pack the times at which the cells end that end a snapshot

Packing writes a whole vector whatever the mask. What it writes behind the rows of a
range is written again by the ranges that follow; behind the last there is room.
"""

from tiltpy.abi.signature import LANES
from tiltpy.loops.build import add, conj, convert, i64, load, lt, mul, negate, sub
from tiltpy.loops.nodes import (
    Array,
    Assign,
    Branch,
    CountTrue,
    For,
    Lane,
    LExpr,
    LoopKernel,
    Pack,
    Stmt,
    Store,
    Var,
    Wide,
)
from tiltpy.routines.kernels.arguments import RoutineArguments
from tiltpy.types import BOOL, I32, I64

RANGE, LOW, CELLS, CELL, TIME = (
    Var(name, I64) for name in ("range", "low", "cells", "cell", "time")
)
FIRST, ROW, LAST_ROW = (Var(name, I64) for name in ("first", "row", "last row"))
BIT, REPLACED = Var("bit", I64), Var("replaced", I64)
BEGINS, LASTS = Var("begins a snapshot", BOOL), Var("ends a snapshot", BOOL)
CARRIES = Var("carries", BOOL)


def _inside(cell: LExpr) -> LExpr:
    """Tell which of a vector of cells from `cell` on are cells of the range."""
    return lt(Lane(I32), convert(sub(CELLS, cell), I32))


def _bits(bits: Array, cell: LExpr) -> LExpr:
    return Wide(bits, add(BIT, cell), BOOL)


def _each_range(ranges: Var, *body: Stmt) -> For:
    return For(RANGE, i64(0), ranges, body)


def _each_vector(*body: Stmt) -> For:
    return For(CELL, i64(0), CELLS, body, LANES)


def _count(row: Var, mask: Var) -> Assign:
    return Assign(row, add(row, CountTrue(mask, I64)))


def _declare(arguments: RoutineArguments) -> tuple[Var, Var, Array, Array, list[Stmt]]:
    """Declare the ranges and the times; returns what a range begins with, too."""
    ranges, period = arguments.number("ranges"), arguments.number("period")
    of_ranges = {
        var: arguments.array(f"{var.name} of range") for var in (LOW, CELLS, FIRST)
    }
    starts, ends = (arguments.array(name, written=True) for name in ("starts", "ends"))
    head: list[Stmt] = [
        Assign(var, load(array, RANGE)) for var, array in of_ranges.items()
    ]
    return ranges, period, starts, ends, [*head, Assign(ROW, FIRST)]


def _cell_times(period: Var) -> Assign:
    """Compute the times at which a vector of cells begins."""
    first = add(LOW, mul(CELL, period))
    return Assign(TIME, add(first, mul(Lane(I64), period)))


def build_cells(*, bits: bool) -> LoopKernel:
    """Build the routine for snapshots of one cell: all cells, or those with `bits`."""
    arguments = RoutineArguments()
    ranges, period, starts, ends, head = _declare(arguments)
    begins: LExpr = _inside(CELL)
    if bits:
        bitmap = arguments.array("begins", BOOL, bits=True)
        head.append(Assign(BIT, mul(load(arguments.array("bytes"), RANGE), i64(8))))
        begins = conj(_bits(bitmap, CELL), begins)
    loop = _each_vector(
        _cell_times(period),
        Assign(BEGINS, begins),
        Pack(starts, ROW, TIME, BEGINS),
        Pack(ends, ROW, add(TIME, period), BEGINS),
        _count(ROW, BEGINS),
    )
    return arguments.kernel(_each_range(ranges, *head, loop))


def build_runs() -> LoopKernel:
    """Build the routine for snapshots of any number of cells.

    The end of row `i` is entry `i + 1`: the first cell may go on with a snapshot of the
    row before, whose end is moved to `carried`.
    """
    arguments = RoutineArguments()
    ranges, period, starts, ends, head = _declare(arguments)
    begins = arguments.array("begins", BOOL, bits=True)
    head.append(Assign(BIT, mul(load(arguments.array("bytes"), RANGE), i64(8))))
    covered = arguments.array("covered", BOOL, bits=True)
    carried = arguments.array("carried", written=True)
    head += [
        Assign(
            CARRIES,
            conj(lt(i64(0), CELLS), load(covered, BIT), negate(load(begins, BIT))),
        ),
        Assign(LAST_ROW, sub(add(FIRST, i64(1)), convert(CARRIES, I64))),
        Assign(REPLACED, load(ends, FIRST)),
    ]
    following = add(CELL, i64(1))
    goes_on = conj(
        _bits(covered, following), negate(_bits(begins, following)), _inside(following)
    )
    loop = _each_vector(
        _cell_times(period),
        Assign(BEGINS, conj(_bits(begins, CELL), _inside(CELL))),
        Assign(LASTS, conj(_bits(covered, CELL), _inside(CELL), negate(goes_on))),
        Pack(starts, ROW, TIME, BEGINS),
        Pack(ends, LAST_ROW, add(TIME, period), LASTS),
        _count(ROW, BEGINS),
        _count(LAST_ROW, LASTS),
    )
    restore = Branch(
        CARRIES,
        (Store(carried, RANGE, load(ends, FIRST)), Store(ends, FIRST, REPLACED)),
    )
    return arguments.kernel(_each_range(ranges, *head, loop, restore))
