"""Windows of all the past at the events of a point stream: `LANES` events at once.

Each lane has an event. What a window holds at it is what it held before the first lane,
and the lanes up to this one: a prefix scan in a logarithmic number of steps. States are
combined in another order than one by one, which exact ones do not show.
"""

from copy import copy
from dataclasses import replace

from tiltpy.abi.signature import LANES
from tiltpy.aggregates.aggregate import (
    Aggregate,
    State,
    lift_where,
    name_state,
    variables_of,
)
from tiltpy.aggregates.built_in import COUNT, EXISTS, short_count
from tiltpy.aggregates.window_elements import Track
from tiltpy.emit.builder import Block
from tiltpy.emit.output_arrays import OutputArrays, pack_snapshots
from tiltpy.emit.row_access import ObjectRows
from tiltpy.emit.values import LoopValue, Reading, lower_expr
from tiltpy.ir.nodes import At, Reduce, TemporalExpr
from tiltpy.loops.build import (
    FALSE,
    TRUE,
    add,
    conj,
    convert,
    disj,
    i64,
    negate,
    select,
)
from tiltpy.loops.nodes import Earlier, Extract, Fill, LExpr, Select, Splat, Var
from tiltpy.lowering.sweep.running_window import RunningWindow
from tiltpy.types import BOOL, STRING


class RunningVectors:
    """The visits of vectors of events, which all `windows` take in."""

    def __init__(
        self,
        definition: TemporalExpr,
        rows: ObjectRows,
        windows: list[RunningWindow],
    ) -> None:
        self.definition = definition
        self.rows = rows
        self.windows = windows

    def visit(self, block: Block, row: LExpr, out: OutputArrays, count: Var) -> None:
        """Write the results of the vector of rows from `row` on, which all exist."""
        payload = self.rows.wide_value(block, row, TRUE)
        scans = {
            each.window: scan_window(block, each, payload, TRUE, None)
            for each in self.windows
        }

        def leaf(node: Reading) -> LoopValue:
            match node:
                case At():
                    return payload
                case Reduce():
                    return scans[node.window].value(block, node)
                case _:
                    raise AssertionError("an event's value and windows are seen alone")

        value = lower_expr(block, leaf, self.definition.body)
        pack_snapshots(block, out, count, out.payload_columns(value), TRUE)
        for window in self.windows:
            leave_last(block, window, scans[window.window])
            block.set(window.hi.row, add(row, i64(LANES)))


def scan_window(
    block: Block,
    window: RunningWindow,
    payload: LoopValue,
    inside: LExpr,
    restarts: LExpr | None,
) -> RunningWindow:
    """Make the window with a state for each lane.

    It folds the `payload` of those that are `inside`, anew from one that `restarts`.
    """
    scan = copy(window)
    scan.occupied = restarts is None
    scan.states = copy(window.states)
    scan.states.tracks = {}
    for element, track in window.tracks.items():
        value = lower_expr(block, lambda _: payload, element)
        value = replace(value, valid=conj(value.valid, inside))
        lanes = copy(track)
        lanes.running = {
            aggregate: _scan(block, track, aggregate, value, restarts)
            for aggregate in track.running
        }
        scan.tracks[element] = lanes
    return scan


def leave_last(block: Block, window: RunningWindow, scan: RunningWindow) -> None:
    """Leave the states of the last lane."""
    for element, track in window.tracks.items():
        lanes = scan.tracks[element]
        for aggregate, states in track.running.items():
            for state, scanned in zip(states, lanes.running[aggregate], strict=True):
                block.set(state, Extract(scanned, LANES - 1, state.type))


def spread_restarts(block: Block, restarts: LExpr) -> LExpr:
    """Tell of each lane whether it, or one before, restarts."""
    by = 1
    while by < LANES:
        restarts = _spread(block, restarts, by)
        by *= 2
    return restarts


def _spread(block: Block, restarts: LExpr, by: int) -> LExpr:
    earlier = Earlier(restarts, FALSE, by, BOOL)
    return block.name("restarted", disj(restarts, earlier))


def _where(restarts: LExpr, state: LExpr, combined: LExpr) -> LExpr:
    """Choose the state of a lane that restarts; masks of wide lanes are made once."""
    match combined:
        case Select(condition=test, then=earlier, otherwise=own) if own == state:
            return select(conj(negate(restarts), test), earlier, state)
        case Select(condition=test, then=own, otherwise=earlier) if own == state:
            return select(disj(restarts, test), state, earlier)
        case _:
            return select(restarts, state, combined)


def _scan(
    block: Block,
    track: Track,
    aggregate: Aggregate,
    value: LoopValue,
    restarts: LExpr | None,
) -> tuple[Var, ...]:
    """Make the state of each lane, of those up to it and before all."""
    before = track.running[aggregate]
    if aggregate.name in ("first.value", "last.value"):
        return _fill(block, aggregate, before, value, restarts)
    return _combine(block, aggregate, before, value, restarts)


def _combine(
    block: Block,
    aggregate: Aggregate,
    before: tuple[Var, ...],
    value: LoopValue,
    restarts: LExpr | None,
) -> tuple[Var, ...]:
    """Combine the state of each lane with those of the lanes before, and before all.

    Those of the lanes alone are counted in the narrowest integers.
    """

    def name(state: State) -> State:
        wide = (Splat(number, number.type) for number in state)
        return name_state(block, aggregate.name, tuple(wide))

    def combine(earlier: State, state: State) -> State:
        combined = aggregate.combine(block, earlier, state)
        if restarts is None:
            return name(combined)
        pairs = zip(state, combined, strict=True)
        return name(tuple(_where(restarts, *pair) for pair in pairs))

    short = short_count(LANES) if aggregate == COUNT else aggregate
    state = name(lift_where(block, short, value, value.valid, i64(0)))
    by = 1
    while by < LANES:
        earlier = tuple(
            Earlier(number, neutral, by, number.type)
            for number, neutral in zip(state, short.identity, strict=True)
        )
        state = combine(earlier, state)
        if restarts is not None:
            restarts = _spread(block, restarts, by)
        by *= 2
    kinds = zip(state, aggregate.types, strict=True)
    state = tuple(convert(number, kind) for number, kind in kinds)
    return variables_of(combine(before, state))


def _fill(
    block: Block,
    aggregate: Aggregate,
    before: tuple[Var, ...],
    value: LoopValue,
    restarts: LExpr | None,
) -> tuple[Var, ...]:
    """Fill lanes with the nearest value before them, or the first since a restart.

    A lane takes its own where it restarts, even if that is none.
    """
    some, *numbers = before
    (exists,) = _combine(block, EXISTS, (some,), value, restarts)
    takes = value.valid
    if aggregate.name == "first.value":
        earlier = Earlier(exists, Splat(some, BOOL), 1, BOOL)
        seen = earlier if restarts is None else conj(earlier, negate(restarts))
        takes = conj(takes, negate(block.name("seen", seen)))
    if restarts is not None:
        takes = disj(takes, restarts)
    takes = block.name("takes", Splat(takes, BOOL))
    own = aggregate.lift(block, i64(0), value)
    if any(number.type == STRING for number in numbers):  # no code but of a string
        own = lift_where(block, aggregate, value, value.valid, i64(0))
    filled = tuple(
        Fill(mine, takes, number, False, number.type)
        for mine, number in zip(own[1:], numbers, strict=True)
    )
    return variables_of((exists, *name_state(block, aggregate.name, filled)))
