"""Mode tree: the most frequent values of a window, by a tournament of ranks.

The ranks are the leaves of a tree whose nodes have `LANES` children each. The key of a
leaf has its number of rows in the window in the upper half, and how early the first of
them is in the lower half; that of a node is the greatest of its children. A row that
comes raises a key, and nodes up to the first one that is greater. A row that leaves
lowers it, and only nodes that it has won are decided again. The rows of a rank are a
doubly linked list in order of insertion, so that any of them can be evicted. To see the
second most frequent value the first one is taken out, and put back afterwards.
"""

from tiltpy.abi.signature import LANES
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.elements import row_value
from tiltpy.emit.fold_lanes import fold_lanes
from tiltpy.emit.values import LoopValue
from tiltpy.ir.nodes import Reduce
from tiltpy.loops.build import (
    add,
    conj,
    convert,
    eq,
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
    Array,
    Bin,
    For,
    LExpr,
    Num,
    Store,
    While,
    Wide,
)
from tiltpy.lowering.sweep.count_tree import MOST_LEVELS
from tiltpy.lowering.sweep.ranking import Ranking
from tiltpy.types import I32, I64, U64, Struct

_HALF = Num(1 << 32, U64)
_LATEST = Num((1 << 32) - 1, U64)
_NOTHING, _NONE = Num(0, U64), Num(-1, I32)
"""The key of a rank without rows, and no row."""


