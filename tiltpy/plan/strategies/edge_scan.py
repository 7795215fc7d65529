"""Edge scan: windows that move from row bound to row bound, without bounds checks.

Well inside the rows of every object, and before the loop ends, no visit looks whether
there is another row. The bound after the next one is read ahead of knowing which edge
moves, so no visit waits for memory.
"""

from collections.abc import Mapping

from tiltpy.abi.layouts import Layout, TimeLayout
from tiltpy.aggregates.central_moments import ORDERS
from tiltpy.costs import Costs
from tiltpy.emit.references import reductions, references, uses_time
from tiltpy.ir.nodes import TemporalExpr
from tiltpy.ops import REDUCTIONS
from tiltpy.plan.definedness import cuts_at_each_row
from tiltpy.plan.loop_facts import LoopFacts
from tiltpy.plan.nodes import CursorPlan, EdgeScan, Operands, Refusal, WindowPlan

TOTALS = frozenset(rule.name for rule in REDUCTIONS.values() if rule.additive)
"""Reductions of long windows that a vector kernel makes of sums of blocks."""


def edge_scan(facts: LoopFacts, operands: Operands) -> EdgeScan | Refusal:
    """Serve windows over rows in order, where each visit is a snapshot of its own."""
    if facts.grid_refusal is not None:
        return facts.grid_refusal
    if facts.present_refusal is not None:
        return facts.present_refusal
    if not facts.windows:
        return Refusal("it has no windows")
    if not operands.stepped:
        return Refusal("it skips the gaps of what it needs")
    if not operands.always_cuts:
        return Refusal("a change of what it sees need not begin a snapshot")
    if operands.clipped:
        return Refusal("a reduction sees where windows cut events")
    for point, cursor in operands.points:
        if cursor is not CursorPlan.STEP:
            return Refusal(f"~{point.object} may be null, or overlaps")
    for window, plan in operands.windows:
        name = window.object
        if not window.is_fixed:
            return Refusal(f"a window of ~{name} is of no fixed length")
        if plan is not WindowPlan.FIFO or not facts.objects[name].disjoint:
            return Refusal(f"events of ~{name} overlap")
        if facts.ranks(window):
            return Refusal(f"a window of ~{name} is looked at as a whole")
    return EdgeScan(operands)


def prefers_edges(
    definition: TemporalExpr, layouts: Mapping[str, Layout], costs: Costs
) -> bool:
    """Decide whether a window is better swept edge to edge than made tick by tick."""
    points, windows = references(definition)
    if definition.tdom.precision != 1 or points or len(windows) != 1:
        return False
    (window,) = windows
    if not window.is_fixed:
        return True
    layout = layouts.get(window.object)
    irregular = TimeLayout.CONTIGUOUS, TimeLayout.INTERVALS
    if layout is None or layout.time not in irregular or any(layout.nullable):
        return False
    if uses_time(definition) or not all(map(cuts_at_each_row, definition.cuts)):
        return False
    length = window.end - window.start
    names = {node.reduction for node in reductions(definition)}
    if not names.isdisjoint(ORDERS):
        return length > costs.long_moment_window
    if names <= TOTALS:
        return length > costs.longest_swept_tree
    return length > costs.longest_made_tree
