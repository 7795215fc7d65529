"""References read at events: of their rows, those beside, and windows that fold on."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tiltpy.aggregates.aggregate import Aggregate, State, lift_where, name_state
from tiltpy.aggregates.built_in import aggregate_for
from tiltpy.aggregates.finalize import finish
from tiltpy.emit.builder import Block
from tiltpy.emit.row_access import ObjectRows
from tiltpy.emit.values import LoopValue, Reading, lower_expr
from tiltpy.ir.nodes import At, Reduce, Time, Window
from tiltpy.lean_dataclass import dataclass
from tiltpy.loops.build import (
    TRUE,
    add,
    conj,
    convert,
    greatest,
    i64,
    le,
    lt,
    mul,
    negate,
    sub,
)
from tiltpy.loops.nodes import Bin, LExpr, Num, Splat
from tiltpy.lowering.sweep.running_window import RunningWindow
from tiltpy.plan.strategies.event_scan import folds_exactly
from tiltpy.types import I32, I64

Scans = Mapping[Window, RunningWindow]
"""Windows that fold on, with a state for each lane."""
Values = Sequence[tuple[LoopValue, LExpr]]
"""Values of rows, oldest first, each with the mask of the lanes that fold it."""


@dataclass(frozen=True, slots=True)
class WideEvents:
    """A vector of events from `row` on; the rows `back` before them exist."""

    block: Block
    rows: ObjectRows
    row: LExpr

    def end(self, back: int) -> LExpr:
        """The ends of the rows `back` before."""
        return self.block.name("end", self.rows.wide_end(sub(self.row, i64(back))))

    def payload(self, back: int) -> LoopValue:
        """The payloads of the rows `back` before."""
        base = self.block.name("base", sub(self.row, i64(back)))
        return self.rows.wide_value(self.block, base, TRUE)

    def exists(self, _back: int) -> LExpr:
        """Tell whether there are rows `back` before."""
        return TRUE

    def constant(self, number: Num) -> LExpr:
        """A number, in each lane."""
        return Splat(number, number.type)


@dataclass(frozen=True, slots=True)
class OneEvent:
    """An event; the row `back` before it need not exist."""

    block: Block
    rows: ObjectRows
    row: LExpr

    def _readable(self, back: int) -> LExpr:
        return greatest(sub(self.row, i64(back)), i64(0)) if back else self.row

    def end(self, back: int) -> LExpr:
        """The end of the row `back` before, if it exists."""
        return self.rows.end_at(self._readable(back))

    def payload(self, back: int) -> LoopValue:
        """The payload of the row `back` before, if it exists."""
        return self.rows.value(self._readable(back), TRUE)

    def exists(self, back: int) -> LExpr:
        """Tell whether there is a row `back` before."""
        return le(i64(back), self.row) if back else TRUE

    def constant(self, number: Num) -> LExpr:
        """A number."""
        return number


@dataclass(frozen=True, slots=True)
class EventReads:
    """References at events. Each window sees so many rows before at most: its depth.

    One with the depth -1 sees the row after.
    """

    events: WideEvents | OneEvent
    depths: Mapping[Window, int]
    scans: Scans

    @property
    def block(self) -> Block:
        """The block of statements that reads take."""
        return self.events.block

    def leaf(self, node: Reading) -> LoopValue:
        """The value of a reference at the events."""
        match node:
            case At():
                return self.events.payload(0)
            case Reduce() if node.window in self.scans:
                return self.scans[node.window].value(self.block, node)
            case Reduce():
                return self._reduce(node)
            case Time(offset=offset):
                time = add(self.events.end(0), i64(offset))
                return LoopValue(node.type, time, TRUE)
            case _:
                raise AssertionError("the events are seen as a whole")

    def _reduce(self, node: Reduce) -> LoopValue:
        deepest, nearest = self.depths[node.window], -(node.window.end == 0)
        if deepest < 0:  # the row after
            nearest = deepest - 1
        elements = [
            (self._element(node, back), self._inside(node.window, back))
            for back in range(deepest, nearest, -1)
        ]
        if node.reduction in ("first", "last"):  # that row is in the window, or none is
            ((value, inside),) = elements
            return replace(value, valid=inside)
        values = [
            (value, self.block.name("in", conj(value.valid, here)))
            for value, here in elements
        ]
        count = self.events.constant(Num(0, I32))
        for _, here in values:
            count = self.block.name("count", add(count, convert(here, I32)))
        aggregate = aggregate_for(node.reduction, node.element.type, {})
        if folds_exactly(node):
            state = self._fold(aggregate, values)
        else:
            state = self._fold_by_block(aggregate, values, -node.window.start)
        return finish(self.block, node, state, count)

    def _fold(self, aggregate: Aggregate, values: Values) -> State:
        """Fold values from the oldest to the newest."""
        state = self._identity(aggregate)
        for value, here in values:
            lifted = lift_where(self.block, aggregate, value, here, i64(0))
            combined = aggregate.combine(self.block, state, lifted)
            state = name_state(self.block, "w", combined)
        return state

    def _fold_by_block(self, aggregate: Aggregate, values: Values, ticks: int) -> State:
        """Fold values up to the event as two stacks do (see `window_blocks`).

        Those before the event's block of time are on the front: from the newest to the
        oldest. The others are on the back.
        """
        block = self.block
        newest = sub(self.events.end(0), i64(1))
        number = Bin("//", newest, i64(ticks), I64)
        begin = block.name("begin", mul(number, i64(ticks)))
        last = len(values) - 1
        early, late = [], []
        for index, (value, here) in enumerate(values):
            in_block = block.name("late", lt(begin, self.events.end(last - index)))
            early.append((value, conj(here, negate(in_block))))
            late.append((value, conj(here, in_block)))
        front = self._identity(aggregate)
        for value, here in reversed(early):
            lifted = lift_where(block, aggregate, value, here, i64(0))
            front = name_state(block, "f", aggregate.combine(block, lifted, front))
        back = self._fold(aggregate, late)
        return name_state(block, "w", aggregate.combine(block, front, back))

    def _identity(self, aggregate: Aggregate) -> State:
        return tuple(self.events.constant(number) for number in aggregate.identity)

    def _element(self, node: Reduce, back: int) -> LoopValue:
        payload = self.events.payload(back)

        def leaf(_: Reading) -> LoopValue:
            return payload

        return lower_expr(self.block, leaf, node.element)

    def _inside(self, window: Window, back: int) -> LExpr:
        """Tell whether the row `back` before is in the window.

        It ends at least `back` ticks before the event.
        """
        if back < 0:
            start = sub(self.events.end(back), i64(1))
            return lt(start, add(self.events.end(0), i64(window.end)))
        late = self.reaches(window, back) if back else TRUE
        if -back <= window.end:
            return late
        soon = le(self.events.end(back), add(self.events.end(0), i64(window.end)))
        return conj(late, soon)

    def reaches(self, window: Window, back: int) -> LExpr:
        """Tell whether the row `back` before exists and ends after the window starts.

        It may end after the window, too: rows before it need not.
        """
        start = add(self.events.end(0), i64(window.start))
        return conj(self.events.exists(back), lt(start, self.events.end(back)))
