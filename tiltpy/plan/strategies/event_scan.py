"""Event scan: one visit an event of a point stream, windows beside it.

In a time range that ends before the last rows of every object there is nothing to look
for: each event is a visit. A window that ends with the event takes it in. Where windows
last a few ticks, `LANES` events are visited at once: in each lane is another event, and
the rows just before are in its windows or not by their times.
"""

from collections.abc import Iterable, Mapping

from tiltpy.abi.layouts import FARTHEST, Layout, TimeLayout
from tiltpy.aggregates.built_in import aggregate_for
from tiltpy.aggregates.central_moments import ORDERS
from tiltpy.aggregates.user_defined import code_of
from tiltpy.costs import Costs
from tiltpy.emit.references import reductions, references, uses_time
from tiltpy.emit.values import LoopValue, Reading, lower_expr
from tiltpy.ir.cuts import leaf_cuts
from tiltpy.ir.keys import KEY_STARTS
from tiltpy.ir.nodes import (
    At,
    Binary,
    Cast,
    Const,
    CutPoint,
    CutWindow,
    Element,
    ElementStart,
    EventBound,
    Exists,
    Field,
    If,
    LastRows,
    Let,
    Local,
    MakeStruct,
    Phi,
    Reduce,
    Since,
    TemporalExpr,
    Time,
    Unary,
    Window,
)
from tiltpy.ir.traversal import walk
from tiltpy.loops.build import TRUE
from tiltpy.ops import REDUCTIONS
from tiltpy.plan.definedness import (
    present_value,
    strict_points,
    trial_block,
    unknown_value,
)
from tiltpy.plan.emptiness import emptiness_tests
from tiltpy.plan.loop_facts import LoopFacts
from tiltpy.plan.nodes import (
    Advance,
    CursorPlan,
    EventScan,
    Operands,
    Refusal,
    WindowPlan,
)
from tiltpy.types import ALL_PAST, Scalar

REPEATED = Binary, Cast, Reduce, Unary
"""The operations in values that readers may compute anew."""
FREE = At, Const, Element, Exists, Field, If, Let, Local, MakeStruct, Phi, Time
"""Nodes of such values that cost nothing to repeat."""
FOLDS = {r.name for r in REDUCTIONS.values() if not (r.whole or r.picks_row)}
"""Reductions that vectors of events fold anew from the rows of a window."""


def event_scan(facts: LoopFacts, operands: Operands) -> EventScan | Refusal:
    """Serve an object that sees one point stream at its events, and windows."""
    if not facts.every_tick:
        return facts.grid_refusal or Refusal("its cells are not ticks")
    if facts.present_refusal is not None:
        return facts.present_refusal
    point = operands.one_tick
    if point is None:
        return Refusal("no event of one tick decides where it is")
    if operands.clipped:
        return Refusal("a reduction sees where windows cut events")
    rows = facts.objects[point.object]
    if dict(operands.points)[point] is not CursorPlan.SCAN:
        return Refusal(f"events of ~{point.object} overlap")
    advances = tuple((w, _advance(facts, operands, w, p)) for w, p in operands.windows)
    dense = not facts.times_read and _is_at_each(facts, operands, dict(advances))
    scans = dense and _fits_scans(facts, operands)
    vectorized = (
        "event_vectors" not in facts.disabled
        and rows.layout.points
        and rows.disjoint
        and not any(rows.layout.nullable)
        and (scans or _fits_vectors(facts, operands, dict(advances)))
    )
    recomputes = dense and _recomputes(facts, dict(advances))
    return EventScan(operands, point, advances, vectorized, dense, recomputes, scans)


def _recomputes(facts: LoopFacts, advances: Mapping[Window, Advance]) -> bool:
    """Decide whether readers better compute the values of an object than load them.

    They follow from the event, and from what its windows show of the one before.
    """
    definition = facts.definition
    elements = [node.element for node in reductions(definition)]
    nodes = [node for each in (definition.body, *elements) for node in walk(each)]
    operations = sum(isinstance(node, REPEATED) for node in nodes)
    most = facts.costs.repeated_operations if facts.folded_once else 0
    points, windows = references(definition)
    return (
        "event_payloads" not in facts.disabled
        and operations <= most
        and all(isinstance(node, (*REPEATED, *FREE)) for node in nodes)
        and all(point.offset == 0 for point in points)
        and len({point.object for point in points} | {w.object for w in windows}) == 1
        and all(sees_row_before(window, advances[window]) for window in windows)
    )


