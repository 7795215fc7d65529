"""Inputs of which a vector kernel may read cells that do not exist.

What the unused lanes of the last vectors read need not be there, so no cell is left to
a sweep, which would fold a whole window for it. Where cells before the first row are
taken for empty, nor need the kernel wait until a whole window of rows is there. Both
pay for long windows.
"""

from collections.abc import Iterator

from tiltpy.aggregates.built_in import narrow_aggregate
from tiltpy.costs import Costs
from tiltpy.emit.references import present_folds, reductions
from tiltpy.ir.cuts import leaf_cuts
from tiltpy.ir.nodes import CutWindow, Expr, Query, Reduce, TemporalExpr
from tiltpy.ops import WHOLE_WINDOW
from tiltpy.plan.cell_facts import CellFacts, input_facts
from tiltpy.plan.cell_geometry import CellGeometry
from tiltpy.types import I32, int_range

READS_ROWS = frozenset({"first", "last"})
"""Reductions that look for a row, instead of combining states."""


def find_guarded_inputs(geometry: CellGeometry, costs: Costs) -> frozenset[str]:
    """Find the inputs that are guarded, if any has windows that are long enough."""
    guarded = [
        name
        for name in geometry.inputs
        if geometry.has_all_cells(name)
        and name not in geometry.slow_inputs
        and _moves_on(geometry, name)
    ]
    longest = max((_longest(geometry, name) for name in guarded), default=0)
    pays = costs.guarded_window <= longest <= int_range(I32)[1]
    return frozenset(guarded if pays else ())


def find_empty_starts(
    geometry: CellGeometry, guarded: frozenset[str]
) -> frozenset[str]:
    """Find the guarded inputs whose windows may hold cells before the first row.

    All windows combine the state of no row like any other, and leave out no row.
    """
    return frozenset(name for name in guarded if _combines(geometry, name))


def _moves_on(geometry: CellGeometry, name: str) -> bool:
    """Decide whether all references to an input move on with the cells."""
    return all(
        seen.oldest.is_regular and seen.newest.is_regular
        for reader in geometry.query.definitions
        for source, seen in geometry.ranges(reader)
        if source == name
    )


def _longest(geometry: CellGeometry, name: str) -> int:
    """Count the cells of the longest window of an input."""
    return max(
        seen.cells
        for reader in geometry.query.definitions
        for source, seen in geometry.ranges(reader)
        if source == name
    )


def _combines(geometry: CellGeometry, name: str) -> bool:
    """Decide whether each row contributes to each window, and a state may be empty."""
    query = geometry.query
    cells = input_facts(query.type_of(name), geometry.layouts[name]).in_memory()
    for reader in query.definitions:
        if any(window.object == name for window, _ in present_folds(reader)):
            return False
        if not all(map(cells.certain, _cut_elements(reader, name))):
            return False
        nodes = (node for node in reductions(reader) if node.window.object == name)
        if not all(_has_empty_state(query, node, cells) for node in nodes):
            return False
    return True


def _cut_elements(reader: TemporalExpr, name: str) -> Iterator[Expr]:
    """Yield the elements of windows that cut, whether they are reduced or not."""
    for cut in leaf_cuts(reader.cuts):
        if isinstance(cut, CutWindow) and cut.window.object == name:
            yield cut.element


def _has_empty_state(query: Query, node: Reduce, cells: CellFacts) -> bool:
    """Decide whether a reduction has a state of no row; users' merges have none."""
    user_defined = {reduction.name for reduction in query.reductions}
    if node.bounds or node.reduction in WHOLE_WINDOW | READS_ROWS | user_defined:
        return False
    aggregate = narrow_aggregate(node.reduction, node.element.type, {})
    return cells.certain(node.element) and aggregate.combine_nonempty is None
