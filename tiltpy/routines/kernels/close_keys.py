"""Snapshots of keys that are final, and those that may go on.

    for each key:
        go on with its open snapshot, as far as the first one that was made says
        for that and each other one that was made:
            cut it to the end of the domain so far; leave it out if nothing is left
            the one before it is final
        the last one stays open, if it ends where the key was computed up to

An open snapshot is where the one before the first cell of its key was: the first one
that was made begins before that cell, and is no other then. Open snapshots lie in
records of keys, which are changed in place.
"""

from tiltpy.loops.build import (
    FALSE,
    TRUE,
    add,
    eq,
    greatest,
    i64,
    least,
    load,
    lt,
    mul,
    ne,
    number,
    sub,
)
from tiltpy.loops.nodes import (
    Assign,
    Branch,
    For,
    LExpr,
    LoopKernel,
    Prefetch,
    Stmt,
    Store,
    Var,
    While,
)
from tiltpy.routines.kernels.arguments import RoutineArguments
from tiltpy.routines.kernels.key_records import number_of
from tiltpy.types import BOOL

AHEAD = 16
"""Keys ahead of which is looked for their open snapshots."""
KEY, CODE, RECORD, ROW, STOP = map(number, ("key", "code", "record", "row", "stop"))
SEAM, REACHED, DOMAIN, REACH = map(number, ("seam", "reached", "domain", "reach"))
START, END, SOURCE = map(number, ("start", "end", "source"))
LAST_START, LAST_END, LAST = map(number, ("last start", "last end", "last"))
FINAL, FIRST, ENDED, WAITING = map(number, ("final", "first", "ended", "waiting"))
GOES_ON, IS_OPEN = Var("goes on", BOOL), Var("is open", BOOL)
NOTHING, OPENED = i64(-1), i64(-2)
"""Row numbers that name no snapshot, and the open one."""
NOWHERE = i64(-(2**63))
"""The end of the open snapshot of a key that has none."""


def build_close() -> LoopKernel:
    """Build the loop over keys, and those over the snapshots of each."""
    arguments = RoutineArguments()
    keys, made, room = map(arguments.number, ("keys", "rows made", "room"))
    finals, ended, waiting = map(
        arguments.number, ("finals", "open ones among them", "rows that wait")
    )
    codes, counts, starts, ends = map(
        arguments.array, ("codes", "counts", "starts", "ends")
    )
    open_starts, open_ends = (
        arguments.array(name, written=True) for name in ("open starts", "open ends")
    )
    seams, reached, domains = map(arguments.array, ("seams", "reached", "domains"))
    closed = arguments.array("final snapshots", written=True)
    listed = arguments.array("by key", written=True)
    flags = arguments.array("flags by key", BOOL, written=True)

    def item(column: int, entry: LExpr) -> LExpr:
        return add(mul(keys, i64(column)), entry)

    def final(column: int) -> LExpr:
        return add(mul(room, i64(column)), FINAL)

    end_open: tuple[Stmt, ...] = (
        Assign(LAST, add(made, ENDED)),
        Store(listed, item(1, ENDED), CODE),
        _advance(ENDED),
    )
    put_final: tuple[Stmt, ...] = (
        Branch(eq(LAST, OPENED), end_open),
        Store(closed, final(0), LAST_START),
        Store(closed, final(1), LAST_END),
        Store(closed, final(2), LAST),
        _advance(FINAL),
    )
    put_waiting: tuple[Stmt, ...] = (
        Branch(
            ne(LAST, OPENED),
            (
                Store(listed, item(2, WAITING), CODE),
                Store(listed, item(3, WAITING), LAST),
                _advance(WAITING),
            ),
        ),
        Store(open_starts, RECORD, LAST_START),
        Store(open_ends, RECORD, LAST_END),
    )
    keep: tuple[Stmt, ...] = (
        Branch(ne(LAST, NOTHING), put_final),
        Assign(LAST_START, START),
        Assign(LAST_END, END),
        Assign(LAST, SOURCE),
    )
    beyond: tuple[Stmt, ...] = (
        Assign(GOES_ON, TRUE),
        Branch(lt(START, DOMAIN), (Assign(IS_OPEN, TRUE),)),
        Assign(END, DOMAIN),
    )
    look: tuple[Stmt, ...] = (
        Branch(lt(DOMAIN, END), beyond),
        Branch(lt(START, END), keep),
    )
    until = least(load(ends, ROW), REACHED)
    seam: tuple[Stmt, ...] = (
        Assign(END, until),
        Branch(lt(SEAM, END), (Assign(REACH, END),)),
        _advance(ROW),
    )
    go_on: tuple[Stmt, ...] = (
        Assign(START, load(open_starts, RECORD)),
        Assign(END, greatest(load(open_ends, RECORD), REACH)),
        Assign(SOURCE, OPENED),
        Store(open_ends, RECORD, NOWHERE),
        *look,
    )
    visit: tuple[Stmt, ...] = (
        Assign(START, load(starts, ROW)),
        Assign(END, until),
        Assign(SOURCE, ROW),
        *look,
        _advance(ROW),
    )
    is_last_open: tuple[Stmt, ...] = (
        Branch(lt(LAST_END, REACHED), (), (Assign(IS_OPEN, TRUE),)),
        Branch(IS_OPEN, put_waiting, put_final),
    )
    later = load(codes, least(add(KEY, i64(AHEAD)), sub(keys, i64(1))))
    each: tuple[Stmt, ...] = (
        Assign(RECORD, number_of(later)),
        Prefetch(open_ends, RECORD),
        Assign(CODE, load(codes, KEY)),
        Assign(RECORD, number_of(CODE)),
        Assign(STOP, add(ROW, load(counts, KEY))),
        Assign(SEAM, load(seams, KEY)),
        Assign(REACHED, load(reached, KEY)),
        Assign(DOMAIN, load(domains, KEY)),
        Assign(REACH, NOWHERE),
        *(Assign(var, FALSE) for var in (GOES_ON, IS_OPEN)),
        Assign(LAST, NOTHING),
        Assign(FIRST, FINAL),
        Branch(lt(ROW, STOP), (Branch(lt(load(starts, ROW), SEAM), seam),)),
        Branch(ne(load(open_ends, RECORD), NOWHERE), go_on),
        While(lt(ROW, STOP), visit),
        Branch(ne(LAST, NOTHING), is_last_open),
        Store(listed, item(0, KEY), sub(FINAL, FIRST)),
        Store(flags, KEY, GOES_ON),
        Store(flags, add(keys, KEY), IS_OPEN),
    )
    zero = (ROW, FINAL, ENDED, WAITING, LAST_START, LAST_END)
    return arguments.kernel(
        *(Assign(var, i64(0)) for var in zero),
        For(KEY, i64(0), keys, each),
        arguments.write_back(finals, FINAL),
        arguments.write_back(ended, ENDED),
        arguments.write_back(waiting, WAITING),
    )


def _advance(var: Var) -> Assign:
    return Assign(var, add(var, i64(1)))
