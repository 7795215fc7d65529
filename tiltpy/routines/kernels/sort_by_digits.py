"""Numbers sorted by their highest digits, from the lowest of these: a radix sort.

A pass counts the values of a digit and moves the numbers from one half of an array to
the other; if all have one value, it moves nothing. No branch compares two numbers.
"""

from tiltpy.loops.build import add, binary, convert, eq, i64, le, load, number, sub
from tiltpy.loops.nodes import (
    Array,
    Assign,
    Branch,
    For,
    LExpr,
    LoopKernel,
    Num,
    Stmt,
    Store,
)
from tiltpy.routines.catalogue import DIGIT_BITS, MOST_DIGITS
from tiltpy.routines.kernels.arguments import RoutineArguments
from tiltpy.types import I64, U64

VALUES = 1 << DIGIT_BITS
"""Values of a digit."""
BASE, OTHER = number("base"), number("other half")
ROW, DIGIT, PLACE, NEXT = (number(name) for name in ("row", "digit", "place", "next"))


def build_sort() -> LoopKernel:
    """Build the passes, of which those of too low a digit are left out."""
    arguments = RoutineArguments()
    count, digits = arguments.number("count"), arguments.number("digits")
    base = arguments.number("base")
    numbers = arguments.array("numbers", U64, written=True)
    places = arguments.array("places", written=True)
    passes = (
        Branch(
            le(i64(MOST_DIGITS - digit), digits),
            sort_by_digit(
                numbers, places, count, 64 - (MOST_DIGITS - digit) * DIGIT_BITS
            ),
            (),
        )
        for digit in range(MOST_DIGITS)
    )
    return arguments.kernel(
        Assign(BASE, i64(0)),
        Assign(OTHER, count),
        *passes,
        arguments.write_back(base, BASE),
    )


def sort_by_digit(
    numbers: Array, places: Array, count: LExpr, low_bit: int
) -> tuple[Stmt, ...]:
    """Sort stably by the digit from a bit on: numbers from `BASE` on, to `OTHER`.

    If they are moved, both change places. No number is negative.
    """

    def digit_of(row: LExpr) -> LExpr:
        shifted = binary("//", load(numbers, row), Num(1 << low_bit, numbers.type))
        return convert(binary("%", shifted, Num(VALUES, numbers.type)), I64)

    stop = add(BASE, count)
    clear = Store(places, DIGIT, i64(0))
    add_one = (
        Assign(DIGIT, digit_of(ROW)),
        Store(places, DIGIT, add(load(places, DIGIT), i64(1))),
    )
    sum_up = (
        Assign(NEXT, add(PLACE, load(places, DIGIT))),
        Store(places, DIGIT, PLACE),
        Assign(PLACE, NEXT),
    )
    move = (
        Assign(DIGIT, digit_of(ROW)),
        Assign(PLACE, load(places, DIGIT)),
        Store(places, DIGIT, add(PLACE, i64(1))),
        Store(numbers, PLACE, load(numbers, ROW)),
    )
    moves = (
        Assign(PLACE, OTHER),
        For(DIGIT, i64(0), i64(VALUES), sum_up),
        For(ROW, BASE, stop, move),
        Assign(BASE, OTHER),
        Assign(OTHER, sub(count, BASE)),
    )
    return (
        For(DIGIT, i64(0), i64(VALUES), (clear,)),
        For(ROW, BASE, stop, add_one),
        Branch(eq(load(places, digit_of(BASE)), count), (), moves),
    )