def input_of_events(facts: LoopFacts, operands: Operands) -> str | None:
    """Find the input with a snapshot of an object, of its own, at each event."""
    point = operands.one_tick
    if point is None or operands.clipped or not facts.every_tick:
        return None
    advances = {w: _advance(facts, operands, w, plan) for w, plan in operands.windows}
    return point.object if _is_at_each(facts, operands, advances) else None


def _is_at_each(
    facts: LoopFacts, operands: Operands, advances: Mapping[Window, Advance]
) -> bool:
    """Decide whether there is a snapshot of its own at each event of an input."""
    point = operands.one_tick
    assert point is not None
    events = facts.objects[point.object]
    if facts.definition.distinct or not operands.always_cuts:
        return False
    if not (events.is_input and events.disjoint and point.offset == 0):
        return False
    if any(events.layout.nullable):
        return False

    def leaf(node: Reading) -> LoopValue:
        match node:
            case At() | EventBound() if node.point == point:
                return present_value(node.type, whole=True)
            case Reduce(reduction="count"):
                return present_value(node.type)
            case Reduce() if _takes_event_in(node.window, advances):
                never = _is_never_phi(facts, node)
                return (present_value if never else unknown_value)(node.type)
            case Time():
                return present_value(node.type)
            case _:
                return unknown_value(node.type)

    return lower_expr(trial_block(), leaf, facts.definition.body).valid == TRUE


def _fits_scans(facts: LoopFacts, operands: Operands) -> bool:
    """Decide whether prefix scans of exact states give all that a dense object sees."""
    points, windows = references(facts.definition)
    nodes = [*walk(facts.definition.body)]
    nodes += [node for each in facts.reductions for node in walk(each.element)]
    return (
        len({point.object for point in points} | {w.object for w in windows}) == 1
        and all(point.offset == 0 for point in points)
        and all(plan is WindowPlan.RUNNING for _, plan in operands.windows)
        and all(_takes_rows_in(points[0], window) for window in windows)
        and all(map(folds_exactly, facts.reductions))
        and not any(isinstance(n, EventBound | ElementStart | Time) for n in nodes)
    )


def _fits_lanes(
    facts: LoopFacts, operands: Operands, window: Window, advance: Advance
) -> bool:
    """Decide whether prefix scans give a window that folds on at a vector of events."""
    over = facts.over(window)
    nodes = [node for each in over for node in walk(each.element)]
    return (
        operands.always_cuts
        and dict(operands.windows)[window] is WindowPlan.RUNNING
        and advance in (Advance.INSERT, Advance.PACE)
        and not any(isinstance(n, ElementStart | EventBound | Time) for n in nodes)
        and all(folds_exactly(node) or _picks_number(node) for node in over)
    )


def _picks_number(node: Reduce) -> bool:
    """Decide whether a reduction keeps the first or the last of some numbers."""
    scalar = node.element.type
    picks = node.reduction in ("first", "last")
    return picks and isinstance(scalar, Scalar) and scalar.kind != "string"


def folds_exactly(node: Reduce) -> bool:
    """Decide whether the states of a reduction may be combined in any order."""
    if node.reduction not in FOLDS:
        return False
    aggregate = aggregate_for(node.reduction, node.element.type, {})
    return not any(scalar.is_float for scalar in aggregate.types)


def _is_never_phi(facts: LoopFacts, node: Reduce) -> bool:
    """Decide whether a reduction has a result over any window with an event."""
    value = facts.objects[node.window.object].element(node.element)
    if value.valid != TRUE:
        return False
    reduction = facts.user_defined.get(node.reduction)
    if reduction is None:
        return REDUCTIONS[node.reduction].never_null
    return not reduction.bounds and code_of(reduction).is_never_phi(value)


def _takes_event_in(window: Window, advances: Mapping[Window, Advance]) -> bool:
    """Decide whether each event is in a window at its own time."""
    advance = advances.get(window)
    begins = isinstance(window.limit, LastRows) or window.limit == Since(KEY_STARTS)
    return advance is Advance.INSERT or (begins and advance is Advance.RESTART)


