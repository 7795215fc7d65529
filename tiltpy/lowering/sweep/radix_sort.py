"""A stable radix sort of rows by an unsigned key, in loop IR.

It passes over all rows once for each digit of the greatest key, from the lowest; if all
rows have the same digit it moves nothing. The time is linear in the rows, and no branch
compares two keys.
"""

from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.lean_dataclass import dataclass
from tiltpy.loops.build import add, convert, eq, i64, load, lt, sub
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
