"""The most frequent value of a window: a tournament between the ranks.

Each leaf of a complete binary tree is a rank, with the number of its rows in the window
and the first of them; each node holds those of the leaf below it that has more rows, or
as many and an earlier first one. The rows of a rank are chained in the order in which
they came, so that each of them can go, and the next becomes the first.
"""

from tiltpy.ir.nodes import Reduce
from tiltpy.loops.build import (
    TRUE,
    add,
    conj,
    disj,
    eq,
    i64,
    load,
    lt,
    mul,
    ne,
    select,
    sub,
)
from tiltpy.loops.nodes import Array, Bin, For, LExpr, Store, While
from tiltpy.lowering.assembly import Assembly, Block
from tiltpy.lowering.ranking import Ranking
from tiltpy.lowering.values import Lowered
from tiltpy.lowering.windows import row_value
from tiltpy.types import BOOL, I64

_ONE, _TWO = i64(1), i64(2)
_NONE = -1
"""No row."""


class ModeTree:
    """The tournament of one window."""

    name = "a tournament of ranks"

    def __init__(self, assembly: Assembly, ranking: Ranking) -> None:
        self.assembly = assembly
        self.ranking = ranking
        self.rows = ranking.rows
        self.counts = ranking.array("mode.count", I64, 4, 4)
        self.firsts = ranking.array("mode.first", I64, 4, 4)
        self.lasts = ranking.array("mode.last", I64)
        self.later = self._by_row("mode.later")
        self.earlier = self._by_row("mode.earlier")

    def _by_row(self, name: str) -> Array:
        name = f"{self.rows.name}.{name}"
        return self.assembly.temporary(name, I64, ((self.rows.name, 1),), 1)

    def reduce(self, node: Reduce) -> None:
        """All that is needed is there."""

    def start(self, block: Block) -> None:
        """Nothing is there."""
        node = self.assembly.fresh("node")
        clear = Store(self.counts, node, i64(0)), Store(self.firsts, node, i64(0))
        block.add(For(node, i64(0), mul(self.ranking.leaves, _TWO), clear))

    def enter(self, block: Block, row: LExpr, rank: LExpr) -> None:
        """A row comes behind all others of its rank."""
        leaf = block.name("leaf", add(rank, self.ranking.leaves))
        count = block.name("count", load(self.counts, leaf))
        only, more = block.inner(), block.inner()
        only.add(Store(self.firsts, leaf, row), Store(self.earlier, row, i64(_NONE)))
        last = more.name("last", load(self.lasts, rank))
        more.add(Store(self.later, last, row), Store(self.earlier, row, last))
        block.either(eq(count, i64(0)), only, more)
        block.add(
            Store(self.later, row, i64(_NONE)),
            Store(self.lasts, rank, row),
            Store(self.counts, leaf, add(count, _ONE)),
        )
        self._play(block, leaf)

    def leave(self, block: Block, row: LExpr, rank: LExpr) -> None:
        """A row leaves the chain of its rank."""
        leaf = block.name("leaf", add(rank, self.ranking.leaves))
        earlier = block.name("earlier", load(self.earlier, row))
        later = block.name("later", load(self.later, row))
        is_first, has_earlier = block.inner(), block.inner()
        is_first.add(Store(self.firsts, leaf, later))
        has_earlier.add(Store(self.later, earlier, later))
        block.either(lt(earlier, i64(0)), is_first, has_earlier)
        is_last, has_later = block.inner(), block.inner()
        is_last.add(Store(self.lasts, rank, earlier))
        has_later.add(Store(self.earlier, later, earlier))
        block.either(lt(later, i64(0)), is_last, has_later)
        block.add(Store(self.counts, leaf, sub(load(self.counts, leaf), _ONE)))
        self._play(block, leaf)

    def _play(self, block: Block, leaf: LExpr) -> None:
        """Play matches again from a leaf up, for as long as their outcomes change."""
        node = self.assembly.fresh("node")
        changes = self.assembly.fresh("changes", BOOL)
        block.set(node, leaf)
        block.set(changes, TRUE)
        up = block.inner()
        up.set(node, Bin("//", node, _TWO, I64))
        a = up.name("a", mul(node, _TWO))
        b = up.name("b", add(a, _ONE))
        count_a, count_b = (up.name("n", load(self.counts, x)) for x in (a, b))
        first_a, first_b = (up.name("first", load(self.firsts, x)) for x in (a, b))
        sooner = conj(eq(count_a, count_b), lt(first_b, first_a))
        wins = up.name("wins", disj(lt(count_a, count_b), sooner))
        count = up.name("count", select(wins, count_b, count_a))
        first = up.name("first", select(wins, first_b, first_a))
        others = ne(count, load(self.counts, node)), ne(first, load(self.firsts, node))
        up.set(changes, disj(*others))
        up.add(Store(self.counts, node, count), Store(self.firsts, node, first))
        block.add(While(conj(lt(_ONE, node), changes), up.body()))

    def value(self, block: Block, node: Reduce) -> Lowered:
        """The first row of the most frequent value."""
        some = block.name("some", lt(i64(0), load(self.counts, _ONE)))
        return row_value(block, self.rows, node, load(self.firsts, _ONE), some)
