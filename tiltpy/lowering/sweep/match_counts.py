"""Match counts: how many rows of a window compare with the present, as they come.

A structure holds the rows from `first` up to `stop`. It follows the window only while
that has many rows: fewer are counted anew in less time. So it is filled, and its rows
are ranked, only in kernels that meet such a window.
"""

from dataclasses import replace
from typing import assert_never

from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.elements import FoldedElement, Names
from tiltpy.emit.matches import Match
from tiltpy.emit.row_access import ObjectRows
from tiltpy.ir.nodes import Window
from tiltpy.lean_dataclass import dataclass
from tiltpy.loops.build import (
    FALSE,
    add,
    conj,
    disj,
    greatest,
    i64,
    least,
    lt,
    select,
    sub,
)
from tiltpy.loops.nodes import For, LExpr, Var, While
from tiltpy.lowering.sweep.hash_counts import HashCounts
from tiltpy.lowering.sweep.rank_counts import RankCounts
from tiltpy.plan.nodes import PresentChoice, PresentPlan
from tiltpy.types import BOOL


@dataclass(frozen=True, slots=True)
class MatchCounts:
    """The counts of one window; more than `fewest` rows are many.

    There are `most` rows that they can hold: all, or none if no window has many.
    """

    builder: KernelBuilder
    rows: ObjectRows
    window: Window
    counts: HashCounts | RankCounts
    fewest: int
    first: Var
    stop: Var
    most: Var

    @staticmethod
    def of(
        builder: KernelBuilder,
        rows: ObjectRows,
        choice: PresentChoice,
        folded: FoldedElement,
    ) -> "MatchCounts | None":
        """The counts that are planned, if any are."""
        counts: HashCounts | RankCounts
        first, stop, most = (
            builder.fresh(f"{rows.name}.{name}") for name in ("first", "stop", "most")
        )
        followed = replace(rows, count=most)
        match choice.plan:
            case PresentPlan.FOLDED | PresentPlan.CLIPPED | PresentPlan.KEPT:
                return None
            case PresentPlan.HASH_COUNTS:
                counts = HashCounts(builder, followed, Match.of(folded))
                fewest = builder.costs.hashed_rows
            case PresentPlan.RANK_COUNTS:
                counts = RankCounts(builder, followed, Match.of(folded))
                fewest = builder.costs.ranked_rows
            case _:
                assert_never(choice.plan)
        window = choice.window
        return MatchCounts(builder, rows, window, counts, fewest, first, stop, most)

    def start(self, block: Block) -> None:
        """Start before the loop."""
        block.set(self.first, i64(0))
        block.set(self.stop, i64(0))
        is_dense = self.builder.fresh(f"{self.rows.name}.dense", BOOL)
        block.set(is_dense, FALSE)
        if not self.window.is_fixed:  # nobody knows how many rows it will have
            block.set(is_dense, lt(i64(self.fewest), self.rows.count))
            block.set(self.most, select(is_dense, self.rows.count, i64(0)))
            self.counts.start(block)
            return
        row, each = self.builder.fresh("row"), block.inner()
        reach = add(self.rows.end_at(row), i64(self.window.end - self.window.start))
        begin = self.rows.start_at(add(row, i64(self.fewest)))
        each.set(is_dense, disj(is_dense, lt(begin, reach)))
        last = sub(self.rows.count, i64(self.fewest))
        block.add(For(row, i64(0), greatest(last, i64(0)), each.body()))
        block.set(self.most, select(is_dense, self.rows.count, i64(0)))
        self.counts.start(block)

    def has_many(self, lo: LExpr, hi: LExpr) -> LExpr:
        """Decide whether a window from row `lo` up to `hi` has many."""
        return lt(i64(self.fewest), sub(hi, lo))

    def count(self, block: Block, lo: LExpr, hi: LExpr, names: Names) -> LExpr:
        """The number of matches from row `lo` up to `hi`, of the present in `names`."""
        leaving, coming = block.inner(), block.inner()
        self.counts.evict(leaving, self.first)
        leaving.set(self.first, add(self.first, i64(1)))
        gone = block.name("gone", least(lo, self.stop))
        block.add(While(lt(self.first, gone), leaving.body()))
        block.set(self.first, lo)
        block.set(self.stop, greatest(self.stop, lo))
        self.counts.insert(coming, self.stop)
        coming.set(self.stop, add(self.stop, i64(1)))
        block.add(While(lt(self.stop, hi), coming.body()))
        count = self.counts.count(block, names)
        gates = (names[gate.name] for gate in self.counts.match.gates)
        open_ = conj(*(term for gate in gates for term in (gate.valid, gate.scalar)))
        return select(open_, count, i64(0))
