"""Operands of a scan: a cursor or a window for each reference."""

from collections.abc import Iterable, Mapping
from typing import assert_never

from tiltpy.ir.cuts import leaf_cuts
from tiltpy.ir.nodes import (
    Cut,
    CutPoint,
    CutTime,
    CutWindow,
    InlinedCut,
    Window,
)
from tiltpy.ir.traversal import sees_more
from tiltpy.plan.loop_facts import LoopFacts
from tiltpy.plan.nodes import CursorPlan, Operands, WindowChoice, WindowPlan
from tiltpy.plan.strategies.match_counts import plan_present
from tiltpy.plan.strategies.value_cursors import has_quantiles, value_cursors

LINEAR = {
    WindowPlan.TUMBLING_FOLD,
    WindowPlan.FIFO,
    WindowPlan.RUNNING,
    WindowPlan.LOOK,
}
"""Plans that fold a row a bounded number of times, if states merge."""


def plan_operands(facts: LoopFacts, choices: Iterable[WindowChoice]) -> Operands:
    """Choose a cursor for each point, beside the `choices` for its windows.

    A loop over rows knows the row at which it stands, and each is a result of its own.
    """
    over_rows = facts.definition.tdom.rows is not None
    skipped = () if over_rows else _points_to_skip(facts)
    stepped = facts.every_tick and not skipped and not over_rows
    windows = {choice.window: choice.plan for choice in choices}
    one_tick = next(
        (point for point in skipped if facts.objects[point.object].layout.points), None
    )
    clipped = {node.window for node in facts.reductions if facts.clips(node)}
    return Operands(
        tuple(
            (point, _cursor(facts, point, stepped))
            for point in facts.points
            if not point.row
        ),
        tuple(windows.items()),
        skipped,
        one_tick,
        stepped,
        over_rows
        or (facts.definition.distinct and not _sees_bounds(facts))
        or one_tick in facts.definition.cuts
        or (
            stepped
            and all(_starts_snapshot(facts, windows, c) for c in facts.definition.cuts)
        ),
        tuple(window for window in windows if window in clipped),
        tuple(plan_present(facts, *fold) for fold in facts.present),
        tuple(
            window
            for window, plan in windows.items()
            if plan is WindowPlan.FIFO
            and has_quantiles(facts, window)
            and value_cursors(facts, window) is None
        ),
        _is_linear(facts, windows),
        _window_to_skip(facts, windows),
    )


def _window_to_skip(
    facts: LoopFacts, windows: Mapping[Window, WindowPlan]
) -> Window | None:
    """Choose the window to whose rows the loop keeps, where nothing else is folded.

    Other windows follow their rows from change to change.
    """
    tumbles = all(plan is WindowPlan.TUMBLING_FOLD for plan in windows.values())
    if facts.calendar_refusal or facts.present or not tumbles:
        return None
    gaps = (w for w in windows if not facts.objects[w.object].gapless)
    return next((window for window in gaps if window in facts.strict_windows), None)


def _is_linear(facts: LoopFacts, windows: Mapping[Window, WindowPlan]) -> bool:
    """Decide whether windows take a row in, and drop it, in constant time."""
    return not facts.present and all(
        plan in LINEAR
        and not facts.ranks(window)
        and (plan is not WindowPlan.FIFO or not _has_user_defined(facts, window))
        for window, plan in windows.items()
    )


def _has_user_defined(facts: LoopFacts, window: Window) -> bool:
    return any(node.reduction in facts.user_defined for node in facts.over(window))


def _sees_bounds(facts: LoopFacts) -> bool:
    """Decide whether windows change at every tick at which their edges cut rows."""
    cuts = leaf_cuts(facts.definition.cuts)
    return any(isinstance(cut, CutWindow) and cut.bounds for cut in cuts)


def _points_to_skip(facts: LoopFacts) -> tuple[CutPoint, ...]:
    """Choose the points to whose snapshots the loop keeps.

    To step over a short gap, a visit without a branch, is cheaper than to skip it. So
    only events of one tick are worth it, and loops that do not step anyway.
    """

    def pays(point: CutPoint) -> bool:
        rows = facts.objects[point.object]
        if rows.gapless:
            return False
        return rows.layout.points or not (facts.every_tick and rows.disjoint)

    return () if facts.calendar_refusal else tuple(filter(pays, facts.strict))


def _cursor(facts: LoopFacts, point: CutPoint, stepped: bool) -> CursorPlan:
    rows = facts.objects[point.object]
    if not rows.disjoint:
        tied = rows.layout.points and rows.complete
        return CursorPlan.SCAN if tied else CursorPlan.STACK
    return CursorPlan.STEP if stepped and rows.complete else CursorPlan.SCAN


def _starts_snapshot(
    facts: LoopFacts, windows: dict[Window, WindowPlan], cut: Cut
) -> bool:
    """Decide whether each bound of a cut is a change that the next tick sees.

    In a loop over every tick whose cuts are all like that, every visit starts a new
    snapshot and none need be compared.
    """
    match cut:
        case CutPoint(object=name):
            return facts.objects[name].disjoint and facts.objects[name].complete
        case CutWindow(bounds=True):
            return False
        case CutWindow() if sees_more(cut):
            return False
        case CutWindow(window=window, element=element):
            in_order = windows[window] is WindowPlan.FIFO and window.is_fixed
            return in_order and not facts.objects[window.object].filters(element)
        case CutTime():
            return True
        case InlinedCut():
            return False
        case _:
            assert_never(cut)
