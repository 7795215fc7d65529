"""How many values of a window have which rank: a tree that finds the k-th in order.

The ranks are the leaves of a complete binary tree, each of whose nodes counts the rows
in its left half. A row comes and goes by one addition a level, the k-th value is found
by one comparison a level. A window has one tree for all its quantiles and greatest
values. NaNs are counted beside it.
"""

from collections.abc import Callable

from tiltpy.ir.nodes import Reduce
from tiltpy.loops.build import (
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
    mul,
    negate,
    select,
    sub,
)
from tiltpy.loops.nodes import Array, Bin, CallFn, For, LExpr, Num, Store, While
from tiltpy.lowering.assembly import Assembly, Block
from tiltpy.lowering.ranking import Ranking
from tiltpy.lowering.values import Lowered
from tiltpy.types import BOOL, F64, I64, Struct

Change = Callable[[LExpr, LExpr], LExpr]
_ONE, _TWO = i64(1), i64(2)


class CountTree:
    """The counts of one window. `size` is the number of values that are not NaN."""

    name = "a tree of counts by rank"

    def __init__(self, assembly: Assembly, ranking: Ranking) -> None:
        self.assembly = assembly
        self.ranking = ranking
        name = f"{ranking.rows.name}.tree"
        self.left = ranking.array("tree", I64)
        self.size = assembly.fresh(f"{name}.size")
        self.nans = assembly.fresh(f"{name}.nans")
        self.best: dict[Reduce, Array] = {}

    def reduce(self, node: Reduce) -> None:
        """Have room for the greatest values."""
        if isinstance(node.type, Struct):
            label = f"{self.ranking.rows.name}.best"
            self.best[node] = self.assembly.temporary(
                label, self.ranking.type, (), len(node.type.fields)
            )

    def start(self, block: Block) -> None:
        """Nothing is there."""
        node = self.assembly.fresh("node")
        clear = Store(self.left, node, i64(0))
        block.add(For(node, i64(0), self.ranking.leaves, (clear,)))
        block.set(self.size, i64(0))
        block.set(self.nans, i64(0))

    def enter(self, block: Block, row: LExpr, rank: LExpr) -> None:
        """A row of a rank comes."""
        del row
        self._change(block, rank, add)

    def leave(self, block: Block, row: LExpr, rank: LExpr) -> None:
        """A row of a rank goes."""
        del row
        self._change(block, rank, sub)

    def _change(self, block: Block, rank: LExpr, by: Change) -> None:
        number, nan = block.inner(), block.inner()
        nan.set(self.nans, by(self.nans, _ONE))
        number.set(self.size, by(self.size, _ONE))
        node = self.assembly.fresh("node")
        number.set(node, add(rank, self.ranking.leaves))
        up = number.inner()
        above = up.name("above", Bin("//", node, _TWO, I64))
        is_left = convert(eq(node, mul(above, _TWO)), I64)
        up.add(Store(self.left, above, by(load(self.left, above), is_left)))
        up.set(node, above)
        number.add(While(lt(_ONE, node), up.body()))
        if self.ranking.nan is None:
            block.add(*number.statements)
        else:
            block.either(eq(rank, self.ranking.nan), nan, number)

    def value(self, block: Block, node: Reduce) -> Lowered:
        """What a reduction makes of the window as it is now."""
        if node in self.best:
            return self._top(block, node)
        share = 0.5 if node.parameter is None else node.parameter
        return self._quantile(block, node, float(share))

    def _find(self, block: Block, *places: LExpr) -> list[LExpr]:
        """The ranks at some places in order, from 0 on; any where there is none."""
        leaves = self.ranking.leaves
        nodes = [self.assembly.fresh("node") for _ in places]
        rests = [self.assembly.fresh("rest") for _ in places]
        for node, rest, place in zip(nodes, rests, places, strict=True):
            block.set(node, _ONE)
            block.set(rest, place)
        down = block.inner()
        for node, rest in zip(nodes, rests, strict=True):
            left = down.name("left", load(self.left, node))
            right = down.name("right", le(left, rest))
            down.set(rest, sub(rest, select(right, left, i64(0))))
            down.set(node, add(mul(node, _TWO), convert(right, I64)))
        block.add(While(lt(nodes[0], leaves), down.body()))
        return [sub(node, leaves) for node in nodes]

    def _quantile(self, block: Block, node: Reduce, share: float) -> Lowered:
        """On the line between the two values next to the place (see semantics).

        A window of one value or none has the place 0 or less, where any rank is found.
        """
        steps = convert(sub(self.size, _ONE), F64)
        place = block.name("place", _times(f64(share), steps))
        below = block.name("below", CallFn("floor", (place,), F64))
        part = block.name("part", Bin("-", place, below, F64))
        whole = block.name("whole", eq(part, f64(0.0)))
        first = block.name("first", convert(below, I64))
        ranks = self._find(block, first, add(first, select(whole, i64(0), _ONE)))
        low, high = (
            block.name("value", convert(self.ranking.value_at(rank), F64))
            for rank in ranks
        )
        between = least(greatest(_between(block, low, high, part), low), high)
        found: LExpr = Bin("+", select(whole, low, between), f64(0.0), F64)
        some = lt(i64(0), add(self.size, self.nans))
        if self.ranking.nan is not None:
            found = select(lt(i64(0), self.nans), f64(float("nan")), found)
        return Lowered(node.type, block.name("q", found), some)

    def _top(self, block: Block, node: Reduce) -> Lowered:
        """The greatest values, then as many NaNs as there are, then φ."""
        best, scalar = self.best[node], self.ranking.type
        assert isinstance(node.type, Struct)
        number = self.assembly.fresh("number")
        each = block.inner()
        (rank,) = self._find(each, sub(sub(self.size, _ONE), number))
        each.add(Store(best, number, self.ranking.value_at(rank)))
        most = block.name("most", least(self.size, i64(len(node.type.fields))))
        block.add(For(number, i64(0), most, each.body()))
        total = block.name("total", add(self.size, self.nans))
        fields = []
        for place in range(len(node.type.fields)):
            value: LExpr = load(best, i64(place))
            if self.ranking.nan is not None:
                nan = Num(float("nan"), scalar)
                value = select(lt(i64(place), self.size), value, nan)
            there = lt(i64(place), total)
            fields.append(Lowered(scalar, block.name("top", value), there))
        return Lowered(node.type, None, lt(i64(0), total), tuple(fields))


def _between(block: Block, low: LExpr, high: LExpr, part: LExpr) -> LExpr:
    """A point on the line between two values, which may be infinite."""
    spread = block.name("spread", Bin("-", high, low, F64))
    line = Bin("+", low, _times(spread, part), F64)
    rest = Bin("-", f64(1.0), part, F64)
    mean = Bin("+", _times(low, rest), _times(high, part), F64)
    middle = eq(part, f64(0.5))
    plain = conj(negate(middle), CallFn("is_finite", (spread,), BOOL))
    return select(plain, line, mean)


def _times(left: LExpr, right: LExpr) -> LExpr:
    return Bin("*", left, right, F64)
