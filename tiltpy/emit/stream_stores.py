"""A long output on its way past the caches.

To write to memory that is in no cache the machine reads it first, unless whole lines go
past the caches. So what a loop packs gathers in a basin that stays in the first cache,
and is poured out from there, line after line. The loop writes to the basin as if it was
the output; where there is not much to write it is.
"""

from collections.abc import Sequence

from tiltpy.abi import LANES
from tiltpy.emit.builder import Assembly, Block
from tiltpy.loops.build import INF, add, conj, eq, i64, load, lt, select, sub
from tiltpy.loops.nodes import (
    Array,
    Bin,
    Choose,
    LExpr,
    Pour,
    Store,
    Var,
    While,
    Wide,
)
from tiltpy.types import BOOL, I64


class StreamStore:
    """Where a loop writes: the snapshot behind `count` others goes to `near[count]`.

    `far` are the arrays of an output of that name, in all of which it has an entry, and
    `near` those to write to instead, in this order. Between two calls of `pass_on` the
    loop writes `most` snapshots, and as many before the first one.
    """

    def __init__(
        self, assembly: Assembly, name: str, far: Sequence[Array], most: int = LANES
    ) -> None:
        self.assembly = assembly
        self.name = name
        self.far = far
        costs = assembly.costs
        self.basins = tuple(
            assembly.temporary(
                f"{a.name}.basin", a.type, (), costs.staging_buffer + LANES + most
            )
            for a in far
        )
        self.near = tuple(
            Array(f"{a.name}.near", a.type, -1, written=True) for a in far
        )
        self.count = assembly.fresh(f"{name}.count")
        self.past = assembly.fresh(f"{name}.past", BOOL)
        self.gone = assembly.fresh(f"{name}.gone")
        self.limit = assembly.fresh(f"{name}.limit")

    def start(self, block: Block, rows: LExpr) -> None:
        """Before a loop over some rows."""
        block.set(self.count, i64(0))
        block.set(self.gone, i64(0))
        block.set(self.past, self._may_pass(rows))
        block.set(self.limit, select(self.past, i64(block.costs.staging_buffer), INF))
        for near, basin, far in zip(self.near, self.basins, self.far, strict=True):
            block.add(Choose(near, self.past, basin, far))

    def _may_pass(self, rows: LExpr) -> LExpr:
        """Whether there is much to write, to addresses that are aligned for it."""
        places = map(self.assembly.place, self.far)
        aligned = (eq(Bin("%", place, i64(64), I64), i64(0)) for place in places)
        return conj(lt(i64(self.assembly.costs.streamed_snapshots), rows), *aligned)

    def pass_on(self, block: Block) -> None:
        """Pour out whole vectors if the basin is full; the rest begins the next one."""
        pour = block.inner()
        rest = Bin("%", self.count, i64(LANES), I64)
        whole = pour.name("whole", sub(self.count, rest))
        for basin, far in zip(self.basins, self.far, strict=True):
            pour.add(Pour(far, self.gone, basin, whole))
            pour.add(Store(basin, i64(0), Wide(basin, whole, basin.type)))
        pour.set(self.gone, add(self.gone, whole))
        pour.set(self.count, sub(self.count, whole))
        block.when(lt(self.limit, self.count), pour)

    def finish(self, block: Block) -> Var:
        """Behind the loop; the variable that counts the snapshots of the output."""
        rest, copy = block.inner(), block.inner()
        row = self.assembly.fresh(f"{self.name}.rest")
        rest.set(row, i64(0))
        for basin, far in zip(self.basins, self.far, strict=True):
            copy.add(Store(far, add(self.gone, row), load(basin, row)))
        copy.set(row, add(row, i64(1)))
        rest.add(While(lt(row, self.count), copy.body()))
        block.when(self.past, rest)
        block.set(self.count, add(self.gone, self.count))
        return self.count
