"""Staging buffers for long outputs, flushed with non-temporal stores.

An ordinary store to memory outside the caches reads the line first. So the loop packs
into a staging buffer in the first-level cache, which is flushed in whole lines by
non-temporal stores. For short outputs the loop writes to the output itself.
"""

from collections.abc import Sequence

from tiltpy.abi.signature import LANES
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.join_snapshots import join_snapshots
from tiltpy.emit.output_arrays import OutputArrays
from tiltpy.loops.build import INF, add, conj, eq, i64, load, lt, select, sub
from tiltpy.loops.nodes import Array, Bin, Choose, LExpr, Pour, Store, Var, While, Wide
from tiltpy.types import BOOL, I64


def pays_streaming(
    builder: KernelBuilder, arrays: Sequence[Array], rows: LExpr, beside: int = 0
) -> LExpr:
    """Decide whether to store so many rows past the caches; arrays must be aligned.

    `beside` are the bytes that the kernel stores to other outputs with each row.
    """
    addresses = map(builder.address, arrays)
    aligned = (eq(Bin("%", address, i64(64), I64), i64(0)) for address in addresses)
    stored = beside + sum(array.type.entry_bytes for array in arrays)
    most = builder.costs.streamed_bytes // stored
    return conj(lt(i64(most), rows), *aligned)


class StreamStore:
    """A store of snapshots by way of staging buffers; the next goes to `count`.

    `target` are the arrays of the output `name`, `staged` those to write to in their
    place, in this order. The loop writes at most `most` snapshots between two flushes.
    Those of `distinct` are joined while they are in the cache.
    """

    def __init__(
        self,
        builder: KernelBuilder,
        name: str,
        target: Sequence[Array],
        most: int = LANES,
        distinct: OutputArrays | None = None,
    ) -> None:
        self.builder = builder
        self.name = name
        self.target = target
        self.distinct = distinct
        costs = builder.costs
        self.buffers = tuple(
            builder.temporary(
                f"{a.name}.basin", a.type, (), costs.staging_buffer + LANES + most
            )
            for a in target
        )
        self.staged = tuple(
            Array(f"{a.name}.near", a.type, -1, written=True) for a in target
        )
        self.count = builder.fresh(f"{name}.count")
        self.streams = builder.fresh(f"{name}.past", BOOL)
        self.stored = builder.fresh(f"{name}.gone")
        self.limit = builder.fresh(f"{name}.limit")
        self.joined = builder.fresh(f"{name}.joined")

    def start(self, block: Block, rows: LExpr) -> None:
        """Start before a loop over `rows` rows."""
        block.set(self.count, i64(0))
        block.set(self.stored, i64(0))
        block.set(self.streams, pays_streaming(self.builder, self.target, rows))
        most: LExpr = i64(block.costs.staging_buffer)
        if self.distinct is None:
            most = select(self.streams, most, INF)
        else:
            block.set(self.joined, i64(1))
        block.set(self.limit, most)
        arrays = zip(self.staged, self.buffers, self.target, strict=True)
        for staged, buffer, target in arrays:
            block.add(Choose(staged, self.streams, buffer, target))

    def flush(self, block: Block) -> None:
        """Flush whole vectors if the buffers are full; move the rest to their start."""
        pour = block.inner()
        if self.distinct is None:
            self._pour(pour, self.count)
        else:
            self._join(pour, self.distinct)
        block.when(lt(self.limit, self.count), pour)

    def _join(self, block: Block, distinct: OutputArrays) -> None:
        """Join the last snapshots; flush all but the last, which the next may join."""
        pour = block.inner()
        join_snapshots(
            block, distinct.with_arrays(self.staged), self.count, self.joined
        )
        self._pour(pour, sub(self.count, i64(1)))
        block.when(self.streams, pour)
        block.set(self.joined, self.count)
        more = i64(block.costs.staging_buffer)
        block.set(self.limit, select(self.streams, more, add(self.count, more)))

    def _pour(self, pour: Block, ready: LExpr) -> None:
        rest = Bin("%", ready, i64(LANES), I64)
        whole = pour.name("whole", sub(ready, rest))
        for buffer, target in zip(self.buffers, self.target, strict=True):
            pour.add(Pour(target, self.stored, buffer, whole))
            pour.add(Store(buffer, i64(0), Wide(buffer, whole, buffer.type)))
        pour.set(self.stored, add(self.stored, whole))
        pour.set(self.count, sub(self.count, whole))

    def finish(self, block: Block) -> Var:
        """Flush after the loop; return the variable that counts the snapshots."""
        if self.distinct is not None:
            arrays = self.distinct.with_arrays(self.staged)
            join_snapshots(block, arrays, self.count, self.joined)
        rest, copy = block.inner(), block.inner()
        row = self.builder.fresh(f"{self.name}.rest")
        rest.set(row, i64(0))
        for buffer, target in zip(self.buffers, self.target, strict=True):
            copy.add(Store(target, add(self.stored, row), load(buffer, row)))
        copy.set(row, add(row, i64(1)))
        rest.add(While(lt(row, self.count), copy.body()))
        block.when(self.streams, rest)
        block.set(self.count, add(self.stored, self.count))
        return self.count
