"""Tumbling fold: windows that do not overlap, over rows of any length.

A row is in one of them, or in two if it crosses an edge. So nothing is kept from visit
to visit: the rows of a window are located by their times, and folded in vectors. What
looks at a window as a whole is computed so even where a row is in several windows:
otherwise it takes ranks of all rows, and a structure that each row goes into and out
of.
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
    names = {n.reduction for n in reductions(definition) if n.window == window}
    whole = not names.isdisjoint(WHOLE_WINDOW)
    length = window.end - window.start
    counted = "nunique" in names
    panes = costs.recounted_panes if counted else costs.recomputed_panes
    anew = whole and length <= definition.tdom.precision * panes
    if whole and definition.tdom.precision > 1 and not anew:
        return Refusal(f"a row of ~{window.object} is in more than {panes} windows")
    if layout.time not in (TimeLayout.CONTIGUOUS, TimeLayout.INTERVALS) and not (
        anew and layout.time is TimeLayout.SAMPLED
    ):
        return Refusal(f"~{window.object} is {layout.time.value}")
    if overlaps_before(definition, window) and not anew:
        return Refusal(f"windows of ~{window.object} overlap")
    if length < costs.shortest_tumbling:
        return Refusal(f"windows of ~{window.object} are short")
    if not names <= REDUCTIONS.keys():
        return Refusal(f"a reduction of ~{window.object} does not fold in vectors")
    if any(
        isinstance(cut, CutWindow) and cut.window == window and cut.bounds
        for cut in leaf_cuts(definition.cuts)
    ):
        return Refusal(f"the edges of windows cut events of ~{window.object}")
    return None


def overlaps_before(definition: TemporalExpr, window: Window) -> bool:
    """Decide whether a window has rows of the one at the grid point before."""
    tumbles = window.cells is not None and window.cells.count == 1
    return window.end - window.start > definition.tdom.precision and not tumbles
