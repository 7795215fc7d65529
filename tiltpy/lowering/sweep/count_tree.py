"""Count tree: the number of rows of each rank in a window, to select the k-th value.

The ranks are the leaves of a tree whose nodes have `LANES` children each; a node holds
for each child the number of rows in the children before it. Insert and evict take one
vector addition a level, the k-th value one vector comparison a level: it is in the last
child with at most k rows before it. A window has one tree for all its greatest values.
NaNs are counted apart.
"""

from collections.abc import Callable

from tiltpy.abi.signature import LANES
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.values import LoopValue
from tiltpy.ir.nodes import Reduce
from tiltpy.loops.build import (
    add,
    convert,
    eq,
    greatest,
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
from tiltpy.types import I32, I64, Struct

Change = Callable[[LExpr, LExpr], LExpr]
_ONE = i64(1)
MOST_LEVELS = 16
"""Levels of a tree over the most ranks that there can be."""


class CountTree:
    """The count tree of a window; `size` is the number of values that are not NaN.

    The levels lie one after the other in one array, the lowest first.
    """

    name = "a tree of counts by rank"

    def __init__(self, builder: KernelBuilder, ranking: Ranking) -> None:
        self.builder = builder
        self.ranking = ranking
        name = f"{ranking.rows.name}.tree"
        self.counts = ranking.array("tree", I32, LANES * MOST_LEVELS)
        self.offsets = builder.temporary(f"{name}.offsets", I64, (), MOST_LEVELS)
        self.levels = builder.fresh(f"{name}.levels")
        self.size = builder.fresh(f"{name}.size")
        self.nans = builder.fresh(f"{name}.nans")
        self.best: dict[Reduce, Array] = {}

    def reduce(self, node: Reduce) -> None:
        """Add a reduction, with room for the greatest values."""
        assert isinstance(node.type, Struct)
        label = f"{self.ranking.rows.name}.best"
        self.best[node] = self.builder.temporary(
            label, self.ranking.type, (), len(node.type.fields)
        )

    def start(self, block: Block) -> None:
        """Lay out the levels and clear the counts."""
        rest, total = self.builder.fresh("rest"), self.builder.fresh("total")
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
        entry = self.builder.fresh("place")
        clear = Store(self.counts, entry, Num(0, I32))
        block.add(For(entry, i64(0), total, (clear,)))
        block.set(self.size, i64(0))
        block.set(self.nans, i64(0))

    def insert(self, block: Block, row: LExpr, rank: LExpr) -> None:
        """Count a row of a rank."""
        del row
        self._change(block, rank, add)

    def evict(self, block: Block, row: LExpr, rank: LExpr) -> None:
        """Uncount a row of a rank."""
        del row
        self._change(block, rank, sub)

    def _change(self, block: Block, rank: LExpr, by: Change) -> None:
        number, nan = block.inner(), block.inner()
        nan.set(self.nans, by(self.nans, _ONE))
        number.set(self.size, by(self.size, _ONE))
        index, level = self.builder.fresh("index"), self.builder.fresh("level")
        number.set(index, rank)
        number.set(level, i64(0))
        up = number.inner()
        node = up.name("node", _over_lanes(index))
        start = up.name("start", mul(node, i64(LANES)))
        child = up.name("child", convert(sub(index, start), I32))
        at = up.name("at", add(load(self.offsets, level), start))
        later = convert(lt(child, Lane(I32)), I32)
        up.add(Store(self.counts, at, by(Wide(self.counts, at, I32), later)))
        up.set(index, node)
        up.set(level, add(level, _ONE))
        number.add(While(lt(level, self.levels), up.body()))
        if self.ranking.nan is None:
            block.add(*number.statements)
        else:
            block.either(eq(rank, self.ranking.nan), nan, number)

    def value(self, block: Block, node: Reduce) -> LoopValue:
        """The value of a reduction over the window."""
        return self._top(block, node)

    def before(self, block: Block, rank: LExpr) -> LExpr:
        """The number of rows of the ranks before one; NaN is no rank here."""
        index, level = self.builder.fresh("index"), self.builder.fresh("level")
        total = self.builder.fresh("total", I32)
        last = greatest(sub(self.ranking.count, _ONE), i64(0))
        block.set(index, least(rank, last))
        block.set(total, Num(0, I32))
        block.set(level, i64(0))
        up = block.inner()
        at = up.name("at", add(load(self.offsets, level), index))
        up.set(total, add(total, load(self.counts, at)))
        up.set(index, _over_lanes(index))
        up.set(level, add(level, _ONE))
        block.add(While(lt(level, self.levels), up.body()))
        beyond = lt(last, rank)
        return block.name("before", select(beyond, self.size, convert(total, I64)))

    def _find(self, block: Block, *positions: LExpr) -> list[LExpr]:
        """The ranks at sorted positions, 0 to `size - 1`; arbitrary if it is empty."""
        level = self.builder.fresh("level")
        nodes = [self.builder.fresh("node") for _ in positions]
        rests = [self.builder.fresh("rest", I32) for _ in positions]
        # Without rows every child would seem to be the last, which may not exist.
        block.set(level, select(lt(i64(0), self.size), self.levels, i64(0)))
        for node, rest, position in zip(nodes, rests, positions, strict=True):
            block.set(node, i64(0))
            block.set(rest, convert(position, I32))
        down = block.inner()
        down.set(level, sub(level, _ONE))
        offset = down.name("offset", load(self.offsets, level))
        for node, rest in zip(nodes, rests, strict=True):
            start = down.name("start", mul(node, i64(LANES)))
            at = down.name("at", add(offset, start))
            passed = le(Wide(self.counts, at, I32), rest)
            child = down.name("child", sub(CountTrue(passed, I64), _ONE))
            down.set(rest, sub(rest, load(self.counts, add(at, child))))
            down.set(node, add(start, child))
        block.add(While(lt(i64(0), level), down.body()))
        return list(nodes)

    def _top(self, block: Block, node: Reduce) -> LoopValue:
        """The greatest values, then the NaNs, then φ."""
        best, scalar = self.best[node], self.ranking.type
        assert isinstance(node.type, Struct)
        number = self.builder.fresh("number")
        each = block.inner()
        (rank,) = self._find(each, sub(sub(self.size, _ONE), number))
        each.add(Store(best, number, self.ranking.value_at(rank)))
        most = block.name("most", least(self.size, i64(len(node.type.fields))))
        block.add(For(number, i64(0), most, each.body()))
        total = block.name("total", add(self.size, self.nans))
        fields = []
        for position in range(len(node.type.fields)):
            value: LExpr = load(best, i64(position))
            if self.ranking.nan is not None:
                nan = Num(float("nan"), scalar)
                value = select(lt(i64(position), self.size), value, nan)
            exists = lt(i64(position), total)
            fields.append(LoopValue(scalar, block.name("top", value), exists))
        return LoopValue(node.type, None, lt(i64(0), total), tuple(fields))


def _over_lanes(number: LExpr) -> LExpr:
    return Bin("//", number, i64(LANES), I64)
