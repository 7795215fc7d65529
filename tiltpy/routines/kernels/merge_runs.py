"""Sorted runs that lie one behind the other, merged in place.

Neighbours are merged, so that rows that start together stay in the order of their runs.
A run waits until what lies behind it is at most as long, or no run is left in front:
where runs get shorter, as those of rows out of order do, short ones are merged first,
about as a Huffman tree would.
"""

from tiltpy.abi.signature import LANES
from tiltpy.loops.build import (
    add,
    binary,
    conj,
    convert,
    disj,
    greatest,
    i64,
    le,
    load,
    lt,
    negate,
    number,
    sub,
)
from tiltpy.loops.nodes import (
    Assign,
    Branch,
    For,
    LExpr,
    Select,
    Stmt,
    Store,
    Var,
    While,
    Wide,
)
from tiltpy.routines.kernels.arguments import RoutineArguments
from tiltpy.types import BOOL, I64, U32

HEAD, DEPTH = Var("next head", I64), Var("depth", I64)
LEFT, RIGHT, STOP = (Var(name, I64) for name in ("left", "right", "stop of right"))
LOW, HIGH, MIDDLE = (Var(name, I64) for name in ("low", "high", "middle"))
FROM_LEFT, FROM_RIGHT, TO = (
    Var(name, I64) for name in ("from left", "from right", "to")
)
X, Y = Var("left start", I64), Var("right start", I64)
NEXT_X, NEXT_Y = Var("next left start", I64), Var("next right start", I64)
TAKES = Var("takes left", BOOL)


class MergeArrays:
    """The rows to merge, copies of those on the right, and where runs begin."""

    def __init__(self, arguments: RoutineArguments) -> None:
        self.starts = arguments.array("merged starts", written=True)
        self.slots = arguments.array("merged slots", U32, written=True)
        self.right_starts = arguments.array("right starts", written=True)
        self.right_slots = arguments.array("right slots", U32, written=True)
        self.bounds = arguments.array("bounds", written=True)
        self.edges = arguments.array("edges", written=True)


def merge_all(arrays: MergeArrays, heads: Var, count: Var) -> tuple[Stmt, ...]:
    """Merge runs from the last to the first.

    `edges` is a stack of where merged runs begin, the leftmost on top; each reaches to
    the one below, and the lowest entry is the end of all.
    """
    push = (
        Assign(DEPTH, add(DEPTH, i64(1))),
        Store(arrays.edges, DEPTH, load(arrays.bounds, HEAD)),
        Assign(HEAD, sub(HEAD, i64(1))),
    )
    merge = (
        Assign(LEFT, _edge(arrays, 0)),
        Assign(RIGHT, _edge(arrays, 1)),
        Assign(STOP, _edge(arrays, 2)),
        Assign(DEPTH, sub(DEPTH, i64(1))),
        Store(arrays.edges, DEPTH, LEFT),
        *merge_neighbours(arrays),
    )
    return (
        Store(arrays.edges, i64(0), count),
        Assign(DEPTH, i64(0)),
        Assign(HEAD, sub(heads, i64(1))),
        While(
            disj(le(i64(0), HEAD), lt(i64(1), DEPTH)),
            (Branch(_pushes(arrays), push, merge),),
        ),
    )


def _edge(arrays: MergeArrays, below: int) -> LExpr:
    return load(arrays.edges, greatest(sub(DEPTH, i64(below)), i64(0)))


def _pushes(arrays: MergeArrays) -> LExpr:
    """Tell whether the next run is put on the stack before its top is merged."""
    left = sub(_edge(arrays, 1), _edge(arrays, 0))
    right = sub(_edge(arrays, 2), _edge(arrays, 1))
    return conj(le(i64(0), HEAD), disj(lt(DEPTH, i64(2)), lt(left, right)))


def _bisect(
    arrays: MergeArrays, low: LExpr, high: LExpr, goes_on: LExpr
) -> tuple[Stmt, ...]:
    """Find in `LOW` the first row of a range for which it does not go on."""
    halve = (
        Assign(MIDDLE, binary("//", add(LOW, HIGH), i64(2))),
        Assign(X, load(arrays.starts, MIDDLE)),
        Branch(
            goes_on,
            (Assign(LOW, add(MIDDLE, i64(1))),),
            (Assign(HIGH, MIDDLE),),
        ),
    )
    return Assign(LOW, low), Assign(HIGH, high), While(lt(LOW, HIGH), halve)


def merge_neighbours(arrays: MergeArrays) -> tuple[Stmt, ...]:
    """Merge the rows from `LEFT` to `RIGHT` with those up to `STOP`, in place.

    What stays where it is at both ends is left out. Then the first row of all is one on
    the right: so those on the left are placed first, and no end is tested but theirs.
    The next of both sides are loaded before it is known which is needed.
    """
    trim = (
        Assign(Y, load(arrays.starts, RIGHT)),
        *_bisect(arrays, LEFT, RIGHT, le(X, Y)),
        Assign(LEFT, LOW),
        Assign(Y, load(arrays.starts, sub(RIGHT, i64(1)))),
        *_bisect(arrays, RIGHT, STOP, lt(X, Y)),
        Assign(STOP, LOW),
    )
    row = number("row")
    copied = sub(row, RIGHT)
    copy = For(
        row,
        RIGHT,
        STOP,
        (
            Store(arrays.right_starts, copied, Wide(arrays.starts, row, I64)),
            Store(arrays.right_slots, copied, Wide(arrays.slots, row, U32)),
        ),
        LANES,
    )
    place = (
        Assign(TAKES, lt(Y, X)),
        Assign(NEXT_X, load(arrays.starts, sub(FROM_LEFT, i64(1)))),
        Assign(NEXT_Y, load(arrays.right_starts, sub(FROM_RIGHT, i64(1)))),
        Store(
            arrays.slots,
            TO,
            Select(
                TAKES,
                load(arrays.slots, FROM_LEFT),
                load(arrays.right_slots, FROM_RIGHT),
                U32,
                even=True,
            ),
        ),
        Store(arrays.starts, TO, Select(TAKES, X, Y, I64, even=True)),
        Assign(X, Select(TAKES, NEXT_X, X, I64, even=True)),
        Assign(Y, Select(TAKES, Y, NEXT_Y, I64, even=True)),
        Assign(FROM_LEFT, sub(FROM_LEFT, convert(TAKES, I64))),
        Assign(FROM_RIGHT, sub(FROM_RIGHT, convert(negate(TAKES), I64))),
        Assign(TO, sub(TO, i64(1))),
    )
    look = (
        Assign(X, load(arrays.starts, FROM_LEFT)),
        Assign(Y, load(arrays.right_starts, FROM_RIGHT)),
    )
    rest = For(
        row,
        i64(0),
        add(FROM_RIGHT, i64(1)),
        (
            Store(arrays.starts, add(LEFT, row), load(arrays.right_starts, row)),
            Store(arrays.slots, add(LEFT, row), load(arrays.right_slots, row)),
        ),
    )
    return (
        *trim,
        Branch(
            lt(LEFT, RIGHT),
            (
                copy,
                Assign(FROM_LEFT, sub(RIGHT, i64(1))),
                Assign(FROM_RIGHT, sub(sub(STOP, RIGHT), i64(1))),
                Assign(TO, sub(STOP, i64(1))),
                *look,
                While(le(LEFT, FROM_LEFT), place),
                rest,
            ),
        ),
    )
