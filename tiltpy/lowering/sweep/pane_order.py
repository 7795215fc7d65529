"""Order statistics of a pane: of the rows of one window, without what was before it.

No ranks are made of them. A quantile packs the numbers of the pane into an array and
selects from these. The greatest values pass a threshold, the least of those so far,
which few do after the first; whenever their array is full the greatest are selected.
"""

from tiltpy.abi.signature import LANES
from tiltpy.aggregates.pane_fold import Pane
from tiltpy.aggregates.quantiles import QuantilePlace
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.cell_arrays import CellIndex
from tiltpy.emit.row_access import ObjectRows
from tiltpy.emit.values import LoopValue
from tiltpy.ir.nodes import Expr, Reduce
from tiltpy.loops.build import (
    FALSE,
    TRUE,
    add,
    conj,
    convert,
    disj,
    eq,
    f64,
    greatest,
    i64,
    le,
    load,
    lt,
    ne,
    negate,
    select,
    sub,
)
from tiltpy.loops.nodes import (
    Bin,
    CountTrue,
    For,
    Lane,
    LExpr,
    Num,
    Pack,
    Splat,
    Store,
    Var,
    While,
    Wide,
)
from tiltpy.lowering.sweep.selection import Selection
from tiltpy.types import BOOL, I32, I64, Scalar, Struct


def number_type(element: Expr) -> Scalar:
    """The type in which the values of an element are compared."""
    assert isinstance(element.type, Scalar)
    return I32 if element.type == BOOL else element.type


class PaneNumbers:
    """The numbers of a pane, a vector at a time; `nans` counts those that are none."""

    def __init__(self, builder: KernelBuilder, rows: ObjectRows, pane: Pane) -> None:
        self.pane = pane
        self.type = number_type(pane.element)
        self.nans = builder.fresh(f"{rows.name}.nans") if self.type.is_float else None

    def begin(self, block: Block) -> None:
        """Start before the first vector."""
        if self.nans is not None:
            block.set(self.nans, i64(0))

    def read(self, block: Block, row: LExpr) -> tuple[LExpr, LExpr]:
        """The values of the rows from `row` on, and which of them are numbers."""
        inside = block.name("inside", lt(Lane(I64), sub(self.pane.end, row)))
        value = self.pane.value(block, CellIndex(row, mask=inside))
        number: LExpr = convert(Splat(value.scalar, value.scalar.type), self.type)
        number = block.name("number", number)
        valid = block.name("ok", conj(inside, value.valid))
        if self.nans is None:
            return number, valid
        is_nan = conj(valid, ne(number, number))
        block.set(self.nans, add(self.nans, CountTrue(is_nan, I64)))
        return number, block.name("is", conj(valid, eq(number, number)))


class PaneQuantile:
    """A quantile of each pane of an element."""

    name = "selection"

    def __init__(self, builder: KernelBuilder, rows: ObjectRows, node: Reduce) -> None:
        self.builder = builder
        self.rows = rows
        self.node = node
        kind = number_type(node.element)
        self.selection = Selection.of(builder, f"{rows.name}.pane", kind, rows.name)

    def compute(self, block: Block, pane: Pane) -> LoopValue:
        """Pack the numbers of a pane, and interpolate between two of them."""
        numbers = PaneNumbers(self.builder, self.rows, pane)
        size, row = self.builder.fresh("size"), self.builder.fresh("row")
        block.set(size, i64(0))
        numbers.begin(block)
        each = block.inner()
        pane.source.prefetch(each, row)
        number, exists = numbers.read(each, row)
        each.add(Pack(self.selection.array, size, number, exists))
        each.set(size, add(size, CountTrue(exists, I64)))
        block.add(For(row, pane.base, pane.end, each.body(), LANES))
        place = QuantilePlace.of(block, self.node, size)
        self.selection.emit(block, size, place.first, neighbour=True)
        result = place.value(block, self.selection.value, self.selection.after)
        occupied: LExpr = lt(i64(0), size)
        if numbers.nans is not None:
            occupied = lt(i64(0), add(size, numbers.nans))
            result = select(lt(i64(0), numbers.nans), f64(float("nan")), result)
        value = block.name("q", result)
        return LoopValue(self.node.type, value, block.name("some", occupied))


