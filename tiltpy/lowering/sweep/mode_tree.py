"""Mode tree: the most frequent values of a window, by a tournament of ranks.

Each leaf of a complete binary tree is a rank, with its number of rows in the window and
the first of them; each node holds those of its winner: the leaf below with more rows,
or with as many and an earlier first one. The rows of a rank are a doubly linked list in
order of insertion, so that any of them can be evicted. To see the second most frequent
value the first one is taken out of the tournament, and put back afterwards.
"""

from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.elements import row_value
from tiltpy.emit.values import LoopValue
from tiltpy.ir.nodes import Reduce
from tiltpy.loops.build import (
    add,
    conj,
    convert,
    disj,
    eq,
    i64,
    load,
    lt,
    mul,
    select,
    sub,
)
from tiltpy.loops.nodes import Array, Bin, For, LExpr, Num, Store, While
from tiltpy.lowering.sweep.ranking import Ranking
from tiltpy.types import I32, I64, Struct

_TWO = i64(2)
_NOTHING = Num(0, I32)
_NONE = Num(-1, I32)
"""No row."""


class ModeTree:
    """The tournament of one window."""

    name = "a tournament of ranks"

    def __init__(self, builder: KernelBuilder, ranking: Ranking) -> None:
        self.builder = builder
        self.ranking = ranking
        self.rows = ranking.rows
        self.counts = ranking.array("mode.count", I32, 4, 4)
        self.firsts = ranking.array("mode.first", I32, 4, 4)
        self.lasts = ranking.array("mode.last", I32)
        self.later = self._by_row("mode.later")
        self.earlier = self._by_row("mode.earlier")
        self.best: dict[Reduce, tuple[Array, Array]] = {}

    def _by_row(self, name: str) -> Array:
        name = f"{self.rows.name}.{name}"
        return self.builder.temporary(name, I32, ((self.rows.name, 1),), 1)

    def reduce(self, node: Reduce) -> None:
        """Add a reduction, with room for the most frequent values and their counts."""
        if isinstance(node.type, Struct):
            label, most = f"{self.rows.name}.best", len(node.type.fields) // 2
            self.best[node] = (
                self.builder.temporary(f"{label}.rows", I32, (), most),
                self.builder.temporary(f"{label}.counts", I32, (), most),
            )

    def start(self, block: Block) -> None:
        """Clear the tree."""
        node = self.builder.fresh("node")
        clear = Store(self.counts, node, _NOTHING), Store(self.firsts, node, _NOTHING)
        block.add(For(node, i64(0), mul(self.ranking.leaves, _TWO), clear))

    def insert(self, block: Block, row: LExpr, rank: LExpr) -> None:
        """Append a row to the list of its rank."""
        leaf = block.name("leaf", add(rank, self.ranking.leaves))
        count = block.name("count", load(self.counts, leaf))
        row_code = block.name("place", convert(row, I32))
        only, chained = block.inner(), block.inner()
        only.add(Store(self.firsts, leaf, row_code), Store(self.earlier, row, _NONE))
        last = chained.name("last", load(self.lasts, rank))
        chained.add(
            Store(self.later, convert(last, I64), row_code),
            Store(self.earlier, row, last),
        )
        block.either(eq(count, _NOTHING), only, chained)
        block.add(Store(self.later, row, _NONE), Store(self.lasts, rank, row_code))
        self._play(block, leaf, add(count, Num(1, I32)))

    def evict(self, block: Block, row: LExpr, rank: LExpr) -> None:
        """Remove a row from the list of its rank."""
        leaf = block.name("leaf", add(rank, self.ranking.leaves))
        earlier = block.name("earlier", load(self.earlier, row))
        later = block.name("later", load(self.later, row))
        is_first, has_earlier = block.inner(), block.inner()
        is_first.add(Store(self.firsts, leaf, later))
        has_earlier.add(Store(self.later, convert(earlier, I64), later))
        block.either(lt(earlier, _NOTHING), is_first, has_earlier)
        is_last, has_later = block.inner(), block.inner()
        is_last.add(Store(self.lasts, rank, earlier))
        has_later.add(Store(self.earlier, convert(later, I64), earlier))
        block.either(lt(later, _NOTHING), is_last, has_later)
        self._play(block, leaf, sub(load(self.counts, leaf), Num(1, I32)))

    def _play(self, block: Block, leaf: LExpr, count: LExpr) -> None:
        """Set the count of a leaf and replay its matches up to the root.

        The winner so far stays in registers and meets the winner next to it.
        """
        node = self.builder.fresh("node")
        most, first = (self.builder.fresh(name, I32) for name in ("most", "first"))
        block.set(node, leaf)
        block.set(most, count)
        block.set(first, load(self.firsts, leaf))
        block.add(Store(self.counts, leaf, most))
        up = block.inner()
        odd = up.name("odd", Bin("%", node, _TWO, I64))
        beside = up.name("beside", sub(add(node, i64(1)), mul(_TWO, odd)))
        other = up.name("other", load(self.counts, beside))
        its_first = up.name("sooner", load(self.firsts, beside))
        sooner = conj(eq(other, most), lt(its_first, first))
        wins = up.name("wins", disj(lt(most, other), sooner))
        up.set(most, select(wins, other, most))
        up.set(first, select(wins, its_first, first))
        up.set(node, Bin("//", node, _TWO, I64))
        up.add(Store(self.counts, node, most), Store(self.firsts, node, first))
        block.add(While(lt(i64(1), node), up.body()))

    def value(self, block: Block, node: Reduce) -> LoopValue:
        """The first row of the most frequent value, or those of several."""
        root = i64(1)
        if node in self.best:
            return self._several(block, node)
        occupied = block.name("some", lt(_NOTHING, load(self.counts, root)))
        row = convert(load(self.firsts, root), I64)
        return row_value(block, self.rows, node, row, occupied)

    def _several(self, block: Block, node: Reduce) -> LoopValue:
        """The most frequent values, each before its count, then φ."""
        rows, counts = self.best[node]
        assert isinstance(node.type, Struct)
        most = len(node.type.fields) // 2
        root, number = i64(1), self.builder.fresh("number")
        block.set(number, i64(0))
        out = block.inner()
        row = out.name("row", load(self.firsts, root))
        out.add(Store(rows, number, row))
        out.add(Store(counts, number, load(self.counts, root)))
        self._play(out, self._leaf_of(out, row), _NOTHING)
        out.set(number, add(number, i64(1)))
        remains = lt(_NOTHING, load(self.counts, root))
        block.add(While(conj(lt(number, i64(most)), remains), out.body()))
        winner, back = self.builder.fresh("winner"), block.inner()
        leaf = self._leaf_of(back, load(rows, winner))
        self._play(back, leaf, back.name("count", load(counts, winner)))
        block.add(For(winner, i64(0), number, back.body()))
        fields: list[LoopValue] = []
        for place in map(i64, range(most)):
            exists = block.name("some", lt(place, number))
            row = convert(load(rows, place), I64)
            count = block.name("count", convert(load(counts, place), I64))
            fields.append(row_value(block, self.rows, node, row, exists))
            fields.append(LoopValue(I64, count, exists))
        return LoopValue(node.type, None, lt(i64(0), number), tuple(fields))

    def _leaf_of(self, block: Block, row: LExpr) -> LExpr:
        rank = load(self.ranking.rank, convert(row, I64))
        return block.name("leaf", add(convert(rank, I64), self.ranking.leaves))
