"""How many values of a window have which rank: a tree that finds the k-th in order.

The ranks are the leaves of a tree whose nodes have `LANES` children each, and hold for
each of these how many rows there are in those before it. A row comes and goes by one
addition of vectors a level, the k-th value is found by one comparison of vectors a
level: it is in the last child with no more than k rows before it. A window has one tree
for all its quantiles and greatest values. NaNs are counted beside it.
"""

from collections.abc import Callable

from tiltpy.abi import LANES
from tiltpy.aggregates.quantiles import between, share_of, times
from tiltpy.emit.builder import Assembly, Block
from tiltpy.emit.values import LoopValue
from tiltpy.ir.nodes import Reduce
from tiltpy.loops.build import (
    add,
    convert,
    eq,
    f64,
    i64,
    le,
    least,
    load,
    lt,
    mul,
    select,
    sub,
)
from tiltpy.loops.nodes import (
    Array,
    Bin,
    CallFn,
    CountTrue,
    For,
    Lane,
    LExpr,
    Num,
    Store,
    While,
    Wide,
)
from tiltpy.lowering.sweep.ranking import Ranking
from tiltpy.types import F64, I32, I64, Struct

Change = Callable[[LExpr, LExpr], LExpr]
_ONE = i64(1)
MOST_LEVELS = 16
"""Of a tree over as many ranks as there can be."""


class CountTree:
    """The counts of one window. `size` is the number of values that are not NaN.

    The levels stand one after the other in one array, the lowest first.
    """

    name = "a tree of counts by rank"

    def __init__(self, assembly: Assembly, ranking: Ranking) -> None:
        self.assembly = assembly
        self.ranking = ranking
        name = f"{ranking.rows.name}.tree"
        self.counts = ranking.array("tree", I32, LANES * MOST_LEVELS)
        self.offsets = assembly.temporary(f"{name}.offsets", I64, (), MOST_LEVELS)
        self.levels = assembly.fresh(f"{name}.levels")
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
        """Lay out the levels; nothing is there."""
        rest, total = self.assembly.fresh("rest"), self.assembly.fresh("total")
        block.set(self.levels, i64(0))
        block.set(total, i64(0))
        block.set(rest, self.ranking.count)
        level = block.inner()
        nodes = level.name("nodes", _over_lanes(add(rest, i64(LANES - 1))))
        level.add(Store(self.offsets, self.levels, total))
        level.set(total, add(total, mul(nodes, i64(LANES))))
        level.set(self.levels, add(self.levels, _ONE))
        level.set(rest, select(lt(_ONE, nodes), nodes, i64(0)))
        block.add(While(lt(i64(0), rest), level.body()))
        place = self.assembly.fresh("place")
        clear = Store(self.counts, place, Num(0, I32))
        block.add(For(place, i64(0), total, (clear,)))
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
        index, level = self.assembly.fresh("index"), self.assembly.fresh("level")
        number.set(index, rank)
        number.set(level, i64(0))
        up = number.inner()
        node = up.name("node", _over_lanes(index))
        start = up.name("start", mul(node, i64(LANES)))
        child = up.name("child", convert(sub(index, start), I32))
        at = up.name("at", add(load(self.offsets, level), start))
        behind = convert(lt(child, Lane(I32)), I32)
        up.add(Store(self.counts, at, by(Wide(self.counts, at, I32), behind)))
        up.set(index, node)
        up.set(level, add(level, _ONE))
        number.add(While(lt(level, self.levels), up.body()))
        if self.ranking.nan is None:
            block.add(*number.statements)
        else:
            block.either(eq(rank, self.ranking.nan), nan, number)

    def value(self, block: Block, node: Reduce) -> LoopValue:
        """What a reduction makes of the window as it is now."""
        if node in self.best:
            return self._top(block, node)
        return self._quantile(block, node, share_of(node))

    def _find(self, block: Block, *places: LExpr) -> list[LExpr]:
        """The ranks at places in order, from 0 to `size - 1`; any if that is empty."""
        level = self.assembly.fresh("level")
        nodes = [self.assembly.fresh("node") for _ in places]
        rests = [self.assembly.fresh("rest", I32) for _ in places]
        # Without rows all children look like the last, which may not be there.
        block.set(level, select(lt(i64(0), self.size), self.levels, i64(0)))
        for node, rest, place in zip(nodes, rests, places, strict=True):
            block.set(node, i64(0))
            block.set(rest, convert(place, I32))
        down = block.inner()
        down.set(level, sub(level, _ONE))
        offset = down.name("offset", load(self.offsets, level))
        for node, rest in zip(nodes, rests, strict=True):
            start = down.name("start", mul(node, i64(LANES)))
            at = down.name("at", add(offset, start))
            here = le(Wide(self.counts, at, I32), rest)
            child = down.name("child", sub(CountTrue(here, I64), _ONE))
            down.set(rest, sub(rest, load(self.counts, add(at, child))))
            down.set(node, add(start, child))
        block.add(While(lt(i64(0), level), down.body()))
        return list(nodes)

    def _quantile(self, block: Block, node: Reduce, share: float) -> LoopValue:
        """On the line between the two values next to its place among them."""
        steps = convert(sub(self.size, _ONE), F64)
        place = block.name("place", times(f64(share), steps))
        below = block.name("below", CallFn("floor", (place,), F64))
        part = block.name("part", Bin("-", place, below, F64))
        whole = block.name("whole", eq(part, f64(0.0)))
        first = block.name("first", convert(below, I64))
        ranks = self._find(block, first, add(first, select(whole, i64(0), _ONE)))
        low, high = (
            block.name("value", convert(self.ranking.value_at(rank), F64))
            for rank in ranks
        )
        found = between(block, low, high, part)
        some = lt(i64(0), add(self.size, self.nans))
        if self.ranking.nan is not None:
            found = select(lt(i64(0), self.nans), f64(float("nan")), found)
        return LoopValue(node.type, block.name("q", found), some)

    def _top(self, block: Block, node: Reduce) -> LoopValue:
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
            fields.append(LoopValue(scalar, block.name("top", value), there))
        return LoopValue(node.type, None, lt(i64(0), total), tuple(fields))


def _over_lanes(number: LExpr) -> LExpr:
    return Bin("//", number, i64(LANES), I64)