class PaneTop:
    """The greatest values of each pane of an element."""

    name = "a threshold"

    def __init__(self, builder: KernelBuilder, rows: ObjectRows, node: Reduce) -> None:
        self.builder = builder
        self.rows = rows
        self.node = node
        assert isinstance(node.type, Struct)
        self.most = len(node.type.fields)
        self.room = self.most + 8 * LANES
        kind, label = number_type(node.element), f"{rows.name}.top"
        self.best = builder.temporary(label, kind, (), self.room + 2 * LANES)
        self.selection = Selection.of(builder, label, kind, self.room)

    def compute(self, block: Block, pane: Pane) -> LoopValue:
        """Keep what may be among the greatest, and sort these at the end."""
        numbers = PaneNumbers(self.builder, self.rows, pane)
        fresh, best = self.builder.fresh, self.best
        size, row = fresh("size"), fresh("row")
        threshold, is_full = fresh("threshold", best.type), fresh("full", BOOL)
        block.set(size, i64(0))
        block.set(row, pane.base)
        block.set(is_full, FALSE)
        block.set(threshold, load(best, i64(0)))
        numbers.begin(block)
        fill, each = block.inner(), block.inner()
        pane.source.prefetch(each, row)
        number, exists = numbers.read(each, row)
        passes = disj(negate(is_full), lt(threshold, number))
        passes = each.name("passes", conj(exists, passes))
        each.add(Pack(best, size, number, passes))
        each.set(size, add(size, CountTrue(passes, I64)))
        each.set(row, add(row, i64(LANES)))
        fits = le(size, i64(self.room - LANES))
        remains = lt(row, pane.end)
        fill.add(While(conj(remains, fits), each.body()))
        prune = fill.inner()
        self._prune(prune, size, threshold)
        prune.set(is_full, TRUE)
        fill.when(lt(i64(self.most), size), prune)
        block.add(While(remains, fill.body()))
        self._sort(block, size)
        total: LExpr = size
        if numbers.nans is not None:
            total = block.name("total", add(size, numbers.nans))
        return self._result(block, size, total)

    def _prune(self, block: Block, size: Var, threshold: Var) -> None:
        """Keep the greatest of the array alone; the least of them is the threshold."""
        at, kept = self.builder.fresh("at"), self.builder.fresh("size")
        copy = block.inner()
        numbers = Wide(self.best, at, self.best.type)
        copy.add(Store(self.selection.array, at, numbers))
        block.add(For(at, i64(0), size, copy.body(), LANES))
        place = sub(size, i64(self.most))
        self.selection.emit(block, size, place, neighbour=False)
        block.set(threshold, self.selection.value)
        block.set(kept, i64(0))
        pack = block.inner()
        value = pack.name("x", Wide(self.best, at, self.best.type))
        inside = lt(Lane(I64), sub(size, at))
        stays = pack.name("stays", conj(inside, lt(threshold, value)))
        pack.add(Pack(self.best, kept, value, stays))
        pack.set(kept, add(kept, CountTrue(stays, I64)))
        block.add(For(at, i64(0), size, pack.body(), LANES))
        fill = Store(self.best, at, threshold)
        block.add(For(at, kept, i64(self.most), (fill,)))
        block.set(size, i64(self.most))

    def _sort(self, block: Block, size: Var) -> None:
        """Sort by insertion, the greatest first."""
        place, to = self.builder.fresh("place"), self.builder.fresh("to")
        each, back = block.inner(), block.inner()
        value = each.name("x", load(self.best, place))
        each.set(to, place)
        before = load(self.best, greatest(sub(to, i64(1)), i64(0)))
        back.add(Store(self.best, to, before))
        back.set(to, sub(to, i64(1)))
        each.add(While(conj(lt(i64(0), to), lt(before, value)), back.body()))
        each.add(Store(self.best, to, value))
        block.add(For(place, i64(1), size, each.body()))

    def _result(self, block: Block, size: LExpr, total: LExpr) -> LoopValue:
        """The greatest values, then the NaNs, then φ."""
        scalar = self.node.element.type
        assert isinstance(scalar, Scalar)
        fields = []
        for place in range(self.most):
            value: LExpr = convert(load(self.best, i64(place)), scalar)
            if scalar.is_float:
                value = Bin("+", value, Num(0.0, scalar), scalar)
                is_number = lt(i64(place), size)
                value = select(is_number, value, Num(float("nan"), scalar))
            exists = block.name("some", lt(i64(place), total))
            fields.append(LoopValue(scalar, block.name("top", value), exists))
        occupied = block.name("some", lt(i64(0), total))
        return LoopValue(self.node.type, None, occupied, tuple(fields))
