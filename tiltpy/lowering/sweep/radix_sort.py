"""A stable radix sort of rows by an unsigned key, in loop IR.

It passes over all rows once for each digit of the greatest key, from the lowest; if all
rows have the same digit it moves nothing. The time is linear in the rows, and no branch
compares two keys. Each pass goes over all values of a digit, too: few rows are inserted
one by one instead.
"""

from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.lean_dataclass import dataclass
from tiltpy.loops.build import (
    add,
    conj,
    convert,
    eq,
    greatest,
    i64,
    le,
    load,
    lt,
    sub,
)
from tiltpy.loops.nodes import Array, Bin, For, LExpr, Num, Store, Var, While
from tiltpy.types import I32, I64, U64


@dataclass(frozen=True, slots=True)
class RadixSort:
    """Sorts `count` rows; `order` and `rest` have room for twice as many.

    Before it `order` holds the rows and `rest` their keys, both from 0 on, and `span`
    is the greatest key. After it the rows stand in order from `order[base]` on, those
    of one key in the order in which they were; the keys are gone.
    """

    order: Array
    rest: Array
    offsets: Array
    """For each digit its number of rows, then the position they go to."""
    base: Var
    other: Var
    span: Var
    digits: int
    """Values of a digit."""

    @staticmethod
    def of(builder: KernelBuilder, name: str, label: str = "") -> "RadixSort":
        """The memory to sort rows of an object."""
        rows, digits = ((name, 2),), builder.costs.radix_digits
        name = f"{name}.{label}" if label else name
        return RadixSort(
            builder.temporary(f"{name}.order", I32, rows, 2),
            builder.temporary(f"{name}.rest", U64, rows, 2),
            builder.temporary(f"{name}.places", I64, (), digits),
            builder.fresh(f"{name}.base"),
            builder.fresh(f"{name}.other"),
            builder.fresh(f"{name}.span", U64),
            digits,
        )

    def emit(self, block: Block, count: LExpr) -> None:
        """Append the sort."""
        block.set(self.base, i64(0))
        few, many = block.inner(), block.inner()
        self._insert(few, count)
        self._pass(many, count)
        block.either(le(count, i64(block.costs.inserted_rows)), few, many)

    def _insert(self, block: Block, count: LExpr) -> None:
        """Move each row in front of those before it that have greater keys."""
        row, at = block.builder.fresh("row"), block.builder.fresh("at")
        each, greater = block.inner(), block.inner()
        key = block.builder.fresh("key", U64)
        each.set(key, load(self.rest, row))
        number = each.name("number", load(self.order, row))
        each.set(at, row)
        before = greatest(sub(at, i64(1)), i64(0))
        for array in (self.rest, self.order):
            greater.add(Store(array, at, load(array, before)))
        greater.set(at, before)
        each.add(
            While(
                conj(lt(i64(0), at), lt(key, load(self.rest, before))), greater.body()
            ),
            Store(self.rest, at, key),
            Store(self.order, at, number),
        )
        block.add(For(row, i64(1), count, each.body()))

    def _pass(self, block: Block, count: LExpr) -> None:
        """Pass over the rows for each digit."""
        block.set(self.other, count)
        one_pass = block.inner()
        self._count(one_pass, count)
        moves, stays = one_pass.inner(), one_pass.inner()
        self._move(moves, count)
        self._shift(stays, count)
        first = self._digit(load(self.rest, self.base))
        same = eq(load(self.offsets, one_pass.name("first", first)), count)
        one_pass.either(same, stays, moves)
        one_pass.set(self.span, self._next_digits(self.span))
        nothing = Num(0, U64)
        block.add(While(lt(nothing, self.span), one_pass.body()))

    def _digit(self, key: LExpr) -> LExpr:
        return convert(Bin("%", key, Num(self.digits, U64), U64), I64)

    def _next_digits(self, key: LExpr) -> LExpr:
        return Bin("//", key, Num(self.digits, U64), U64)

    def _count(self, block: Block, count: LExpr) -> None:
        digit = block.builder.fresh("digit")
        clear = Store(self.offsets, digit, i64(0))
        block.add(For(digit, i64(0), i64(self.digits), (clear,)))
        row = block.builder.fresh("row")
        each = block.inner()
        digit_of_row = each.name("digit", self._digit(load(self.rest, row)))
        each.add(
            Store(
                self.offsets,
                digit_of_row,
                add(load(self.offsets, digit_of_row), i64(1)),
            )
        )
        block.add(For(row, self.base, add(self.base, count), each.body()))

    def _move(self, block: Block, count: LExpr) -> None:
        """Move each row to its digit's offset in the other half."""
        digit, offset = block.builder.fresh("digit"), block.builder.fresh("place")
        block.set(offset, self.other)
        sums = block.inner()
        number = sums.name("number", load(self.offsets, digit))
        sums.add(Store(self.offsets, digit, offset))
        sums.set(offset, add(offset, number))
        block.add(For(digit, i64(0), i64(self.digits), sums.body()))
        row = block.builder.fresh("row")
        each = block.inner()
        key = each.name("key", load(self.rest, row))
        digit_of_row = each.name("digit", self._digit(key))
        at = each.name("to", load(self.offsets, digit_of_row))
        each.add(
            Store(self.offsets, digit_of_row, add(at, i64(1))),
            Store(self.order, at, load(self.order, row)),
            Store(self.rest, at, self._next_digits(key)),
        )
        block.add(For(row, self.base, add(self.base, count), each.body()))
        block.set(self.base, self.other)
        block.set(self.other, sub(count, self.base))

    def _shift(self, block: Block, count: LExpr) -> None:
        """Leave the rows in place; the next digit becomes the lowest."""
        row = block.builder.fresh("row")
        shift = Store(self.rest, row, self._next_digits(load(self.rest, row)))
        block.add(For(row, self.base, add(self.base, count), (shift,)))
