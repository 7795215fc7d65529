"""Rank cursors: counts of a window by rank, and for each quantile the rank it is at.

A row that comes or leaves moves a quantile by one row at most. So its cursor goes to
the next rank that has rows, or to the one before, and no tree is searched. Ranks
without rows are passed `LANES` at a time, and those of whole blocks by the block's sum.
NaNs are counted apart.
"""

from tiltpy.abi.signature import LANES
from tiltpy.aggregates.quantiles import QuantilePlace, quantile_share
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.values import LoopValue
from tiltpy.ir.nodes import Reduce
from tiltpy.lean_dataclass import dataclass
from tiltpy.loops.build import (
    add,
    conj,
    convert,
    eq,
    f64,
    greatest,
    i64,
    le,
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
    Pack,
    Store,
    Var,
    While,
    Wide,
)
from tiltpy.lowering.sweep.ranking import NOWHERE as NO_RANK
from tiltpy.lowering.sweep.ranking import Ranking
from tiltpy.types import I32, I64

_ZERO, _ONE = Num(0, I32), i64(1)
NOWHERE = i64(NO_RANK)
_BLOCK = 16 * LANES
"""Ranks of a block, whose counts are summed."""
_BEFORE, _BEYOND = 2 * LANES, _BLOCK + 6 * LANES
"""Entries around those of the ranks, which are zero: scans go so far beyond."""


@dataclass(frozen=True, slots=True)
class QuantileCursor:
    """A rank, how many rows have lesser ones, and the next rank that has any if known.

    Where it is not known, `after` is less than all ranks.
    """

    rank: Var
    before: Var
    after: Var


