"""Vector kernel: `LANES` neighbouring cells at once, for regular or short rows.

The decision about a query as a whole; `vector_loops.py` decides about each loop.
"""

from collections.abc import Iterator, Mapping

from tiltpy.abi.layouts import FARTHEST, Layout, SamplingGrid
from tiltpy.costs import Costs
from tiltpy.emit.axes import Axis, common_low
from tiltpy.emit.references import (
    derived_bounds,
    reductions,
)
from tiltpy.ir.nodes import CutPoint, Query, TemporalExpr, Window
from tiltpy.plan.cell_geometry import CellGeometry
from tiltpy.plan.nodes import Refusal
from tiltpy.plan.strategies.edge_scan import prefers_edges
from tiltpy.plan.strategies.event_scan import are_events, prefers_events
from tiltpy.plan.strategies.tumbling_fold import tumbling_fold
from tiltpy.plan.strategies.vector_loops import refuse_loops
from tiltpy.plan.vector_plan import VectorPlan
from tiltpy.plan.vector_stages import plan_stages


def plan_vector(
    query: Query,
    layouts: Mapping[str, Layout],
    sampling_grids: Mapping[str, SamplingGrid],
    costs: Costs,
    *,
    fused: bool = True,
) -> VectorPlan | Refusal:
    """Plan the vector kernel of a query for rows on these sampling grids, or refuse it.

    Without `fused` each object has a loop of its own over the whole time range.
    """
    if any(definition.tdom.calendar for definition in query.definitions):
        return Refusal("a time domain has the cells of a calendar")
    for definition in query.definitions:
        if definition.tdom.rows is not None:
            return Refusal(f"~{definition.name} is defined over rows")
    low = common_low(query)
    if low is None:
        return Refusal("the precisions are no multiples of one another")
    axes = {n: Axis(grid.period, grid.phase) for n, grid in sampling_grids.items()}
    axes |= {d.name: Axis.of(d.tdom) for d in query.definitions}
    geometry = CellGeometry(query, layouts, axes, low, costs.slow_cells)
    apart = min((grid.apart for grid in sampling_grids.values()), default=FARTHEST)
    refusals = (
        _refuse_domains(geometry),
        _refuse_reductions(query),
        _refuse_visits(geometry, costs, apart=apart),
    )
    for refusal in refusals:
        if refusal is not None:
            return refusal
    plan = VectorPlan(geometry, plan_stages(geometry, costs, fused=fused), costs, fused)
    refusal = _refuse_sizes(plan) or refuse_loops(plan)
    return plan if refusal is None else refusal


def _refuse_domains(geometry: CellGeometry) -> Refusal | None:
    """Refuse bounded objects, and what has no axis."""
    for definition in geometry.query.definitions:
        for window in geometry.references[definition.name][1]:
            if not window.is_fixed:
                return Refusal(f"a window of ~{window.object} is of no fixed length")
        if not definition.tdom.is_infinite:
            return Refusal(f"the time domain of ~{definition.name} is bounded")
        for name, which in derived_bounds(definition, geometry.layouts):
            return Refusal(f"~{definition.name} sees the {which} of ~{name}")
        for name in geometry.objects(definition):
            if name not in geometry.axes:
                return Refusal(f"~{name} is neither regular nor of short rows")
    return None


def _refuse_reductions(query: Query) -> Refusal | None:
    """Refuse reductions that do not combine the states of cells."""
    used = {
        node.reduction
        for definition in query.definitions
        for node in reductions(definition)
        if not node.window.folds_on
    }
    for reduction in query.reductions:
        if reduction.name in used and reduction.merge is None:
            return Refusal(f"{reduction.name} has no merge")
    return None


