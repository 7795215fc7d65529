"""Rank counts: how many rows of a window are before a value, from a count tree.

`count(v for v in ~x[t-1h : t] if v.p < ~x[t].p)`: a row that comes or leaves changes
the counts of its rank, and the present's rank says how many are before it. Each takes
time logarithmic in the rows of a chunk.
"""

from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.elements import Names, is_filtered
from tiltpy.emit.matches import Comparison, Match
from tiltpy.emit.row_access import ObjectRows
from tiltpy.ir.nodes import Exists, Expr, If, Phi
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
    select,
    sub,
)
from tiltpy.loops.nodes import Bin, LExpr, Var, While
from tiltpy.lowering.sweep.count_tree import CountTree
from tiltpy.lowering.sweep.ranking import Ranking
from tiltpy.types import BOOL, I64


class RankCounts:
    """The count tree of a window, and the present's ranks in it."""

    name = CountTree.name

    def __init__(self, builder: KernelBuilder, rows: ObjectRows, match: Match) -> None:
        self.builder = builder
        self.match = match
        key: Expr = match.comparisons[0].key
        if is_filtered(builder, rows, match.element):
            key = If(Exists(match.element, BOOL), key, Phi(key.type))
        self.ranking = Ranking(builder, rows, key)
        self.tree = CountTree(builder, self.ranking)
        self.numbers = builder.fresh(f"{rows.name}.numbers")

    def start(self, block: Block) -> None:
        """Rank the rows and clear the tree."""
        self.ranking.start(block)
        self.tree.start(block)
        nan, count = self.ranking.nan, self.ranking.count
        has_nan = i64(0) if nan is None else convert(le(i64(0), nan), I64)
        block.set(self.numbers, sub(count, has_nan))

    def insert(self, block: Block, row: LExpr) -> None:
        """Count a row."""
        rank, change = self._rank(block, row), block.inner()
        self.tree.insert(change, row, rank)
        block.when(le(i64(0), rank), change)

    def evict(self, block: Block, row: LExpr) -> None:
        """Uncount a row."""
        rank, change = self._rank(block, row), block.inner()
        self.tree.evict(change, row, rank)
        block.when(le(i64(0), rank), change)

    def _rank(self, block: Block, row: LExpr) -> LExpr:
        return block.name("rank", convert(load(self.ranking.rank, row), I64))

    def count(self, block: Block, names: Names) -> LExpr:
        """The number of rows that match the present.

        Each comparison leaves the ranks up to one, or those from one on.
        """
        bounds: dict[bool, list[LExpr]] = {False: [], True: []}
        result = self.builder.fresh("matches")
        block.set(result, i64(0))
        exist: list[LExpr] = []
        look = block.inner()
        for comparison in self.match.comparisons:
            value = names[comparison.present.name]
            exist += value.valid, eq(value.scalar, value.scalar)
            for upper, beyond in _bounds(comparison):
                rank = self._ranks_before(look, value.scalar, beyond=beyond)
                bounds[upper].append(rank)
        high: LExpr = self.tree.size
        if bounds[True]:
            high = self.tree.before(look, least(*bounds[True]))
        low: LExpr = i64(0)
        if bounds[False]:
            low = self.tree.before(look, greatest(*bounds[False]))
        look.set(result, greatest(sub(high, low), i64(0)))
        block.when(conj(*exist), look)
        return result

    def _ranks_before(self, block: Block, value: LExpr, *, beyond: bool) -> Var:
        """Count the ranks less than a value, or as great too if it is `beyond` them.

        A binary search without branches.
        """
        rank, rest = self.builder.fresh("rank"), self.builder.fresh("rest")

        def precedes(at: LExpr) -> LExpr:
            other = self.ranking.value_at(at)
            return Bin("<=" if beyond else "<", other, value, BOOL)

        block.set(rank, i64(0))
        block.set(rest, self.numbers)
        halve = block.inner()
        half = halve.name("half", Bin("//", rest, i64(2), I64))
        middle = sub(add(rank, half), i64(1))
        halve.set(rank, select(precedes(middle), add(rank, half), rank))
        halve.set(rest, sub(rest, half))
        block.add(While(lt(i64(1), rest), halve.body()))
        last = conj(lt(i64(0), rest), precedes(rank))
        block.set(rank, add(rank, convert(last, I64)))
        return rank


def _bounds(comparison: Comparison) -> tuple[tuple[bool, bool], ...]:
    """The bounds of the ranks that match: each an upper one or not, and where it is.

    It is before the ranks of the present's value, or with True beyond them.
    """
    match comparison.op:
        case "<":
            return ((True, False),)
        case "<=":
            return ((True, True),)
        case ">":
            return ((False, True),)
        case ">=":
            return ((False, False),)
        case "==":
            return (False, False), (True, True)