class RankCursors:
    """The counts of one window; `size` is the number of values that are not NaN.

    Entry `_BEFORE + r` of `counts` is for rank `r`, and likewise in `sums` for a block.
    """

    name = "counts by rank with cursors"

    def __init__(self, builder: KernelBuilder, ranking: Ranking) -> None:
        self.builder = builder
        self.ranking = ranking
        name = ranking.rows.name
        self.counts = ranking.array("counts", I32, 2 * _BEYOND)
        self.sums = ranking.array("sums", I32, 2 * _BEYOND)
        self.lanes = builder.temporary(f"{name}.lanes", I32, (), LANES)
        self.size = builder.fresh(f"{name}.size")
        self.nans = builder.fresh(f"{name}.nans")
        self.cursors: dict[float, QuantileCursor] = {}

    def reduce(self, node: Reduce) -> None:
        """Add a reduction; those of one share have one cursor."""
        name, share = self.ranking.rows.name, quantile_share(node)
        if share not in self.cursors:
            self.cursors[share] = QuantileCursor(
                self.builder.fresh(f"{name}.cursor"),
                self.builder.fresh(f"{name}.before"),
                self.builder.fresh(f"{name}.after"),
            )

    def start(self, block: Block) -> None:
        """Clear the counts; the cursors stand before all rows."""
        at = self.builder.fresh("at")
        for array, entries in (
            (self.counts, self.ranking.count),
            (self.sums, Bin("//", self.ranking.count, i64(_BLOCK), I64)),
        ):
            clear = Store(array, at, _ZERO)
            block.add(For(at, i64(0), add(entries, i64(_BEYOND)), (clear,)))
        block.set(self.size, i64(0))
        block.set(self.nans, i64(0))
        for cursor in self.cursors.values():
            block.set(cursor.rank, i64(0))
            block.set(cursor.before, i64(0))
            block.set(cursor.after, NOWHERE)

    def insert(self, block: Block, row: LExpr, rank: LExpr) -> None:
        """Count a row of a rank."""
        del row
        self._change(block, rank, 1)

    def evict(self, block: Block, row: LExpr, rank: LExpr) -> None:
        """Uncount a row of a rank."""
        del row
        self._change(block, rank, -1)

    def _change(self, block: Block, rank: LExpr, by: int) -> None:
        number, nan = block.inner(), block.inner()
        nan.set(self.nans, add(self.nans, i64(by)))
        number.set(self.size, add(self.size, i64(by)))
        for array, entry in ((self.counts, rank), (self.sums, _block_of(rank))):
            at = number.name("at", add(entry, i64(_BEFORE)))
            number.add(Store(array, at, add(load(array, at), Num(by, I32))))
        for cursor in self.cursors.values():
            passed = convert(lt(rank, cursor.rank), I64)
            self._follow_change(number, cursor, rank, by)
            changed = add if by > 0 else sub
            number.set(cursor.before, changed(cursor.before, passed))
        if self.ranking.nan is None:
            block.add(*number.statements)
        else:
            block.either(eq(rank, self.ranking.nan), nan, number)

    def _follow_change(
        self, block: Block, cursor: QuantileCursor, rank: LExpr, by: int
    ) -> None:
        """Keep what is known of the next rank, when rows of a rank have changed."""
        after = cursor.after
        if by > 0:
            nearer = conj(lt(cursor.rank, rank), lt(rank, after))
            block.set(after, select(nearer, rank, after))
        else:
            gone = conj(eq(rank, after), eq(self._count(rank), i64(0)))
            block.set(after, select(gone, NOWHERE, after))

    def value(self, block: Block, node: Reduce) -> LoopValue:
        """Interpolate between the two values next to the quantile's position."""
        cursor, high_rank = (
            self.cursors[quantile_share(node)],
            self.builder.fresh("high"),
        )
        place = QuantilePlace.of(block, node, self.size)
        self._move(block, cursor, place.first)
        block.set(high_rank, cursor.rank)
        follow = block.inner()
        self._find_after(follow, cursor)
        follow.set(high_rank, cursor.after)
        last = sub(add(cursor.before, self._count(cursor.rank)), _ONE)
        remains = lt(add(place.first, _ONE), self.size)
        block.when(conj(remains, eq(place.first, last)), follow)
        low, high = map(self.ranking.value_at, (cursor.rank, high_rank))
        result = place.value(block, low, high)
        occupied = lt(i64(0), add(self.size, self.nans))
        if self.ranking.nan is not None:
            result = select(lt(i64(0), self.nans), f64(float("nan")), result)
        return LoopValue(node.type, block.name("q", result), occupied)

    def _count(self, rank: LExpr) -> LExpr:
        return convert(load(self.counts, add(rank, i64(_BEFORE))), I64)

    def _move(self, block: Block, cursor: QuantileCursor, position: LExpr) -> None:
        """Move a cursor to the rank of a position, of at least one row."""
        back, on = block.inner(), block.inner()
        occupied = lt(i64(0), self._count(cursor.rank))
        back.set(cursor.after, select(occupied, cursor.rank, cursor.after))
        self._previous(back, cursor.rank)
        back.set(cursor.before, sub(cursor.before, self._count(cursor.rank)))
        block.add(While(lt(position, cursor.before), back.body()))
        count = self._count(cursor.rank)
        on.set(cursor.before, add(cursor.before, count))
        self._find_after(on, cursor)
        on.set(cursor.rank, cursor.after)
        on.set(cursor.after, NOWHERE)
        remains = lt(position, self.size)
        behind = le(add(cursor.before, count), position)
        block.add(While(conj(remains, behind), on.body()))

    def _find_after(self, block: Block, cursor: QuantileCursor) -> None:
        """Find the next rank of a cursor that has rows, which exists, unless known."""
        search = block.inner()
        self._next(search, cursor.rank, cursor.after)
        block.when(lt(cursor.after, i64(0)), search)

    def _next(self, block: Block, rank: Var, to: Var) -> None:
        """Set `to` to the first rank after one that has rows, which must exist."""
        there = self.builder.fresh("block")
        block.set(there, _block_of(rank))
        end = mul(add(there, _ONE), i64(_BLOCK))
        hits = self._scan(block, self.counts, add(rank, _ONE), end, to)
        far = block.inner()
        end = add(_block_of(self.ranking.count), _ONE)
        self._scan(far, self.sums, add(there, _ONE), end, there)
        end = add(self.ranking.count, _ONE)
        self._scan(far, self.counts, mul(there, i64(_BLOCK)), end, to)
        block.when(eq(hits, i64(0)), far)

    def _previous(self, block: Block, rank: Var) -> None:
        """Move to the last rank before one that has rows, which must exist."""
        there = self.builder.fresh("block")
        block.set(there, _block_of(rank))
        start = mul(there, i64(_BLOCK))
        hits = self._scan_back(block, self.counts, sub(rank, _ONE), start, rank)
        far = block.inner()
        self._scan_back(far, self.sums, sub(there, _ONE), i64(0), there)
        newest = sub(mul(add(there, _ONE), i64(_BLOCK)), _ONE)
        self._scan_back(far, self.counts, newest, i64(0), rank)
        block.when(eq(hits, i64(0)), far)

    def _scan(
        self, block: Block, array: Array, start: LExpr, stop: LExpr, to: Var
    ) -> Var:
        """Set `to` to the first entry from `start` on that is not zero; count hits.

        There may be none before `stop`.
        """
        at, hits = self.builder.fresh("at"), self.builder.fresh("hits")
        block.set(at, start)
        occupied = lt(_ZERO, Wide(array, add(at, i64(_BEFORE)), I32))
        self._look(block, at, hits, occupied, LANES, lt(at, stop))
        block.add(Pack(self.lanes, i64(0), Lane(I32), occupied))
        block.set(to, add(at, convert(load(self.lanes, i64(0)), I64)))
        return hits

    def _scan_back(
        self, block: Block, array: Array, start: LExpr, stop: LExpr, to: Var
    ) -> Var:
        """Set `to` to the last entry up to `start` that is not zero; count hits."""
        at, hits = self.builder.fresh("at"), self.builder.fresh("hits")
        block.set(at, start)
        occupied = lt(_ZERO, Wide(array, add(at, i64(_BEFORE - LANES + 1)), I32))
        self._look(block, at, hits, occupied, -LANES, le(stop, at))
        block.add(Pack(self.lanes, i64(0), Lane(I32), occupied))
        lane = load(self.lanes, greatest(sub(hits, _ONE), i64(0)))
        block.set(to, add(sub(at, i64(LANES - 1)), convert(lane, I64)))
        return hits

    def _look(
        self,
        block: Block,
        at: Var,
        hits: Var,
        occupied: LExpr,
        step: int,
        remains: LExpr,
    ) -> None:
        """Move `at` by vectors to one with entries that are `occupied`."""
        head, body = block.inner(), block.inner()
        head.set(hits, CountTrue(occupied, I64))
        body.set(at, add(at, i64(step)))
        none = eq(hits, i64(0))
        block.add(While(conj(none, remains), body.body(), head.body()))


def _block_of(rank: LExpr) -> LExpr:
    return Bin("//", rank, i64(_BLOCK), I64)
