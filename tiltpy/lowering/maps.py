"""The map: loops that visit every row, or every sample, without any search.

Over *rows*: an object that depends on one input at the same time only, and is φ where
that is: one row in, at most one snapshot out. Over *samples*: every input is sampled at
the loop's own precision, so that at each grid point every reference moves on by one
row. Both know beforehand that each visit is a snapshot of its own; where it cannot be φ
either, the times of the result are implied and only values are written.
"""

from tiltpy.abi import Loop, Read, Shape, SlotKind, TimeLayout
from tiltpy.ir.nodes import (
    At,
    Cut,
    CutPoint,
    CutTime,
    CutWindow,
    Element,
    EventBound,
    Reduce,
    TemporalExpr,
    Time,
)
from tiltpy.ir.traversal import walk
from tiltpy.loops.build import FALSE, TRUE, add, convert, i64, least, lt, mul, sub
from tiltpy.loops.nodes import Bin, For, LExpr, Store, Var, While
from tiltpy.lowering.assembly import Assembly, Block
from tiltpy.lowering.blocks import BlockWindow
from tiltpy.lowering.following import bound_of
from tiltpy.lowering.references import reductions, references
from tiltpy.lowering.rows import ObjectRows, Written
from tiltpy.lowering.sweep import write_value
from tiltpy.lowering.values import Lowered, lower_expr, phi
from tiltpy.types import I64


def maps_rows(definition: TemporalExpr, inputs: dict[str, ObjectRows]) -> bool:
    """Whether an object is a map over the rows of one input."""
    if len(definition.cuts) != 1 or definition.tdom.precision != 1:
        return False
    (cut,) = definition.cuts
    if not isinstance(cut, CutPoint) or cut.offset != 0:
        return False
    if cut.object not in inputs or not inputs[cut.object].disjoint:
        return False
    if any(isinstance(node, Reduce | Time) for node in walk(definition.body)):
        return False

    def nothing(node: At | EventBound | Reduce | Time | Element) -> Lowered:
        return phi(node.type)

    trial = Block(Assembly({}))
    return lower_expr(trial, nothing, definition.body).valid == FALSE


class RowMap:
    """A loop over the rows of one input."""

    def __init__(
        self,
        assembly: Assembly,
        definition: TemporalExpr,
        objects: dict[str, ObjectRows],
    ) -> None:
        (cut,) = definition.cuts
        assert isinstance(cut, CutPoint)
        self.assembly = assembly
        self.definition = definition
        self.rows = objects[cut.object]
        self.implicit = False

    def lower(self, block: Block, out: Written) -> Var:
        """Append the loop; returns the variable that counts the snapshots written."""
        name = self.definition.name
        first = self.assembly.number(SlotKind.FIRST, name)
        last = self.assembly.number(SlotKind.LAST, name)
        row = self.assembly.fresh("row")

        def leaf(node: At | EventBound | Reduce | Time | Element) -> Lowered:
            if isinstance(node, EventBound):
                return bound_of(self.rows, node, row, self.rows.exists(row))
            return self.rows.value(row, self.rows.exists(row))

        body = block.inner()
        value = lower_expr(body, leaf, self.definition.body)
        self.implicit = value.valid == TRUE
        count = self.assembly.fresh(f"{name}.count")
        begin, end = self.rows.start_at(row), self.rows.end_at(row)
        place = _place(body, out, count, value, begin, end, sub(row, first))
        block.set(count, i64(0))
        block.add(For(row, first, last, body.body()))
        if place is None:
            block.set(count, sub(last, first))
        return count

    def describe(self) -> Loop:
        """What the runtime must know of the loop."""
        return Loop(
            self.definition.name,
            self.definition.tdom,
            self.definition.type,
            Shape.ROWS,
            (Read(self.rows.name, -1, 0),),
            ((self.rows.name, 1),),
            every_cell=False,
            implicit_times=self.implicit,
        )


def _place(
    block: Block,
    out: Written,
    count: Var,
    value: Lowered,
    begin: LExpr,
    end: LExpr,
    visit: LExpr,
) -> Var | None:
    """Write a visit's snapshot: at its own number, or after the others if it exists.

    Storing first and counting afterwards keeps the loop free of branches.
    """
    if value.valid == TRUE:
        write_value(block, out, visit, value)
        return None
    block.add(Store(out.starts, count, begin), Store(out.ends, count, end))
    write_value(block, out, count, value)
    block.set(count, add(count, convert(value.valid, I64)))
    return count


