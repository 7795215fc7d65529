"""Keys that are due, of those that are listed with their times.

    for each key that is listed: take it if its time has come, else list it again
    for each that was taken, if it is due: it is one of those that are over, or not

Times that are listed may be old ones: those by code say which keys are due.
"""

from tiltpy.loops.build import add, i64, le, least, load, lt, ne, number, sub
from tiltpy.loops.nodes import (
    Assign,
    Branch,
    For,
    LExpr,
    LoopKernel,
    Prefetch,
    Store,
    Var,
)
from tiltpy.routines.kernels.arguments import RoutineArguments
from tiltpy.routines.kernels.key_records import number_of, truth_of
from tiltpy.types import BOOL, ENDLESS

AHEAD = 16
"""Keys ahead of which is looked for their times."""
ITEM, CODE, TIME, LEFT, TAKEN, DUE, OVER = map(
    number, ("item", "code", "time", "left", "taken", "due", "over")
)
NEVER = i64(ENDLESS)


def build_take_due() -> LoopKernel:
    """Build the loops over the keys that are listed, and those that are taken."""
    arguments = RoutineArguments()
    listed, now = arguments.number("keys listed"), arguments.number("now")
    due, over = arguments.number("keys due"), arguments.number("keys over")
    tells = arguments.number("tells which are over")
    codes, times, times_of = (
        arguments.array(name, written=True)
        for name in ("codes listed", "times listed", "times of codes")
    )
    is_over = arguments.array("over by code", BOOL)
    taken, overs = (
        arguments.array(name, written=True) for name in ("codes due", "codes over")
    )
    sort_out = (
        Assign(CODE, load(codes, ITEM)),
        Assign(TIME, load(times, ITEM)),
        Branch(
            le(TIME, now),
            (Store(taken, TAKEN, CODE), advance(TAKEN)),
            (
                Store(codes, LEFT, CODE),
                Store(times, LEFT, TIME),
                advance(LEFT),
            ),
        ),
    )
    list_due = (Store(taken, DUE, CODE), advance(DUE))
    list_over = (Store(overs, OVER, CODE), advance(OVER))
    sort_over = (Branch(load(is_over, truth_of(CODE)), list_over, list_due),)
    later = load(taken, least(add(ITEM, i64(AHEAD)), sub(TAKEN, i64(1))))
    look = (
        Assign(CODE, later),
        Prefetch(times_of, number_of(CODE)),
        Assign(CODE, load(taken, ITEM)),
        Branch(
            le(load(times_of, number_of(CODE)), now),
            (
                Store(times_of, number_of(CODE), NEVER),
                Branch(ne(tells, i64(0)), sort_over, list_due),
            ),
        ),
    )
    return arguments.kernel(
        *(Assign(var, i64(0)) for var in (LEFT, TAKEN, DUE, OVER)),
        For(ITEM, i64(0), listed, sort_out),
        For(ITEM, i64(0), TAKEN, look),
        arguments.write_back(listed, LEFT),
        arguments.write_back(due, DUE),
        arguments.write_back(over, OVER),
    )


def build_list_due(*, named: bool) -> LoopKernel:
    """Build the loop that lists the keys that are due up to a limit.

    They are all of a table, or those that are `named`.
    """
    arguments = RoutineArguments()
    keys, limit = arguments.number("keys"), arguments.number("limit")
    listed, most = arguments.number("keys listed"), arguments.number("most listed")
    times_of = arguments.array("times of keys")
    code: LExpr = load(arguments.array("codes"), ITEM) if named else ITEM
    time = load(times_of, ITEM if named else number_of(ITEM))
    listed_codes, times = (
        arguments.array(name, written=True) for name in ("codes listed", "times listed")
    )
    each = (
        Assign(TIME, time),
        Branch(
            le(TIME, limit),
            (
                Branch(
                    lt(DUE, most),
                    (
                        Store(listed_codes, DUE, code),
                        Store(times, DUE, TIME),
                    ),
                ),
                advance(DUE),
            ),
        ),
    )
    return arguments.kernel(
        Assign(DUE, listed),
        For(ITEM, i64(0), keys, each),
        arguments.write_back(listed, DUE),
    )


def advance(var: Var) -> Assign:
    """Count one more."""
    return Assign(var, add(var, i64(1)))
