"""Times at which an object may change, by the edges of the rows of inputs.

Without new rows an object has a boundary, the end of a snapshot or of a gap, only where
one of its references sees another snapshot: as much later than an edge of a row as that
reference looks back. So it is known how long nothing changes.

    ~o[t] = mean(~x[t-20 : t])       at starts of ~x, and 19 ticks behind its ends
"""

from collections.abc import Iterator, Mapping, Sequence

from tiltpy.ir.cuts import event_bounds, leaf_cuts
from tiltpy.ir.nodes import CutPoint, CutTime, CutWindow, Query, Since, TemporalExpr
from tiltpy.ir.rows import row_roots
from tiltpy.plan.key_traits import EdgeShift
from tiltpy.types import ALL_FUTURE, ALL_PAST, TDom

MOST_SHIFTS = 8
"""Shifts of an object that are told apart: more are taken together, by input."""
Shifts = tuple[EdgeShift, ...]


def find_edge_shifts(query: Query) -> Mapping[str, Shifts]:
    """Find by how much later than edges of rows by key objects have boundaries.

    Those of a row object are the stamps of its rows. Objects that may have others, or
    others' keys, are left out.
    """
    keyed = {each.name: each for each in query.inputs if each.keys}
    edges: dict[str, Shifts] = {
        name: (EdgeShift(name, "start"), EdgeShift(name, "end")) for name in keyed
    }
    stamps: dict[str, Shifts] = {}
    roots = row_roots(query)
    for definition in query.definitions:
        name, source = definition.name, keyed.get(roots.get(definition.name, ""))
        if source is not None:
            edges[name] = edges[source.name]  # each row has its own lifetime
            if source.lifetime is not None and not definition.tdom.at_ends:
                before = source.lifetime.before
                stamps[name] = (EdgeShift(source.name, "start", before, before),)
            continue
        found = _shift_edges(definition, edges)
        if found is not None:
            edges[name] = _join_many(found)
    objects = {name: edges[name] for name in edges if name not in roots}
    return objects | stamps


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
        if name not in known or not _follows_edges(cut):
            return None
        for shift in known[name]:
            found.update(dict.fromkeys(_see_edge(shift, cut, tdom)))
    return list(found)


def _follows_edges(cut: CutPoint | CutWindow) -> bool:
    """Tell whether a reference sees another thing only where a row comes or goes."""
    if isinstance(cut, CutPoint):
        return not cut.row
    window = cut.window
    if window.look not in (None, "last") or window.end == ALL_FUTURE:
        return False
    if window.cells is not None or window.by_row or cut.bounds:
        return False
    return not isinstance(window.limit, Since)


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
    window = cut.window
    moves: list[tuple[int, str]] = [(window.end, window.edge or "start")]
    if window.start > ALL_PAST:
        moves.append((window.start, window.edge or "end"))
    for bound, edge in moves:  # snapshots come into the window, and leave it
        if shift.is_derived or shift.edge == edge:
            last = -bound - (edge == "end")
            yield shift.by(last + 1 - cell, last)


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
