"""Numbers sorted by their highest digits, from the lowest of these: a radix sort.

A pass counts the values of a digit and moves the numbers from one half of an array to
the other; if all have one value, it moves nothing. No branch compares two numbers.

Each value of a digit has a place for each of some equal shares of the numbers, which
are visited side by side: numbers that are nearly in order have one high digit many
times in succession, and each would wait for the place that the one before has written.
"""

from collections.abc import Callable
from functools import reduce

from tiltpy.loops.build import (
    add,
    binary,
    convert,
    eq,
    i64,
    le,
    load,
    mul,
    number,
    sub,
)
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
from tiltpy.routines.catalogue import MOST_DIGITS, SHARES
from tiltpy.routines.kernels.arguments import RoutineArguments
from tiltpy.types import I64, U64

BASE, OTHER = number("base"), number("other half")
ROW, DIGIT, PLACE, NEXT = (number(name) for name in ("row", "digit", "place", "next"))
SHARE = number("rows of a share")
DIGITS = [number(f"digit {share}") for share in range(SHARES)]


def build_sort(digit_bits: int) -> LoopKernel:
    """Build the passes over digits of some bits; those of too low ones are left out."""
    arguments = RoutineArguments()
    count, digits = arguments.number("count"), arguments.number("digits")
    base = arguments.number("base")
    numbers = arguments.array("numbers", U64, written=True)
    places = arguments.array("places", written=True)
    passes = (
        Branch(
            le(i64(MOST_DIGITS - digit), digits),
            sort_by_digit(
                numbers,
                places,
                count,
                64 - (MOST_DIGITS - digit) * digit_bits,
                digit_bits,
            ),
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
    numbers: Array,
    places: Array,
    count: LExpr,
    low_bit: int,
    digit_bits: int,
) -> tuple[Stmt, ...]:
    """Sort stably by the digit from a bit on: numbers from `BASE` on, to `OTHER`.

    If they are moved, both change places. No number is negative.
    """
    values = 1 << digit_bits

    def digit_of(row: LExpr) -> LExpr:
        shifted = binary("//", load(numbers, row), Num(1 << low_bit, numbers.type))
        return convert(binary("%", shifted, Num(values, numbers.type)), I64)

    def value_of(share: int) -> LExpr:
        return add(DIGITS[share], i64(share * values))

    def row_of(share: int) -> LExpr:
        return add(ROW, mul(SHARE, i64(share)))

    def each_row(visit: Callable[[int], tuple[Stmt, ...]]) -> tuple[Stmt, ...]:
        """Visit a row of each share at once, then those that are left of the last."""
        digits = (Assign(DIGITS[n], digit_of(row_of(n))) for n in range(SHARES))
        visits = (stmt for n in range(SHARES) for stmt in visit(n))
        last = SHARES - 1
        rest = Assign(DIGITS[last], digit_of(row_of(last))), *visit(last)
        left = sub(count, mul(SHARE, i64(last)))
        return (
            For(ROW, BASE, add(BASE, SHARE), (*digits, *visits)),
            For(ROW, add(BASE, SHARE), add(BASE, left), rest),
        )

    def add_one(share: int) -> tuple[Stmt, ...]:
        value = value_of(share)
        return (Store(places, value, add(load(places, value), i64(1))),)

    def move(share: int) -> tuple[Stmt, ...]:
        return (
            Assign(PLACE, load(places, value_of(share))),
            Store(places, value_of(share), add(PLACE, i64(1))),
            Store(numbers, PLACE, load(numbers, row_of(share))),
        )

    def sum_up(share: int) -> tuple[Stmt, ...]:
        value = add(DIGIT, i64(share * values))
        return (
            Assign(NEXT, add(PLACE, load(places, value))),
            Store(places, value, PLACE),
            Assign(PLACE, NEXT),
        )

    all_values = i64(SHARES * values)
    first = digit_of(BASE)
    of_first: list[LExpr] = [
        load(places, add(first, i64(n * values))) for n in range(SHARES)
    ]
    moves = (
        Assign(PLACE, OTHER),
        For(
            DIGIT,
            i64(0),
            i64(values),
            tuple(stmt for share in range(SHARES) for stmt in sum_up(share)),
        ),
        *each_row(move),
        Assign(BASE, OTHER),
        Assign(OTHER, sub(count, BASE)),
    )
    return (
        For(DIGIT, i64(0), all_values, (Store(places, DIGIT, i64(0)),)),
        Assign(SHARE, binary("//", count, i64(SHARES))),
        *each_row(add_one),
        Branch(eq(reduce(add, of_first), count), (), moves),
    )
