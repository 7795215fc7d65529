"""The numbers of a window as they came, and those of them that are near a value.

Scans in vectors count and compare them all.
"""

from collections.abc import Callable

from tiltpy.abi.signature import LANES
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.floats import minus, over, plus, times
from tiltpy.emit.fold_lanes import fold_lanes
from tiltpy.emit.row_access import ObjectRows
from tiltpy.loops.build import (
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
    negate,
    select,
    sub,
)
from tiltpy.loops.nodes import (
    Bin,
    CallFn,
    CountTrue,
    For,
    Lane,
    LExpr,
    Num,
    Pack,
    Splat,
    Store,
    Wide,
)
from tiltpy.types import BOOL, F64, I32, I64, Scalar, int_range

NOTHING_BELOW, NOTHING_ABOVE = f64(-float("inf")), f64(float("inf"))


class WindowNumbers:
    """Numbers in an array, from `head` up to `tail`, in the order of their rows.

    Behind them are `LANES` that no scan takes for one of them, but as an end.
    """

    def __init__(
        self, builder: KernelBuilder, rows: ObjectRows, scalar: Scalar, name: str
    ) -> None:
        self.type = scalar
        label, many = f"{rows.name}.{name}", ((rows.name, 1),)
        self.array = builder.temporary(label, scalar, many, 3 * LANES)
        self.head = builder.fresh(f"{label}.head")
        self.tail = builder.fresh(f"{label}.tail")

    @property
    def ends(self) -> tuple[Num, Num]:
        """A number that none is below, and one that none is above."""
        if self.type.is_float:
            infinity = float("inf")
            return Num(-infinity, self.type), Num(infinity, self.type)
        low, high = int_range(self.type)
        return Num(low, self.type), Num(high, self.type)

    @property
    def size(self) -> LExpr:
        """The number of numbers."""
        return sub(self.tail, self.head)

    def clear(self, block: Block) -> None:
        """Take them all out."""
        block.set(self.head, i64(0))
        block.set(self.tail, i64(0))
        self.end(block)

    def end(self, block: Block) -> None:
        """Store what lies behind them."""
        behind = Num(float("nan"), self.type) if self.type.is_float else self.ends[1]
        block.add(Store(self.array, self.tail, Splat(behind, self.type)))

    def append(self, block: Block, number: LExpr) -> None:
        """Append a number."""
        block.add(Store(self.array, self.tail, number))
        block.set(self.tail, add(self.tail, i64(1)))
        self.end(block)

    def scan(self, block: Block, visit: Callable[[Block, LExpr, LExpr], None]) -> None:
        """Visit vectors of them, each with the place of its first number."""
        at, each = block.builder.fresh("at"), block.inner()
        visit(each, each.name("x", Wide(self.array, at, self.type)), at)
        block.add(For(at, self.head, self.tail, each.body(), LANES))

    def count(self, block: Block, number: LExpr) -> LExpr:
        """Count those that equal a number."""
        kind = I64 if self.type.bits == I64.bits else I32
        equal = block.builder.fresh("equals", kind)
        block.set(equal, Splat(Num(0, kind), kind))

        def visit(each: Block, lanes: LExpr, _at: LExpr) -> None:
            each.set(equal, add(equal, convert(eq(lanes, number), kind)))

        self.scan(block, visit)
        return convert(fold_lanes(block, equal, add), I64)

    def copy_to(
        self, block: Block, target: "WindowNumbers", test: Callable[[LExpr], LExpr]
    ) -> None:
        """Put those that pass a test into an array, instead of what is there."""
        block.set(target.head, i64(0))
        block.set(target.tail, i64(0))

        def visit(each: Block, numbers: LExpr, at: LExpr) -> None:
            inside = lt(Lane(I64), sub(self.tail, at))
            passes = each.name("passes", Splat(conj(inside, test(numbers)), BOOL))
            count = each.name("some", CountTrue(passes, I64))
            some = each.inner()
            some.add(Pack(target.array, target.tail, numbers, passes))
            some.set(target.tail, add(target.tail, count))
            each.when(lt(i64(0), count), some)

        self.scan(block, visit)
        target.end(block)


