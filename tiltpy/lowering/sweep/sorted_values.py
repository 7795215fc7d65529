"""Sorted values: the numbers of a short window in order, moved by vectors.

A row that comes mostly takes the place of one that leaves: both are searched together,
and what lies between them moves by one. So an eviction is remembered until the next
insertion, or until the values are read. NaNs are counted apart; other floats are signed
integers in the same order, which are compared in less time.
"""

from collections.abc import Callable

from tiltpy.abi.signature import LANES
from tiltpy.aggregates.quantiles import QuantilePlace
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.elements import element_of
from tiltpy.emit.order_keys import key_type, number_of_key, signed_key
from tiltpy.emit.row_access import ObjectRows
from tiltpy.emit.values import LoopValue
from tiltpy.ir.nodes import Expr, Reduce
from tiltpy.loops.build import (
    FALSE,
    TRUE,
    add,
    conj,
    convert,
    eq,
    f64,
    greatest,
    i64,
    le,
    least,
    load,
    lt,
    select,
    sub,
)
from tiltpy.loops.nodes import (
    Bin,
    Earlier,
    For,
    Lane,
    LExpr,
    Select,
    Splat,
    Store,
    Var,
    While,
    Wide,
)
from tiltpy.lowering.sweep.pane_order import number_type
from tiltpy.types import BOOL, I32, I64

Change = Callable[[Block, LExpr], None]


class SortedValues:
    """The keys of one window, `size` of them, `leaving` among them if `is_due`."""

    name = "its values in order"

    def __init__(self, builder: KernelBuilder, rows: ObjectRows, element: Expr) -> None:
        self.builder = builder
        self.rows = rows
        self.element = element
        self.number = number_type(element)
        self.type = key_type(self.number)
        label = f"{rows.name}.ordered"
        many = ((rows.name, 1),)
        self.values = builder.temporary(label, self.type, many, 3 * LANES)
        self.size = builder.fresh(f"{label}.size")
        self.nans = builder.fresh(f"{label}.nans")
        self.leaving = builder.fresh(f"{label}.leaving", self.type)
        self.is_due = builder.fresh(f"{label}.due", BOOL)

    def start(self, block: Block) -> None:
        """Empty it before the loop."""
        block.set(self.size, i64(0))
        block.set(self.nans, i64(0))
        block.set(self.is_due, FALSE)
        block.set(self.leaving, load(self.values, i64(0)))

    def insert(self, block: Block, row: LExpr) -> None:
        """Insert the value of a row, in the place of one that leaves if any does."""

        def put(number: Block, value: LExpr) -> None:
            old, new = self._search(number, (self.leaving, value))
            hole = number.name("hole", select(self.is_due, old, self.size))
            added = select(self.is_due, i64(0), i64(1))
            number.set(self.size, add(self.size, added))
            number.set(self.is_due, FALSE)
            up, down = number.inner(), number.inner()
            self._shift_up(up, new, hole, value)
            last = down.name("last", sub(new, i64(1)))
            self._shift_down(down, hole, last)
            down.add(Store(self.values, last, value))
            number.either(le(new, hole), up, down)

        self._change(block, row, put, 1)

    def evict(self, block: Block, row: LExpr) -> None:
        """Let the value of a row leave with the next change."""

        def drop(number: Block, value: LExpr) -> None:
            self._settle(number)
            number.set(self.leaving, value)
            number.set(self.is_due, TRUE)

        self._change(block, row, drop, -1)

    def _change(self, block: Block, row: LExpr, change: Change, by: int) -> None:
        """Change the values by that of a row, if it contributes a number."""
        value = element_of(block, self.rows, row, self.element)
        scalar = block.name("value", convert(value.scalar, self.number))
        exists, number = block.inner(), block.inner()
        change(number, number.name("key", signed_key(scalar)))
        if self.number.is_float:
            nan = block.inner()
            nan.set(self.nans, add(self.nans, i64(by)))
            exists.either(eq(scalar, scalar), number, nan)
        else:
            exists.add(*number.statements)
        block.when(value.valid, exists)

    def _settle(self, block: Block) -> None:
        """Take out the value that leaves, if one does."""
        due = block.inner()
        (old,) = self._search(due, (self.leaving,))
        due.set(self.size, sub(self.size, i64(1)))
        self._shift_down(due, old, self.size)
        due.set(self.is_due, FALSE)
        block.when(self.is_due, due, rarely=True)

    def _search(self, block: Block, values: tuple[LExpr, ...]) -> list[Var]:
        """Count the values less than each of these, by halves without branches."""
        rest = self.builder.fresh("rest")
        places = [self.builder.fresh("place") for _ in values]
        block.set(rest, self.size)
        for place in places:
            block.set(place, i64(0))
        halve = block.inner()
        half = halve.name("half", Bin("//", rest, i64(2), I64))
        for place, value in zip(places, values, strict=True):
            upper = halve.name("upper", add(place, half))
            is_less = lt(load(self.values, sub(upper, i64(1))), value)
            halve.set(place, Select(is_less, upper, place, I64, even=True))
        halve.set(rest, sub(rest, half))
        block.add(While(lt(i64(1), rest), halve.body()))
        for place, value in zip(places, values, strict=True):
            is_less = conj(lt(i64(0), rest), lt(load(self.values, place), value))
            block.set(place, add(place, convert(is_less, I64)))
        return places

    def _shift_up(self, block: Block, first: LExpr, hole: LExpr, value: LExpr) -> None:
        """Move the values from `first` on up to a hole, and put one before them."""
        before = self.builder.fresh("before", self.type)
        block.set(before, Splat(value, self.type))
        at, each = self.builder.fresh("at"), block.inner()
        now = each.name("now", Wide(self.values, at, self.type))
        inside = self._lanes_below(sub(add(hole, i64(1)), at))
        moved = Earlier(now, before, 1, self.type)
        each.add(Store(self.values, at, select(inside, moved, now)))
        each.set(before, now)
        block.add(For(at, first, add(hole, i64(1)), each.body(), LANES))

    def _shift_down(self, block: Block, hole: LExpr, last: LExpr) -> None:
        """Move the values after a hole up to `last` down by one."""
        at, each = self.builder.fresh("at"), block.inner()
        now = each.name("now", Wide(self.values, at, self.type))
        after = each.name("after", Wide(self.values, add(at, i64(1)), self.type))
        inside = self._lanes_below(sub(last, at))
        each.add(Store(self.values, at, select(inside, after, now)))
        block.add(For(at, hole, last, each.body(), LANES))

    def _lanes_below(self, number: LExpr) -> LExpr:
        return lt(Lane(I32), convert(least(number, i64(LANES)), I32))

    def value(self, block: Block, node: Reduce) -> LoopValue:
        """Interpolate between the two values next to the quantile's position."""
        self._settle(block)
        place = QuantilePlace.of(block, node, self.size)
        last = greatest(sub(self.size, i64(1)), i64(0))
        following = least(add(place.first, i64(1)), last)
        low, high = (
            number_of_key(load(self.values, at), self.number)
            for at in (place.first, following)
        )
        result = place.value(block, low, high)
        if self.number.is_float:
            result = select(lt(i64(0), self.nans), f64(float("nan")), result)
        occupied = lt(i64(0), add(self.size, self.nans))
        return LoopValue(node.type, block.name("q", result), occupied)
