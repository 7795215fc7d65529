"""Windows of a few ticks at the events of a point stream: `LANES` events at once.

Events last a tick each, so a window of a few ticks has as many of them at most, and
they are the rows just before. In each lane is another event; the rows so many places
before those of all lanes are a vector, and their times say which are in the windows.
Nothing is kept from event to event.
"""

from dataclasses import dataclass

from tiltpy.aggregates.aggregate import State, lift_where
from tiltpy.aggregates.built_in import aggregate_for
from tiltpy.aggregates.central_moments import is_masked_spread
from tiltpy.aggregates.finalize import finish
from tiltpy.aggregates.masked_variance import MaskedSpread, in_lanes
from tiltpy.emit.builder import Block
from tiltpy.emit.output_arrays import OutputArrays, pack_snapshots
from tiltpy.emit.references import references
from tiltpy.emit.row_access import ObjectRows
from tiltpy.emit.values import LoopValue, lower_expr
from tiltpy.ir.nodes import (
    At,
    Element,
    EventBound,
    Reduce,
    TemporalExpr,
    Time,
    Window,
)
from tiltpy.loops.build import TRUE, add, conj, convert, i64, le, lt, sub
from tiltpy.loops.nodes import LExpr, Num, Splat, Var, Wide
from tiltpy.plan.strategies.event_scan import depth
from tiltpy.types import I32, Struct, columns


class EventVectors:
    """The visits of as many events as there are lanes, from `row` on."""

    def __init__(self, definition: TemporalExpr, rows: ObjectRows) -> None:
        self.definition = definition
        self.rows = rows
        _, windows = references(definition)
        self.deepest = max(map(depth, windows))

    def visit(self, block: Block, row: LExpr, out: OutputArrays, count: Var) -> None:
        """Write the results of the rows from `row` on, which all exist."""
        seen = _Seen(block, self.rows, row)
        value = lower_expr(block, seen.leaf, self.definition.body)
        end = seen.end(0)
        columns = out.columns(sub(end, i64(1)), end, value)
        pack_snapshots(block, out, count, columns, value.valid)


@dataclass(frozen=True, slots=True)
class _Seen:
    """What the events in the lanes see: rows some places before their own."""

    block: Block
    rows: ObjectRows
    row: LExpr

    def end(self, back: int) -> LExpr:
        """When those end."""
        return self.block.name("end", self.rows.wide_end(sub(self.row, i64(back))))

    def payload(self, back: int) -> LoopValue:
        """What they carry."""
        base = self.block.name("base", sub(self.row, i64(back)))
        fields = tuple(
            LoopValue(scalar, self.block.name("x", Wide(array, base, scalar)), TRUE)
            for array, (_, scalar) in zip(
                self.rows.values, columns(self.rows.type), strict=True
            )
        )
        if isinstance(self.rows.type, Struct):
            return LoopValue(self.rows.type, None, TRUE, fields)
        return fields[0]

    def leaf(self, node: At | EventBound | Reduce | Time | Element) -> LoopValue:
        """What an expression at the events reads of time."""
        match node:
            case At():
                return self.payload(0)
            case Reduce():
                return self._reduce(node)
            case _:
                raise AssertionError("the events are seen as a whole")

    def _reduce(self, node: Reduce) -> LoopValue:
        elements = [
            (self._element(node, back), self._inside(node.window, back))
            for back in range(depth(node.window), -(node.window.end == 0), -1)
        ]
        values = [
            (value, self.block.name("in", conj(value.valid, here)))
            for value, here in elements
        ]
        count: LExpr = Splat(Num(0, I32), I32)
        for _, here in values:
            count = self.block.name("count", add(count, convert(here, I32)))
        if is_masked_spread(node, len(values), self.block.costs):
            spread = [(in_lanes(value), here) for value, here in values]
            found = MaskedSpread(self.block.assembly, node, spread)
            return found.value(self.block, count)
        kept = aggregate_for(node.reduction, node.element.type, {})
        state: State = tuple(Splat(part, part.type) for part in kept.identity)
        for value, here in values:
            lifted = lift_where(self.block, kept, value, here, i64(0))
            merged = kept.merge(self.block, state, lifted)
            state = tuple(self.block.name("w", part) for part in merged)
        return finish(self.block, node, state, count)

    def _element(self, node: Reduce, back: int) -> LoopValue:
        given = self.payload(back)

        def leaf(_: At | EventBound | Reduce | Time | Element) -> LoopValue:
            return given

        return lower_expr(self.block, leaf, node.element)

    def _inside(self, window: Window, back: int) -> LExpr:
        """In which lanes the rows so far back are in the window.

        They end as many ticks before the events as they are back, or earlier.
        """
        time, end = self.end(0), self.end(back)
        late = lt(add(time, i64(window.start)), end) if back else TRUE
        soon = TRUE if -back <= window.end else le(end, add(time, i64(window.end)))
        return conj(late, soon)
