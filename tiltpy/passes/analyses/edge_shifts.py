"""Times at which an object may change, by the edges of the rows of inputs.

Without new rows an object has a boundary, the end of a snapshot or of a gap, only where
one of its references sees another snapshot: as much later than an edge of a row as that
reference looks back. So it is known how long nothing changes.

    ~o[t] = mean(~x[t-20 : t])       at starts of ~x, and 19 ticks behind its ends
"""

from collections.abc import Iterator, Mapping, Sequence

from tiltpy.ir.cuts import event_bounds, leaf_cuts
from tiltpy.ir.nodes import CutPoint, CutTime, CutWindow, Query, TemporalExpr
from tiltpy.plan.key_traits import EdgeShift
from tiltpy.types import TDom

MOST_SHIFTS = 8
"""Shifts of an object that are told apart: more are taken together, by input."""
Shifts = tuple[EdgeShift, ...]


def find_edge_shifts(query: Query) -> Mapping[str, Shifts]:
    """Find by how much later than edges of rows by key objects have boundaries.

    Objects that may have others, or others' keys, are left out.
    """
    shifts: dict[str, Shifts] = {
        each.name: (EdgeShift(each.name, "start"), EdgeShift(each.name, "end"))
        for each in query.inputs
        if each.keys
    }
    for definition in query.definitions:
        found = _shift_edges(definition, shifts)
        if found is not None:
            shifts[definition.name] = _join_many(found)
    return shifts


def _shift_edges(
    definition: TemporalExpr, known: Mapping[str, Shifts]
) -> list[EdgeShift] | None:
    """Find the shifts of a definition; None if other things cut it, too."""
    tdom = definition.tdom
    if not tdom.is_infinite or tdom.calendar is not None:
        return None
    if tdom.rows or tdom.cells or any(event_bounds(definition)):
        return None
    found: dict[EdgeShift, None] = {}
    for cut in leaf_cuts(definition.cuts):
        if isinstance(cut, CutTime):
            return None
        name = cut.object if isinstance(cut, CutPoint) else cut.window.object
        if name not in known or not _is_fixed(cut):
            return None
        for shift in known[name]:
            found.update(dict.fromkeys(_see_edge(shift, cut, tdom)))
    return list(found)


def _is_fixed(cut: CutPoint | CutWindow) -> bool:
    """Tell whether distances from `t` decide alone what a reference sees."""
    if isinstance(cut, CutPoint):
        return not cut.row
    window = cut.window
    plain = not (window.look or window.cells or window.by_row)
    return window.is_fixed and plain and not cut.bounds


def _see_edge(
    shift: EdgeShift, cut: CutPoint | CutWindow, tdom: TDom
) -> Iterator[EdgeShift]:
    """Shift an edge by what a reference at grid points does.

    `~o` has a boundary at a grid point `g` where it sees another thing at `g + p`.
    """
    cell = tdom.precision
    if isinstance(cut, CutPoint):
        yield shift.by(1 - cut.offset - cell, -cut.offset)
        return
    start, end = cut.window.start, cut.window.end
    if shift.edge != "end" or shift.is_derived:  # a snapshot comes into the window
        yield shift.by(1 - end - cell, -end)
    if shift.edge != "start" or shift.is_derived:  # a snapshot leaves it
        yield shift.by(-start - cell, -start - 1)


def _join_many(shifts: Sequence[EdgeShift]) -> Shifts:
    """Take shifts together by input and edge, where there are many."""
    if len(shifts) <= MOST_SHIFTS:
        return tuple(shifts)
    joined: dict[tuple[str, str], EdgeShift] = {}
    for shift in shifts:
        known = joined.get((shift.input, shift.edge), shift)
        low, high = min(known.low, shift.low), max(known.high, shift.high)
        joined[shift.input, shift.edge] = EdgeShift(
            shift.input, shift.edge, low, high, is_derived=True
        )
    return tuple(joined.values())