def _takes_rows_in(point: CutPoint, window: Window) -> bool:
    """Decide whether a window takes in each event, in order, and nothing else."""
    if window.object != point.object or window.end != point.offset:
        return False
    return window.is_fixed or (
        window.look is None and not window.restarts and window.start == ALL_PAST
    )


def _keeps_pace(facts: LoopFacts, point: CutPoint, window: Window) -> bool:
    """Decide whether an event adds one snapshot to a window that folds on, its own.

    Its object has one at each event, and so has what restarts it.
    """
    events = facts.objects[point.object]
    if "paced_windows" in facts.disabled or facts.ranks(window):
        return False
    if not (events.layout.points and events.disjoint):
        return False
    return (
        point.offset == window.end == 0
        and window.origin is None
        and not window.by_row
        and all(
            name == point.object or facts.at_events.get(name) == point.object
            for name in window.objects
        )
    )


def _restarts_between(facts: LoopFacts, point: CutPoint, window: Window) -> bool:
    """Decide whether a window without length adds each event, and restarts elsewhere.

    The events before have left it at an event that comes after a restart.
    """
    events = facts.objects[point.object]
    return (
        bool(window.restarts)
        and window.look is None
        and window.start == ALL_PAST
        and "paced_windows" not in facts.disabled
        and window.object == point.object
        and events.layout.points
        and events.disjoint
        and point.offset == window.end == 0
        and not (window.by_row or facts.ranks(window))
    )


def _advance(
    facts: LoopFacts, operands: Operands, window: Window, plan: WindowPlan
) -> Advance:
    """Choose how a window gets to the next event."""
    point = operands.one_tick
    assert point is not None
    if plan not in (WindowPlan.FIFO, WindowPlan.RUNNING):
        return Advance.SEARCH
    if _takes_rows_in(point, window):
        return Advance.INSERT
    running = plan is WindowPlan.RUNNING
    if running and operands.always_cuts and _keeps_pace(facts, point, window):
        return Advance.PACE
    keeps_state = running or isinstance(window.limit, LastRows)
    if keeps_state and operands.always_cuts and _restarts_between(facts, point, window):
        return Advance.RESTART
    if running:
        return Advance.FOLLOW
    if not window.is_fixed:
        return Advance.SEARCH
    ends = {Advance.NEWEST: "last", Advance.NEXT: "first"}
    follows = window.object == point.object and window.start >= point.offset
    for advance in reversed(ends) if follows else ends:
        if _sees_one_row(facts, operands, window, ends[advance]):
            return advance
    return Advance.FOLLOW


def _sees_one_row(
    facts: LoopFacts,
    operands: Operands,
    window: Window,
    which: str,
) -> bool:
    """Decide whether of a window's rows its first, or last, alone matters."""
    over = facts.over(window)
    if any(facts.objects[window.object].filters(node.element) for node in over):
        return False
    if any(n.reduction != which and n not in facts.emptiness_tests for n in over):
        return False
    return bool(over) and (
        operands.always_cuts
        or not any(
            isinstance(cut, CutWindow) and cut.window == window
            for cut in leaf_cuts(facts.definition.cuts)
        )
    )


def _fits_vectors(
    facts: LoopFacts, operands: Operands, advances: Mapping[Window, Advance]
) -> bool:
    """Decide whether all that an object sees is the rows beside its events.

    Or what prefix scans give of windows that fold on.
    """
    definition = facts.definition
    points, every = references(definition)
    lanes = {w for w in every if _fits_lanes(facts, operands, w, advances[w])}
    windows = [window for window in every if window not in lanes]
    beside = {
        window
        for window in windows
        if sees_row_before(window, advances[window])
        or sees_row_after(window, advances[window])
    }
    folded = [window for window in windows if window not in beside]
    depths = [depth(each, facts.objects[each.object].layout) for each in folded]
    most = _most_rows(depths, facts.costs)
    return (
        all(
            _folds_by_block(facts.over(window), window, rows, facts.costs)
            for window, rows in zip(folded, depths, strict=True)
        )
        and all(point.offset == 0 for point in points)
        and len({p.object for p in points} | {w.object for w in windows}) == 1
        and all(window.is_fixed and window.end <= 0 for window in folded)
        and all(rows <= most for rows in depths)
        and all(
            node.reduction in FOLDS or node.window in beside or node.window in lanes
            for node in reductions(definition)
        )
        and not any(isinstance(node, EventBound) for node in walk(definition.body))
    )


