"""The heads of sorted runs, cut and merged: the merge phase of Impatience sort.

    for each run whose first row starts before a time:
        copy the rows that do; the others are the run, which goes if there are none
    merge what was copied, from the last run to the first

Rows that stay are not looked at, but for the first of each run.
"""

from tiltpy.loops.build import (
    INF,
    NEVER,
    add,
    convert,
    eq,
    i64,
    load,
    lt,
    select,
)
from tiltpy.loops.nodes import (
    Assign,
    Branch,
    For,
    LoopKernel,
    Stmt,
    Store,
    Var,
    While,
)
from tiltpy.routines.kernels.arguments import RoutineArguments
from tiltpy.routines.kernels.merge_runs import MergeArrays, merge_all
from tiltpy.routines.kernels.sorted_runs import RunArrays
from tiltpy.types import BOOL, I64, U32

RUN, TO, ROW, START, LAST = (
    Var(name, I64) for name in ("run", "to", "row", "start", "last row")
)
COUNT, HEADS, UNUSED = (Var(name, I64) for name in ("count", "heads", "unused"))


def build_release() -> LoopKernel:
    """Build the loop over runs, then the merges."""
    arguments = RoutineArguments()
    time, runs = arguments.number("time"), arguments.number("runs")
    rows = arguments.number("rows")
    arrays = RunArrays(arguments, appends=False)
    merged = MergeArrays(arguments)
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
        For(RUN, i64(0), runs, each),
        For(UNUSED, TO, runs, (Store(arrays.tails, UNUSED, NEVER),)),
        arguments.write_back(runs, TO),
        arguments.write_back(rows, COUNT),
        *merge_all(merged, HEADS, COUNT),
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
        While(lt(START, time), take),
        Store(arrays.heads, RUN, START),
        Store(arrays.firsts, RUN, ROW),
    )