def maps_samples(
    definition: TemporalExpr, objects: dict[str, ObjectRows], sampled: set[str]
) -> bool:
    """Whether every reference is to a sampled input and each cell a snapshot.

    Whether the periods are the loop's precision is seen when the data is there.
    """
    points, windows = references(definition)
    names = {point.object for point in points} | {window.object for window in windows}
    if not names or not names <= sampled:
        return False

    def cuts_always(cut: Cut) -> bool:
        match cut:
            case CutPoint() | CutTime():
                return True
            case CutWindow(window=window, element=element):
                rows = objects[window.object]
                trial = BlockWindow(Assembly({}), rows, window, 1)
                return trial.contributes_always(element)
            case _:
                return False

    return any(cuts_always(cut) for cut in definition.cuts)


def sampled_inputs(objects: dict[str, ObjectRows]) -> set[str]:
    """The inputs with a regular time axis and without missing rows."""
    return {
        name
        for name, rows in objects.items()
        if rows.layout.time is TimeLayout.SAMPLED and rows.complete
    }


class SampledMap:
    """A loop over the grid points of regular inputs, one row further at each."""

    def __init__(
        self,
        assembly: Assembly,
        definition: TemporalExpr,
        objects: dict[str, ObjectRows],
    ) -> None:
        self.assembly = assembly
        self.definition = definition
        self.objects = objects
        self.precision = i64(definition.tdom.precision)
        points, windows = references(definition)
        self.points = points
        self.windows = {
            window: BlockWindow(
                assembly, objects[window.object], window, definition.tdom.precision
            )
            for window in windows
        }
        for node in reductions(definition):
            self.windows[node.window].reduce(node)
        self.implicit = False

    def lower(self, block: Block, out: Written) -> Var:
        """Append the loop; returns the variable that counts the snapshots written."""
        name = self.definition.name
        first = self.assembly.number(SlotKind.FIRST, name)
        last = self.assembly.number(SlotKind.LAST, name)
        bases = {point: self._base(block, point, first) for point in self.points}
        for window, blocks in self.windows.items():
            oldest = self._index(window.object, add(first, i64(window.start)))
            newest = self._index(window.object, add(first, i64(window.end - 1)))
            blocks.start(block, oldest, newest)
        cell = self.assembly.fresh("cell")
        body = block.inner()
        now = body.name("now", add(first, mul(cell, self.precision)))

        def leaf(node: At | EventBound | Reduce | Time | Element) -> Lowered:
            match node:
                case Reduce():
                    return self.windows[node.window].value(body, node, cell)
                case Time(offset=offset):
                    return Lowered(node.type, add(now, i64(offset)), TRUE)
                case At(object=name, offset=offset):
                    row = add(cell, bases[CutPoint(name, offset)])
                    return self.objects[name].value(row, TRUE)
                case EventBound(object=name, offset=offset):
                    row = add(cell, bases[CutPoint(name, offset)])
                    return bound_of(self.objects[name], node, row, TRUE)
                case _:
                    raise AssertionError("an element outside of a window")

        value = lower_expr(body, leaf, self.definition.body)
        self.implicit = value.valid == TRUE
        count = self.assembly.fresh(f"{name}.count")
        begin = sub(now, self.precision)
        _place(body, out, count, value, begin, now, cell)
        steps = Bin("//", sub(last, first), self.precision, I64)
        cells = block.name("cells", add(steps, i64(1)))
        block.set(count, i64(0))
        self._loop(block, cell, cells, body)
        if self.implicit:
            block.set(count, cells)
        return count

    def _loop(self, block: Block, cell: Var, cells: LExpr, body: Block) -> None:
        """The loop over all cells, in stretches for which the windows are ready."""
        if not self.windows:
            block.add(For(cell, i64(0), cells, body.body()))
            return
        reached = self.assembly.fresh("reached")
        outer = block.inner()
        for blocks in self.windows.values():
            blocks.fill(outer, reached)
        ready = [blocks.ready for blocks in self.windows.values()]
        stop = outer.name("stop", least(cells, *ready))
        outer.add(For(cell, reached, stop, body.body()))
        outer.set(reached, stop)
        block.set(reached, i64(0))
        block.add(While(lt(reached, cells), outer.body()))

    def _index(self, name: str, time: LExpr) -> LExpr:
        """The row that ends after a time and starts at or before it."""
        rows = self.objects[name]
        return Bin("//", sub(time, rows.start), rows.period, I64)

    def _base(self, block: Block, point: CutPoint, first: LExpr) -> LExpr:
        """The row that a point reference sees at the first grid point."""
        time = add(first, i64(point.offset - 1))
        return block.name("base", self._index(point.object, time))

    def describe(self) -> Loop:
        """What the runtime must know of the loop."""
        reads = tuple(
            Read(point.object, point.offset - 1, point.offset) for point in self.points
        ) + tuple(Read(w.object, w.start, w.end) for w in self.windows)
        return Loop(
            self.definition.name,
            self.definition.tdom,
            self.definition.type,
            Shape.SAMPLED,
            reads,
            (),
            every_cell=True,
            implicit_times=self.implicit,
        )
