"""Order statistics of windows: structures over the ranks of their values.

Rows are inserted and evicted in any order. Their ranks (see `ranking`) go to as few
structures as the reductions need: all quantiles share one, and all greatest values.
"""

from collections.abc import Callable
from typing import Protocol

from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.row_access import ObjectRows
from tiltpy.emit.values import LoopValue
from tiltpy.ir.nodes import Expr, Reduce
from tiltpy.loops.build import TRUE, add, convert, eq, i64, le, load, lt, sub
from tiltpy.loops.nodes import For, LExpr, Num, Store
from tiltpy.lowering.sweep.count_tree import CountTree
from tiltpy.lowering.sweep.mode_tree import ModeTree
from tiltpy.lowering.sweep.rank_cursors import RankCursors
from tiltpy.lowering.sweep.ranking import Ranking, Rankings
from tiltpy.lowering.sweep.value_cursors import ValueCursors
from tiltpy.ops import REDUCTIONS
from tiltpy.plan.strategies.value_cursors import QUANTILES
from tiltpy.types import I32, I64

_NOTHING, _ONE = Num(0, I32), Num(1, I32)


class Structure(Protocol):
    """A data structure over the ranks in a window; `explain` calls it `name`."""

    name: str

    def reduce(self, node: Reduce) -> None:
        """Add a reduction."""

    def start(self, block: Block) -> None:
        """Empty it before the loop, once the ranks are known."""

    def insert(self, block: Block, row: LExpr, rank: LExpr) -> None:
        """Insert a row, the newest of the window."""

    def evict(self, block: Block, row: LExpr, rank: LExpr) -> None:
        """Evict a row."""

    def value(self, block: Block, node: Reduce) -> LoopValue:
        """The value of a reduction over the window."""


class DistinctCount:
    """The number of distinct values: of the ranks that have rows."""

    name = "a count for each rank"

    def __init__(self, builder: KernelBuilder, ranking: Ranking) -> None:
        self.builder = builder
        self.ranking = ranking
        self.counts = ranking.array("times", I32)
        self.different = builder.fresh(f"{ranking.rows.name}.different")

    def reduce(self, node: Reduce) -> None:
        """Add nothing: one count serves all."""

    def start(self, block: Block) -> None:
        """Clear the counts."""
        rank = self.builder.fresh("rank")
        clear = Store(self.counts, rank, _NOTHING)
        block.add(For(rank, i64(0), self.ranking.count, (clear,)))
        block.set(self.different, i64(0))

    def insert(self, block: Block, row: LExpr, rank: LExpr) -> None:
        """Count the first row of a rank."""
        del row
        before = block.name("before", load(self.counts, rank))
        block.add(Store(self.counts, rank, add(before, _ONE)))
        new = convert(eq(before, _NOTHING), I64)
        block.set(self.different, add(self.different, new))

    def evict(self, block: Block, row: LExpr, rank: LExpr) -> None:
        """Uncount the last row of a rank."""
        del row
        after = block.name("after", sub(load(self.counts, rank), _ONE))
        block.add(Store(self.counts, rank, after))
        vanished = convert(eq(after, _NOTHING), I64)
        block.set(self.different, sub(self.different, vanished))

    def value(self, block: Block, node: Reduce) -> LoopValue:
        """The count; φ over an empty window, as all reductions but `count`."""
        del block
        return LoopValue(node.type, self.different, lt(i64(0), self.different))


KINDS: dict[str, Callable[[KernelBuilder, Ranking], Structure]] = {
    "median": RankCursors,
    "quantile": RankCursors,
    "topk": CountTree,
    "mode": ModeTree,
    "modes": ModeTree,
    "nunique": DistinctCount,
}
assert set(KINDS) == {name for name, rule in REDUCTIONS.items() if rule.whole}


class WholeWindow:
    """The structures over one element of a window, which has so many rows at `most`.

    If that is known, cursors over its values find quantiles.
    """

    def __init__(
        self,
        builder: KernelBuilder,
        rankings: Rankings,
        rows: ObjectRows,
        element: Expr,
        *,
        most: int | None = None,
    ) -> None:
        self.builder = builder
        self.rankings = rankings
        self.rows = rows
        self.element = element
        self.most = most
        self.structures: dict[object, Structure] = {}
        self.cursors: ValueCursors | None = None
        self.nodes: dict[Reduce, Structure | ValueCursors] = {}

    @property
    def ranking(self) -> Ranking:
        """The ranks of the element."""
        return self.rankings.of(self.rows, self.element)

    def reduce(self, node: Reduce) -> None:
        """Add a reduction."""
        if self.most is not None and node.reduction in QUANTILES:
            if self.cursors is None:
                self.cursors = ValueCursors(
                    self.builder, self.rows, self.element, most=self.most
                )
            self.cursors.reduce(node)
            self.nodes[node] = self.cursors
            return
        kind = KINDS[node.reduction]
        if kind not in self.structures:
            self.structures[kind] = kind(self.builder, self.ranking)
        structure = self.structures[kind]
        structure.reduce(node)
        self.nodes[node] = structure

    def start(self, block: Block) -> None:
        """Start before the loop."""
        if self.cursors is not None:
            self.cursors.start(block)
        if self.structures:
            self.ranking.start(block)
        for structure in self.structures.values():
            structure.start(block)

    def insert(self, block: Block, row: LExpr, moved: LExpr = TRUE) -> None:
        """Insert a row, which exists, if `moved`."""
        self._change(block, row, moved, lambda structure: structure.insert)
        if self.cursors is not None:
            cursors = block.inner()
            self.cursors.insert(cursors, row)
            block.when(moved, cursors)

    def evict(self, block: Block, row: LExpr, moved: LExpr = TRUE) -> None:
        """Evict a row, which exists, if `moved`."""
        self._change(block, row, moved, lambda structure: structure.evict)
        if self.cursors is not None:
            cursors = block.inner()
            self.cursors.evict(cursors, row)
            block.when(moved, cursors)

    def _change(
        self,
        block: Block,
        row: LExpr,
        moved: LExpr,
        method: Callable[[Structure], Callable[[Block, LExpr, LExpr], None]],
    ) -> None:
        if not self.structures:
            return
        outer = block.inner()
        rank = outer.name("rank", convert(load(self.ranking.rank, row), I64))
        inner = outer.inner()
        for structure in self.structures.values():
            method(structure)(inner, row, rank)
        contributes = le(i64(0), rank) if self.ranking.filtered else TRUE
        outer.when(contributes, inner)
        block.when(moved, outer)

    def value(self, block: Block, node: Reduce) -> LoopValue:
        """The value of a reduction over the window as it is now."""
        return self.nodes[node].value(block, node)

    def describe(self) -> str:
        """Describe the structures and their reductions."""
        parts = []
        for structure in dict.fromkeys(self.nodes.values()):
            nodes = (node for node, its in self.nodes.items() if its is structure)
            names = dict.fromkeys(node.reduction for node in nodes)
            parts.append(f"{structure.name} for {', '.join(names)}")
        return "; ".join(parts)
