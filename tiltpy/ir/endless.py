"""Bounds of snapshots that the time alone decides, infinitely far away.

`distinct ~d[t] = t < 0` never starts: no row says when. An object that uses `t` as a
number, or refers to one that does, has bounds on a side only if its domain has one.
"""

from collections.abc import Iterator, Sequence

from tiltpy.ir.cuts import event_bounds, leaf_cuts, reads
from tiltpy.ir.nodes import CutTime, EventBound, TemporalExpr


def endless_bounds(definitions: Sequence[TemporalExpr]) -> Iterator[EventBound]:
    """Yield the bounds that may be infinitely far away, in order of the definitions."""
    restless: set[tuple[str, str]] = set()
    for definition in definitions:
        for node in event_bounds(definition):
            if (node.object, node.which) in restless:
                yield node
        if definition.tdom.rows is not None or definition.tdom.cells is not None:
            continue  # each row, and each interval, has its own bounds
        uses_time = any(isinstance(cut, CutTime) for cut in leaf_cuts(definition.cuts))
        sides = ("start", definition.tdom.start), ("end", definition.tdom.end)
        for side, bound in sides:
            follows = any((name, side) in restless for name in reads(definition))
            if bound is None and (uses_time or follows):
                restless.add((definition.name, side))