class ModeTree:
    """The tournament of one window; the levels lie one after the other in `keys`."""

    name = "a tournament of ranks"

    def __init__(self, builder: KernelBuilder, ranking: Ranking) -> None:
        self.builder = builder
        self.ranking = ranking
        self.rows = ranking.rows
        self.keys = ranking.array("mode.keys", U64, LANES * MOST_LEVELS)
        self.lasts = ranking.array("mode.last", I32)
        self.later = self._by_row("mode.later")
        self.earlier = self._by_row("mode.earlier")
        label = f"{self.rows.name}.mode"
        self.offsets = builder.temporary(f"{label}.offsets", I64, (), MOST_LEVELS)
        self.top = builder.fresh(f"{label}.top")
        self.root = builder.fresh(f"{label}.root")
        self.best: dict[Reduce, tuple[Array, Array]] = {}

    def _by_row(self, name: str) -> Array:
        name = f"{self.rows.name}.{name}"
        return self.builder.temporary(name, I32, ((self.rows.name, 1),), 1)

    def reduce(self, node: Reduce) -> None:
        """Add a reduction, with room for the most frequent values and their keys."""
        if isinstance(node.type, Struct):
            label, most = f"{self.rows.name}.best", len(node.type.fields) // 2
            self.best[node] = (
                self.builder.temporary(f"{label}.rows", I64, (), most),
                self.builder.temporary(f"{label}.keys", U64, (), most),
            )

    def start(self, block: Block) -> None:
        """Lay out the levels up to the root and clear them."""
        level, total = self.builder.fresh("level"), self.builder.fresh("total")
        rest, node = self.builder.fresh("rest"), self.builder.fresh("node")
        block.set(level, i64(0))
        block.set(total, i64(0))
        block.set(rest, self.ranking.count)
        up = block.inner()
        groups = up.name("groups", _over_lanes(add(rest, i64(LANES - 1))))
        up.add(Store(self.offsets, level, total))
        up.set(total, add(total, mul(groups, i64(LANES))))
        up.set(level, add(level, i64(1)))
        up.set(rest, groups)
        block.add(While(lt(i64(1), rest), up.body()))
        block.add(Store(self.offsets, level, total))
        block.set(self.root, total)
        block.set(self.top, level)
        clear = Store(self.keys, node, _NOTHING)
        block.add(For(node, i64(0), add(total, i64(1)), (clear,)))

    def insert(self, block: Block, row: LExpr, rank: LExpr) -> None:
        """Append a row to the list of its rank."""
        key = block.name("key", load(self.keys, rank))
        row_code = block.name("place", convert(row, I32))
        only, chained = block.inner(), block.inner()
        only.add(Store(self.earlier, row, _NONE))
        last = chained.name("last", load(self.lasts, rank))
        chained.add(
            Store(self.later, convert(last, I64), row_code),
            Store(self.earlier, row, last),
        )
        is_only = block.name("only", eq(key, _NOTHING))
        block.either(is_only, only, chained)
        block.add(Store(self.later, row, _NONE), Store(self.lasts, rank, row_code))
        start = select(is_only, _earliness(row), key)
        self._raise(block, rank, block.name("key", Bin("+", start, _HALF, U64)))

    def evict(self, block: Block, row: LExpr, rank: LExpr) -> None:
        """Remove a row from the list of its rank."""
        key = block.name("key", load(self.keys, rank))
        earlier = block.name("earlier", load(self.earlier, row))
        later = block.name("later", load(self.later, row))
        is_first = block.name("first", lt(earlier, Num(0, I32)))
        is_last = block.name("last", lt(later, Num(0, I32)))
        has_earlier, has_later, becomes_last = (block.inner() for _ in range(3))
        has_earlier.add(Store(self.later, convert(earlier, I64), later))
        block.when(negate(is_first), has_earlier)
        becomes_last.add(Store(self.lasts, rank, earlier))
        has_later.add(Store(self.earlier, convert(later, I64), earlier))
        block.either(is_last, becomes_last, has_later)
        fewer = block.name("fewer", Bin("-", key, _HALF, U64))
        others = Bin("*", Bin("//", fewer, _HALF, U64), _HALF, U64)
        next_first = Bin("+", others, _earliness(convert(later, I64)), U64)
        remaining = select(is_last, _NOTHING, next_first)
        self._lower(block, rank, block.name("key", select(is_first, remaining, fewer)))

    def _raise(self, block: Block, rank: LExpr, key: LExpr) -> None:
        """Raise the key of a leaf, and of the nodes that it wins."""
        block.add(Store(self.keys, rank, key))
        climb = _Climb(self, block, rank)
        up = block.inner()
        up.add(Store(self.keys, climb.node, key))
        climb.add(block, up, lt(load(self.keys, climb.node), key))

    def _lower(self, block: Block, rank: LExpr, key: LExpr) -> None:
        """Lower the key of a leaf, and decide again the nodes that it had won."""
        before = self.builder.fresh("before", U64)
        block.set(before, load(self.keys, rank))
        block.add(Store(self.keys, rank, key))
        climb = _Climb(self, block, rank)
        up = block.inner()
        below = load(self.offsets, sub(climb.level, i64(1)))
        children = add(below, mul(climb.index, i64(LANES)))
        winner = self.builder.fresh("winner", U64)
        up.set(winner, Wide(self.keys, children, U64))
        most = fold_lanes(up, winner, greatest)
        up.add(Store(self.keys, climb.node, most))
        climb.add(block, up, eq(load(self.keys, climb.node), before))

    def value(self, block: Block, node: Reduce) -> LoopValue:
        """The first row of the most frequent value, or those of several."""
        if node in self.best:
            return self._several(block, node)
        key = block.name("key", load(self.keys, self.root))
        occupied = block.name("some", lt(_NOTHING, key))
        return row_value(block, self.rows, node, _first_row(key), occupied)

    def _several(self, block: Block, node: Reduce) -> LoopValue:
        """The most frequent values, each before its count, then φ."""
        rows, keys = self.best[node]
        assert isinstance(node.type, Struct)
        most = len(node.type.fields) // 2
        number = self.builder.fresh("number")
        block.set(number, i64(0))
        out = block.inner()
        key = out.name("key", load(self.keys, self.root))
        row = out.name("row", _first_row(key))
        out.add(Store(rows, number, row), Store(keys, number, key))
        self._lower(out, self._rank_of(out, row), _NOTHING)
        out.set(number, add(number, i64(1)))
        remains = lt(_NOTHING, load(self.keys, self.root))
        block.add(While(conj(lt(number, i64(most)), remains), out.body()))
        winner, back = self.builder.fresh("winner"), block.inner()
        rank = self._rank_of(back, load(rows, winner))
        self._raise(back, rank, back.name("key", load(keys, winner)))
        block.add(For(winner, i64(0), number, back.body()))
        fields: list[LoopValue] = []
        for place in map(i64, range(most)):
            exists = block.name("some", lt(place, number))
            fields.append(row_value(block, self.rows, node, load(rows, place), exists))
            count = convert(Bin("//", load(keys, place), _HALF, U64), I64)
            fields.append(LoopValue(I64, block.name("count", count), exists))
        return LoopValue(node.type, None, lt(i64(0), number), tuple(fields))

    def _rank_of(self, block: Block, row: LExpr) -> LExpr:
        return block.name("rank", convert(load(self.ranking.rank, row), I64))


class _Climb:
    """A path from a leaf up to the root, through node `index` of each level."""

    def __init__(self, tree: ModeTree, block: Block, rank: LExpr) -> None:
        fresh = tree.builder.fresh
        self.tree = tree
        self.index, self.level, self.node = (
            fresh("index"), fresh("level"), fresh("node"),
        )  # fmt: skip
        block.set(self.index, _over_lanes(rank))
        block.set(self.level, i64(1))

    def add(self, block: Block, up: Block, continues: LExpr) -> None:
        """Append a loop over the nodes up to the root, as long as it `continues`."""
        head, top = block.inner(), self.tree.top
        offset = load(self.tree.offsets, least(self.level, top))
        head.set(self.node, add(offset, self.index))
        up.set(self.index, _over_lanes(self.index))
        up.set(self.level, add(self.level, i64(1)))
        is_inside = le(self.level, top)
        block.add(While(conj(is_inside, continues), up.body(), head.body()))


def _earliness(row: LExpr) -> LExpr:
    """The lower half of a key, greater for an earlier row."""
    return Bin("-", _LATEST, convert(row, U64), U64)


def _first_row(key: LExpr) -> LExpr:
    return convert(Bin("-", _LATEST, Bin("%", key, _HALF, U64), U64), I64)


def _over_lanes(number: LExpr) -> LExpr:
    return Bin("//", number, i64(LANES), I64)
