"""Order statistics of elements that see the present: sorted anew at each visit.

The values of a window have no ranks before the loop (see `ranking`) where they depend
on when they are looked at. So those that contribute are written down with their keys,
and a Shell sort puts them in order: by key, then in order of time.
"""

from tiltpy.aggregates.quantiles import between, quantile_share
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.elements import Names, element_of
from tiltpy.emit.floats import times
from tiltpy.emit.order_keys import order_key
from tiltpy.emit.row_access import ObjectRows
from tiltpy.emit.values import LoopValue
from tiltpy.ir.nodes import Expr, Reduce
from tiltpy.loops.build import (
    FALSE,
    add,
    conj,
    convert,
    disj,
    eq,
    f64,
    greatest,
    i64,
    le,
    least,
    load,
    lt,
    mul,
    ne,
    select,
    sub,
)
from tiltpy.loops.nodes import Bin, CallFn, For, LExpr, Num, Store, While
from tiltpy.types import BOOL, F64, I64, U64, Scalar, Struct

_GROWTH = 3
"""How many times as far each pass of the sort looks as the next one."""


class SortedElements:
    """The values of one element of a window, `count` of them, with their keys."""

    def __init__(self, builder: KernelBuilder, rows: ObjectRows, element: Expr) -> None:
        self.builder = builder
        self.rows = rows
        self.element = element
        assert isinstance(element.type, Scalar)
        self.type = element.type
        label, many = f"{rows.name}.sorted", ((rows.name, 1),)
        self.keys = builder.temporary(f"{label}.keys", U64, many, 1)
        self.order = builder.temporary(f"{label}.rows", I64, many, 1)
        self.count = builder.fresh(f"{label}.count")
        self.is_sorted = builder.fresh(f"{label}.done", BOOL)

    def begin(self, block: Block) -> None:
        """Forget all values."""
        block.set(self.count, i64(0))
        block.set(self.is_sorted, FALSE)

    def take(self, block: Block, value: LExpr, row: LExpr) -> None:
        """Write down the value of a row."""
        self._append(block, order_key(value, self.type), row)

    def _append(self, block: Block, key: LExpr, row: LExpr) -> None:
        block.add(Store(self.keys, self.count, key), Store(self.order, self.count, row))
        block.set(self.count, add(self.count, i64(1)))

    def sort(self, block: Block) -> None:
        """Sort the values by insertion at distances that shrink to one."""
        gap = self.builder.fresh("gap")
        block.set(gap, i64(1))
        grow = block.inner()
        grow.set(gap, add(mul(gap, i64(_GROWTH)), i64(1)))
        block.add(While(lt(mul(gap, i64(_GROWTH)), self.count), grow.body()))
        one_pass, each = block.inner(), block.inner()
        position, to = self.builder.fresh("place"), self.builder.fresh("to")
        key = each.name("key", load(self.keys, position))
        row = each.name("row", load(self.order, position))
        each.set(to, position)
        back = each.inner()
        before = greatest(sub(to, gap), i64(0))
        other, other_row = load(self.keys, before), load(self.order, before)
        later = disj(lt(key, other), conj(eq(key, other), lt(row, other_row)))
        back.add(Store(self.keys, to, other), Store(self.order, to, other_row))
        back.set(to, sub(to, gap))
        each.add(While(conj(le(gap, to), later), back.body()))
        each.add(Store(self.keys, to, key), Store(self.order, to, row))
        one_pass.add(For(position, gap, self.count, each.body()))
        one_pass.set(gap, Bin("//", gap, i64(_GROWTH), I64))
        block.add(While(lt(i64(0), gap), one_pass.body()))

    def value(self, block: Block, node: Reduce, names: Names) -> LoopValue:
        """The value of a reduction over the window."""
        first = block.inner()
        self.sort(first)
        first.set(self.is_sorted, Num(True, BOOL))
        block.when(eq(self.is_sorted, FALSE), first)
        match node.reduction:
            case "nunique":
                return LoopValue(node.type, self._runs(block)[0], self._is_occupied)
            case "mode":
                value = self._at(block, self._runs(block)[1], names)
                return LoopValue(node.type, value, self._is_occupied)
            case "modes":
                return self._modes(block, node, names)
            case "topk":
                return self._top(block, node, names)
            case _:
                return self._quantile(block, node, names)

    @property
    def _is_occupied(self) -> LExpr:
        return lt(i64(0), self.count)

    def _at(self, block: Block, position: LExpr, names: Names) -> LExpr:
        """The value at a position of the order; of some row if there is none."""
        readable = select(self._is_occupied, load(self.order, position), i64(0))
        row = block.name("row", readable)
        return element_of(block, self.rows, row, self.element, names).scalar

    def _is_nan(self, position: LExpr) -> LExpr:
        """Return whether the value at a position is NaN, which stands last."""
        if not self.type.is_float:
            return FALSE
        return eq(load(self.keys, position), Num(2**self.type.bits - 1, U64))

    def _quantile(self, block: Block, node: Reduce, names: Names) -> LoopValue:
        """Interpolate between the two values next to the quantile's position."""
        last = block.name("last", greatest(sub(self.count, i64(1)), i64(0)))
        position = times(f64(quantile_share(node)), convert(last, F64))
        position = block.name("place", position)
        below = block.name("below", CallFn("floor", (position,), F64))
        fraction = block.name("part", Bin("-", position, below, F64))
        first = block.name("first", convert(below, I64))
        low, high = (
            block.name("value", convert(self._at(block, place, names), F64))
            for place in (first, least(add(first, i64(1)), last))
        )
        is_even = eq(Bin("%", first, i64(2), I64), i64(0))
        result = between(block, node, low, high, fraction, is_even)
        nan = conj(self._is_occupied, self._is_nan(last))
        result = select(nan, f64(float("nan")), result)
        return LoopValue(node.type, block.name("q", result), self._is_occupied)

    def _runs(self, block: Block) -> tuple[LExpr, LExpr]:
        """The number of distinct values, and where the most frequent one stands first.

        Of several most frequent ones that whose first row is the earliest.
        """
        fresh = self.builder.fresh
        runs, best, most = fresh("runs"), fresh("best"), fresh("most")
        start, position = fresh("start"), fresh("place")
        for variable in (runs, best, most, start):
            block.set(variable, i64(0))
        each = block.inner()
        before = load(self.keys, greatest(sub(position, i64(1)), i64(0)))
        new = disj(eq(position, i64(0)), ne(load(self.keys, position), before))
        new = each.name("new", new)
        each.set(runs, add(runs, convert(new, I64)))
        each.set(start, select(new, position, start))
        length = each.name("length", add(sub(position, start), i64(1)))
        sooner = lt(load(self.order, start), load(self.order, best))
        wins = disj(lt(most, length), conj(eq(most, length), sooner))
        wins = each.name("wins", wins)
        each.set(best, select(wins, start, best))
        each.set(most, select(wins, length, most))
        block.add(For(position, i64(0), self.count, each.body()))
        return runs, best

    def _modes(self, block: Block, node: Reduce, names: Names) -> LoopValue:
        """The most frequent values, each before its count, then φ.

        The runs of equal values are sorted by their lengths, and by their first rows.
        """
        assert isinstance(node.type, Struct)
        runs = SortedElements(self.builder, self.rows, self.element)
        runs.begin(block)
        start, position = self.builder.fresh("start"), self.builder.fresh("place")
        block.set(start, i64(0))
        each, last = block.inner(), block.inner()
        after = each.name("after", add(position, i64(1)))
        differs = ne(load(self.keys, position), load(self.keys, after))
        shortfall = sub(self.rows.count, sub(after, start))
        runs._append(last, convert(shortfall, U64), load(self.order, start))
        last.set(start, after)
        each.when(disj(eq(after, self.count), differs), last)
        block.add(For(position, i64(0), self.count, each.body()))
        runs.sort(block)
        fields: list[LoopValue] = []
        for number in map(i64, range(len(node.type.fields) // 2)):
            exists = block.name("ok", lt(number, runs.count))
            place = select(exists, number, i64(0))
            row = block.name("row", select(exists, load(runs.order, place), i64(0)))
            value = element_of(block, self.rows, row, self.element, names).scalar
            length = sub(self.rows.count, convert(load(runs.keys, place), I64))
            fields.append(LoopValue(self.type, block.name("mode", value), exists))
            fields.append(LoopValue(I64, block.name("count", length), exists))
        return LoopValue(node.type, None, self._is_occupied, tuple(fields))

    def _top(self, block: Block, node: Reduce, names: Names) -> LoopValue:
        """The greatest values, then the NaNs, then φ."""
        assert isinstance(node.type, Struct)
        nans, position = self.builder.fresh("nans"), self.builder.fresh("place")
        block.set(nans, i64(0))
        each = block.inner()
        each.set(nans, add(nans, convert(self._is_nan(position), I64)))
        block.add(For(position, i64(0), self.count, each.body()))
        numbers = block.name("numbers", sub(self.count, nans))
        fields = []
        for number in range(len(node.type.fields)):
            exists = block.name("ok", lt(i64(number), self.count))
            from_top = sub(sub(numbers, i64(1)), i64(number))
            is_number = lt(i64(number), numbers)
            from_end = sub(self.count, i64(1))
            at = greatest(select(is_number, from_top, from_end), i64(0))
            value = self._at(block, block.name("at", at), names)
            if self.type.is_float:
                value = Bin("+", value, Num(0.0, self.type), self.type)
            fields.append(LoopValue(self.type, block.name("top", value), exists))
        return LoopValue(node.type, None, self._is_occupied, tuple(fields))
