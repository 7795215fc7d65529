"""What a window keeps for the reductions that look at it as a whole.

Rows come to it and leave it as they do to the window's other reductions (`windows`),
but in any order. It knows them by their ranks (`ranking`), and hands them to as few
structures as its reductions need: all quantiles and greatest values share one.
"""

from collections.abc import Callable
from typing import Protocol

from tiltpy.emit.builder import Assembly, Block
from tiltpy.emit.values import LoopValue
from tiltpy.ir.nodes import Reduce
from tiltpy.loops.build import TRUE, add, convert, eq, i64, le, load, lt, sub
from tiltpy.loops.nodes import For, LExpr, Num, Store
from tiltpy.lowering.sweep.count_tree import CountTree
from tiltpy.lowering.sweep.mode_tree import ModeTree
from tiltpy.lowering.sweep.ranking import Ranking
from tiltpy.ops import REDUCTIONS
from tiltpy.types import I32, I64

_NOTHING, _ONE = Num(0, I32), Num(1, I32)


class Structure(Protocol):
    """What is kept of the rows in a window, by rank; `explain` calls it `name`."""

    name: str

    def reduce(self, node: Reduce) -> None:
        """Have a reduction computed."""

    def start(self, block: Block) -> None:
        """Before the loop; the ranks are known."""

    def enter(self, block: Block, row: LExpr, rank: LExpr) -> None:
        """A row comes, the last of those that are there."""

    def leave(self, block: Block, row: LExpr, rank: LExpr) -> None:
        """A row leaves."""

    def value(self, block: Block, node: Reduce) -> LoopValue:
        """The value of a reduction over the rows that are there."""


class DistinctCount:
    """How many different values there are: the ranks that have rows."""

    name = "a count for each rank"

    def __init__(self, assembly: Assembly, ranking: Ranking) -> None:
        self.assembly = assembly
        self.ranking = ranking
        self.counts = ranking.array("times", I32)
        self.different = assembly.fresh(f"{ranking.rows.name}.different")

    def reduce(self, node: Reduce) -> None:
        """All that is needed is there."""

    def start(self, block: Block) -> None:
        """Nothing is there."""
        rank = self.assembly.fresh("rank")
        clear = Store(self.counts, rank, _NOTHING)
        block.add(For(rank, i64(0), self.ranking.count, (clear,)))
        block.set(self.different, i64(0))

    def enter(self, block: Block, row: LExpr, rank: LExpr) -> None:
        """The first of a rank counts."""
        del row
        before = block.name("before", load(self.counts, rank))
        block.add(Store(self.counts, rank, add(before, _ONE)))
        new = convert(eq(before, _NOTHING), I64)
        block.set(self.different, add(self.different, new))

    def leave(self, block: Block, row: LExpr, rank: LExpr) -> None:
        """The last of a rank counts no longer."""
        del row
        after = block.name("after", sub(load(self.counts, rank), _ONE))
        block.add(Store(self.counts, rank, after))
        gone = convert(eq(after, _NOTHING), I64)
        block.set(self.different, sub(self.different, gone))

    def value(self, block: Block, node: Reduce) -> LoopValue:
        """φ where nothing is there, as of all reductions but `count`."""
        del block
        return LoopValue(node.type, self.different, lt(i64(0), self.different))


KINDS: dict[str, Callable[[Assembly, Ranking], Structure]] = {
    "median": CountTree,
    "quantile": CountTree,
    "topk": CountTree,
    "mode": ModeTree,
    "nunique": DistinctCount,
}
assert set(KINDS) == {name for name, rule in REDUCTIONS.items() if rule.whole}


class WholeWindow:
    """What is kept of one element of a window."""

    def __init__(self, assembly: Assembly, ranking: Ranking) -> None:
        self.assembly = assembly
        self.ranking = ranking
        self.structures: dict[object, Structure] = {}
        self.nodes: dict[Reduce, Structure] = {}

    def reduce(self, node: Reduce) -> None:
        """Have a reduction computed."""
        kind = KINDS[node.reduction]
        if kind not in self.structures:
            self.structures[kind] = kind(self.assembly, self.ranking)
        structure = self.structures[kind]
        structure.reduce(node)
        self.nodes[node] = structure

    def start(self, block: Block) -> None:
        """Before the loop."""
        self.ranking.start(block)
        for structure in self.structures.values():
            structure.start(block)

    def enter(self, block: Block, row: LExpr, moved: LExpr = TRUE) -> None:
        """A row comes in, if `moved`: it exists in any case."""
        come = block.inner()
        rank = come.name("rank", convert(load(self.ranking.rank, row), I64))
        inner = come.inner()
        for structure in self.structures.values():
            structure.enter(inner, row, rank)
        come.when(self._contributes(rank), inner)
        block.when(moved, come)

    def leave(self, block: Block, row: LExpr, moved: LExpr = TRUE) -> None:
        """A row that had come leaves, if `moved`: it exists in any case."""
        gone = block.inner()
        rank = gone.name("rank", convert(load(self.ranking.rank, row), I64))
        inner = gone.inner()
        for structure in self.structures.values():
            structure.leave(inner, row, rank)
        gone.when(self._contributes(rank), inner)
        block.when(moved, gone)

    def _contributes(self, rank: LExpr) -> LExpr:
        return le(i64(0), rank) if self.ranking.filtered else TRUE

    def value(self, block: Block, node: Reduce) -> LoopValue:
        """The value of a reduction over the window as it is now."""
        return self.nodes[node].value(block, node)

    def describe(self) -> str:
        """What is kept, for which reductions."""
        parts = []
        for structure in self.structures.values():
            nodes = (node for node, its in self.nodes.items() if its is structure)
            names = dict.fromkeys(node.reduction for node in nodes)
            parts.append(f"{structure.name} for {', '.join(names)}")
        return "; ".join(parts)
