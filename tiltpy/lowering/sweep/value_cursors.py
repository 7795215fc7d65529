"""Value cursors: for each quantile of a window, the value at its position.

The numbers of a window lie as they came. A cursor has a value, and how many of them are
less and how many equal: a row that comes or leaves changes these counts. Where they no
longer hold the position of the quantile, the cursor moves to the value before or after,
which a scan in vectors finds. In a window of many rows it scans those alone that are
near its value, which are collected anew where it gets away from them. NaNs are counted
apart.
"""

from collections.abc import Callable

from tiltpy.aggregates.quantiles import QuantilePlace, quantile_share
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.elements import element_of
from tiltpy.emit.fold_lanes import fold_lanes
from tiltpy.emit.row_access import ObjectRows
from tiltpy.emit.values import LoopValue
from tiltpy.ir.nodes import Expr, Reduce
from tiltpy.loops.build import (
    FALSE,
    TRUE,
    add,
    conj,
    convert,
    disj,
    eq,
    f64,
    i64,
    le,
    lt,
    ne,
    negate,
    select,
    sub,
)
from tiltpy.loops.nodes import (
    Bin,
    LExpr,
    Num,
    Splat,
    While,
)
from tiltpy.lowering.sweep.near_numbers import NearNumbers, WindowNumbers
from tiltpy.lowering.sweep.pane_order import number_type
from tiltpy.types import BOOL, I64

Change = Callable[[Block, LExpr], None]


class _Neighbour:
    """The nearest number above a cursor's value, or below it, if that is `known`.

    Of all numbers of the window: it is the `end` where there is none.
    """

    def __init__(
        self, builder: KernelBuilder, numbers: WindowNumbers, *, above: bool
    ) -> None:
        self.above = above
        self.type = numbers.type
        self.end = numbers.ends[above]
        label = "after" if above else "before"
        self.number = builder.fresh(label, numbers.type)
        self.known = builder.fresh(f"{label}.known", BOOL)

    def start(self, block: Block) -> None:
        """Start over no numbers."""
        block.set(self.number, self.end)
        block.set(self.known, TRUE)

    def _is_beyond(self, value: LExpr, number: LExpr) -> LExpr:
        return lt(value, number) if self.above else lt(number, value)

    def insert(self, block: Block, value: LExpr, number: LExpr) -> None:
        """Take in a number, which may be nearer."""
        beyond = self._is_beyond(value, number)
        nearer = conj(beyond, self._is_beyond(number, self.number))
        block.set(self.number, select(nearer, number, self.number))

    def evict(self, block: Block, number: LExpr) -> None:
        """Take out a number."""
        block.set(self.known, conj(self.known, ne(number, self.number)))

    def step_away(self, block: Block, old: LExpr, equal: LExpr) -> None:
        """Keep pace with a value that has moved away from an `old` one."""
        some = lt(i64(0), equal)
        block.set(self.number, select(some, old, self.number))
        block.set(self.known, disj(self.known, some))

    def find(self, block: Block, value: LExpr, numbers: WindowNumbers) -> None:
        """Find it among numbers."""
        nearest = block.builder.fresh("nearest", self.type)
        block.set(nearest, Splat(self.end, self.type))

        def nearer(a: LExpr, b: LExpr) -> LExpr:
            return select(self._is_beyond(a, b), a, b)

        def visit(each: Block, lanes: LExpr, _at: LExpr) -> None:
            beyond = select(self._is_beyond(value, lanes), lanes, self.end)
            each.set(nearest, nearer(each.name("beyond", beyond), nearest))

        numbers.scan(block, visit)
        block.set(self.number, fold_lanes(block, nearest, nearer))
        block.set(self.known, TRUE)

    def find_in(self, block: Block, value: LExpr, range_: NearNumbers) -> None:
        """Find it in a range, or in the whole window if it is not there."""
        self.find(block, value, range_.near)
        range_.spend(block)
        outside = conj(eq(self.number, self.end), range_.ends(above=self.above))
        inner = block.inner()
        self.find(inner, value, range_.whole)
        block.when(outside, inner, rarely=True)


