"""Stages of a vector kernel: which objects one loop computes, and in which order.

Objects whose cells move on together are computed in one loop, `LANES` cells at a time;
what folds many finer cells into each of its own, and what reads coarser ones, needs
another loop before or behind it.
"""

from tiltpy.costs import Costs
from tiltpy.ir.nodes import TemporalExpr
from tiltpy.lean_dataclass import dataclass
from tiltpy.plan.cell_geometry import CellGeometry


@dataclass(frozen=True, slots=True)
class Stage:
    """Objects that one loop computes; `panes`: a cell at a time, of many finer ones."""

    level: int
    precision: int
    panes: bool
    definitions: tuple[TemporalExpr, ...]


def plan_stages(
    geometry: CellGeometry, costs: Costs, *, fused: bool
) -> tuple[Stage, ...]:
    """Put definitions that can share a loop into one stage, each after what it reads.

    Without `fused` each definition has a stage of its own.
    """
    levels: dict[str, int] = {}
    groups: dict[tuple[int, int, bool], list[TemporalExpr]] = {}
    for number, definition in enumerate(geometry.query.definitions):
        panes = _folds_panes(geometry, costs, definition)
        level = 0 if fused else number
        for name in geometry.objects(definition) if fused else ():
            if name in levels:
                source = geometry.definitions[name]
                together = (
                    not panes
                    and definition.tdom.precision == source.tdom.precision
                    and not _folds_panes(geometry, costs, source)
                )
                level = max(level, levels[name] + (not together))
        levels[definition.name] = level
        key = level, definition.tdom.precision, panes
        groups.setdefault(key, []).append(definition)
    return tuple(
        Stage(*key, tuple(group))
        for key, group in sorted(groups.items(), key=lambda item: item[0])
    )


def _folds_panes(
    geometry: CellGeometry, costs: Costs, definition: TemporalExpr
) -> bool:
    """Decide whether a definition has windows of many finer cells."""
    _, windows = geometry.references[definition.name]
    seen = [geometry.window(definition, window) for window in windows]
    return any(
        window.newest.times > 1 and window.cells >= costs.strided_pane
        for window in seen
    )
