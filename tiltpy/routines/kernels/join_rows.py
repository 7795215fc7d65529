"""Rows of keys: those that each has, then those that came, in the order of the keys.

    count the rows that came of each key
    for each key: list the rows that it has, leave room for those that came
    for each row that came: list it behind the others of its key
    for each key: look at the edges of its rows

Rows are numbered by where they lie in arrays of all rows.
"""

from tiltpy.loops.build import (
    INF,
    add,
    convert,
    greatest,
    i64,
    least,
    load,
    lt,
    mul,
    number,
    select,
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
)
from tiltpy.routines.kernels.arguments import RoutineArguments
from tiltpy.types import I64

EDGES = 7
"""The edges of a key's rows."""
AHEAD = 16
"""Keys ahead of which is looked for their rows."""
EARLIEST, LATEST = i64(-(2**63)), i64(2**63 - 1)
KEY, ROW, CODE, ENTRY, COUNT, FILLED, ITEM = map(
    number, ("key", "row", "code", "entry", "count", "filled", "item")
)
CAME, EARLY, LATE = map(number, ("came from", "first that came", "last that came"))
FIRST, STOP, START, END = map(number, ("first", "stop", "start", "end"))
ENDS, SETTLED, NEWEST = map(number, ("ends of key", "settled of key", "newest of key"))
BEFORE, OVERLAP, DISORDER = map(number, ("end before", "overlap", "disorder"))


def build_join() -> LoopKernel:
    """Build the loops over keys, and over rows that came."""
    arguments = RoutineArguments()
    keys, came, first_came = map(arguments.number, ("keys", "came", "first that came"))
    codes, came_codes, keys_of = map(
        arguments.array, ("codes", "codes of rows", "keys of codes")
    )
    starts, ends = arguments.array("starts"), arguments.array("ends")
    held = arguments.array("rows of codes", written=True)
    edges = arguments.array("edges", written=True)
    joined = arguments.array("joined rows", written=True)
    total = arguments.number("rows")
    facts = arguments.array("facts", written=True)

    def edge(number: int) -> LExpr:
        return add(mul(keys, i64(number)), KEY)

    begins, counts, firsts, lasts, all_ends, settled, newest = map(edge, range(EDGES))

    def joined_row(column: int, item: LExpr) -> LExpr:
        return add(mul(total, i64(column)), item)

    def put(row: LExpr, item: LExpr) -> tuple[Stmt, ...]:
        return (
            Assign(START, load(starts, row)),
            Assign(END, load(ends, row)),
            Store(joined, joined_row(0, item), row),
            Store(joined, joined_row(1, item), START),
            Store(joined, joined_row(2, item), END),
        )

    begin = (Store(edges, counts, i64(0)),)
    later_row = load(came_codes, least(add(ROW, i64(AHEAD)), sub(came, i64(1))))
    count = (
        Assign(CODE, later_row),
        Prefetch(keys_of, CODE),
        Assign(KEY, load(keys_of, load(came_codes, ROW))),
        Store(joined, joined_row(3, ROW), KEY),
        Store(edges, counts, add(load(edges, counts), i64(1))),
    )
    later = load(codes, least(add(KEY, i64(AHEAD)), sub(keys, i64(1))))
    look_up: tuple[Stmt, ...] = (
        Assign(ENTRY, mul(later, i64(2))),
        Prefetch(held, ENTRY),
        Assign(ENTRY, mul(load(codes, KEY), i64(2))),
        Assign(FIRST, load(held, ENTRY)),
        Assign(COUNT, load(held, add(ENTRY, i64(1)))),
        Store(held, add(ENTRY, i64(1)), i64(0)),
    )
    nothing = Assign(FIRST, i64(0)), Assign(COUNT, i64(0))
    list_held = (
        Branch(lt(came, total), look_up, nothing),
        Store(edges, begins, FILLED),
        For(ITEM, i64(0), COUNT, put(add(FIRST, ITEM), add(FILLED, ITEM))),
        Assign(FILLED, add(FILLED, COUNT)),
        # Where the first row that came of the key goes, and the next one.
        Store(edges, firsts, FILLED),
        Store(edges, newest, FILLED),
        Assign(FILLED, add(FILLED, load(edges, counts))),
        Store(edges, counts, add(load(edges, counts), COUNT)),
    )
    list_came = (
        Assign(KEY, load(joined, joined_row(3, ROW))),
        Assign(ITEM, load(edges, newest)),
        *put(add(first_came, ROW), ITEM),
        Store(edges, newest, add(ITEM, i64(1))),
    )
    row = _look(load(joined, joined_row(1, ROW)), load(joined, joined_row(2, ROW)))
    look: tuple[Stmt, ...] = (
        Assign(FIRST, load(edges, begins)),
        Assign(CAME, load(edges, firsts)),
        Assign(STOP, add(FIRST, load(edges, counts))),
        *(Assign(var, EARLIEST) for var in (ENDS, SETTLED, NEWEST, BEFORE)),
        For(ROW, FIRST, CAME, row),
        Assign(EARLY, LATEST),
        Assign(LATE, EARLIEST),
        For(
            ROW,
            CAME,
            STOP,
            (
                *row,
                Assign(EARLY, least(EARLY, START)),
                Assign(LATE, greatest(LATE, END)),
            ),
        ),
        Store(edges, firsts, EARLY),
        Store(edges, lasts, LATE),
        Store(edges, all_ends, ENDS),
        Store(edges, settled, SETTLED),
        Store(edges, newest, NEWEST),
    )
    return arguments.kernel(
        For(KEY, i64(0), keys, begin),
        For(ROW, i64(0), came, count),
        *(Assign(var, i64(0)) for var in (FILLED, OVERLAP, DISORDER)),
        For(KEY, i64(0), keys, list_held),
        For(ROW, i64(0), came, list_came),
        For(KEY, i64(0), keys, look),
        Store(facts, i64(0), OVERLAP),
        Store(facts, i64(1), DISORDER),
        Store(facts, i64(2), FILLED),
    )


def _look(start: LExpr, end: LExpr) -> tuple[Stmt, ...]:
    """Look at a row of a key: one that holds on counts with its start."""
    return (
        Assign(START, start),
        Assign(END, end),
        Assign(ENDS, greatest(ENDS, END)),
        Assign(SETTLED, greatest(SETTLED, select(lt(END, INF), END, START))),
        Assign(NEWEST, greatest(NEWEST, START)),
        Assign(OVERLAP, greatest(OVERLAP, convert(lt(START, BEFORE), I64))),
        Assign(DISORDER, greatest(DISORDER, convert(lt(END, BEFORE), I64))),
        Assign(BEFORE, END),
    )