class _ValueCursor:
    """The `value` at the position of a quantile.

    So many numbers are `less`, and so many `equal`.
    """

    def __init__(
        self, builder: KernelBuilder, whole: WindowNumbers, range_: NearNumbers | None
    ) -> None:
        self.whole = whole
        self.range = range_
        self.value = builder.fresh("quantile", whole.type)
        self.less = builder.fresh("less")
        self.equal = builder.fresh("equal")
        self.before = _Neighbour(builder, whole, above=False)
        self.after = _Neighbour(builder, whole, above=True)

    def start(self, block: Block) -> None:
        """Start over no numbers."""
        block.set(self.value, convert(i64(0), self.value.type))
        block.set(self.less, i64(0))
        block.set(self.equal, i64(0))
        for neighbour in (self.before, self.after):
            neighbour.start(block)
        if self.range is not None:
            self.range.start(block)

    def insert(self, block: Block, number: LExpr) -> None:
        """Take in a number, the newest one."""
        self._count(block, number, add)
        for neighbour in (self.before, self.after):
            neighbour.insert(block, self.value, number)
        if self.range is not None:
            near = block.inner()
            self.range.near.append(near, number)
            block.when(self.range.holds(number), near)

    def evict(self, block: Block, number: LExpr) -> None:
        """Take out a number, the oldest one."""
        self._count(block, number, sub)
        for neighbour in (self.before, self.after):
            neighbour.evict(block, number)
        if self.range is not None:
            near, inner = self.range.near, block.inner()
            inner.set(near.head, add(near.head, i64(1)))
            block.when(self.range.holds(number), inner)

    def _count(
        self, block: Block, number: LExpr, change: Callable[[LExpr, LExpr], LExpr]
    ) -> None:
        is_less, is_equal = lt(number, self.value), eq(number, self.value)
        block.set(self.less, change(self.less, convert(is_less, I64)))
        block.set(self.equal, change(self.equal, convert(is_equal, I64)))

    def move(self, block: Block, position: LExpr, following: LExpr) -> None:
        """Move to a position in order, and know the number `after` if that `follows`.

        There is a number at both.
        """
        stop = add(self.less, self.equal)
        down, up = lt(position, self.less), le(stop, position)
        sees_after = le(stop, following)
        step = block.inner()
        for neighbour, seen in ((self.before, down), (self.after, sees_after)):
            finding = step.inner()
            if self.range is None:
                neighbour.find(finding, self.value, self.whole)
            else:
                neighbour.find_in(finding, self.value, self.range)
            step.when(conj(seen, negate(neighbour.known)), finding)
        moving = step.inner()
        self._step(moving, down)
        step.when(disj(down, up), moving)
        unsettled = disj(down, up, conj(sees_after, negate(self.after.known)))
        block.add(While(unsettled, step.body()))

    def _step(self, block: Block, down: LExpr) -> None:
        """Move to the number before, or after."""
        down = block.name("down", down)
        old = block.builder.fresh("old", self.value.type)
        block.set(old, self.value)
        lower, upper = block.inner(), block.inner()
        for away, neighbour, other in (
            (lower, self.before, self.after),
            (upper, self.after, self.before),
        ):
            other.step_away(away, old, self.equal)
            away.set(self.value, neighbour.number)
            away.set(neighbour.known, FALSE)
        upper.set(self.less, add(self.less, self.equal))
        block.either(down, lower, upper)
        if self.range is None:
            block.set(self.equal, self.whole.count(block, self.value))
        else:
            self.range.follow(block, self.value, old)
            self.range.spend(block)
            block.set(self.equal, self.range.near.count(block, self.value))
        block.set(self.less, sub(self.less, select(down, self.equal, i64(0))))


class ValueCursors:
    """The numbers of one window, and a cursor for each quantile of it."""

    name = "cursors over its values"

    def __init__(
        self, builder: KernelBuilder, rows: ObjectRows, element: Expr, *, most: int
    ) -> None:
        self.builder = builder
        self.rows = rows
        self.element = element
        kind = number_type(element)
        self.type = I64 if kind.is_temporal else kind
        self.most = most
        self.numbers = WindowNumbers(builder, rows, self.type, "numbers")
        self.nans = builder.fresh(f"{rows.name}.nans")
        self.cursors: dict[float, _ValueCursor] = {}

    def reduce(self, node: Reduce) -> None:
        """Add a quantile."""
        share = quantile_share(node)
        if share not in self.cursors:
            range_ = None
            if self.most > 4 * self.builder.costs.near_numbers:
                range_ = NearNumbers(self.builder, self.rows, self.numbers)
            self.cursors[share] = _ValueCursor(self.builder, self.numbers, range_)

    def start(self, block: Block) -> None:
        """Empty it before the loop."""
        self.numbers.clear(block)
        block.set(self.nans, i64(0))
        for cursor in self.cursors.values():
            cursor.start(block)

    def insert(self, block: Block, row: LExpr) -> None:
        """Insert the value of a row, the newest one."""

        def put(block: Block, number: LExpr) -> None:
            self.numbers.append(block, number)
            for cursor in self.cursors.values():
                cursor.insert(block, number)

        self._change(block, row, put, 1)

    def evict(self, block: Block, row: LExpr) -> None:
        """Evict the value of a row, the oldest one."""

        def drop(block: Block, number: LExpr) -> None:
            block.set(self.numbers.head, add(self.numbers.head, i64(1)))
            for cursor in self.cursors.values():
                cursor.evict(block, number)

        self._change(block, row, drop, -1)

    def _change(self, block: Block, row: LExpr, change: Change, by: int) -> None:
        """Change the numbers by that of a row, if it contributes one."""
        value = element_of(block, self.rows, row, self.element)
        number = block.name("value", convert(value.scalar, self.type))
        exists, is_number = block.inner(), block.inner()
        if self.type.is_float:
            plain = Bin("+", number, Num(0.0, self.type), self.type)  # one zero alone
            change(is_number, is_number.name("number", plain))
            nan = block.inner()
            nan.set(self.nans, add(self.nans, i64(by)))
            exists.either(eq(number, number), is_number, nan)
        else:
            change(exists, number)
        block.when(value.valid, exists)

    def value(self, block: Block, node: Reduce) -> LoopValue:
        """Interpolate between the two values next to the quantile's position."""
        cursor = self.cursors[quantile_share(node)]
        size = block.name("size", self.numbers.size)
        place = QuantilePlace.of(block, node, size)
        following = add(place.first, i64(1))
        exact = disj(eq(place.fraction, f64(0.0)), le(size, following))
        second = block.name("second", select(exact, place.first, following))
        some = block.inner()
        cursor.move(some, place.first, second)
        block.when(lt(i64(0), size), some)
        is_after = le(add(cursor.less, cursor.equal), second)
        high = block.name("high", select(is_after, cursor.after.number, cursor.value))
        result = place.value(block, cursor.value, high)
        if self.type.is_float:
            result = select(lt(i64(0), self.nans), f64(float("nan")), result)
        occupied = lt(i64(0), add(size, self.nans))
        return LoopValue(node.type, block.name("q", result), occupied)