class NearNumbers:
    """The numbers `near` a value: those of a window at most `radius` from its middle.

    What scans of them have `spent`, in numbers, pays for collecting fewer.
    """

    def __init__(
        self, builder: KernelBuilder, rows: ObjectRows, whole: WindowNumbers
    ) -> None:
        self.whole = whole
        self.near = WindowNumbers(builder, rows, whole.type, "near")
        self.low = builder.fresh("low", F64)
        self.high = builder.fresh("high", F64)
        self.radius = builder.fresh("radius", F64)
        self.spent = builder.fresh("spent")

    def start(self, block: Block) -> None:
        """Start with all numbers: there are none."""
        self.near.clear(block)
        block.set(self.low, NOTHING_BELOW)
        block.set(self.high, NOTHING_ABOVE)
        block.set(self.radius, NOTHING_ABOVE)
        block.set(self.spent, i64(0))

    def holds(self, number: LExpr) -> LExpr:
        """Tell whether numbers are in the range."""
        wide = convert(number, F64)
        return conj(le(self.low, wide), le(wide, self.high))

    def ends(self, *, above: bool) -> LExpr:
        """Tell whether the window may have other numbers above, or below."""
        if above:
            return lt(self.high, NOTHING_ABOVE)
        return lt(NOTHING_BELOW, self.low)

    def spend(self, block: Block) -> None:
        """Count a scan."""
        block.set(self.spent, add(self.spent, self.near.size))

    def follow(self, block: Block, value: LExpr, old: LExpr) -> None:
        """Collect anew around a value, an `old` one before, if it is outside.

        Or if there are many numbers.
        """
        size, costs = self.near.size, block.costs
        paid = lt(mul(i64(2), self.whole.size), self.spent)
        many = conj(lt(i64(4 * costs.near_numbers), size), paid)
        collecting = block.inner()
        self._set_radius(collecting, convert(value, F64), convert(old, F64))
        middle, every = convert(value, F64), le(NOTHING_ABOVE, self.radius)
        low, high = minus(middle, self.radius), plus(middle, self.radius)
        collecting.set(self.low, select(every, NOTHING_BELOW, low))
        collecting.set(self.high, select(every, NOTHING_ABOVE, high))
        self.whole.copy_to(collecting, self.near, self.holds)
        collecting.set(self.spent, i64(0))
        block.when(disj(negate(self.holds(value)), many), collecting)

    def _set_radius(self, block: Block, value: LExpr, old: LExpr) -> None:
        """Set the radius to that of about as many numbers as are wanted.

        Where the range has all numbers, the furthest of three tells the scale; where it
        has few, the step to the value.
        """
        near, wanted = self.near, f64(block.costs.near_numbers)
        size = block.name("size", convert(greatest(near.size, i64(1)), F64))
        far: LExpr = f64(0.0)
        middle = add(near.head, Bin("//", near.size, i64(2), I64))
        for place in (near.head, middle, greatest(sub(near.tail, i64(1)), i64(0))):
            number = convert(load(near.array, place), F64)
            far = block.name("far", greatest(far, _distance(number, value)))
        every = le(NOTHING_ABOVE, self.radius)
        share = least(over(wanted, size), f64(4.0))
        radius = times(share, select(every, far, self.radius))
        few = lt(times(f64(2.0), size), wanted)
        step = select(few, _distance(value, old), f64(0.0))
        radius = block.name("wanted", greatest(radius, step))
        block.set(self.radius, select(eq(radius, radius), radius, NOTHING_ABOVE))


def _distance(a: LExpr, b: LExpr) -> LExpr:
    return CallFn("abs", (minus(a, b),), F64)
