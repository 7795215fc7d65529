"""Rows appended to sorted runs: the partition phase of Impatience sort.

A row goes to the first run whose tail is at most its start, else to a new one. As tails
descend, the number of that run is the number of tails that are greater:

    while there are rows:
        if a vector of rows ascends, and all can follow in the run of the row before:
            append them (speculative run selection)
        otherwise append as many rows, each alone:
            count those of the first tails that are greater, without a branch
            if all of them are, search the others, unless the last run will do

The first tails stay in vector registers meanwhile. Equal starts go to runs of ascending
numbers, which makes merges of neighbouring runs stable.
"""

from tiltpy.abi.signature import LANES
from tiltpy.loops.build import (
    INF,
    add,
    binary,
    conj,
    convert,
    disj,
    eq,
    greatest,
    i64,
    le,
    least,
    load,
    lt,
    sub,
)
from tiltpy.loops.nodes import (
    Assign,
    Branch,
    CountTrue,
    Earlier,
    Extract,
    Lane,
    LExpr,
    LoopKernel,
    Select,
    Splat,
    Stmt,
    Store,
    Var,
    While,
    Wide,
)
from tiltpy.routines.kernels.arguments import RoutineArguments
from tiltpy.routines.kernels.sorted_runs import RunArrays
from tiltpy.types import I64, U32

ROW, END, START, RUN, RUNS = (
    Var(name, I64) for name in ("row", "end", "start", "run", "runs")
)
LAST = Var("last start", I64)
TAILS = Var("first tails", I64)
LOW, HIGH, MIDDLE = (Var(name, I64) for name in ("low", "high", "middle"))
ONE = i64(1)


def build_append() -> LoopKernel:
    """Build the loop over vectors of new rows."""
    arguments = RoutineArguments()
    row, stop = arguments.number("first"), arguments.number("stop")
    runs, run = arguments.number("runs before"), arguments.number("run before")
    arrays = RunArrays(arguments, appends=True)
    singly = (
        Assign(TAILS, Wide(arrays.tails, i64(0), I64)),
        Assign(END, least(add(ROW, i64(LANES)), stop)),
        While(lt(ROW, END), _append_row(arrays)),
        Store(arrays.tails, i64(0), TAILS),
    )
    vector = (
        Assign(START, load(arrays.starts, ROW)),
        Assign(LAST, load(arrays.starts, add(ROW, i64(LANES - 1)))),
        Branch(_fits_run(arrays, stop), _append_vector(arrays), singly),
    )
    return arguments.kernel(
        Assign(ROW, row),
        Assign(RUNS, runs),
        Assign(RUN, run),
        While(lt(ROW, stop), vector),
        arguments.write_back(runs, RUNS),
        arguments.write_back(run, RUN),
    )


def _fits_run(arrays: RunArrays, stop: Var) -> LExpr:
    """Tell whether a vector of rows can follow in the run of the row before."""
    before = load(arrays.tails, greatest(sub(RUN, ONE), i64(0)))
    ascends = le(Wide(arrays.starts, ROW, I64), Wide(arrays.starts, add(ROW, ONE), I64))
    within = lt(Lane(I64), i64(LANES - 1))
    ascending = CountTrue(conj(ascends, within), I64)
    return conj(
        le(add(ROW, i64(LANES)), stop),
        lt(RUN, RUNS),
        le(load(arrays.tails, RUN), START),
        disj(eq(RUN, i64(0)), lt(LAST, before)),
        eq(ascending, i64(LANES - 1)),
    )


def _append_vector(arrays: RunArrays) -> tuple[Stmt, ...]:
    end = add(ROW, i64(LANES))
    return (
        Store(arrays.following, load(arrays.lasts, RUN), convert(ROW, U32)),
        Store(arrays.following, ROW, convert(add(add(ROW, ONE), Lane(I64)), U32)),
        Store(arrays.lasts, RUN, sub(end, ONE)),
        Store(arrays.tails, RUN, LAST),
        Assign(ROW, end),
    )


def _append_row(arrays: RunArrays) -> tuple[Stmt, ...]:
    earlier = Earlier(TAILS, Splat(INF, I64), 1, I64)
    start = Splat(START, I64)
    replaced = Select(lt(start, earlier), start, TAILS, I64)
    first_runs = (
        Assign(RUN, CountTrue(lt(start, TAILS), I64)),
        Assign(TAILS, Select(le(TAILS, start), replaced, TAILS, I64)),
    )
    new_run = (
        Store(arrays.heads, RUN, START),
        Store(arrays.firsts, RUN, ROW),
        Assign(RUNS, add(RUNS, ONE)),
    )
    follow = (Store(arrays.following, load(arrays.lasts, RUN), convert(ROW, U32)),)
    return (
        Assign(START, load(arrays.starts, ROW)),
        Branch(
            lt(START, Extract(TAILS, LANES - 1, I64)),
            _find_other_run(arrays),
            first_runs,
            rarely=True,
        ),
        Branch(eq(RUN, RUNS), new_run, follow, rarely=True),
        Store(arrays.lasts, RUN, ROW),
        Assign(ROW, add(ROW, ONE)),
    )


def _find_other_run(arrays: RunArrays) -> tuple[Stmt, ...]:
    """Find a run behind those whose tails are in registers: first look at the last."""
    others = i64(LANES)
    stays = conj(
        le(others, RUN),
        le(load(arrays.tails, RUN), START),
        disj(
            eq(RUN, others),
            lt(START, load(arrays.tails, greatest(sub(RUN, ONE), i64(0)))),
        ),
    )
    halve = (
        Assign(MIDDLE, binary("//", add(LOW, HIGH), i64(2))),
        Branch(
            le(load(arrays.tails, MIDDLE), START),
            (Assign(HIGH, MIDDLE),),
            (Assign(LOW, add(MIDDLE, ONE)),),
        ),
    )
    search = (
        Assign(LOW, others),
        Assign(HIGH, RUNS),
        While(lt(LOW, HIGH), halve),
        Assign(RUN, LOW),
    )
    stay = (Assign(RUN, RUN),)
    return (
        Branch(stays, stay, search),
        Store(arrays.tails, RUN, START),
    )