def _folds_by_block(
    over: Iterable[Reduce], window: Window, rows: int, costs: Costs
) -> bool:
    """Decide whether vectors of events fold a window as single visits do, to the bit.

    What rounds is folded block by block there. Vectors do so where the newest row of a
    window is the event itself; moments take divisions, of many `rows` too many.
    """
    rounding = [node for node in over if not folds_exactly(node)]
    if not rounding:
        return True
    moments = any(node.reduction in ORDERS for node in rounding)
    return window.end == 0 and (not moments or rows <= costs.event_moments)


def _most_rows(depths: Iterable[int], costs: Costs) -> int:
    """Bound the rows that vectors of events may read of each window, folded anew."""
    few = sum(depths) <= costs.event_reads
    return costs.event_rows if few else costs.dense_event_rows


def sees_row_before(window: Window, advance: Advance) -> bool:
    """Decide whether a window of the events shows the one before at most.

    Whatever its length: it ends just before an event at no distance.
    """
    return advance is Advance.NEWEST and window.end == -1


def sees_row_after(window: Window, advance: Advance) -> bool:
    """Decide whether a window of the events shows the one after at most.

    Whatever its length: it begins just after an event at no distance.
    """
    return advance is Advance.NEXT and window.start == 0


def depth(window: Window, layout: Layout) -> int:
    """Count the rows before an event, one of them, that may be in its window."""
    ticks = -window.start - 1
    return ticks if layout.together is None else min(ticks, layout.together - 1)


def are_events(layout: Layout) -> bool:
    """Decide whether rows are points without nulls, at times that they store."""
    stored = layout.time is not TimeLayout.SAMPLED
    return layout.points and stored and not any(layout.nullable)


def prefers_events(
    definition: TemporalExpr,
    layouts: Mapping[str, Layout],
    costs: Costs,
    *,
    apart: int,
) -> bool:
    """Decide whether an object is better made event by event than tick by tick.

    Its windows are short, or it sees no more than the event before. If events are some
    ticks `apart` it may also have a single window, a long one, or moments; if twice as
    many, any.
    """
    points, windows = references(definition)
    if definition.tdom.precision != 1 or uses_time(definition) or len(points) != 1:
        return False
    (point,) = points
    layout = layouts.get(point.object)
    if layout is None or not are_events(layout):
        return False
    if point not in definition.cuts or point not in strict_points(definition):
        return False
    if not windows:
        return False
    longest = max(window.end - window.start for window in windows)
    moments = any(node.reduction in ORDERS for node in reductions(definition))
    dear = moments or len(windows) == 1 or longest > costs.long_event_window
    if apart == FARTHEST or (apart and dear):
        return True
    folded = [w for w in windows if not _shows_row_before(definition, point, w)]
    depths = [depth(window, layout) for window in folded]
    most = _most_rows(depths, costs) if apart else costs.dense_event_rows
    return all(
        rows <= most and _folds_rows(definition, point, window, rows, costs)
        for window, rows in zip(folded, depths, strict=True)
    )


def _shows_row_before(
    definition: TemporalExpr, point: CutPoint, window: Window
) -> bool:
    """Decide whether of a window the event before a point alone matters, or none."""
    tests = emptiness_tests(definition)
    over = [node for node in reductions(definition) if node.window == window]
    return (window.object, window.end) == (point.object, point.offset - 1) and all(
        (node.reduction == "last" or node in tests)
        and isinstance(node.element, Element | Field)
        for node in over
    )


def _folds_rows(
    definition: TemporalExpr, point: CutPoint, window: Window, rows: int, costs: Costs
) -> bool:
    """Decide whether a window of events, if it is short, folds in vectors of them."""
    over = [node for node in reductions(definition) if node.window == window]
    return (
        (window.object, point.offset) == (point.object, 0)
        and window.is_fixed
        and window.end <= 0
        and all(node.reduction in FOLDS for node in over)
        and _folds_by_block(over, window, rows, costs)
    )
