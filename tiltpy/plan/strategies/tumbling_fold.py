"""Tumbling fold: windows that do not overlap, over rows of any length.

A row is in one of them, or in two if it crosses an edge. So nothing is kept from visit
to visit: the rows of a window are located by their times, and folded in vectors.
"""

from tiltpy.abi.layouts import Layout, TimeLayout
from tiltpy.costs import Costs
from tiltpy.emit.references import reductions
from tiltpy.ir.cuts import leaf_cuts
from tiltpy.ir.nodes import CutWindow, TemporalExpr, Window
from tiltpy.ops import REDUCTIONS, WHOLE_WINDOW
from tiltpy.plan.nodes import Refusal


def tumbling_fold(
    definition: TemporalExpr, window: Window, layout: Layout, costs: Costs
) -> Refusal | None:
    """Refuse a window that overlaps the one before, is short, or does not fold."""
    precision = definition.tdom.precision
    tumbles = window.cells is not None and window.cells.count == 1
    if layout.time not in (TimeLayout.CONTIGUOUS, TimeLayout.INTERVALS):
        return Refusal(f"~{window.object} is {layout.time.value}")
    if window.end - window.start > precision and not tumbles:
        return Refusal(f"windows of ~{window.object} overlap")
    if window.end - window.start < costs.shortest_tumbling:
        return Refusal(f"windows of ~{window.object} are short")
    names = {n.reduction for n in reductions(definition) if n.window == window}
    if not names <= REDUCTIONS.keys() or not names.isdisjoint(WHOLE_WINDOW):
        return Refusal(f"a reduction of ~{window.object} does not fold in vectors")
    if any(
        isinstance(cut, CutWindow) and cut.window == window and cut.bounds
        for cut in leaf_cuts(definition.cuts)
    ):
        return Refusal(f"the edges of windows cut events of ~{window.object}")
    return None
