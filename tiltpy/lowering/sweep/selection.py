"""Selection: the k-th of some numbers in an array, by partitions in vectors.

A pivot splits the numbers into lesser and greater ones, of which those that hold the
k-th go on. Each pass reads `LANES` numbers at once and packs both sides without a
branch; all passes together take some three times that of the first. Pivots are drawn at
random, by the same steps each time, as no order of the rows is bad for all of them.
"""

from tiltpy.abi.signature import LANES
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.fold_lanes import fold_lanes
from tiltpy.lean_dataclass import dataclass
from tiltpy.loops.build import FALSE, add, conj, convert, i64, le, lt, mul, select, sub
from tiltpy.loops.nodes import (
    Array,
    Bin,
    CountTrue,
    For,
    Lane,
    LExpr,
    Load,
    Num,
    Pack,
    Splat,
    Var,
    While,
    Wide,
)
from tiltpy.types import BOOL, I64, U64, Scalar

_FACTOR = Num(6364136223846793005, U64)
_INCREMENT = Num(1442695040888963407, U64)
"""The steps of a linear congruential generator (Knuth's MMIX)."""
_HALF = Num(1 << 32, U64)


def _lesser(a: LExpr, b: LExpr) -> LExpr:
    return select(lt(a, b), a, b)


@dataclass(frozen=True, slots=True)
class Selection:
    """An array of numbers, none NaN, from 0 on, with room for as many behind them.

    To select one destroys them all. `value` is the one at a position in order, `after`
    the one at the next position, if there is one.
    """

    array: Array
    value: Var
    after: Var

    @staticmethod
    def of(
        builder: KernelBuilder, name: str, scalar: Scalar, rows: str | int
    ) -> "Selection":
        """The memory to select from all rows of an object, or from so many numbers."""
        constant, counts = 4 * LANES, ((rows, 2),) if isinstance(rows, str) else ()
        if isinstance(rows, int):
            constant += 2 * rows
        return Selection(
            builder.temporary(name, scalar, counts, constant),
            builder.fresh(f"{name}.value", scalar),
            builder.fresh(f"{name}.after", scalar),
        )

    def emit(
        self, block: Block, count: LExpr, position: LExpr, *, neighbour: bool
    ) -> None:
        """Set `value`, with a `neighbour` `after` too; to anything if there is none."""
        fresh = block.builder.fresh
        base, other = fresh("base"), fresh("other")
        rest, place = fresh("rest"), fresh("place")
        searching, seed = fresh("searching", BOOL), fresh("seed", U64)
        block.set(seed, Num(0, U64))
        block.set(self.value, self._at(i64(0)))
        block.set(self.after, self.value)
        block.set(base, i64(0))
        block.set(other, add(count, i64(LANES)))
        block.set(rest, count)
        block.set(place, position)
        block.set(searching, lt(i64(0), count))
        step = block.inner()
        pivot = self._pivot(step, base, rest, place, seed)
        lesser, greater = self._partition(step, base, other, rest, pivot)
        upper = step.name("upper", sub(rest, greater))
        left, right, done = step.inner(), step.inner(), step.inner()
        left.set(self.after, pivot)
        left.set(rest, lesser)
        right.set(place, sub(place, upper))
        right.set(rest, greater)
        turned = fresh("turned")
        right.set(turned, base)
        right.set(base, other)
        right.set(other, turned)
        done.set(self.value, pivot)
        if neighbour:
            self._follow(done, pivot, other, greater, add(place, i64(1)), upper)
        done.set(searching, FALSE)
        inner = step.inner()
        inner.either(le(upper, place), right, done)
        step.either(lt(place, lesser), left, inner)
        block.add(While(searching, step.body()))

    def _at(self, index: LExpr) -> LExpr:
        return Load(self.array, index, self.array.type)

    def _pivot(
        self, block: Block, base: Var, rest: Var, position: Var, seed: Var
    ) -> LExpr:
        """One of three numbers at random, likely to be next to the position."""
        drawn: list[LExpr] = []
        for name in "abc":
            product = Bin("*", seed, _FACTOR, U64)
            block.set(seed, Bin("+", product, _INCREMENT, U64))
            digits = Bin("//", seed, _HALF, U64)
            share = Bin("//", Bin("*", digits, convert(rest, U64), U64), _HALF, U64)
            drawn.append(block.name(name, self._at(add(base, convert(share, I64)))))
        first, middle, last = drawn
        low = block.name("low", select(lt(middle, first), middle, first))
        high = block.name("high", select(lt(middle, first), first, middle))
        least = select(lt(last, low), last, low)
        greatest = select(lt(high, last), last, high)
        median = select(lt(last, low), low, select(lt(high, last), high, last))
        quarter = block.name("quarter", Bin("//", rest, i64(4), I64))
        near_start = lt(position, quarter)
        near_end = lt(mul(quarter, i64(3)), position)
        pivot = select(near_start, least, select(near_end, greatest, median))
        return block.name("pivot", pivot)

    def _partition(
        self, block: Block, base: Var, other: Var, rest: Var, pivot: LExpr
    ) -> tuple[Var, Var]:
        """Pack lesser numbers where they were, greater ones at `other`: how many."""
        lesser, greater = block.builder.fresh("lesser"), block.builder.fresh("greater")
        block.set(lesser, i64(0))
        block.set(greater, i64(0))
        at = block.builder.fresh("at")
        each = block.inner()
        numbers = each.name("x", Wide(self.array, add(base, at), self.array.type))
        inside = each.name("inside", lt(Lane(I64), sub(rest, at)))
        for count, to, side in (
            (lesser, base, lt(numbers, pivot)),
            (greater, other, lt(pivot, numbers)),
        ):
            mask = each.name("side", conj(inside, side))
            each.add(Pack(self.array, add(to, count), numbers, mask))
            each.set(count, add(count, CountTrue(mask, I64)))
        block.add(For(at, i64(0), rest, each.body(), LANES))
        return lesser, greater

    def _follow(
        self,
        block: Block,
        pivot: LExpr,
        other: Var,
        greater: Var,
        following: LExpr,
        upper: LExpr,
    ) -> None:
        """Set `after`: the pivot again, else the least greater number there is."""
        equal, some = block.inner(), block.inner()
        equal.set(self.after, pivot)
        least = block.builder.fresh("least", self.array.type)
        some.set(least, Splat(self._at(other), least.type))
        at = block.builder.fresh("at")
        each = some.inner()
        numbers = each.name("x", Wide(self.array, add(other, at), self.array.type))
        inside = lt(Lane(I64), sub(greater, at))
        less = conj(inside, lt(numbers, least))
        each.set(least, select(less, numbers, least))
        some.add(For(at, i64(0), greater, each.body(), LANES))
        some.set(self.after, fold_lanes(some, least, _lesser))
        none = block.inner()
        none.when(lt(i64(0), greater), some)
        block.either(lt(following, upper), equal, none)
