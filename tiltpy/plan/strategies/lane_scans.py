"""Windows that fold on, in a vector kernel: rows go in one by one, results in lanes.

The kernel takes over states at the beginning of its time range, so what depends on them
has no other cells before that than the last one.
"""

from collections.abc import Iterator

from tiltpy.emit.references import reductions
from tiltpy.ir.nodes import Window
from tiltpy.plan.nodes import Refusal
from tiltpy.plan.vector_plan import VectorPlan


def refuse_scans(plan: VectorPlan) -> Iterator[Refusal]:
    """Refuse windows that fold on in other ways than cell by cell, by own states."""
    geometry = plan.geometry
    carried: set[str] = set()
    for reader in plan.query.definitions:
        folds = geometry.folds[reader.name]
        reduced = {node.window for node in reductions(reader)}
        for window in folds:
            if window not in reduced:
                yield Refusal(f"no value of ~{window.object}, which folds on, is read")
            if not _takes_every_row_in(window):
                yield Refusal(f"a window of ~{window.object} restarts, or ends ahead")
            if plan.stage_of[reader.name].panes:
                yield Refusal(f"~{window.object} folds on beside panes")
            name = window.object
            if not (geometry.sampled(name) or plan.is_streamed(reader, name)):
                yield Refusal(f"~{name} folds on, and is no sampled input")
        points, windows = geometry.references[reader.name]
        for point in points:
            cell = geometry.point(reader, point)
            here = point.offset == 0 and cell.is_regular and cell.plus == 0
            if point.object in carried and not (
                here and plan.is_streamed(reader, point.object)
            ):
                yield _refuse_other_times(point.object)
        for window in windows:
            if window.object in carried:
                yield _refuse_other_times(window.object)
        if folds or carried.intersection(geometry.objects(reader)):
            carried.add(reader.name)


def _takes_every_row_in(window: Window) -> bool:
    """Decide whether a window has all rows that have started, up to the present."""
    return (
        window.end == 0
        and window.limit is None
        and window.edge is None
        and window.cells is None
        and not window.by_row
    )


def _refuse_other_times(name: str) -> Refusal:
    return Refusal(f"~{name} folds on, and is seen at other times")
