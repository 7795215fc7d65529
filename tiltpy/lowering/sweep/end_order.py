"""The rows of an object in order of their ends, found before the loop.

Where ends are in no order, a window evicts its rows in this one: a cursor that only
moves forward. All windows over the object share it.
"""

from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.row_access import ObjectRows
from tiltpy.loops.build import (
    INF,
    add,
    conj,
    convert,
    greatest,
    i64,
    least,
    load,
    lt,
    select,
    sub,
)
from tiltpy.loops.nodes import For, LExpr, Num, Store, Var, While
from tiltpy.lowering.sweep.radix_sort import RadixSort
from tiltpy.types import I32, I64, U64


class EndOrder:
    """The order of the ends of all rows that the kernel gets of an object."""

    def __init__(self, builder: KernelBuilder, rows: ObjectRows) -> None:
        self.builder = builder
        self.rows = rows
        self.sort = RadixSort.of(builder, rows.name, "by_end")
        self._done = False

    def start(self, block: Block) -> None:
        """Sort the rows, unless an earlier loop of the kernel has."""
        if self._done:
            return
        self._done = True
        # Their keys are the distances from the least end.
        low = self.builder.fresh(f"{self.rows.name}.least")
        first, row = self.builder.fresh("row"), self.builder.fresh("row")
        search, each = block.inner(), block.inner()
        block.set(low, INF)
        search.set(low, least(low, self.rows.end_at(first)))
        block.add(For(first, i64(0), self.rows.count, search.body()))
        block.set(self.sort.span, Num(0, U64))
        distance = each.name("key", convert(sub(self.rows.end_at(row), low), U64))
        each.set(self.sort.span, greatest(self.sort.span, distance))
        each.add(
            Store(self.sort.order, row, convert(row, I32)),
            Store(self.sort.rest, row, distance),
        )
        block.add(For(row, i64(0), self.rows.count, each.body()))
        self.sort.emit(block, self.rows.count)

    def find_span(self, block: Block, stay: int) -> Var:
        """Find how many rows start from a row on until `stay` ticks after its end.

        The most of any row: so far apart are two rows of a window at most.
        """
        span = self.builder.fresh(f"{self.rows.name}.span")
        stop = self.builder.fresh(f"{self.rows.name}.stop")
        place = self.builder.fresh("place")
        each, later = block.inner(), block.inner()
        at = add(self.sort.base, place)
        row = each.name("row", convert(load(self.sort.order, at), I64))
        until = each.name("until", add(self.rows.end_at(row), i64(stay)))
        later.set(stop, add(stop, i64(1)))
        starts = lt(self.rows.start_or_never(stop), until)
        each.add(While(conj(lt(stop, self.rows.count), starts), later.body()))
        each.set(span, greatest(span, sub(stop, row)))
        block.set(span, i64(0))
        block.set(stop, i64(0))
        block.add(For(place, i64(0), self.rows.count, each.body()))
        return span


class EndCursor:
    """A position in the order of ends; `due` is the end of the `row` there, or INF."""

    def __init__(self, builder: KernelBuilder, order: EndOrder) -> None:
        self.order = order
        name = order.rows.name
        self.place = builder.fresh(f"{name}.ended")
        self.row = builder.fresh(f"{name}.ending")
        self.due: Var = builder.fresh(f"{name}.due")

    def start(self, block: Block) -> None:
        """Move to the row that ends first."""
        self.order.start(block)
        block.set(self.place, i64(0))
        self._look(block)

    def step(self, block: Block) -> None:
        """Move to the row that ends next."""
        block.set(self.place, add(self.place, i64(1)))
        self._look(block)

    def _look(self, block: Block) -> None:
        rows, sort = self.order.rows, self.order.sort
        some = block.name("some", lt(self.place, rows.count))
        at: LExpr = load(sort.order, add(sort.base, self.place))
        block.set(self.row, select(some, convert(at, I64), i64(0)))
        block.set(self.due, select(some, rows.end_at(self.row), INF))
