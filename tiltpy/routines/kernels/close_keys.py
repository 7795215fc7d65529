"""Snapshots of keys that are final, and those that may go on.

    for each key:
        go on with its open snapshot, as far as the first one that was made says
        for that and each other one that was made:
            cut it to the end of the domain so far; leave it out if nothing is left
            the one before it is final
        the last one stays open, if it ends where the key was computed up to

An open snapshot is where the one before the first cell of its key was: the first one
that was made begins before that cell, and is no other then.
"""

from tiltpy.loops.build import add, greatest, i64, least, load, lt, sub
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
from tiltpy.types import I64

KEY, ROW, STOP, SEAM, REACHED, DOMAIN, REACH = (
    Var(name, I64)
    for name in ("key", "row", "stop", "seam", "reached", "domain", "reach")
)
START, END, SOURCE = (Var(name, I64) for name in ("start", "end", "source"))
LAST_START, LAST_END, LAST = (
    Var(name, I64) for name in ("last start", "last end", "last")
)
OPENED, FINAL, FIRST, WAITING = (
    Var(name, I64) for name in ("opened", "final", "first", "waiting")
)
GOES_ON, IS_OPEN, SOME = (Var(name, I64) for name in ("goes on", "is open", "some"))
NOTHING = i64(-1)


def build_close() -> LoopKernel:
    """Build the loop over keys, and those over the snapshots of each."""
    arguments = RoutineArguments()
    keys, shift = arguments.number("keys"), arguments.number("opened before")
    counts, starts, ends = map(arguments.array, ("counts", "starts", "ends"))
    open_counts, open_starts, open_ends = map(
        arguments.array, ("open counts", "open starts", "open ends")
    )
    seams, reached, domains, reaches = map(
        arguments.array, ("seams", "reached", "domains", "reaches")
    )
    final_counts, finals, final_ends, final_rows = (
        arguments.array(name, written=True)
        for name in ("final counts", "final starts", "final ends", "final rows")
    )
    waiting, waits, waiting_ends, waiting_rows = (
        arguments.array(name, written=True)
        for name in ("waiting", "waiting starts", "waiting ends", "waiting rows")
    )
    flags = arguments.array("goes on", written=True)
    open_flags = arguments.array("is open", written=True)

    put_final: tuple[Stmt, ...] = (
        Store(finals, FINAL, LAST_START),
        Store(final_ends, FINAL, LAST_END),
        Store(final_rows, FINAL, LAST),
        _advance(FINAL),
    )
    put_waiting: tuple[Stmt, ...] = (
        Store(waits, WAITING, LAST_START),
        Store(waiting_ends, WAITING, LAST_END),
        Store(waiting_rows, WAITING, LAST),
        _advance(WAITING),
    )
    keep: tuple[Stmt, ...] = (
        Branch(lt(i64(-1), LAST), put_final),
        Assign(LAST_START, START),
        Assign(LAST_END, END),
        Assign(LAST, SOURCE),
    )
    beyond: tuple[Stmt, ...] = (
        Assign(GOES_ON, i64(1)),
        Branch(lt(START, DOMAIN), (Assign(IS_OPEN, i64(1)),)),
        Assign(END, DOMAIN),
    )
    look: tuple[Stmt, ...] = (
        Branch(lt(DOMAIN, END), beyond),
        Branch(lt(START, END), keep),
    )
    ended = least(load(ends, ROW), REACHED)
    seam: tuple[Stmt, ...] = (
        Assign(END, ended),
        Branch(lt(SEAM, END), (Assign(REACH, greatest(REACH, END)),)),
        _advance(ROW),
    )
    go_on: tuple[Stmt, ...] = (
        Assign(START, load(open_starts, OPENED)),
        Assign(END, greatest(load(open_ends, OPENED), REACH)),
        Assign(SOURCE, OPENED),
        _advance(OPENED),
        *look,
    )
    visit: tuple[Stmt, ...] = (
        Assign(START, load(starts, ROW)),
        Assign(END, ended),
        Assign(SOURCE, add(ROW, shift)),
        *look,
        _advance(ROW),
    )
    is_last_open: tuple[Stmt, ...] = (
        Branch(lt(LAST_END, REACHED), (), (Assign(IS_OPEN, i64(1)),)),
        Branch(lt(i64(0), IS_OPEN), put_waiting, put_final),
    )
    each: tuple[Stmt, ...] = (
        Assign(STOP, add(ROW, load(counts, KEY))),
        Assign(SEAM, load(seams, KEY)),
        Assign(REACHED, load(reached, KEY)),
        Assign(DOMAIN, load(domains, KEY)),
        Assign(REACH, load(reaches, KEY)),
        *(Assign(var, i64(0)) for var in (GOES_ON, IS_OPEN)),
        Assign(LAST, NOTHING),
        Assign(FIRST, FINAL),
        Assign(SOME, WAITING),
        Branch(lt(ROW, STOP), (Branch(lt(load(starts, ROW), SEAM), seam),)),
        Branch(lt(i64(0), load(open_counts, KEY)), go_on),
        While(lt(ROW, STOP), visit),
        Branch(lt(i64(-1), LAST), is_last_open),
        Store(final_counts, KEY, sub(FINAL, FIRST)),
        Store(waiting, KEY, sub(WAITING, SOME)),
        Store(flags, KEY, GOES_ON),
        Store(open_flags, KEY, IS_OPEN),
    )
    zero = (ROW, OPENED, FINAL, WAITING, LAST_START, LAST_END)
    return arguments.kernel(
        *(Assign(var, i64(0)) for var in zero), For(KEY, i64(0), keys, each)
    )


def _advance(var: Var) -> Assign:
    return Assign(var, add(var, i64(1)))
