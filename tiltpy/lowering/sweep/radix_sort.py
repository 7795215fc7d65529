"""A stable radix sort of rows by an unsigned key, in loop IR.

Digit by digit from the lowest: as many passes as the greatest key has digits, each over
all rows. A pass in which all rows have the same digit moves nothing. The time is linear
in the rows, and no branch depends on two keys.
"""

from dataclasses import dataclass

from tiltpy.emit.builder import Assembly, Block
from tiltpy.loops.build import add, convert, eq, i64, load, lt, sub
from tiltpy.loops.nodes import Array, Bin, For, LExpr, Num, Store, Var, While
from tiltpy.types import I32, I64, U64

DIGITS = 1 << 11
"""Of six passes over 64 bits; their places fit the nearest cache."""


@dataclass(frozen=True, slots=True)
class RadixSort:
    """Sorts `count` rows; `order` and `rest` have room for twice as many.

    Before it `order` holds the rows and `rest` their keys, both from 0 on, and `span`
    is the greatest key. After it the rows stand in order from `order[base]` on, those
    of one key in the order in which they were; the keys are gone.
    """

    order: Array
    rest: Array
    places: Array
    """For each digit: how many rows there are with it, then where they go."""
    base: Var
    other: Var
    span: Var

    @staticmethod
    def of(assembly: Assembly, name: str) -> "RadixSort":
        """The memory to sort rows of an object."""
        rows = ((name, 2),)
        return RadixSort(
            assembly.temporary(f"{name}.order", I32, rows, 2),
            assembly.temporary(f"{name}.rest", U64, rows, 2),
            assembly.temporary(f"{name}.places", I64, (), DIGITS),
            assembly.fresh(f"{name}.base"),
            assembly.fresh(f"{name}.other"),
            assembly.fresh(f"{name}.span", U64),
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
        same = eq(load(self.places, one_pass.name("first", first)), count)
        one_pass.either(same, stays, moves)
        one_pass.set(self.span, self._shifted(self.span))
        nothing = Num(0, U64)
        block.add(While(lt(nothing, self.span), one_pass.body()))

    def _digit(self, key: LExpr) -> LExpr:
        return convert(Bin("%", key, Num(DIGITS, U64), U64), I64)

    def _shifted(self, key: LExpr) -> LExpr:
        return Bin("//", key, Num(DIGITS, U64), U64)

    def _count(self, block: Block, count: LExpr) -> None:
        digit = block.assembly.fresh("digit")
        clear = Store(self.places, digit, i64(0))
        block.add(For(digit, i64(0), i64(DIGITS), (clear,)))
        row = block.assembly.fresh("row")
        each = block.inner()
        found = each.name("digit", self._digit(load(self.rest, row)))
        each.add(Store(self.places, found, add(load(self.places, found), i64(1))))
        block.add(For(row, self.base, add(self.base, count), each.body()))

    def _move(self, block: Block, count: LExpr) -> None:
        """Put each row where those of its digit go, and change sides."""
        digit, place = block.assembly.fresh("digit"), block.assembly.fresh("place")
        block.set(place, self.other)
        sums = block.inner()
        number = sums.name("number", load(self.places, digit))
        sums.add(Store(self.places, digit, place))
        sums.set(place, add(place, number))
        block.add(For(digit, i64(0), i64(DIGITS), sums.body()))
        row = block.assembly.fresh("row")
        each = block.inner()
        key = each.name("key", load(self.rest, row))
        found = each.name("digit", self._digit(key))
        at = each.name("to", load(self.places, found))
        each.add(
            Store(self.places, found, add(at, i64(1))),
            Store(self.order, at, load(self.order, row)),
            Store(self.rest, at, self._shifted(key)),
        )
        block.add(For(row, self.base, add(self.base, count), each.body()))
        block.set(self.base, self.other)
        block.set(self.other, sub(count, self.base))

    def _shift(self, block: Block, count: LExpr) -> None:
        """Leave the rows where they are; the next digit becomes the lowest."""
        row = block.assembly.fresh("row")
        shifted = Store(self.rest, row, self._shifted(load(self.rest, row)))
        block.add(For(row, self.base, add(self.base, count), (shifted,)))
