"""The map over rows: a loop that visits every row, without any search.

It serves an object that depends on one input at the same time only, and is φ where that
is: one row in, at most one snapshot out. Where that cannot be φ either, the times of
the result are the row's own and only values are written.
"""

from tiltpy.abi import Loop, Read, Shape, SlotKind
from tiltpy.ir.nodes import (
    At,
    CutPoint,
    Element,
    EventBound,
    Reduce,
    TemporalExpr,
    Time,
)
from tiltpy.ir.traversal import walk
from tiltpy.loops.build import FALSE, TRUE, add, convert, i64, sub
from tiltpy.loops.nodes import For, LExpr, Store, Var
from tiltpy.lowering.assembly import Assembly, Block
from tiltpy.lowering.following import bound_of
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