def _refuse_visits(
    geometry: CellGeometry, costs: Costs, *, apart: int
) -> Refusal | None:
    """Refuse rows that a sweep visits less often than a vector kernel their cells.

    `apart`: how far rows are apart on the average, as of sampling grids.
    """
    sparse = next(_sparse(geometry, costs), None)
    if sparse is not None:
        return Refusal(f"~{sparse} has far fewer rows than there are cells")
    definitions = geometry.query.definitions
    joins = any(definition.distinct for definition in definitions)  # packed rows
    by_row = bool(geometry.densified_inputs) or joins
    if by_row and all(_maps_rows(geometry, d) for d in definitions):
        return Refusal("a map over rows has fewer visits")
    if all(_prefers_rows(geometry, d, costs, apart=apart) for d in definitions):
        return Refusal("a scan of its rows has fewer visits")
    return None


def _sparse(geometry: CellGeometry, costs: Costs) -> Iterator[str]:
    """Find the fastest input of samples, if to visit each cell of them is a waste."""
    query = geometry.query
    finest = min(d.tdom.precision for d in query.definitions)
    maps = all(_maps_rows(geometry, d) for d in query.definitions)
    longest = finest if maps else costs.cells_per_row * finest
    periods = {
        d.name: geometry.axes[d.name].period
        for d in query.inputs
        if d.name in geometry.axes
    }
    if min(periods.values(), default=0) > longest:
        yield min(periods, key=lambda name: periods[name])


def _maps_rows(geometry: CellGeometry, definition: TemporalExpr) -> bool:
    """Decide whether a definition reads one object, where it is itself."""
    points, windows = geometry.references[definition.name]
    windows = windows or geometry.folds[definition.name]
    here = not windows and all(point.offset == 0 for point in points)
    return here and len(points) == 1 and definition.tdom.precision == 1


def _prefers_rows(
    geometry: CellGeometry, definition: TemporalExpr, costs: Costs, *, apart: int
) -> bool:
    """Decide whether a definition is better made of rows as they lie than of cells."""
    points, windows = geometry.references[definition.name]
    layouts = geometry.layouts
    if prefers_events(definition, layouts, costs, apart=apart):
        return True
    if apart and prefers_edges(definition, layouts, costs):
        return True
    if windows:
        if all(_folds(definition, w, layouts, costs) for w in windows):
            return True
        hops = definition.tdom.precision > 1 and not points
        read = [layouts.get(window.object) for window in windows]
        events = all(each is not None and are_events(each) for each in read)
        return bool(apart) and hops and events
    merged = all(isinstance(cut, CutPoint) for cut in definition.cuts)
    return (
        definition.tdom.precision == 1
        and merged
        and all(_merges(geometry, p.object, costs, apart=apart) for p in points)
    )


def _folds(
    reader: TemporalExpr, window: Window, layouts: Mapping[str, Layout], costs: Costs
) -> bool:
    layout = layouts.get(window.object)
    return layout is not None and tumbling_fold(reader, window, layout, costs) is None


def _merges(geometry: CellGeometry, name: str, costs: Costs, *, apart: int) -> bool:
    """Decide whether a merge has fewer steps: not over a row at nearly every tick."""
    layout = geometry.layouts.get(name)
    if layout is None:
        return True
    if any(layout.nullable):
        return False
    axis = geometry.axes.get(name)  # none where no output reads it
    if axis is not None and geometry.sampled(name):
        return axis.period >= costs.merged_cells
    return bool(apart) or not layout.points


def _refuse_sizes(plan: VectorPlan) -> Refusal | None:
    """Refuse densified rows and tiles of too many cells."""
    geometry, costs = plan.geometry, plan.costs
    furthest = costs.furthest_densified
    for name in geometry.densified_inputs:
        if max(plan.halo(name)) > furthest:
            return Refusal(f"readers look more than {furthest:,} ticks around ~{name}")
    if plan.tile is not None and (geometry.densified_inputs or plan.materialises):
        largest = costs.largest_tile
        if plan.tile // geometry.finest > largest:
            return Refusal(f"a tile would have more than {largest:,} cells")
    for name in geometry.densified_inputs:
        if plan.tile is None or geometry.axes[name].period != 1:
            return Refusal("rows are spread over tiles, not over whole stretches")
    return None
